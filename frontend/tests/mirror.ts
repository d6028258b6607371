/** Pages and edits from standard input, the pages after them to standard output: held against the server's. */

import { readFileSync } from "node:fs";

import { applyEdit, EditError } from "../src/edits";
import type { Edit, PageData } from "../src/types";

function answer(page: PageData, edit: Edit): PageData | null {
  try {
    return applyEdit(page, edit);
  } catch (error) {
    if (error instanceof EditError) return null;
    throw error;
  }
}

const cases = JSON.parse(readFileSync(0, "utf8")) as [PageData, Edit][];
process.stdout.write(JSON.stringify(cases.map(([page, edit]) => answer(page, edit))));
