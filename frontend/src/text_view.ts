/** The text as the book has it: columns from the right (or rows), notes in two rows; only what changed is drawn anew. */

import { columnsOf, longest } from "./columns";
import type { Column } from "./columns";
import { selected } from "./cursor";
import { h } from "./dom";
import type { Place } from "./history";
import type { Session } from "./session";
import type { CharData, LineData, PageData } from "./types";
import { say } from "./words";

const NOTE_SCALE = 0.62;
/** Columns are so far apart, in characters. */
const COLUMN = 1.62;
const SMALLEST = 17;
/** To show all columns at once, characters do not become smaller than that. */
const COMFORTABLE = 21;
const LARGEST = 34;

export class TextView {
  horizontal = localStorage.getItem("tongguocr/rows") === "1";
  private scale = Number(localStorage.getItem("tongguocr/scale")) || 1;
  private readonly drawn = new Map<string, { data: LineData | null; element: HTMLElement }>();
  private shape = "";
  private columns: Column[] = [];
  private marked: HTMLElement[] = [];
  private hovered: HTMLElement | null = null;

  constructor(private readonly session: Session, readonly pane: HTMLElement, private readonly sheet: HTMLElement) {
    session.on("page", (page) => this.render(page));
    session.on("cursor", (place) => this.mark(place));
    session.on("hover", (place) => this.point(place));
    sheet.addEventListener("pointermove", (event) => session.point(this.placeOf(event)));
    sheet.addEventListener("pointerleave", () => session.point(null));
    pane.addEventListener("wheel", (event) => this.roll(event), { passive: true });
    new ResizeObserver(() => this.fit()).observe(pane);
    this.turn(this.horizontal);
  }

  /** A wheel turns towards the reader: on to the columns at the left, where nothing lies below. */
  private roll({ deltaX, deltaY, ctrlKey }: WheelEvent): void {
    const { scrollHeight, clientHeight } = this.pane;
    if (!this.horizontal && !deltaX && !ctrlKey && scrollHeight <= clientHeight + 1) this.pane.scrollBy(-deltaY, 0);
  }

  /** In rows, or in columns as in the book. */
  turn(horizontal: boolean): void {
    this.horizontal = horizontal;
    localStorage.setItem("tongguocr/rows", horizontal ? "1" : "0");
    this.pane.classList.toggle("rows", horizontal);
    this.fit();
    this.mark(this.session.cursor);
  }

  resize(factor: number): void {
    this.scale = Math.min(Math.max(this.scale * factor, 0.5), 3);
    localStorage.setItem("tongguocr/scale", String(this.scale));
    this.fit();
    this.mark(this.session.cursor);
  }

  /** The place of the character under the pointer; behind the last one of a line, its end. */
  placeOf(event: PointerEvent | MouseEvent): Place | null {
    const element = (event.target as Element).closest<HTMLElement>("[data-at]");
    const line = (event.target as Element).closest<HTMLElement>("[data-line]");
    if (!line) return null;
    const data = this.drawn.get(line.dataset.line!)?.data;
    return { line: line.dataset.line!, at: element ? Number(element.dataset.at) : (data?.chars.length ?? 0) };
  }

  elementAt(place: Place | null): HTMLElement | null {
    const line = place && this.drawn.get(place.line)?.element;
    return (line?.children[place!.at] as HTMLElement | undefined) ?? null;
  }

  private render(page: PageData): void {
    this.columns = columnsOf(page);
    const shape = JSON.stringify(this.columns.map((c) => [c.key, c.kind, c.parts.map((p) => p.map((l) => [l.id, l.kind]))]));
    if (shape !== this.shape) this.build(page);
    this.shape = shape;
    for (const line of page.lines) {
      const known = this.drawn.get(line.id)!;
      if (known.data === line) continue;
      spellOut(known.element, line);
      known.data = line;
    }
    this.fit();
  }

  private build(page: PageData): void {
    this.drawn.clear();
    this.marked = [];
    const total = page.lines.length;
    page.lines.forEach((line, n) => this.drawn.set(line.id, { data: null, element: lineElement(line, n, total) }));
    const element = (line: LineData) => this.drawn.get(line.id)!.element;
    const parts = (column: Column) =>
      column.parts.map((part) =>
        part.length > 1 ? h("span", { class: "pair" }, ...part.map(element)) : element(part[0]!));
    const sheet = this.columns.map((column) =>
      h("div", { class: `column ${column.kind}${column.across ? " across" : ""}` }, ...parts(column)));
    this.sheet.replaceChildren(...(sheet.length ? sheet : [h("p", { class: "empty" }, say("empty"))]));
  }

  /** Characters as large as lets the columns stand in the pane whole, within reason. */
  private fit(): void {
    const { clientWidth, clientHeight } = this.pane;
    const high = (clientHeight - 40) / (longest(this.columns, NOTE_SCALE) * 1.06);
    const wide = (clientWidth - 60) / (this.columns.length * COLUMN);
    const fitting = this.horizontal ? 24 : Math.min(high, Math.max(wide, COMFORTABLE));
    const size = Math.min(Math.max(Math.floor(fitting), SMALLEST), LARGEST) * this.scale;
    this.pane.style.setProperty("--size", `${size.toFixed(1)}px`);
    this.pane.style.setProperty("--note", String(NOTE_SCALE));
  }

  private mark(place: Place | null): void {
    for (const element of this.marked) element.classList.remove("cursor", "selected", "current");
    this.marked = [];
    const element = this.elementAt(place);
    if (!place || !element) return;
    const { at, count } = selected(this.session.anchor, place);
    const line = element.parentElement!;
    const chosen = [...line.children].slice(at, at + count) as HTMLElement[];
    for (const one of chosen) one.classList.add("selected");
    element.classList.add("cursor");
    line.classList.add("current");
    this.marked = [element, line, ...chosen];
    this.reveal(element);
  }

  /** Scroll as little as shows the character. */
  private reveal(element: HTMLElement): void {
    const pane = this.pane.getBoundingClientRect();
    const box = element.getBoundingClientRect();
    const margin = 48;
    const shift = (low: number, high: number, least: number, most: number) =>
      low < least + margin ? low - least - margin : high > most - margin ? high - most + margin : 0;
    const x = shift(box.left, box.right, pane.left, pane.right);
    const y = shift(box.top, box.bottom, pane.top, pane.bottom);
    if (x || y) this.pane.scrollBy(x, y);
  }

  private point(place: Place | null): void {
    this.hovered?.classList.remove("hover");
    this.hovered = this.elementAt(place);
    this.hovered?.classList.add("hover");
  }
}

function lineElement(line: LineData, n: number, total: number): HTMLElement {
  const title = `${say("lineOf", { n: n + 1, total })}, ${say(line.kind)}`;
  return h("span", { class: `line ${line.kind}`, "data-line": line.id, title, lang: "zh-Hant" });
}

/** One element for each character, and one for the line's end. Those that are there are used again: a thousand new
 * ones for every page that is turned would have to be thrown away. */
function spellOut(element: HTMLElement, line: LineData): void {
  const count = line.chars.length + 1;
  while (element.childElementCount > count) element.lastElementChild!.remove();
  for (let at = element.childElementCount; at < count; at++) element.append(h("span", { "data-at": at }, ""));
  line.chars.forEach((char, at) => write(element.children[at]!, char.text, tintOf(char)));
  write(element.children[count - 1]!, "\u200b", "end");
}

function write(element: Element, text: string, kind: string): void {
  if (element.textContent !== text) element.textContent = text;
  if (element.className !== kind) element.className = kind;
}

/** The class of a doubtful character: the less sure, the stronger its tint; `odd` where only the context doubts. */
export function tintOf(char: CharData): string {
  if (!char.doubt) return "";
  const sure = char.confidence ?? 1;
  return sure < 0.4 ? "doubt d3" : sure < 0.6 ? "doubt d2" : sure < 0.8 ? "doubt d1" : "doubt odd";
}
