/** Pages for the tests: columns from the right, ten pixels a character. */

import { toChars } from "../src/edits";
import type { LineData, PageData } from "../src/types";

export function column(n: number, text: string, doubts: number[] = []): LineData {
  const x = 100 - 20 * n;
  const chars = toChars(text).map((char, at) => ({
    text: char, box: [x, 10 * at, x + 10, 10 * at + 10] as [number, number, number, number],
    confidence: doubts.includes(at) ? 0.5 : 0.9, candidates: [["他", 0.25]] as [string, number][],
    picture: null, surprise: null, doubt: doubts.includes(at),
  }));
  return {
    id: `l${n}`, box: [x, 0, x + 10, 10 * chars.length], points: null, kind: "main", direction: "top-to-bottom",
    column: n, row: 0, text, confidence: 0.9, chars,
  };
}

export const page = (...texts: string[]): PageData =>
  ({ width: 120, height: 200, lines: texts.map((text, n) => column(n, text, [1])) });

export const texts = (of: PageData): string[] => of.lines.map((line) => line.text);
