/** The scan: OpenSeadragon shows its tiles, whatever its size; what is drawn over it lies in `Overlay`. */

import OpenSeadragon from "openseadragon";

import { placeAt } from "./cursor";
import { lineAt } from "./geometry";
import type { Place } from "./history";
import { Overlay } from "./overlay";
import { getTiles } from "./server";
import type { Session } from "./session";
import { tileSource } from "./tiles";
import type { Box, Point, Tiles } from "./types";

/** Tiles kept, 1 MB each: twice what the screen can show, so that a step back finds them. */
const MOST_TILES = Math.max(24, Math.ceil((2 * screen.width * screen.height * devicePixelRatio ** 2) / 512 ** 2));
const KEYS = new Set(["ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight", "+", "-", "=", "0"]);

export class Scan {
  readonly overlay: Overlay;
  readonly viewer: OpenSeadragon.Viewer;
  tiles: Tiles | null = null;
  private opening = 0;
  private size = "";

  constructor(private readonly session: Session, readonly element: HTMLElement, onPlace: () => void) {
    // OpenSeadragon would add a style sheet for telephones, which the page's content security policy refuses, unless
    // it finds that it did so already: this element has the sheet's name and is none.
    const mark = document.createElementNS(null, "style");
    mark.setAttribute("data-openseadragon-mobile-css", "true");
    document.head.append(mark);
    this.viewer = OpenSeadragon({
      element,
      drawer: "canvas",
      showNavigationControl: false,
      showNavigator: false,
      maxImageCacheCount: MOST_TILES,
      maxZoomPixelRatio: 6,
      minZoomImageRatio: 0.5,
      visibilityRatio: 0.3,
      animationTime: 0.25,
      springStiffness: 12,
      gestureSettingsMouse: { clickToZoom: false, dblClickToZoom: false },
      gestureSettingsTouch: { clickToZoom: false, dblClickToZoom: false },
    });
    this.overlay = new Overlay(session, this.viewer);
    this.viewer.addHandler("canvas-click", (event) => {
      if (event.quick && this.point(this.imagePoint(event.position), 12)) onPlace();
    });
    this.viewer.addHandler("canvas-key", (event) => {
      const { key } = event.originalEvent as unknown as KeyboardEvent;
      event.preventDefaultAction = !KEYS.has(key);
    });
    element.addEventListener("pointermove", (event) => this.hover(event));
    element.addEventListener("pointerleave", () => session.point(null));
    session.on("open", () => void this.open());
    // A page that was read may lie another way up than before.
    session.on("page", ({ width, height }) => this.size !== `${width} ${height}` && void this.open());
    session.on("cursor", () => this.follow());
  }

  /** Fetch the list of tiles again: another page, or another way up. */
  async open(): Promise<void> {
    const mine = ++this.opening;
    const { number, shown } = this.session;
    this.size = `${shown.width} ${shown.height}`;
    this.viewer.close();
    this.tiles = null;
    const tiles = await getTiles(number).catch(() => null);
    if (mine !== this.opening || !tiles) return;
    this.tiles = tiles;
    this.viewer.open(tileSource(number, tiles) as never);
    this.viewer.addOnceHandler("open", () => this.overlay.align());
  }

  /** Zoom by this factor; the framed character stays where it is, if it is in sight. */
  zoom(factor: number): void {
    const { viewport } = this.viewer;
    if (!viewport || !this.viewer.world.getItemCount()) return;
    const box = this.session.char?.box;
    const middle = box && viewport.imageToViewportRectangle(box[0], box[1], box[2] - box[0], box[3] - box[1]).getCenter();
    viewport.zoomBy(factor, middle && viewport.getBounds(false).containsPoint(middle) ? middle : undefined);
    viewport.applyConstraints();
  }

  fit(): void {
    this.viewer.viewport?.goHome();
  }

  pan(x: number, y: number): void {
    if (!this.tiles) return;
    const { viewport } = this.viewer;
    const size = viewport.getContainerSize();
    viewport.panBy(viewport.deltaPointsFromPixels(new OpenSeadragon.Point((x * size.x) / 6, (y * size.y) / 6)));
    viewport.applyConstraints();
  }

  /** The pixel of the page under a place of the viewer. */
  imagePoint(position: OpenSeadragon.Point): Point {
    if (!this.viewer.world.getItemCount()) return [-1, -1];
    const { x, y } = this.viewer.viewport.viewerElementToImageCoordinates(position);
    return [x, y];
  }

  eventPoint(event: PointerEvent): Point {
    const box = this.element.getBoundingClientRect();
    return this.imagePoint(new OpenSeadragon.Point(event.clientX - box.left, event.clientY - box.top));
  }

  /** Screen pixels of one pixel of the page. */
  scale(): number {
    if (!this.viewer.world.getItemCount()) return 1;
    return this.viewer.viewport.viewportToImageZoom(this.viewer.viewport.getZoom(true));
  }

  private placeAt(point: Point, slack: number): Place | null {
    const line = lineAt(this.session.shown.lines, point, slack / this.scale());
    return line && placeAt(line, point);
  }

  private point(point: Point, slack: number): boolean {
    const place = this.placeAt(point, slack);
    if (place) this.session.moveTo(place);
    return place !== null;
  }

  private hover(event: PointerEvent): void {
    if (event.pointerType === "mouse" && !event.buttons) this.session.point(this.placeAt(this.eventPoint(event), 2));
  }

  /** Where the frame is out of sight, bring it in; the zoom stays. */
  private follow(): void {
    const box = this.session.char?.box ?? this.session.line?.box;
    if (box && this.viewer.world.getItemCount()) this.show(box);
  }

  private show(box: Box): void {
    const { viewport } = this.viewer;
    const wanted = viewport.imageToViewportRectangle(box[0], box[1], box[2] - box[0], box[3] - box[1]);
    const seen = viewport.getBounds(false);
    const outside = (low: number, high: number, from: number, size: number) =>
      low < from + size * 0.04 || high > from + size * 0.96;
    const x = outside(wanted.x, wanted.x + wanted.width, seen.x, seen.width);
    const y = outside(wanted.y, wanted.y + wanted.height, seen.y, seen.height);
    if (!x && !y) return;
    const middle = wanted.getCenter();
    const now = seen.getCenter();
    viewport.panTo(new OpenSeadragon.Point(x ? middle.x : now.x, y ? middle.y : now.y));
    viewport.applyConstraints();
  }
}
