/** What can be done to text and lines at the cursor, as edits. Each returns whether it was done. */

import { besides, findLine, lineIndex, textEdit, toChars } from "./edits";
import { selected, step, stepDoubt } from "./cursor";
import { isVertical } from "./geometry";
import type { Place } from "./history";
import { newId } from "./outbox";
import type { Session } from "./session";
import type { Box, Direction, Edit, Kind, LineData } from "./types";

const KINDS: Kind[] = ["main", "note", "margin", "fold"];
const DIRECTIONS: Direction[] = ["top-to-bottom", "left-to-right", "right-to-left", "bottom-to-top"];

/** Text over the selection; without one over as many characters as it has, or, to insert, before the cursor. */
export function type(session: Session, text: string, insert: boolean): boolean {
  const chars = toChars(text);
  const { line, cursor } = session;
  if (!line || !cursor || !chars.length) return false;
  const chosen = selected(session.anchor, cursor);
  const over = insert ? 0 : Math.min(chars.length, line.chars.length - cursor.at);
  const at = chosen.count ? chosen.at : cursor.at;
  return session.edit([textEdit(line.id, at, chosen.count || over, chars)], { line: line.id, at: at + chars.length });
}

export function takeCandidate(session: Session, number: number): boolean {
  const { cursor, char } = session;
  const candidate = char?.candidates[number - 1]?.[0];
  if (!cursor || !candidate) return false;
  return session.edit([textEdit(cursor.line, cursor.at, 1, toChars(candidate))], cursor);
}

/** The character at the cursor is right: its doubt goes, and the cursor to the next one. */
export function confirm(session: Session): boolean {
  const { cursor, char } = session;
  if (cursor && char?.doubt) session.edit([textEdit(cursor.line, cursor.at, 1, [char.text])], cursor);
  return toDoubt(session, 1);
}

export function toDoubt(session: Session, by: 1 | -1): boolean {
  const place = stepDoubt(session.shown, session.cursor, by);
  if (place) session.moveTo(place);
  return place !== null;
}

/** The selection, or one character: at the cursor, or before it. */
export function erase(session: Session, before: boolean): boolean {
  const { line, cursor } = session;
  if (!line || !cursor) return false;
  const chosen = selected(session.anchor, cursor);
  const at = chosen.count ? chosen.at : cursor.at - (before ? 1 : 0);
  const count = chosen.count || 1;
  if (at < 0 || at + count > line.chars.length) return false;
  return session.edit([textEdit(line.id, at, count, [])], { line: line.id, at });
}

export function selectedText(session: Session): string {
  const { line, cursor } = session;
  if (!line || !cursor) return "";
  const { at, count } = selected(session.anchor, cursor);
  return line.chars.slice(at, at + (count || 1)).map((char) => char.text).join("");
}

export function split(session: Session): boolean {
  const { line, cursor } = session;
  if (!line || !cursor || cursor.at < 1 || cursor.at >= line.chars.length) return false;
  const newLine = newLineId();
  return session.edit([{ op: "split", line: line.id, at: cursor.at, newLine }], { line: newLine, at: 0 });
}

export function join(session: Session): boolean {
  const { line } = session;
  const next = line && session.shown.lines[lineIndex(session.shown, line.id) + 1];
  if (!line || !next) return false;
  return session.edit([{ op: "join", line: line.id, next: next.id }], { line: line.id, at: line.chars.length });
}

export function removeLine(session: Session): boolean {
  const { line } = session;
  if (!line) return false;
  const { lines } = session.shown;
  const index = lineIndex(session.shown, line.id);
  const other = lines[index + 1] ?? lines[index - 1];
  return session.edit([{ op: "delete", line: line.id }], other ? { line: other.id, at: 0 } : null);
}

/** The line at the cursor one place earlier or later in reading order. */
export function shift(session: Session, by: 1 | -1): boolean {
  const { line } = session;
  if (!line) return false;
  const { lines } = session.shown;
  const index = lineIndex(session.shown, line.id) + by;
  if (index < 0 || index >= lines.length) return false;
  const before = lines[by > 0 ? index + 1 : index]?.id ?? null;
  return session.edit([{ op: "move", line: line.id, before }]);
}

const change = (line: LineData, changes: { box?: Box; kind?: Kind; direction?: Direction }): Edit =>
  ({ op: "line", line: line.id, box: null, points: null, kind: null, direction: null, ...changes });

export const setKind = (session: Session, kind: Kind): boolean =>
  !!session.line && session.line.kind !== kind && session.edit([change(session.line, { kind })]);

export const setDirection = (session: Session, direction: Direction): boolean =>
  !!session.line && session.line.direction !== direction && session.edit([change(session.line, { direction })]);

export const nextKind = (session: Session): boolean =>
  !!session.line && setKind(session, KINDS[(KINDS.indexOf(session.line.kind) + 1) % KINDS.length]!);

export const nextDirection = (session: Session): boolean =>
  !!session.line &&
  setDirection(session, DIRECTIONS[(DIRECTIONS.indexOf(session.line.direction) + 1) % DIRECTIONS.length]!);

export function setBox(session: Session, id: string, box: Box): boolean {
  const line = findLine(session.shown, id);
  // The outline was that of the old box: moved and stretched with it, it still follows the ink about as well.
  return !!line && session.edit([change(line, { box })]);
}

/** A new line without text, behind the current one in the order. */
export function addLine(session: Session, box: Box): Place | null {
  const { line } = session;
  const { lines } = session.shown;
  const before = line ? (lines[lineIndex(session.shown, line.id) + 1]?.id ?? null) : null;
  const upright = box[3] - box[1] >= box[2] - box[0];
  const like = line && isVertical(line.direction) === upright ? line.direction : undefined;
  const fresh: LineData = {
    id: newLineId(), box, points: null, kind: line?.kind ?? "main", text: "", chars: [], confidence: null,
    direction: like ?? (upright ? "top-to-bottom" : "left-to-right"), column: null, row: null,
  };
  const to = { line: fresh.id, at: 0 };
  return session.edit([{ op: "add", line: fresh, before }], to) ? to : null;
}

/** Where a new line goes that nobody draws: beside the current one, else in the middle of the page. */
export function freeBox(session: Session): Box {
  const { line, shown } = session;
  if (line) return besides(line, shown);
  return [shown.width * 0.45, shown.height * 0.2, shown.width * 0.55, shown.height * 0.8];
}

export function moveBy(session: Session, by: 1 | -1, extend: boolean): boolean {
  if (!session.cursor) return false;
  const { line } = session;
  // A selection stays in its line, and may reach behind its last character.
  const within = extend && line ? Math.min(Math.max(session.cursor.at + by, 0), line.chars.length) : null;
  session.moveTo(within === null ? step(session.shown, session.cursor, by) : { line: line!.id, at: within }, extend);
  return true;
}

const newLineId = (): string => `e${newId().slice(0, 10)}`;
