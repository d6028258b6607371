/** Every command of the page, with its keys: the one table of keyboard, buttons and help sheet. */

import * as act from "./actions";
import { stepLine } from "./cursor";
import type { App } from "./app";
import type { Word } from "./words";

export interface Command {
  word: Word;
  group: "keysOfText" | "keysOfLines" | "keysOfView" | "keysOfBook";
  /** As `Ctrl+Shift+z`: modifiers, then `KeyboardEvent.key` or `.code`. Of several the first is shown. */
  keys: string[];
  /** For the help sheet, where one row stands for several keys. */
  shown?: string;
  run: (app: App, event: KeyboardEvent | null) => unknown;
}

const text = (word: Word, keys: string[], run: Command["run"], shown?: string): Command =>
  ({ group: "keysOfText", word, keys, run, ...(shown ? { shown } : {}) });
const lines = (word: Word, keys: string[], run: Command["run"]): Command => ({ group: "keysOfLines", word, keys, run });
const view = (word: Word, keys: string[], run: Command["run"], shown?: string): Command =>
  ({ group: "keysOfView", word, keys, run, ...(shown ? { shown } : {}) });
const book = (word: Word, keys: string[], run: Command["run"]): Command => ({ group: "keysOfBook", word, keys, run });

const ARROWS = ["ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight"];
const NUMBERS = ["1", "2", "3", "4", "5", "6", "7", "8", "9"];

/** The arrow keys as they lie on the sheet: along a line, or to the line beside it. */
function arrow({ session, text: { horizontal } }: App, { key, shiftKey }: KeyboardEvent): void {
  const [on, back, next] = horizontal
    ? ["ArrowRight", "ArrowLeft", "ArrowDown"]
    : ["ArrowDown", "ArrowUp", "ArrowLeft"];
  if (key === on || key === back) act.moveBy(session, key === on ? 1 : -1, shiftKey);
  else if (session.cursor) session.moveTo(stepLine(session.shown, session.cursor, key === next ? 1 : -1));
}

function toEnd({ session }: App, { key, shiftKey }: KeyboardEvent): void {
  const { line } = session;
  if (line) session.moveTo({ line: line.id, at: key === "Home" ? 0 : line.chars.length }, shiftKey);
}

function toPageEnd({ session }: App, { key }: KeyboardEvent): void {
  const line = key === "Home" ? session.shown.lines[0] : session.shown.lines.at(-1);
  if (line) session.moveTo({ line: line.id, at: key === "Home" ? 0 : Math.max(line.chars.length - 1, 0) });
}

function pan(app: App, { key }: KeyboardEvent): void {
  app.scan.pan(key === "ArrowLeft" ? -1 : key === "ArrowRight" ? 1 : 0, key === "ArrowUp" ? -1 : key === "ArrowDown" ? 1 : 0);
}

export const COMMANDS: Command[] = [
  text("moveChar", [...ARROWS, ...ARROWS.map((key) => `Shift+${key}`)], (app, event) => arrow(app, event!), "← ↑ → ↓"),
  text("select", [], () => undefined, "Shift+← ↑ → ↓"),
  text("nextDoubt", ["Tab"], (app) => act.toDoubt(app.session, 1) || app.tell("noDoubtHere")),
  text("previousDoubt", ["Shift+Tab"], (app) => act.toDoubt(app.session, -1) || app.tell("noDoubtHere")),
  text("take", NUMBERS, (app, event) => act.takeCandidate(app.session, Number(event!.key)), "1 … 9"),
  text("confirm", ["Enter"], (app) => act.confirm(app.session)),
  text("replace", [], () => undefined, "文"),
  text("insertMode", ["Insert", "Alt+KeyI"], (app) => app.toggleInsert()),
  text("deleteChar", ["Delete"], (app) => act.erase(app.session, false)),
  text("deleteBefore", ["Backspace"], (app) => act.erase(app.session, true)),
  text("lineEnds", ["Home", "End", "Shift+Home", "Shift+End"], (app, event) => toEnd(app, event!), "Home, End"),
  text("pageEnds", ["Ctrl+Home", "Ctrl+End"], (app, event) => toPageEnd(app, event!), "Ctrl+Home, Ctrl+End"),
  text("undo", ["Ctrl+z"], (app) => app.session.undo()),
  text("redo", ["Ctrl+Shift+z", "Ctrl+y"], (app) => app.session.redo()),
  text("leaveText", ["Escape"], (app) => app.leaveText()),
  text("backToText", ["F2"], (app) => app.input.focus()),

  lines("split", ["Alt+KeyS"], (app) => act.split(app.session)),
  lines("join", ["Alt+KeyJ"], (app) => act.join(app.session)),
  lines("earlier", ["Alt+Comma"], (app) => act.shift(app.session, -1)),
  lines("later", ["Alt+Period"], (app) => act.shift(app.session, 1)),
  lines("changeKind", ["Alt+KeyK"], (app) => act.nextKind(app.session)),
  lines("changeDirection", ["Alt+KeyW"], (app) => act.nextDirection(app.session)),
  lines("draw", ["Alt+KeyN"], (app) => app.boxes.toggle("draw")),
  lines("corners", ["Alt+KeyG"], (app) => app.boxes.toggle("corners")),
  lines("deleteLine", ["Alt+Delete", "Alt+KeyX"], (app) => act.removeLine(app.session)),

  view("fit", ["Alt+Digit0"], (app) => app.scan.fit()),
  view("zoomIn", ["Alt+Equal"], (app) => app.scan.zoom(1.4)),
  view("zoomOut", ["Alt+Minus"], (app) => app.scan.zoom(1 / 1.4)),
  view("panScan", ARROWS.map((key) => `Alt+Shift+${key}`), (app, event) => pan(app, event!), "Alt+Shift+← ↑ → ↓"),
  view("order", ["Alt+KeyO"], (app) => app.toggleOrder()),
  view("boxes", ["Alt+KeyL"], (app) => app.toggleLines()),
  view("switchDirection", ["Alt+KeyV"], (app) => app.text.turn(!app.text.horizontal)),
  view("larger", ["Alt+BracketRight"], (app) => app.text.resize(1.1)),
  view("smaller", ["Alt+BracketLeft"], (app) => app.text.resize(1 / 1.1)),
  view("compare", ["Alt+KeyM"], (app) => app.compare()),

  book("nextPage", ["PageDown"], (app) => app.turnPage(1)),
  book("previousPage", ["PageUp"], (app) => app.turnPage(-1)),
  book("search", ["Ctrl+f", "F3"], (app) => app.search()),
  book("markProofread", ["Alt+KeyP"], (app) => app.toggleProofread()),
  book("readAgain", ["Alt+KeyR"], (app) => app.readAgain()),
  book("training", ["Alt+KeyT"], (app) => app.training()),
  book("thumbnails", ["Alt+KeyB"], (app) => app.toggleThumbnails()),
  book("help", ["?", "F1"], (app) => app.help()),
];

export const commandOf = (word: Word): Command => COMMANDS.find((command) => command.word === word)!;

/** The command of a key, if it has one. Where text is inserted, numbers are text. */
export function match(event: KeyboardEvent, inserting: boolean): Command | undefined {
  if (inserting && NUMBERS.includes(event.key) && !event.altKey && !event.ctrlKey) return undefined;
  return COMMANDS.find(({ keys }) => keys.some((key) => fits(event, key)));
}

function fits(event: KeyboardEvent, key: string): boolean {
  const parts = key.split("+");
  const name = parts.pop()!;
  const has = (modifier: string) => parts.includes(modifier);
  const same = event.code === name || event.key === name || (has("Ctrl") && event.key.toLowerCase() === name);
  // `?` needs Shift on most keyboards, and none on others.
  const shift = name === "?" || event.shiftKey === has("Shift");
  return same && shift && event.altKey === has("Alt") && (event.ctrlKey || event.metaKey) === has("Ctrl");
}

const SIGNS: Record<string, string> = {
  Comma: ",", Period: ".", Equal: "+", Minus: "−", BracketLeft: "[", BracketRight: "]", Digit0: "0", Escape: "Esc",
  PageDown: "PgDn", PageUp: "PgUp", Delete: "Del", z: "Z", y: "Y", f: "F",
};

/** A key as people write it. */
export function spell(key: string): string {
  return key.split("+").map((part) => SIGNS[part] ?? part.replace(/^Key/, "")).join("+");
}

export const keyOf = (command: Command): string => command.shown ?? command.keys.slice(0, 2).map(spell).join(", ");
