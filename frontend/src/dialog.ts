/** Dialogs: the browser's own, which keep the focus, close with Escape and give it back. */

import { h } from "./dom";
import { say } from "./words";
import type { Word } from "./words";

/** Show a dialog with a heading; it leaves the document when it is closed. */
export function openDialog(title: Word, kind: string, ...content: (Node | string)[]): HTMLDialogElement {
  const heading = h("h2", { id: `${kind}-title` }, say(title));
  const close = h("button", { type: "button", class: "close", "aria-label": say("close"), title: say("close") }, "×");
  const dialog = h("dialog", { class: kind, "aria-labelledby": `${kind}-title` }, h("header", {}, heading, close), ...content);
  close.addEventListener("click", () => dialog.close());
  dialog.addEventListener("close", () => dialog.remove());
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog) dialog.close();
  });
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}

export const button = (word: Word, onclick: () => void, kind = ""): HTMLButtonElement =>
  h("button", { type: "button", class: `plain ${kind}`, onclick }, say(word));

export const field = (word: Word, control: HTMLElement): HTMLElement => h("label", { class: "field" }, h("span", {}, say(word)), control);
