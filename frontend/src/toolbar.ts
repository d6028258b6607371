/** The buttons and the status line. Every button is a command of the table, so that each has its key. */

import { setDirection, setKind } from "./actions";
import type { App } from "./app";
import { commandOf, keyOf } from "./commands";
import { byId, h } from "./dom";
import { icon } from "./icons";
import type { Direction, Kind } from "./types";
import { say } from "./words";
import type { Word } from "./words";

const LINE_TOOLS: Word[] = ["split", "join", "earlier", "later", "draw", "corners", "deleteLine"];
const TEXT_TOOLS: Word[] = ["previousDoubt", "nextDoubt", "switchDirection", "larger", "smaller", "compare"];
const SCAN_TOOLS: Word[] = ["zoomIn", "zoomOut", "fit", "order", "boxes"];

export class Toolbar {
  private readonly buttons = new Map<Word, HTMLButtonElement>();
  private readonly kind: HTMLSelectElement;
  private readonly direction: HTMLSelectElement;
  private readonly page = h("input", { id: "page-number", inputmode: "numeric", size: 4, "aria-label": say("goToPage") });
  private readonly total = h("span", { class: "total" });
  private readonly mark: HTMLButtonElement;
  private readonly status = byId("status");
  private readonly save = h("span", { class: "save", role: "status" });
  private readonly place = h("span", { class: "place" });
  private readonly mode = h("span", { class: "mode" });

  constructor(private readonly app: App) {
    this.kind = select("kind", ["main", "note", "margin", "fold"], (value) => setKind(app.session, value as Kind));
    const ways: Word[] = ["top-to-bottom", "left-to-right", "right-to-left", "bottom-to-top"];
    this.direction = select("direction", ways, (value) => setDirection(app.session, value as Direction));
    this.mark = h("button", { type: "button", class: "mark", onclick: () => void app.toggleProofread() });
    this.fill();
    this.status.append(this.save, this.mode, this.place);
    app.session.on("cursor", () => this.showCursor());
    app.session.on("page", () => this.showPage());
    app.session.on("open", () => this.showPage());
    app.outbox.on("state", () => this.showSave());
    this.showSave();
  }

  private fill(): void {
    const { app } = this;
    const title = h("h1", { class: "title", title: app.book.title }, app.book.title);
    const pager = h("div", { class: "pager" }, this.button("previousPage"), this.page, this.total, this.button("nextPage"));
    this.page.addEventListener("change", () => void app.goTo(Number(this.page.value)).then(() => app.input.focus()));
    byId("bar").append(
      this.button("thumbnails"), title, pager, h("span", { class: "gap" }), this.button("undo"), this.button("redo"),
      this.button("search"), this.mark, app.menu.button, this.button("help"),
    );
    byId("scan-tools").append(...SCAN_TOOLS.map((word) => this.button(word)));
    const lineTools = h("div", { class: "tools", role: "group", "aria-label": say("lineTools") },
      this.kind, this.direction, ...LINE_TOOLS.map((word) => this.button(word)));
    const textTools = h("div", { class: "tools", role: "group", "aria-label": say("textTools") },
      ...TEXT_TOOLS.map((word) => this.button(word)));
    byId("text-tools").append(lineTools, textTools);
    for (const id of ["bar", "scan-tools", "text-tools"]) this.keepFocus(byId(id));
  }

  /** A click on a button leaves the cursor in the text; the keyboard reaches the buttons all the same. */
  private keepFocus(bar: HTMLElement): void {
    bar.addEventListener("pointerdown", (event) => {
      if ((event.target as Element).closest("button")) event.preventDefault();
    });
  }

  button(word: Word): HTMLButtonElement {
    const command = commandOf(word);
    const title = `${say(word)} (${keyOf(command)})`;
    const run = () => command.run(this.app, null);
    const button = h("button", { type: "button", class: "tool", title, "aria-label": say(word), onclick: run }, icon(word));
    this.buttons.set(word, button);
    return button;
  }

  press(word: Word, on: boolean): void {
    this.buttons.get(word)?.setAttribute("aria-pressed", String(on));
  }

  showInsert(on: boolean): void {
    this.mode.textContent = on ? say("inserting") : "";
  }

  private enable(word: Word, on: boolean): void {
    const button = this.buttons.get(word);
    if (button) button.disabled = !on;
  }

  private showPage(): void {
    const { session, book } = this.app;
    this.page.value = String(session.number);
    this.total.textContent = `/ ${book.pages.length}`;
    const proofread = session.state === "proofread";
    this.mark.classList.toggle("done", proofread);
    this.mark.setAttribute("aria-pressed", String(proofread));
    const label = say(proofread ? "unmarkProofread" : "markProofread");
    this.mark.title = `${label} (${keyOf(commandOf("markProofread"))})`;
    this.mark.replaceChildren(icon("markProofread"), h("span", { class: "label" }, say(proofread ? "proofread" : "markProofread")));
    this.enable("undo", session.canUndo);
    this.enable("redo", session.canRedo);
    this.enable("previousPage", session.number > 1);
    this.enable("nextPage", session.number < book.pages.length);
  }

  private showCursor(): void {
    const { session } = this.app;
    const { line, cursor, char, shown } = session;
    this.kind.disabled = this.direction.disabled = !line;
    if (line) {
      this.kind.value = line.kind;
      this.direction.value = line.direction;
    }
    this.enable("split", !!line && !!cursor && cursor.at > 0 && cursor.at < line.chars.length);
    for (const word of ["join", "earlier", "later", "corners", "deleteLine"] as Word[]) this.enable(word, !!line);
    if (!line || !cursor) {
      this.place.textContent = "";
      return;
    }
    const codes = char ? [...char.text].map((one) => `U+${one.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0")}`) : [];
    const said = [
      char ? say("charOf", { n: cursor.at + 1 }) : say("endOfLine"),
      say("lineOf", { n: shown.lines.indexOf(line) + 1, total: shown.lines.length }), say(line.kind),
      char?.confidence != null ? say("sure", { n: Math.round(char.confidence * 100) }) : "", codes.join(" "),
    ].filter(Boolean);
    this.place.replaceChildren(h("b", { lang: "zh-Hant" }, char?.text ?? ""), " ", said.join(" · "));
    byId("live").textContent = `${char?.text ?? ""} ${said.slice(0, 4).join(", ")}`;
  }

  private showSave(): void {
    const { outbox } = this.app;
    this.save.className = `save ${outbox.state}`;
    const { state, reason, count } = outbox;
    this.save.textContent = state === "away" && reason ? say("notTaken", { n: count, reason }) : say(state, { n: count });
    this.save.title = reason;
  }
}

function select(name: Word, words: Word[], choose: (value: string) => void): HTMLSelectElement {
  const options = words.map((word) => h("option", { value: word }, say(word)));
  const element = h("select", { "aria-label": say(name), title: say(name) }, ...options);
  element.addEventListener("change", () => choose(element.value));
  return element;
}
