/** Where the cursor goes: pure functions from a page and a place to a place. */

import { centre, isVertical, nearestChar } from "./geometry";
import { findLine, lineIndex } from "./edits";
import type { CharData, LineData, PageData, Point } from "./types";
import type { Place } from "./history";

export const charAt = (page: PageData, place: Place | null): CharData | undefined =>
  place ? findLine(page, place.line)?.chars[place.at] : undefined;

/** The place, if the page still has it; else the nearest that it has. */
export function settle(page: PageData, place: Place | null): Place | null {
  const line = place && findLine(page, place.line);
  if (line) return { line: line.id, at: Math.min(place.at, line.chars.length) };
  const first = page.lines[0];
  return first ? { line: first.id, at: 0 } : null;
}

/** One character on or back, over the ends of lines; `ends` stops behind the last character, too. */
export function step(page: PageData, place: Place, by: 1 | -1): Place {
  const index = lineIndex(page, place.line);
  const line = page.lines[index]!;
  const at = place.at + by;
  if (at >= 0 && at < Math.max(line.chars.length, 1)) return { line: line.id, at };
  if (by > 0 && at === line.chars.length && index === page.lines.length - 1) return { line: line.id, at };
  const next = page.lines[index + by];
  if (!next) return place;
  return { line: next.id, at: by > 0 ? 0 : Math.max(next.chars.length - 1, 0) };
}

/** The line before or behind in reading order, as near as can be to where the cursor is on the page. */
export function stepLine(page: PageData, place: Place, by: 1 | -1): Place {
  const next = page.lines[lineIndex(page, place.line) + by];
  if (!next) return place;
  return { line: next.id, at: besideOf(page, place, next) };
}

function besideOf(page: PageData, place: Place, next: LineData): number {
  const line = findLine(page, place.line)!;
  const here = line.chars[Math.min(place.at, line.chars.length - 1)];
  if (!here) return 0;
  const axis = isVertical(next.direction) ? 1 : 0;
  const from = centre(here.box)[axis];
  let best = 0;
  next.chars.forEach((char, at) => {
    const away = (other: CharData) => Math.abs(centre(other.box)[axis] - from);
    if (away(char) < away(next.chars[best]!)) best = at;
  });
  return best;
}

/** The next doubtful character in this direction, round the page's end; null where there is none. */
export function stepDoubt(page: PageData, place: Place | null, by: 1 | -1): Place | null {
  const doubts = doubtsOf(page);
  if (!doubts.length) return null;
  if (!place) return by > 0 ? doubts[0]! : doubts.at(-1)!;
  const order = new Map(page.lines.map((line, n) => [line.id, n]));
  const rank = (one: Place) => (order.get(one.line) ?? 0) * 1e6 + one.at;
  const here = rank(place);
  if (by > 0) return doubts.find((one) => rank(one) > here) ?? doubts[0]!;
  return doubts.findLast((one) => rank(one) < here) ?? doubts.at(-1)!;
}

export function doubtsOf(page: PageData): Place[] {
  return page.lines.flatMap((line) =>
    line.chars.flatMap((char, at) => (char.doubt ? [{ line: line.id, at }] : [])));
}

/** The place of the character nearest to a point of the scan. */
export function placeAt(line: LineData, point: Point): Place {
  return { line: line.id, at: nearestChar(line, point) ?? 0 };
}

/** The characters between two places of one line, in order; of two lines those of the cursor's alone. */
export function selected(anchor: Place | null, cursor: Place): { at: number; count: number } {
  if (!anchor || anchor.line !== cursor.line) return { at: cursor.at, count: 0 };
  const [low, high] = anchor.at < cursor.at ? [anchor.at, cursor.at] : [cursor.at, anchor.at];
  return { at: low, count: high - low };
}
