/** The tests of what is pure: bundled, and run by Node's own test runner. */

import { build } from "esbuild";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const folder = fileURLToPath(new URL("tests", import.meta.url));
const out = mkdtempSync(join(tmpdir(), "tongguocr-tests-"));
const files = readdirSync(folder).filter((name) => name.endsWith(".test.ts"));
await build({
  entryPoints: files.map((name) => join(folder, name)),
  outdir: out,
  outExtension: { ".js": ".mjs" },
  bundle: true,
  platform: "node",
  format: "esm",
});
const run = spawnSync(process.execPath, ["--test", ...readdirSync(out).map((name) => join(out, name))], { stdio: "inherit" });
rmSync(out, { recursive: true });
process.exit(run.status ?? 1);
