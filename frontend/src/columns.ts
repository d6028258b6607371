/** Lines as the book has them: columns, in which the two rows of a note stand side by side. Pure. */

import { isVertical } from "./geometry";
import type { Kind, LineData, PageData } from "./types";

/** A stretch of a column: one line, or both rows of a note. */
export type Part = readonly LineData[];

export interface Column {
  key: string;
  kind: Exclude<Kind, "note"> ;
  /** Whether its lines lie across the columns of the page. */
  across: boolean;
  parts: Part[];
}

export function columnsOf(page: PageData): Column[] {
  const columns: Column[] = [];
  const known = new Map<string, Column>();
  for (let n = 0; n < page.lines.length; n++) {
    const line = page.lines[n]!;
    const key = line.column == null ? `line ${line.id}` : `column ${line.column}`;
    let column = known.get(key);
    if (!column) {
      const kind = line.kind === "note" ? "main" : line.kind;
      column = { key, kind, across: !isVertical(line.direction), parts: [] };
      known.set(key, column);
      columns.push(column);
    }
    const next = page.lines[n + 1];
    const pair = next && line.kind === "note" && line.row === 0 && next.kind === "note" && next.row === 1;
    column.parts.push(pair ? [line, next] : [line]);
    if (pair) n++;
  }
  return columns;
}

/** How many characters of main size the longest column has: two characters of a note count as one. */
export function longest(columns: readonly Column[], noteScale: number): number {
  const size = (part: Part) =>
    Math.max(...part.map((line) => line.chars.length)) * (part[0]!.kind === "main" ? 1 : noteScale);
  return Math.max(8, ...columns.map((column) => column.parts.reduce((sum, part) => sum + size(part), 0)));
}
