/** The pages of the book with their progress. Of a thousand only those in sight are in the document. */

import type { App } from "./app";
import { byId, h } from "./dom";
import { thumbnailAddress } from "./server";
import type { PageEntry } from "./types";
import { say } from "./words";

const HEIGHT = 172;
const AROUND = 3;

export class Thumbnails {
  private readonly pane = byId("pages");
  private readonly roll = h("ul", { class: "roll" });
  private readonly summary = h("p", { class: "summary" });
  private readonly list = h("div", { class: "thumbnails" }, this.roll);
  private readonly items = new Map<number, { entry: PageEntry; current: boolean; element: HTMLElement }>();

  constructor(private readonly app: App) {
    this.pane.append(this.summary, this.list);
    this.list.addEventListener("scroll", () => this.draw(), { passive: true });
    new ResizeObserver(() => this.draw()).observe(this.list);
    app.session.on("open", () => this.reveal());
    this.draw();
  }

  /** The book changed: progress, doubts, states. */
  draw(): void {
    const { pages } = this.app.book;
    this.roll.style.height = `${pages.length * HEIGHT}px`;
    const first = Math.max(0, Math.floor(this.list.scrollTop / HEIGHT) - AROUND);
    const last = Math.min(pages.length, Math.ceil((this.list.scrollTop + this.list.clientHeight) / HEIGHT) + AROUND);
    for (const [n, item] of this.items) {
      if (n >= first && n < last) continue;
      item.element.remove();
      this.items.delete(n);
    }
    for (let n = first; n < last; n++) this.drawItem(n, pages[n]!);
    this.summarise();
  }

  private drawItem(n: number, entry: PageEntry): void {
    const current = entry.number === this.app.session.number;
    const known = this.items.get(n);
    if (known?.entry === entry && known.current === current) return;
    const element = this.item(n, entry, current);
    if (known) known.element.replaceWith(element);
    else this.insert(n, element);
    this.items.set(n, { entry, current, element });
  }

  /** Behind the items before it: the tab key goes through the pages in their order. */
  private insert(n: number, element: HTMLElement): void {
    const next = [...this.items].filter(([other]) => other > n).sort(([a], [b]) => a - b)[0];
    this.roll.insertBefore(element, next?.[1].element ?? null);
  }

  private item(n: number, entry: PageEntry, current: boolean): HTMLElement {
    const said = stateOf(entry);
    const image = h("img", { src: thumbnailAddress(entry.number), alt: "", loading: "lazy", decoding: "async" });
    const button = h(
      "button",
      { type: "button", class: "thumbnail", "aria-current": current ? "page" : null, title: entry.message ?? entry.name,
        onclick: () => this.choose(entry.number) },
      image, h("span", { class: "number" }, String(entry.number)),
      h("span", { class: `state ${entry.state}` }, said),
    );
    const element = h("li", {}, button);
    element.style.top = `${n * HEIGHT}px`;
    return element;
  }

  private choose(number: number): void {
    void this.app.goTo(number);
    // On a narrow screen the list lies over the page.
    if (getComputedStyle(this.pane).position === "fixed") this.app.toggleThumbnails();
  }

  private summarise(): void {
    const { pages } = this.app.book;
    const count = (state: PageEntry["state"]) => pages.filter((page) => page.state === state).length;
    const done = count("proofread");
    const waiting = count("unread") + count("reading");
    const reading = waiting > 0 && this.app.book.settings.canRead;
    const doubts = pages.reduce((sum, page) => sum + page.doubts, 0);
    const bar = h("progress", { max: pages.length, value: reading ? pages.length - waiting : done, "aria-label": say("progress", { done, total: pages.length }) });
    this.summary.replaceChildren(
      bar, h("span", {}, say("progress", { done, total: pages.length })), h("span", {}, say("doubtsLeft", { n: doubts })),
      ...(reading ? [h("span", {}, say("readingProgress", { n: waiting }))] : []),
    );
  }

  private reveal(): void {
    const top = (this.app.session.number - 1) * HEIGHT;
    const { scrollTop, clientHeight } = this.list;
    if (top < scrollTop || top + HEIGHT > scrollTop + clientHeight) this.list.scrollTop = top - clientHeight / 3;
    this.draw();
  }
}

function stateOf(entry: PageEntry): string {
  if (entry.state !== "read") return say(entry.state);
  return entry.doubts ? say("doubts", { n: entry.doubts }) : say("noDoubts");
}
