/** Search over the whole book; a hit opens its page with the cursor on the place. */

import { openDialog } from "./dialog";
import { h } from "./dom";
import type { Place } from "./history";
import { search } from "./server";
import type { Hits } from "./types";
import { say } from "./words";

const DELAY = 250;
const LIMIT = 200;
let last = "";

export function openSearch(go: (page: number, place: Place, length: number) => void): void {
  const text = h("input", { type: "search", "aria-label": say("searchFor"), value: last, lang: "zh-Hant" });
  const fold = h("input", { type: "checkbox" });
  const count = h("p", { role: "status", class: "count" });
  const list = h("ol", { class: "hits", tabindex: 0, "aria-label": say("search") });
  const form = h("form", { role: "search" }, text, h("label", {}, fold, say("foldVariants")));
  const dialog = openDialog("search", "search", form, count, list);
  let timer: number | undefined;
  let asked = 0;

  const ask = async () => {
    last = text.value;
    const mine = ++asked;
    const hits = last ? await search(last, fold.checked, LIMIT).catch(() => null) : null;
    if (mine !== asked) return;
    count.textContent = !last ? "" : countOf(hits);
    list.replaceChildren(...(hits?.hits ?? []).map(item));
  };
  const item = (hit: Hits["hits"][number]) =>
    h("li", {}, h("button", { type: "button", onclick: () => {
      dialog.close();
      go(hit.page, { line: hit.line, at: hit.start }, hit.length);
    } }, h("span", { class: "where" }, say("page", { n: hit.page })),
    h("span", { lang: "zh-Hant" }, hit.context[0], h("mark", {}, hit.context[1]), hit.context[2])));

  text.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(() => void ask(), DELAY);
  });
  // The browser would only empty the field.
  text.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || event.isComposing) return;
    event.preventDefault();
    dialog.close();
  });
  fold.addEventListener("change", () => void ask());
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    list.querySelector("button")?.focus();
  });
  text.focus();
  text.select();
  void ask();
}

function countOf(hits: Hits | null): string {
  if (!hits?.total) return say("noHits");
  const shown = hits.hits.length;
  return say("hits", { n: hits.total }) + (shown < hits.total ? `, ${say("firstHits", { n: shown })}` : "");
}
