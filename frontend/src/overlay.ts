/** What is drawn over the scan: the frame of the character, its line, all lines, reading order. In page pixels. */

import OpenSeadragon from "openseadragon";

import { charAt } from "./cursor";
import { setAll, svg } from "./dom";
import { findLine } from "./edits";
import { along, centre, isVertical } from "./geometry";
import type { Place } from "./history";
import type { Session } from "./session";
import type { Box, LineData, PageData, Point } from "./types";

export class Overlay {
  readonly root = svg("svg", { class: "overlay", "aria-hidden": "true" });
  readonly group = svg("g");
  private readonly lines = svg("g", { class: "lines" });
  private readonly arrows = svg("g", { class: "arrows" });
  private readonly line = svg("rect", { class: "line-frame" });
  private readonly hover = svg("rect", { class: "hover-frame" });
  private readonly frame = svg("rect", { class: "char-frame" });
  private showsLines = false;
  private showsOrder = false;
  /** Screen pixels of a page pixel when the arrows were drawn: numbers and heads are as large at any zoom. */
  private arrowScale = 1;

  constructor(private readonly session: Session, private readonly viewer: OpenSeadragon.Viewer) {
    this.group.append(this.lines, this.arrows, this.line, this.hover, this.frame);
    this.root.append(this.group);
    viewer.canvas.append(this.root);
    viewer.addHandler("update-viewport", () => this.align());
    viewer.addHandler("open", () => this.align());
    viewer.addHandler("resize", () => this.align());
    session.on("page", (page) => this.draw(page));
    session.on("cursor", (place) => this.mark(place));
    session.on("hover", (place) => setBox(this.hover, this.boxOf(place)));
  }

  toggleLines(): boolean {
    this.showsLines = !this.showsLines;
    this.draw(this.session.shown);
    return this.showsLines;
  }

  toggleOrder(): boolean {
    this.showsOrder = !this.showsOrder;
    this.draw(this.session.shown);
    return this.showsOrder;
  }

  /** Put page pixels where the viewer has them. */
  align(): void {
    const { viewer } = this;
    this.group.toggleAttribute("hidden", !viewer.world.getItemCount());
    if (!viewer.world.getItemCount()) return;
    const at = (x: number) =>
      viewer.viewport.pixelFromPoint(viewer.viewport.imageToViewportCoordinates(new OpenSeadragon.Point(x, 0)), true);
    const [origin, far] = [at(0), at(1000)];
    const scale = (far.x - origin.x) / 1000;
    this.group.setAttribute("transform", `translate(${origin.x} ${origin.y}) scale(${scale})`);
    if (this.showsOrder && scale > 0 && Math.abs(Math.log(scale / this.arrowScale)) > 0.1) this.drawArrows(scale);
  }

  private boxOf(place: Place | null): Box | null {
    if (!place) return null;
    return charAt(this.session.shown, place)?.box ?? null;
  }

  private mark(place: Place | null): void {
    setBox(this.frame, this.boxOf(place));
    const line = place && findLine(this.session.shown, place.line);
    setBox(this.line, line?.box ?? null);
  }

  private draw(page: PageData): void {
    this.lines.replaceChildren(...(this.showsLines ? page.lines.map(outline) : []));
    this.drawArrows(this.arrowScale);
    if (this.showsOrder) this.align();
    this.mark(this.session.cursor);
  }

  private drawArrows(scale: number): void {
    this.arrowScale = scale;
    this.arrows.replaceChildren(...(this.showsOrder ? orderArrows(this.session.shown, 1 / scale) : []));
  }
}

export function setBox(element: SVGRectElement, box: Box | null): void {
  element.toggleAttribute("hidden", !box);
  if (box) setAll(element, { x: box[0], y: box[1], width: box[2] - box[0], height: box[3] - box[1] });
}

function outline(line: LineData): SVGElement {
  const corners: Point[] = [
    [line.box[0], line.box[1]], [line.box[2], line.box[1]], [line.box[2], line.box[3]], [line.box[0], line.box[3]],
  ];
  const points = (line.points ?? corners).map((point) => point.join(",")).join(" ");
  return svg("polygon", { points, class: line.kind });
}

/** An arrow along each line with its number, and thin ones from its end to the next; `pixel` is one of the screen. */
function orderArrows(page: PageData, pixel: number): SVGElement[] {
  const elements: SVGElement[] = [];
  const numbers: SVGElement[] = [];
  let before: Point | null = null;
  page.lines.forEach((line, n) => {
    const [start, end] = axis(line);
    if (before) elements.push(arrow(before, start, "step", pixel));
    elements.push(arrow(start, end, "way", pixel));
    const label = svg("text", { x: start[0], y: start[1], "font-size": 12 * pixel, "stroke-width": 3 * pixel });
    label.textContent = String(n + 1);
    numbers.push(label);
    before = end;
  });
  return [...elements, ...numbers];
}

/** The middle of a line's beginning and of its end. */
function axis(line: LineData): [Point, Point] {
  const [x, y] = centre(line.box);
  const [start, end] = along(line.box, line.direction).map(Math.abs) as [number, number];
  return isVertical(line.direction) ? [[x, start], [x, end]] : [[start, y], [end, y]];
}

function arrow([x0, y0]: Point, [x1, y1]: Point, kind: string, pixel: number): SVGElement {
  const length = Math.hypot(x1 - x0, y1 - y0) || 1;
  const size = Math.min(length / 3, 10 * pixel);
  const [dx, dy] = [((x1 - x0) / length) * size, ((y1 - y0) / length) * size];
  const head = `M${x1 - dx - dy / 2} ${y1 - dy + dx / 2}L${x1} ${y1}L${x1 - dx + dy / 2} ${y1 - dy - dx / 2}`;
  return svg("path", { d: `M${x0} ${y0}L${x1} ${y1}${head}`, class: kind });
}
