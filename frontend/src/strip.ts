/** The line under the cursor, large, with its text beside it, each character at its place: the eye need not travel. */

import { h } from "./dom";
import { centre, height, isVertical, width } from "./geometry";
import { tileAddress } from "./server";
import type { Scan } from "./scan";
import type { Session } from "./session";
import { tintOf } from "./text_view";
import { fetchBitmap } from "./tiles";
import type { Box, LineData, Tiles } from "./types";

/** How thick the line is drawn, in pixels of the screen, and how much of its surroundings is seen. */
const THICKNESS = 72;
const MARGIN = 0.12;
const LONGEST = 12_000;
const KEPT_TILES = 8;

export class Strip {
  private readonly canvas = h("canvas");
  private readonly frame = h("div", { class: "strip-frame" });
  private readonly chars = h("div", { class: "strip-chars", lang: "zh-Hant" });
  private readonly roll = h("div", { class: "strip-roll" }, this.canvas, this.frame, this.chars);
  private readonly images = new Map<string, Promise<ImageBitmap | null>>();
  private drawn: LineData | null = null;
  private drawing = 0;
  private scheduled = false;

  constructor(private readonly session: Session, private readonly scan: Scan, private readonly pane: HTMLElement) {
    pane.append(this.roll);
    this.canvas.setAttribute("aria-hidden", "true");
    this.chars.setAttribute("aria-hidden", "true");
    session.on("open", () => [...this.images.keys()].forEach((address) => this.forget(address)));
    session.on("cursor", () => this.schedule());
    scan.viewer.addHandler("open", () => {
      this.drawn = null;
      this.show();
    });
    this.chars.addEventListener("pointerdown", (event) => {
      const at = (event.target as HTMLElement).dataset.at;
      if (at && this.drawn) session.moveTo({ line: this.drawn.id, at: Number(at) });
      event.preventDefault();
    });
  }

  /** The frame in the scan comes first: the strip is drawn behind that frame's paint, and once for many keys. */
  private schedule(): void {
    if (this.scheduled) return;
    this.scheduled = true;
    requestAnimationFrame(() => setTimeout(() => {
      this.scheduled = false;
      this.show();
    }));
  }

  private show(): void {
    const { line, cursor, char } = this.session;
    this.roll.hidden = !line;
    if (!line || !cursor) return;
    if (line !== this.drawn) this.draw(line);
    this.chars.querySelector(".cursor")?.classList.remove("cursor");
    const element = this.chars.children[cursor.at];
    element?.classList.add("cursor");
    this.frame.hidden = !char;
    if (char) this.mark(line, char.box);
  }

  private view(line: LineData): { box: Box; scale: number; upright: boolean } {
    const upright = isVertical(line.direction);
    const thick = Math.max(upright ? width(line.box) : height(line.box), 1);
    const long = Math.max(upright ? height(line.box) : width(line.box), 1);
    const margin = thick * MARGIN;
    const [x0, y0, x1, y1] = line.box;
    const box: Box = [x0 - margin, y0 - margin, x1 + margin, y1 + margin];
    return { box, scale: Math.min(THICKNESS / thick, LONGEST / long), upright };
  }

  private draw(line: LineData): void {
    const old = this.drawn;
    this.drawn = line;
    const { box, scale, upright } = this.view(line);
    this.pane.classList.toggle("lying", !upright);
    this.chars.replaceChildren(...line.chars.map((char, at) => {
      const element = h("span", { "data-at": at, class: tintOf(char) }, char.text);
      const [x, y] = centre(char.box);
      if (upright) element.style.top = `${(y - box[1]) * scale}px`;
      else element.style.left = `${(x - box[0]) * scale}px`;
      return element;
    }));
    // The same ink as before: only the text changed.
    if (old?.id !== line.id || old.box.some((value, n) => value !== line.box[n])) void this.paint(box, scale);
  }

  private mark(line: LineData, char: Box): void {
    const { box, scale, upright } = this.view(line);
    const { style } = this.frame;
    style.left = `${(char[0] - box[0]) * scale}px`;
    style.top = `${(char[1] - box[1]) * scale}px`;
    style.width = `${width(char) * scale}px`;
    style.height = `${height(char) * scale}px`;
    const [x, y] = centre(char);
    if (upright) this.pane.scrollTop = (y - box[1]) * scale - this.pane.clientHeight / 2;
    else this.pane.scrollLeft = (x - box[0]) * scale - this.pane.clientWidth / 2;
  }

  /** Draw the tiles that the line touches, of the level that is just fine enough. */
  private async paint(box: Box, scale: number): Promise<void> {
    const mine = ++this.drawing;
    const { tiles } = this.scan;
    const ratio = devicePixelRatio || 1;
    const [wide, high] = [width(box) * scale, height(box) * scale];
    this.canvas.style.width = `${wide}px`;
    this.canvas.style.height = `${high}px`;
    this.canvas.width = Math.min(Math.ceil(wide * ratio), LONGEST);
    this.canvas.height = Math.min(Math.ceil(high * ratio), LONGEST);
    if (!tiles) return;
    const pen = this.canvas.getContext("2d")!;
    const level = Math.min(Math.max(tiles.levels - 1 + Math.ceil(Math.log2(scale * ratio)), 0), tiles.levels - 1);
    const side = tiles.size * 2 ** (tiles.levels - 1 - level);
    const jobs = tilesOf(box, side, tiles).map(async ([column, row]) => {
      const image = await this.fetch(level, column, row, tiles.version);
      // One that was given back meanwhile has no width.
      if (!image?.width || mine !== this.drawing) return;
      const stretch = (scale * ratio * side) / tiles.size;
      pen.setTransform(stretch, 0, 0, stretch, (column * side - box[0]) * scale * ratio, (row * side - box[1]) * scale * ratio);
      pen.drawImage(image, 0, 0);
    });
    await Promise.all(jobs);
  }

  private forget(address: string): void {
    void this.images.get(address)?.then((image) => image?.close());
    this.images.delete(address);
  }

  private fetch(level: number, column: number, row: number, version: string): Promise<ImageBitmap | null> {
    const address = tileAddress(this.session.number, level, column, row, version);
    const known = this.images.get(address);
    if (known) return known;
    const loading = fetchBitmap(address).catch(() => null);
    this.images.set(address, loading);
    for (const oldest of this.images.keys()) if (this.images.size > KEPT_TILES) this.forget(oldest);
    return loading;
  }
}

function tilesOf(box: Box, side: number, { width: wide, height: high }: Tiles): [number, number][] {
  const range = (low: number, high: number, size: number) => {
    const first = Math.max(0, Math.floor(low / side));
    const last = Math.min(Math.ceil(size / side) - 1, Math.floor(high / side));
    return Array.from({ length: Math.max(0, last - first + 1) }, (_, n) => first + n);
  };
  return range(box[0], box[2], wide).flatMap((column) =>
    range(box[1], box[3], high).map((row): [number, number] => [column, row]));
}
