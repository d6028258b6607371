/** Undo and redo without end: for each step the edits that did it and the edits that take it back. Pure. */

import { applyAll, applyEdit, EditError, findLine, invert, touched } from "./edits";
import type { Edit, LineData, PageData } from "./types";

export interface Step {
  edits: Edit[];
  inverse: Edit[];
  /** The touched lines' texts behind and before the step: what others changed since is not undone unseen. */
  after: Record<string, string | null>;
  before: Record<string, string | null>;
  /** Where the cursor was before, and was put. */
  from: Place | null;
  to: Place | null;
}

export interface Place {
  line: string;
  at: number;
}

export interface History {
  undo: readonly Step[];
  redo: readonly Step[];
}

export const EMPTY: History = { undo: [], redo: [] };

/** The page after the edits, and the step that they are. */
export function takeStep(
  page: PageData, edits: Edit[], from: Place | null, to: Place | null,
): { page: PageData; step: Step } {
  const inverse: Edit[] = [];
  let now = page;
  for (const edit of edits) {
    inverse.unshift(...invert(now, edit));
    now = applyEdit(now, edit);
  }
  const ids = touchedLines(page, now, edits);
  return { page: now, step: { edits, inverse, before: look(page, ids), after: look(now, ids), from, to } };
}

export const record = (history: History, step: Step): History => ({ undo: [...history.undo, step], redo: [] });

/** The newest step that can be taken back, or why not. */
export function undo(history: History, page: PageData): { history: History; page: PageData; step: Step } | null {
  const step = history.undo.at(-1);
  if (!step) return null;
  guard(page, step.after);
  const rest = { undo: history.undo.slice(0, -1), redo: [...history.redo, step] };
  return { history: rest, page: applyAll(page, step.inverse), step };
}

export function redo(history: History, page: PageData): { history: History; page: PageData; step: Step } | null {
  const step = history.redo.at(-1);
  if (!step) return null;
  guard(page, step.before);
  const rest = { undo: [...history.undo, step], redo: history.redo.slice(0, -1) };
  return { history: rest, page: applyAll(page, step.edits), step };
}

/** Fail where a line is not as the step knew it: somebody else changed it. */
function guard(page: PageData, known: Record<string, string | null>): void {
  for (const [id, fingerprint] of Object.entries(known)) {
    if (describe(findLine(page, id)) !== fingerprint) throw new EditError(`line ${id} was changed since`);
  }
}

function touchedLines(before: PageData, after: PageData, edits: Edit[]): string[] {
  const ids = edits.flatMap((edit) => touched(edit) ?? [...before.lines, ...after.lines].map((line) => line.id));
  return [...new Set(ids)];
}

const look = (page: PageData, ids: string[]): Record<string, string | null> =>
  Object.fromEntries(ids.map((id) => [id, describe(findLine(page, id))]));

/** A line in a few words; the server's rounding of boxes must not make it look changed. */
function describe(line: LineData | undefined): string | null {
  return line ? [line.kind, line.direction, ...line.box.map(Math.round), line.text].join(" ") : null;
}
