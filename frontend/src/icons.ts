/** Drawings for buttons: paths on a field of 20 by 20, stroked with the colour of the text. */

import { svg } from "./dom";
import type { Word } from "./words";

const PATHS: Partial<Record<Word, string>> = {
  previousPage: "M12 4 6 10l6 6", nextPage: "m8 4 6 6-6 6",
  undo: "M7 4 3 8l4 4M3 8h8a5 5 0 0 1 0 10H8", redo: "m13 4 4 4-4 4m4-4H9a5 5 0 0 0 0 10h3",
  search: "M9 3a6 6 0 1 0 0 12A6 6 0 0 0 9 3m4.5 10.500L18 18", help: "M7 7a3 3 0 1 1 4 3c-1 .5-1 1.200-1 2m0 3v.5",
  thumbnails: "M3 3h5v6H3zM12 3h5v6h-5zM3 12h5v5H3zM12 12h5v5h-5z",
  split: "M10 2v5M10 13v5M3 10h14M7 5l3 3 3-3M7 15l3-3 3 3", join: "M10 1v7M10 19v-7M7 5l3 3 3-3M7 15l3-3 3 3",
  draw: "M4 3h7v14H4zM15 7v6M12 10h6", corners: "M5 5h10v10H5zM3 3h4v4H3zM13 3h4v4h-4zM13 13h4v4h-4zM3 13h4v4H3z",
  deleteLine: "M4 6h12M8 6V3h4v3M6 6l1 11h6l1-11", earlier: "M10 16V4M5 9l5-5 5 5", later: "M10 4v12M5 11l5 5 5-5",
  order: "M15 3v14M12 14l3 3 3-3M10 17 6 3M5 3v14M2 14l3 3 3-3", boxes: "M12 3h4v14h-4zM4 3h4v10H4z",
  switchDirection: "M16 3v9M12 3v9M3 17h14M3 13.500h6M17 3", larger: "M3 16 8 4l5 12M4.500 12h7M16 7v6M13 10h6",
  smaller: "M3 16 8 4l5 12M4.500 12h7M13 10h6",
  zoomIn: "M10 4v12M4 10h12", zoomOut: "M4 10h12", fit: "M3 8V3h5M12 3h5v5M17 12v5h-5M8 17H3v-5",
  compare: "M10 2v16M3 5h4M3 9h4M3 13h4M13 5h4M13 9h4M13 13h4", readAgain: "M16 10a6 6 0 1 1-2-4.500M16 2v4h-4",
  training: "M10 4 1 8l9 4 9-4zM5 10v4c2 2 8 2 10 0v-4", download: "M10 3v10M6 9l4 4 4-4M3 17h14",
  nextDoubt: "M5 5l5 5-5 5M14 4v12", previousDoubt: "m15 5-5 5 5 5M6 4v12", markProofread: "M4 10l4 5 8-10",
};

export function icon(word: Word): SVGSVGElement {
  const path = svg("path", { d: PATHS[word] ?? "" });
  return svg("svg", { viewBox: "0 0 20 20", class: "icon", "aria-hidden": "true" }, path);
}
