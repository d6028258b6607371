/** TypeScript and style sheets -> tongguocr/proofread/static: what the wheel holds, so that a user needs no Node. */

import { build } from "esbuild";
import { copyFile, mkdir, readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const out = process.argv[2] ?? here("../tongguocr/proofread/static");

await mkdir(out, { recursive: true });
await build({
  entryPoints: { app: here("src/main.ts"), style: here("styles/style.css") },
  outdir: out,
  bundle: true,
  minify: true,
  format: "esm",
  target: ["chrome111", "firefox115", "safari16.4"],
  // The notices of licences stand in a file of their own, below.
  legalComments: "none",
  charset: "utf8",
  logLevel: "warning",
});
await copyFile(here("index.html"), `${out}/index.html`);
await copyFile(here("icon.svg"), `${out}/icon.svg`);
const licence = await readFile(here("node_modules/openseadragon/LICENSE.txt"), "utf8");
await writeFile(`${out}/LICENSES.txt`, `app.js contains OpenSeadragon (https://openseadragon.github.io):\n\n${licence}`);
