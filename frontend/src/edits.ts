/**
 * An edit, applied to a page: pure, and the same arithmetic as tongguocr/proofread/edits.py, so that what is seen
 * at once is what the server writes. `invert` is made before an edit is applied, and takes it back.
 */

import { along, bounds, clip, height, isVertical, ordered, rescale, stretch, union, width } from "./geometry";
import type { Box, CharData, Direction, Edit, LineData, PageData, Point, TextEdit } from "./types";

/** Below it a character is doubtful; the server, which has more to go by, has the last word. */
const DOUBT = 0.8;
const MAX_CANDIDATES = 10;

/** An edit that does not fit the page: its line is gone, or shorter than it thought. */
export class EditError extends Error {}

export const textEdit = (line: string, at: number, count: number, insert: string[]): TextEdit =>
  ({ op: "text", line, at, count, insert, keep: false });

/** A string as characters, each with its combining marks and variation selectors; control characters go. */
export const toChars = (text: string): string[] =>
  text.replace(/[\p{Cc}\p{Cs}\u2028\u2029\ufffe\uffff]/gu, "").match(/\P{M}\p{M}*|^\p{M}+/gu) ?? [];

export function lineIndex(page: PageData, id: string): number {
  const index = page.lines.findIndex((line) => line.id === id);
  if (index < 0) throw new EditError(`line ${id} is gone`);
  return index;
}

export const findLine = (page: PageData, id: string): LineData | undefined =>
  page.lines.find((line) => line.id === id);

export function applyAll(page: PageData, edits: readonly Edit[]): PageData {
  return edits.reduce(applyEdit, page);
}

export function applyEdit(page: PageData, edit: Edit): PageData {
  const lines = [...page.lines];
  const replace = (id: string, change: (line: LineData) => LineData[]) => {
    const index = lineIndex(page, id);
    lines.splice(index, 1, ...change(page.lines[index]!));
  };
  const place = (line: LineData, before: string | null | undefined) => {
    const index = before == null ? lines.length : lines.findIndex((other) => other.id === before);
    if (index < 0) throw new EditError(`line ${before} is gone`);
    lines.splice(index, 0, line);
  };
  switch (edit.op) {
    case "text":
      replace(edit.line, (line) => [replaceChars(line, edit)]);
      break;
    case "line":
      replace(edit.line, (line) => [changeLine(page, line, edit)]);
      break;
    case "set":
      replace(edit.line.id, () => [spelled(page, edit.line)]);
      break;
    case "add":
      if (findLine(page, edit.line.id)) throw new EditError(`line ${edit.line.id} is there already`);
      place(spelled(page, edit.line), edit.before);
      break;
    case "delete":
      replace(edit.line, () => []);
      break;
    case "split":
      replace(edit.line, (line) => splitLine(line, edit.at, edit.newLine));
      break;
    case "join": {
      const next = page.lines[lineIndex(page, edit.next)]!;
      replace(edit.line, (line) => [joinLines(line, next)]);
      lines.splice(lines.findIndex((line) => line.id === edit.next), 1);
      break;
    }
    case "move": {
      const [line] = lines.splice(lineIndex(page, edit.line), 1);
      if (edit.before === edit.line) return page;
      place(line!, edit.before);
      break;
    }
    case "restore":
      return { ...page, lines: edit.lines.map((line) => spelled(page, line)) };
  }
  return { ...page, lines };
}

/** The edits that take `edit` back, for the page as it is before it. */
export function invert(page: PageData, edit: Edit): Edit[] {
  const line = (id: string) => page.lines[lineIndex(page, id)]!;
  const after = (id: string) => page.lines[lineIndex(page, id) + 1]?.id ?? null;
  switch (edit.op) {
    case "text":
    case "line":
      return [{ op: "set", line: line(edit.line) }];
    case "set":
      return [{ op: "set", line: line(edit.line.id) }];
    case "add":
      return [{ op: "delete", line: edit.line.id }];
    case "delete":
      return [{ op: "add", line: line(edit.line), before: after(edit.line) }];
    case "split":
      return [{ op: "delete", line: edit.newLine }, { op: "set", line: line(edit.line) }];
    case "join":
      return [{ op: "set", line: line(edit.line) }, { op: "add", line: line(edit.next), before: after(edit.next) }];
    case "move":
      return [{ op: "move", line: edit.line, before: after(edit.line) }];
    case "restore":
      return [{ op: "restore", lines: page.lines }];
  }
}

/** The lines that an edit changes or needs; null for all of them. */
export function touched(edit: Edit): string[] | null {
  switch (edit.op) {
    case "restore":
      return null;
    case "set":
    case "add":
      return [edit.line.id];
    case "split":
      return [edit.line, edit.newLine];
    case "join":
      return [edit.line, edit.next];
    default:
      return [edit.line];
  }
}

const textOf = (chars: readonly CharData[]): string => chars.map((char) => char.text).join("");

/** A line that comes in; a new one, without characters yet, is kept on the page, and its text spread over its box. */
function spelled(page: PageData, line: LineData): LineData {
  if (line.chars.length) return line;
  const box = clip(ordered(line.box), page);
  return withChars({ ...line, box }, spread(toChars(line.text), box, line.direction, line.confidence ?? null));
}

const withChars = (line: LineData, chars: CharData[]): LineData => ({ ...line, chars, text: textOf(chars) });

const settled = (text: string, box: Box, confidence: number | null = 1): CharData =>
  ({ text, box, confidence, candidates: [], picture: null, surprise: null, doubt: doubtful(confidence) });

const doubtful = (confidence: number | null): boolean => confidence !== null && confidence < DOUBT;

function replaceChars(line: LineData, { at, count, insert, keep }: TextEdit): LineData {
  const old = line.chars.slice(at, at + count);
  if (old.length < count) throw new EditError(`line ${line.id} is shorter than that`);
  const fresh = old.length === insert.length
    ? insert.map((text, n) => settled(text, old[n]!.box, keep ? (old[n]!.confidence ?? null) : 1))
    : spread(insert, freePlace(line, at, count), line.direction, keep ? leastSure(old) : 1);
  if (count === 1 && fresh.length === 1) fresh[0]!.candidates = candidates(old[0]!, insert[0]!);
  return withChars(line, [...line.chars.slice(0, at), ...fresh, ...line.chars.slice(at + count)]);
}

function leastSure(chars: readonly CharData[]): number {
  const known = chars.flatMap((char) => (char.confidence == null ? [] : [char.confidence]));
  return known.length ? Math.min(...known) : 1;
}

/** What else it may be: what stood there, and its candidates, without what stands there now. */
function candidates(old: CharData, text: string): [string, number][] {
  const listed = new Map<string, number>([[old.text, old.confidence ?? 0]]);
  for (const [other, share] of old.candidates) listed.set(other, share);
  listed.delete(text);
  return [...listed].slice(0, MAX_CANDIDATES);
}

/** Where new characters go: over those they replace; else between their neighbours. */
function freePlace(line: LineData, at: number, count: number): Box {
  const { direction, chars } = line;
  const extent = (char: CharData) => along(char.box, direction);
  if (count) {
    const ends = chars.slice(at, at + count).map(extent);
    return stretch(line.box, direction, Math.min(...ends.map((e) => e[0])), Math.max(...ends.map((e) => e[1])));
  }
  const [first, last] = along(line.box, direction);
  const before = at > 0 ? extent(chars[at - 1]!) : ([first, first] as const);
  const behind = at < chars.length ? extent(chars[at]!) : ([last, last] as const);
  let [start, end] = [before[1], behind[0]];
  if (end - start < (last - first) / Math.max(chars.length, 1) / 4) {
    // There is no gap: half of either neighbour is their place, too.
    [start, end] = [(before[0] + before[1]) / 2, (behind[0] + behind[1]) / 2];
  }
  return stretch(line.box, direction, Math.min(start, end), Math.max(start, end));
}

/** Characters in cells of equal length along a box. */
function spread(chars: string[], box: Box, direction: Direction, confidence: number | null): CharData[] {
  const [start, end] = along(box, direction);
  const cut = (n: number) => start + (n / chars.length) * (end - start);
  return chars.map((text, n) => settled(text, stretch(box, direction, cut(n), cut(n + 1)), confidence));
}

function changeLine(page: PageData, line: LineData, edit: Extract<Edit, { op: "line" }>): LineData {
  const outline = edit.points?.length ? (edit.points as Point[]) : null;
  const wanted = edit.box ? ordered(edit.box) : outline ? bounds(outline) : line.box;
  const changed = moveLine(line, clip(wanted, page));
  if (edit.points) changed.points = outline;
  if (edit.kind) changed.kind = edit.kind;
  if (edit.direction && edit.direction !== line.direction) {
    const cells = spread(line.chars.map((char) => char.text), changed.box, edit.direction, 1);
    changed.chars = changed.chars.map((char, n) => ({ ...char, box: cells[n]!.box }));
    changed.direction = edit.direction;
  }
  return changed;
}

/** The line in another box, its characters and outline moved and stretched with it. */
function moveLine(line: LineData, box: Box): LineData {
  const move = (old: Box): Box => rescale(old, line.box, box);
  const chars = line.chars.map((char) => ({ ...char, box: move(char.box) }));
  const points = line.points?.map(([x, y]): Point => move([x, y, x, y]).slice(0, 2) as Point) ?? null;
  return { ...line, box, chars, points };
}

/** Two lines: the box is cut midway between the characters around the place. */
function splitLine(line: LineData, at: number, newLine: string): LineData[] {
  if (at < 1 || at >= line.chars.length) throw new EditError(`line ${line.id} cannot be split there`);
  const { direction, chars } = line;
  const [start, end] = along(line.box, direction);
  const middle = (along(chars[at - 1]!.box, direction)[1] + along(chars[at]!.box, direction)[0]) / 2;
  const here = Math.min(Math.max(middle, start), end);
  const part = (id: string, from: number, to: number, own: CharData[]): LineData =>
    withChars({ ...line, id, box: stretch(line.box, direction, from, to), points: null }, own);
  return [part(line.id, start, here, chars.slice(0, at)), part(newLine, here, end, chars.slice(at))];
}

function joinLines(line: LineData, next: LineData): LineData {
  if (line.id === next.id) throw new EditError(`line ${line.id} cannot be joined to itself`);
  return withChars({ ...line, box: union([line.box, next.box]), points: null }, [...line.chars, ...next.chars]);
}

/** A place for a line beside another: to its left where it is a column, below where it is a row. */
export function besides(line: LineData, page: PageData): Box {
  const step = isVertical(line.direction) ? width(line.box) * 1.15 : height(line.box) * 1.15;
  const move = (x: number, y: number): Box => [line.box[0] + x, line.box[1] + y, line.box[2] + x, line.box[3] + y];
  if (!isVertical(line.direction)) return line.box[3] + step <= page.height ? move(0, step) : move(0, -step);
  return line.box[0] - step >= 0 ? move(-step, 0) : move(step, 0);
}
