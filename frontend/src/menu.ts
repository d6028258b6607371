/** The menu of what is done now and then: reading again, training, files, one's name. */

import { nameField, openDownload } from "./book_dialogs";
import type { App } from "./app";
import { keyOf, commandOf } from "./commands";
import { openDialog } from "./dialog";
import { h } from "./dom";
import { icon } from "./icons";
import { say } from "./words";
import type { Word } from "./words";

export class Menu {
  readonly button = h(
    "button",
    { type: "button", class: "tool more", title: say("more"), "aria-label": say("more"), "aria-haspopup": "dialog", onclick: () => this.open() },
    "⋯",
  );

  constructor(private readonly app: App) {}

  private open(): void {
    const item = (word: Word, run: () => unknown, key = "") =>
      h("button", { type: "button", class: "item", onclick: () => {
        dialog.close();
        run();
      } }, icon(word), h("span", {}, say(word)), key ? h("kbd", {}, key) : null);
    const command = (word: Word) => item(word, () => commandOf(word).run(this.app, null), keyOf(commandOf(word)));
    const dialog = openDialog(
      "more", "menu",
      command("search"), command("compare"), command("readAgain"), command("training"),
      item("download", () => openDownload(this.app)), command("help"), nameField(),
    );
  }
}
