import assert from "node:assert/strict";
import { test } from "node:test";

import { columnsOf, longest } from "../src/columns";
import { COMMANDS, match } from "../src/commands";
import { difference } from "../src/compare";
import { disputed, insist, undisputed } from "../src/conflict";
import { step, stepDoubt, stepLine } from "../src/cursor";
import { applyAll, textEdit } from "../src/edits";
import { lineAt, nearestChar, tidy } from "../src/geometry";
import { en } from "../src/lang/en";
import { ja } from "../src/lang/ja";
import { zhHans } from "../src/lang/zh_hans";
import { zhHant } from "../src/lang/zh_hant";
import { choose, fillIn } from "../src/words";
import { column, page, texts } from "./pages";

test("the cursor goes over the ends of lines, beside itself, and from doubt to doubt", () => {
  const one = page("天地玄黃", "宇宙", "日月盈昃");
  assert.deepEqual(step(one, { line: "l0", at: 3 }, 1), { line: "l1", at: 0 });
  assert.deepEqual(step(one, { line: "l1", at: 0 }, -1), { line: "l0", at: 3 });
  assert.deepEqual(step(one, { line: "l2", at: 3 }, 1), { line: "l2", at: 4 });
  assert.deepEqual(stepLine(one, { line: "l0", at: 3 }, 1), { line: "l1", at: 1 });
  assert.deepEqual(stepDoubt(one, { line: "l1", at: 1 }, 1), { line: "l2", at: 1 });
  assert.deepEqual(stepDoubt(one, { line: "l2", at: 1 }, 1), { line: "l0", at: 1 });
  assert.deepEqual(stepDoubt(one, { line: "l0", at: 0 }, -1), { line: "l2", at: 1 });
  assert.equal(stepDoubt({ ...one, lines: [column(0, "天")] }, null, 1), null);
});

test("the rows of a note stand side by side, between the stretches of their column", () => {
  const note = (id: string, row: number) => ({ ...column(0, "注文"), id, kind: "note" as const, row });
  const lines = [column(0, "經"), note("a", 0), note("b", 1), { ...column(0, "文"), id: "c" }, column(1, "傳")];
  const columns = columnsOf({ ...page(), lines });
  assert.deepEqual(columns.map((one) => one.parts.map((part) => part.map((line) => line.id))), [[["l0"], ["a", "b"], ["c"]], [["l1"]]]);
  assert.equal(longest(columns, 0.5), 8);
});

test("a point of the scan is a line and a character", () => {
  const one = page("天地玄黃", "宇宙");
  assert.equal(lineAt(one.lines, [85, 12])?.id, "l1");
  assert.equal(lineAt(one.lines, [95, 12]), null);
  assert.equal(lineAt(one.lines, [95, 12], 6)?.id !== undefined, true);
  assert.equal(nearestChar(one.lines[0]!, [105, 33]), 3);
  assert.deepEqual(tidy([50, 40, 10, 500], { width: 120, height: 200 }), [10, 40, 50, 200]);
});

test("texts are compared by what they share", () => {
  const [left, right] = difference([..."天地玄黃"], [..."天他玄皇黃"]);
  assert.deepEqual(left, [["天", false], ["地", true], ["玄黃", false]]);
  assert.deepEqual(right, [["天", false], ["他", true], ["玄", false], ["皇", true], ["黃", false]]);
});

test("a conflict is about the lines of both; the rest of mine is kept", () => {
  const mine = [textEdit("l0", 0, 1, ["夭"]), textEdit("l1", 0, 1, ["羽"])];
  const ids = disputed(mine, [textEdit("l0", 1, 1, ["池"])]);
  assert.deepEqual([...ids], ["l0"]);
  assert.deepEqual(undisputed(mine, ids), [mine[1]]);
  const theirs = page("天池", "宇宙");
  const edits = [...undisputed(mine, ids), ...insist(theirs, { l0: column(0, "夭地") }, ids)];
  assert.deepEqual(texts(applyAll(theirs, edits)), ["夭地", "羽宙"]);
  assert.deepEqual(insist(theirs, { l1: null, l9: column(9, "新") }, ["l1", "l9"]).map((edit) => edit.op), ["delete", "add"]);
});

test("no key has two commands, and each finds its own", () => {
  const keys = COMMANDS.flatMap((command) => command.keys);
  assert.equal(new Set(keys).size, keys.length);
  for (const command of COMMANDS) for (const key of command.keys) {
    const parts = key.split("+");
    const name = parts.pop()!;
    const event = {
      key: name, code: name, altKey: parts.includes("Alt"), ctrlKey: parts.includes("Ctrl"), metaKey: false,
      shiftKey: parts.includes("Shift"),
    } as KeyboardEvent;
    assert.equal(match(event, false), command, key);
  }
});

test("a language is chosen by script or region, and every language has all words with the same values", () => {
  const cases = { "zh-TW": "zh-Hant", "zh-HK": "zh-Hant", "zh": "zh-Hans", "zh-Hans-SG": "zh-Hans", "ja-JP": "ja", "fr": "en" };
  for (const [tag, name] of Object.entries(cases)) assert.equal(choose([tag]), name);
  assert.equal(choose(["fr", "ja"]), "ja");
  const values = (text: string) => (text.match(/\{\w+\}/g) ?? []).sort().join();
  for (const words of [zhHant, zhHans, ja]) {
    for (const [word, text] of Object.entries(en)) assert.equal(values(words[word as keyof typeof en]), values(text), word);
  }
});

test("a phrase has one word for one and another for more", () => {
  const phrase = "{n} {n:page is|pages are} ready for {who}";
  assert.equal(fillIn(phrase, { n: 1, who: "Li" }), "1 page is ready for Li");
  assert.equal(fillIn(phrase, { n: 2 }), "2 pages are ready for ");
});
