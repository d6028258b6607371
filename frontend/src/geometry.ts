/** Boxes in page pixels, top left first: what the server computes for edited lines, in the same arithmetic. */

import type { Box, CharData, Direction, LineData, Point } from "./types";

export const isVertical = (direction: Direction): boolean =>
  direction === "top-to-bottom" || direction === "bottom-to-top";

export const width = (box: Box): number => box[2] - box[0];
export const height = (box: Box): number => box[3] - box[1];
export const centre = (box: Box): Point => [(box[0] + box[2]) / 2, (box[1] + box[3]) / 2];

export function union(boxes: readonly Box[]): Box {
  const [first, ...rest] = boxes as [Box, ...Box[]];
  return rest.reduce<Box>(
    (a, b) => [Math.min(a[0], b[0]), Math.min(a[1], b[1]), Math.max(a[2], b[2]), Math.max(a[3], b[3])],
    [...first],
  );
}

export const contains = (box: Box, [x, y]: Point): boolean =>
  box[0] <= x && x <= box[2] && box[1] <= y && y <= box[3];

/** How far a point lies outside of a box; 0 inside. */
export function distance(box: Box, [x, y]: Point): number {
  return Math.hypot(Math.max(box[0] - x, 0, x - box[2]), Math.max(box[1] - y, 0, y - box[3]));
}

/** Where a box begins and ends on the way of the text, growing as one reads. */
export function along([x0, y0, x1, y1]: Box, direction: Direction): [number, number] {
  switch (direction) {
    case "top-to-bottom": return [y0, y1];
    case "bottom-to-top": return [-y1, -y0];
    case "left-to-right": return [x0, x1];
    case "right-to-left": return [-x1, -x0];
  }
}

/** The box with another beginning and end on the way of the text, as `along` tells them. */
export function stretch([x0, y0, x1, y1]: Box, direction: Direction, start: number, stop: number): Box {
  switch (direction) {
    case "top-to-bottom": return [x0, start, x1, stop];
    case "bottom-to-top": return [x0, -stop, x1, -start];
    case "left-to-right": return [start, y0, stop, y1];
    case "right-to-left": return [-stop, y0, -start, y1];
  }
}

/** A box from any two opposite corners. */
export const ordered = ([x0, y0, x1, y1]: Box): Box =>
  [Math.min(x0, x1), Math.min(y0, y1), Math.max(x0, x1), Math.max(y0, y1)];

/** The box moved inside the page, where the page's size is known. */
export function clip(box: Box, page: { width: number; height: number }): Box {
  if (!page.width || !page.height) return box;
  const clamp = (value: number, most: number) => Math.min(Math.max(value, 0), most);
  return [clamp(box[0], page.width), clamp(box[1], page.height), clamp(box[2], page.width), clamp(box[3], page.height)];
}

export const bounds = (points: readonly Point[]): Box =>
  union(points.map(([x, y]): Box => [x, y, x, y]));

/** Where `box` lies once the rectangle `from` is moved and stretched to `to`. */
export function rescale(box: Box, from: Box, to: Box): Box {
  const x = (value: number) => to[0] + ((value - from[0]) * width(to)) / (width(from) || 1);
  const y = (value: number) => to[1] + ((value - from[1]) * height(to)) / (height(from) || 1);
  return [x(box[0]), y(box[1]), x(box[2]), y(box[3])];
}

/** A box as its corners were dragged: not inside out, inside of the page, at least `least` pixels each way. */
export function tidy(box: Box, page: { width: number; height: number }, least = 4): Box {
  const [x0, y0, x1, y1] = clip(ordered(box), page);
  const [left, top] = [Math.min(x0, page.width - least), Math.min(y0, page.height - least)];
  return [left, top, Math.max(x1, left + least), Math.max(y1, top + least)];
}

/** The character whose middle is nearest to a point, or null where the line has none. */
export function nearestChar(line: LineData, point: Point): number | null {
  let best: number | null = null;
  let least = Infinity;
  line.chars.forEach((char: CharData, at: number) => {
    const [x, y] = centre(char.box);
    const away = Math.hypot(x - point[0], y - point[1]) + 4 * distance(char.box, point);
    if (away < least) [best, least] = [at, away];
  });
  return best;
}

/** The line under a point: of several the smallest, as a note lies in the box of its column. */
export function lineAt(lines: readonly LineData[], point: Point, slack = 0): LineData | null {
  const size = (line: LineData) => width(line.box) * height(line.box);
  const near = lines.filter((line) => distance(line.box, point) <= slack);
  near.sort((a, b) => distance(a.box, point) - distance(b.box, point) || size(a) - size(b));
  return near[0] ?? null;
}
