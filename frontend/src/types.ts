/** The types of both sides. They come from the server's models through api.d.ts: nothing here is typed twice. */

import type { components } from "./api";

type Schemas = components["schemas"];

export type BookData = Schemas["BookData"];
export type PageEntry = Schemas["PageEntry"];
export type PageAnswer = Schemas["PageAnswer"];
export type PageData = Schemas["PageData"];
export type LineData = Schemas["LineData"];
export type CharData = Schemas["CharData"];
export type EditsAnswer = Schemas["EditsAnswer"];
export type Conflict = Schemas["Conflict"];
export type Hits = Schemas["Hits"];
export type Tiles = Schemas["Tiles"];
export type BookEvent = Schemas["Event"];
export type PageStatus = PageEntry["state"];
export type Kind = NonNullable<LineData["kind"]>;
export type Direction = NonNullable<LineData["direction"]>;
export type Box = LineData["box"];
export type Point = [number, number];

export type TextEdit = Schemas["TextEdit"];
export type LineEdit = Schemas["LineEdit"];
export type Edit =
  | TextEdit
  | LineEdit
  | Schemas["SetEdit"]
  | Schemas["AddEdit"]
  | Schemas["DeleteEdit"]
  | Schemas["SplitEdit"]
  | Schemas["JoinEdit"]
  | Schemas["MoveEdit"]
  | Schemas["RestoreEdit"];
