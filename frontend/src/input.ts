/** Typing, pasting and input methods: a text field at the cursor takes them all, and hands over what was meant. */

import { erase, selectedText, type } from "./actions";
import type { Session } from "./session";
import type { TextView } from "./text_view";

export class Input {
  inserting = false;
  private composing = false;

  constructor(
    private readonly session: Session,
    private readonly view: TextView,
    readonly field: HTMLTextAreaElement,
    onKey: (event: KeyboardEvent) => void,
  ) {
    field.addEventListener("keydown", (event) => {
      if (!event.isComposing && event.keyCode !== 229) onKey(event);
    });
    field.addEventListener("compositionstart", () => this.compose(true));
    field.addEventListener("compositionupdate", (event) => this.widen(event.data));
    field.addEventListener("compositionend", (event) => this.finish(event.data));
    field.addEventListener("input", () => {
      if (!this.composing) this.take(field.value);
    });
    field.addEventListener("paste", (event) => this.clipboard(event, () =>
      this.take(event.clipboardData?.getData("text/plain") ?? "")));
    field.addEventListener("copy", (event) => this.clipboard(event, () => this.copy(event)));
    field.addEventListener("cut", (event) => this.clipboard(event, () => {
      this.copy(event);
      erase(session, false);
    }));
    view.pane.addEventListener("pointerdown", (event) => event.pointerType === "mouse" && this.press(event));
    view.pane.addEventListener("pointermove", (event) => event.buttons === 1 && this.select(event));
    // A finger that goes down may be going to scroll: only a tap puts the cursor somewhere.
    view.pane.addEventListener("click", (event) => (event as PointerEvent).pointerType !== "mouse" && this.press(event));
    view.pane.addEventListener("scroll", () => this.follow(), { passive: true });
    session.on("cursor", () => this.follow());
  }

  focus(): void {
    this.field.focus({ preventScroll: true });
  }

  /** The field lies over the character, so that an input method opens its window there. */
  follow(): void {
    const element = this.view.elementAt(this.session.cursor);
    if (!element) return;
    const box = element.getBoundingClientRect();
    const pane = this.view.pane.getBoundingClientRect();
    const { style } = this.field;
    style.left = `${Math.min(Math.max(box.left, pane.left), pane.right - 20)}px`;
    style.top = `${Math.min(Math.max(box.top, pane.top), pane.bottom - 20)}px`;
    style.fontSize = getComputedStyle(element).fontSize;
  }

  private press(event: MouseEvent): void {
    if (event.button > 0) return;
    const place = this.view.placeOf(event);
    if (place) this.session.moveTo(place, event.shiftKey);
    event.preventDefault();
    this.focus();
  }

  /** The pointer is drawn over characters of the line where it was pressed. */
  private select(event: PointerEvent): void {
    const { session } = this;
    const start = session.anchor ?? session.cursor;
    const place = event.pointerType === "mouse" ? this.view.placeOf(event) : null;
    if (!start || !place || place.line !== start.line) return;
    if (place.at === start.at && !session.anchor) return;
    session.moveTo({ line: place.line, at: place.at + (place.at >= start.at ? 1 : 0) }, true);
  }

  private compose(on: boolean): void {
    this.composing = on;
    this.field.classList.toggle("composing", on);
    this.widen("");
    if (on) this.follow();
  }

  private widen(text: string): void {
    this.field.style.inlineSize = `${Math.max([...text].length, 1) + 0.4}em`;
  }

  private finish(text: string): void {
    this.compose(false);
    this.take(text);
  }

  private take(text: string): void {
    this.field.value = "";
    if (text) type(this.session, text, this.inserting);
  }

  private clipboard(event: ClipboardEvent, action: () => void): void {
    event.preventDefault();
    action();
  }

  private copy(event: ClipboardEvent): void {
    event.clipboardData?.setData("text/plain", selectedText(this.session));
  }
}
