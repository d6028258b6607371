/** Two changed one line: both texts are shown, and nothing is thrown away before someone chose. */

import { difference, marked } from "./compare";
import { button, openDialog } from "./dialog";
import { h } from "./dom";
import { toChars, touched } from "./edits";
import type { Waiting } from "./outbox";
import type { Conflict, Edit, LineData, PageData } from "./types";
import { say } from "./words";

/** The lines that both changed: where an edit of mine needs one of them, all lines of that edit. Pure. */
export function disputed(mine: readonly Edit[], others: readonly Edit[]): Set<string> {
  const theirs = new Set<string>();
  for (const edit of others) {
    const ids = touched(edit);
    if (!ids) return new Set(mine.flatMap((one) => touched(one) ?? []));
    ids.forEach((id) => theirs.add(id));
  }
  const found = new Set<string>();
  for (let size = -1; size < found.size;) {
    size = found.size;
    for (const edit of mine) {
      const ids = touched(edit) ?? [];
      if (ids.some((id) => theirs.has(id) || found.has(id))) ids.forEach((id) => found.add(id));
    }
  }
  return found;
}

/** The edits that set the disputed lines of the server's page to mine. Pure. */
export function insist(page: PageData, lines: Record<string, LineData | null>, ids: Iterable<string>): Edit[] {
  const edits: Edit[] = [];
  for (const id of ids) {
    const theirs = page.lines.find((line) => line.id === id);
    const mine = lines[id] ?? null;
    if (mine && theirs) edits.push({ op: "set", line: mine });
    else if (mine) edits.push({ op: "add", line: mine, before: null });
    else if (theirs) edits.push({ op: "delete", line: id });
  }
  return edits;
}

/** What of mine is in nobody's way. */
export const undisputed = (mine: readonly Edit[], ids: Set<string>): Edit[] =>
  mine.filter((edit) => !touched(edit)?.some((id) => ids.has(id)));

/** Ask which text shall stand; resolves to the edits that make it so. Closing the dialog decides nothing. */
export function askWhich(mine: Waiting, { page, others }: Conflict): Promise<Edit[] | null> {
  const ids = disputed(mine.edits, others.flatMap((record) => record.edits as Edit[]));
  const lines = [...(ids.size ? ids : Object.keys(mine.lines))];
  const rest = undisputed(mine.edits, new Set(lines));
  const last = others.at(-1);
  const time = last ? new Date(last.time).toLocaleTimeString() : "";
  const note = say("conflictNote", { who: last?.who || say("someone"), time });
  const head = h("tr", {}, ...(["theirs", "mine"] as const).map((word) => h("th", { scope: "col" }, say(word))));
  const rows = lines.map((id) => row(page.lines.find((line) => line.id === id), mine.lines[id] ?? null));
  const table = h("table", {}, h("thead", {}, head), h("tbody", {}, ...rows));
  return new Promise((resolve) => {
    const choose = (edits: Edit[] | null) => () => {
      resolve(edits);
      dialog.close();
    };
    const buttons = h("div", { class: "buttons" },
      button("keepTheirs", choose(rest)), button("useMine", choose([...rest, ...insist(page, mine.lines, lines)]), "strong"));
    const dialog = openDialog("conflict", "conflict", h("p", {}, note), h("div", { class: "sheets", tabindex: 0 }, table), buttons);
    dialog.addEventListener("close", () => resolve(null));
  });
}

function row(theirs: LineData | undefined, mine: LineData | null): HTMLElement {
  const [left, right] = difference(toChars(theirs?.text ?? ""), toChars(mine?.text ?? ""));
  return h("tr", {}, h("td", {}, theirs ? marked(left) : say("gone")), h("td", {}, mine ? marked(right) : say("gone")));
}
