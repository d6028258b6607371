/** The machine's reading beside the corrected one: line by line, what differs marked in both. */

import { openDialog } from "./dialog";
import { h } from "./dom";
import type { LineData, PageData } from "./types";
import { say } from "./words";

export type Piece = [text: string, changed: boolean];

/** Two texts in pieces, what they share and what not: by the longest common subsequence. Pure. */
export function difference(old: readonly string[], fresh: readonly string[]): [Piece[], Piece[]] {
  const table = lengths(old, fresh);
  const [left, right]: [Piece[], Piece[]] = [[], []];
  let [i, j] = [0, 0];
  while (i < old.length || j < fresh.length) {
    if (i < old.length && j < fresh.length && old[i] === fresh[j]) {
      put(left, old[i++]!, false);
      put(right, fresh[j++]!, false);
    } else if (j >= fresh.length || (i < old.length && table[i + 1]![j]! >= table[i]![j + 1]!)) put(left, old[i++]!, true);
    else put(right, fresh[j++]!, true);
  }
  return [left, right];
}

function lengths(old: readonly string[], fresh: readonly string[]): number[][] {
  const table = Array.from({ length: old.length + 1 }, () => new Array<number>(fresh.length + 1).fill(0));
  for (let i = old.length - 1; i >= 0; i--)
    for (let j = fresh.length - 1; j >= 0; j--)
      table[i]![j] = old[i] === fresh[j] ? table[i + 1]![j + 1]! + 1 : Math.max(table[i + 1]![j]!, table[i]![j + 1]!);
  return table;
}

function put(pieces: Piece[], text: string, changed: boolean): void {
  const last = pieces.at(-1);
  if (last && last[1] === changed) last[0] += text;
  else pieces.push([text, changed]);
}

/** A text with its changed pieces marked. */
export const marked = (pieces: Piece[]): HTMLElement =>
  h("span", { class: "marked", lang: "zh-Hant" }, ...pieces.map(([text, changed]) => (changed ? h("mark", {}, text) : text)));

export function openCompare(machine: PageData | null, page: PageData, go: (line: string) => void): void {
  if (!machine) {
    openDialog("compare", "compare", h("p", {}, say("noMachine")));
    return;
  }
  const before = new Map(machine.lines.map((line) => [line.id, line]));
  const now = new Map(page.lines.map((line) => [line.id, line]));
  const ids = [...now.keys(), ...[...before.keys()].filter((id) => !now.has(id))];
  const rows = ids.flatMap((id) => row(before.get(id), now.get(id), () => {
    dialog.close();
    if (now.has(id)) go(id);
  }));
  const head = h("tr", {}, ...(["machineReading", "corrected"] as const).map((word) => h("th", { scope: "col" }, say(word))));
  const table = h("table", {}, h("thead", {}, head), h("tbody", {}, ...rows));
  const dialog = openDialog("compare", "compare", h("div", { class: "sheets", tabindex: 0 }, rows.length ? table : h("p", {}, say("same"))));
}

function row(before: LineData | undefined, now: LineData | undefined, go: () => void): HTMLElement[] {
  if (before?.text === now?.text) return [];
  const chars = (line: LineData | undefined) => line?.chars.map((char) => char.text) ?? [];
  const [left, right] = difference(chars(before), chars(now));
  const jump = h("button", { type: "button", class: "jump", onclick: go }, now ? marked(right) : say("gone"));
  return [h("tr", {}, h("td", {}, before ? marked(left) : "—"), h("td", {}, jump))];
}
