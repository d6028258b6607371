/** Lines are drawn and their corners dragged here, with the pointer or with the arrow keys. */

import { addLine, freeBox, setBox as setLineBox } from "./actions";
import { setAll, svg } from "./dom";
import { tidy } from "./geometry";
import { setBox } from "./overlay";
import type { Scan } from "./scan";
import type { Session } from "./session";
import type { Box, Point } from "./types";

type Mode = "off" | "draw" | "corners";

/** Corners and sides: which of the box's four numbers each handle moves. */
const HANDLES: [number | null, number | null][] = [
  [0, 1], [2, 1], [2, 3], [0, 3], [0, null], [2, null], [null, 1], [null, 3],
];

export class Boxes {
  mode: Mode = "off";
  private box: Box | null = null;
  private line: string | null = null;
  private readonly rect = svg("rect", { class: "new-frame", hidden: true });
  private readonly handles = HANDLES.map(() => svg("rect", { class: "handle", hidden: true }));

  constructor(
    private readonly session: Session, private readonly scan: Scan, private readonly onMode: (mode: Mode) => void,
  ) {
    scan.overlay.group.append(this.rect, ...this.handles);
    const { root } = scan.overlay;
    // The viewer must not pan while a box is drawn: it hears of these pointers only when no mode is on.
    for (const type of ["pointerdown", "pointermove", "pointerup", "click", "dblclick"] as const) {
      root.addEventListener(type, (event) => this.mode !== "off" && event.stopPropagation());
    }
    root.addEventListener("pointerdown", (event) => this.press(event));
    this.handles.forEach((handle, n) => handle.addEventListener("pointerdown", (event) => this.grab(event, n)));
    session.on("open", () => this.set("off"));
    session.on("page", () => this.refresh());
    session.on("cursor", () => this.refresh());
    scan.viewer.addHandler("update-viewport", () => this.place());
  }

  toggle(mode: Exclude<Mode, "off">): void {
    this.set(this.mode === mode ? "off" : mode);
  }

  private set(mode: Mode): void {
    this.mode = mode;
    this.scan.viewer.setMouseNavEnabled(mode === "off");
    this.scan.element.classList.toggle("editing", mode !== "off");
    this.scan.element.classList.toggle("drawing", mode === "draw");
    setBox(this.rect, null);
    this.refresh();
    this.onMode(mode);
  }

  /** A key while a mode is on; true where it was meant for the box. */
  key(event: KeyboardEvent): boolean {
    if (this.mode === "off") return false;
    if (event.key === "Escape" || (event.key === "Enter" && this.mode === "corners")) this.set("off");
    else if (event.key === "Enter") this.add(freeBox(this.session));
    else if (event.key.startsWith("Arrow") && this.mode === "corners") this.nudge(event);
    else return false;
    return true;
  }

  private nudge({ key, shiftKey, ctrlKey }: KeyboardEvent): void {
    if (!this.box || !this.line) return;
    const step = ctrlKey ? 1 : Math.max(1, Math.round(4 / this.scan.scale()));
    const x = key === "ArrowLeft" ? -step : key === "ArrowRight" ? step : 0;
    const y = key === "ArrowUp" ? -step : key === "ArrowDown" ? step : 0;
    const [x0, y0, x1, y1] = this.box;
    const box: Box = shiftKey ? [x0, y0, x1 + x, y1 + y] : [x0 + x, y0 + y, x1 + x, y1 + y];
    setLineBox(this.session, this.line, tidy(box, this.session.shown));
  }

  private add(box: Box): void {
    addLine(this.session, tidy(box, this.session.shown));
    this.set("corners");
  }

  /** Draw a new box, or move the whole line. */
  private press(event: PointerEvent): void {
    if (event.button > 0 || event.target !== this.scan.overlay.root) return;
    if (this.mode === "draw") this.drawFrom(event);
  }

  private drawFrom(event: PointerEvent): void {
    const [x, y] = this.scan.eventPoint(event);
    let box: Box = [x, y, x, y];
    this.drag(event, ([a, b]) => {
      box = [x, y, a, b];
      setBox(this.rect, tidy(box, this.session.shown));
    }, () => {
      const far = Math.max(Math.abs(box[2] - x), Math.abs(box[3] - y)) * this.scan.scale() > 8;
      if (far) this.add(box);
    });
  }

  private grab(event: PointerEvent, n: number): void {
    if (!this.box || !this.line) return;
    event.stopPropagation();
    const [horizontal, vertical] = HANDLES[n]!;
    const line = this.line;
    const box: Box = [...this.box];
    this.drag(event, ([x, y]) => {
      if (horizontal !== null) box[horizontal] = x;
      if (vertical !== null) box[vertical] = y;
      this.box = tidy(box, this.session.shown);
      setBox(this.rect, this.box);
      this.place();
    }, () => {
      setBox(this.rect, null);
      setLineBox(this.session, line, tidy(box, this.session.shown));
    });
  }

  private drag(event: PointerEvent, move: (point: Point) => void, end: () => void): void {
    const target = this.scan.overlay.root;
    target.setPointerCapture(event.pointerId);
    const onMove = (next: PointerEvent) => move(this.scan.eventPoint(next));
    const onEnd = () => {
      target.removeEventListener("pointermove", onMove);
      target.removeEventListener("pointerup", onEnd);
      target.removeEventListener("pointercancel", onEnd);
      end();
    };
    target.addEventListener("pointermove", onMove);
    target.addEventListener("pointerup", onEnd);
    target.addEventListener("pointercancel", onEnd);
  }

  private refresh(): void {
    const line = this.mode === "corners" ? this.session.line : undefined;
    this.box = line ? [...line.box] : null;
    this.line = line?.id ?? null;
    this.place();
  }

  /** The handles, of one size on the screen at every zoom. */
  private place(): void {
    const size = 11 / this.scan.scale();
    this.handles.forEach((handle, n) => {
      handle.toggleAttribute("hidden", !this.box);
      if (!this.box) return;
      const [horizontal, vertical] = HANDLES[n]!;
      const x = horizontal === null ? (this.box[0] + this.box[2]) / 2 : this.box[horizontal]!;
      const y = vertical === null ? (this.box[1] + this.box[3]) / 2 : this.box[vertical]!;
      setAll(handle, { x: x - size / 2, y: y - size / 2, width: size, height: size });
    });
  }
}
