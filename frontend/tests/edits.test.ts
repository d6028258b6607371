import assert from "node:assert/strict";
import { test } from "node:test";

import { applyAll, applyEdit, EditError, invert, textEdit, toChars } from "../src/edits";
import { EMPTY, record, redo, takeStep, undo } from "../src/history";
import type { Edit } from "../src/types";
import { column, page, texts } from "./pages";

const SOME: Edit[] = [
  textEdit("l0", 1, 1, ["池"]),
  textEdit("l0", 0, 0, ["甲", "乙"]),
  textEdit("l1", 1, 3, []),
  { op: "split", line: "l0", at: 2, newLine: "e1" },
  { op: "join", line: "l0", next: "l2" },
  { op: "move", line: "l2", before: "l0" },
  { op: "delete", line: "l1" },
  { op: "add", line: column(4, "寒來"), before: "l1" },
  { op: "line", line: "l1", box: [0, 0, 30, 80], points: null, kind: "note", direction: "left-to-right" },
  { op: "restore", lines: [column(7, "一")] },
];

test("every edit is taken back by its inverse", () => {
  const before = page("天地玄黃", "宇宙洪荒", "日月盈昃");
  for (const edit of SOME) {
    const after = applyEdit(before, edit);
    assert.notDeepEqual(after, before);
    assert.deepEqual(applyAll(after, invert(before, edit)), before, edit.op);
  }
});

test("a replaced character stays as a candidate, and the doubt is settled", () => {
  const char = applyEdit(page("天地玄黃"), textEdit("l0", 1, 1, ["他"])).lines[0]!.chars[1]!;
  assert.deepEqual([char.text, char.confidence, char.doubt, char.candidates], ["他", 1, false, [["地", 0.5]]]);
});

test("what does not fit is refused", () => {
  const one = page("天地");
  for (const edit of [textEdit("l0", 1, 2, []), textEdit("l9", 0, 1, []), { op: "split", line: "l0", at: 0, newLine: "x" }] as Edit[]) {
    assert.throws(() => applyEdit(one, edit), EditError);
  }
});

test("characters keep their marks and selectors; control characters go", () => {
  assert.deepEqual(toChars("葛\u{e0100}か\u3099\n𠀀\t"), ["葛\u{e0100}", "か\u3099", "𠀀"]);
});

test("undo and redo go through all steps, whatever they were", () => {
  const start = page("天地玄黃", "宇宙洪荒", "日月盈昃");
  let [now, history] = [start, EMPTY];
  const seen = [now];
  for (const edit of [SOME[0]!, SOME[3]!, SOME[6]!]) {
    const taken = takeStep(now, [edit], null, null);
    [now, history] = [taken.page, record(history, taken.step)];
    seen.push(now);
  }
  for (let n = seen.length - 2; n >= 0; n--) {
    ({ page: now, history } = undo(history, now)!);
    assert.deepEqual(now, seen[n]);
  }
  assert.equal(undo(history, now), null);
  for (let n = 1; n < seen.length; n++) {
    ({ page: now, history } = redo(history, now)!);
    assert.deepEqual(texts(now), texts(seen[n]!));
  }
});

test("a step is not taken back over what somebody else changed", () => {
  const { page: after, step } = takeStep(page("天地", "宇宙"), [textEdit("l0", 0, 1, ["夭"])], null, null);
  const history = record(EMPTY, step);
  const elsewhere = applyEdit(after, textEdit("l1", 0, 1, ["羽"]));
  assert.deepEqual(texts(undo(history, elsewhere)!.page), ["天地", "羽宙"]);
  assert.throws(() => undo(history, applyEdit(after, textEdit("l0", 1, 1, ["池"]))), EditError);
});
