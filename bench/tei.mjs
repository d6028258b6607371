// Whether CETEIcean, the TEI Consortium's display of TEI in browsers, opens our TEI, and what it shows of it:
//
//     npm install CETEIcean jsdom && node bench/tei.mjs PAGE.tei.xml ...
//
// Prints for each file the elements of the text that are shown, and whether the text is the file's own.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

const require = createRequire(join(process.cwd(), "node_modules", "here.js"));
const { JSDOM } = require("jsdom");
const library = readFileSync(join(process.cwd(), "node_modules/CETEIcean/dist/CETEI.js"), "utf8");
for (const name of process.argv.slice(2)) {
  const { window } = new JSDOM("<!doctype html><body></body>", { url: "http://localhost/", runScripts: "outside-only" });
  window.eval(library);
  const file = new window.DOMParser().parseFromString(readFileSync(name, "utf8"), "text/xml");
  const text = file.querySelector("ab").textContent;
  window.document.body.append(new window.CETEI({ ignoreFragmentId: true }).domToHTML5(file));
  // A note is shown by a copy, with brackets around it, of the element that is hidden behind it.
  for (const hidden of window.document.querySelectorAll("[hidden]")) hidden.remove();
  const block = window.document.querySelector("tei-ab");
  const counts = {};
  for (const element of block.querySelectorAll("*")) {
    if (element.localName.startsWith("tei-")) counts[element.localName] = (counts[element.localName] ?? 0) + 1;
  }
  const shown = block.textContent.replaceAll(/[\s()]/g, "") === text.replaceAll(/[\s()]/g, "");
  console.log(name, JSON.stringify(counts), shown ? "all text shown" : "the text differs");
}
