/**
 * Tiles from the server as pictures whose memory is given back at once: of `<img>` elements browsers keep what they
 * decoded, a megabyte a tile, and a book of a few hundred pages would fill the machine.
 */

import OpenSeadragon from "openseadragon";

import { tileAddress } from "./server";
import type { Tiles } from "./types";

export async function fetchBitmap(address: string, signal?: AbortSignal): Promise<ImageBitmap> {
  const answer = await fetch(address, signal ? { signal } : {});
  if (!answer.ok) throw new Error(answer.statusText);
  return createImageBitmap(await answer.blob());
}

/** What OpenSeadragon asks for tiles. */
interface Job {
  src: string;
  userData: { abort?: AbortController };
  finish(data: CanvasRenderingContext2D, request: null, type: "context2d"): void;
  fail(message: string, request: null): void;
}

async function download(job: Job): Promise<void> {
  const abort = (job.userData.abort = new AbortController());
  try {
    const bitmap = await fetchBitmap(job.src, abort.signal);
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [bitmap.width, bitmap.height];
    const pen = canvas.getContext("2d")!;
    pen.drawImage(bitmap, 0, 0);
    bitmap.close();
    job.finish(pen, null, "context2d");
  } catch (error) {
    job.fail(String(error), null);
  }
}

/** A page's tiles, as OpenSeadragon wants them. */
export function tileSource(page: number, { width, height, size, levels, version }: Tiles): OpenSeadragon.TileSource {
  const options = { width, height, tileSize: size, tileOverlap: 0, minLevel: 0, maxLevel: levels - 1 };
  const source = new OpenSeadragon.TileSource(options as never);
  return Object.assign(source, {
    getTileUrl: (level: number, x: number, y: number) => tileAddress(page, level, x, y, version),
    downloadTileStart: (job: Job) => void download(job),
    downloadTileAbort: (job: Job) => job.userData.abort?.abort(),
  });
}
