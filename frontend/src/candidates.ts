/** The small list at the cursor: what else the character may be, by number. */

import { takeCandidate } from "./actions";
import { byId, h } from "./dom";
import type { Session } from "./session";
import type { TextView } from "./text_view";
import { say } from "./words";

const MOST = 9;

export class Candidates {
  private readonly list = byId("candidates");
  private hidden = false;

  constructor(private readonly session: Session, private readonly view: TextView) {
    session.on("cursor", () => this.show());
    view.pane.addEventListener("scroll", () => this.place(), { passive: true });
    addEventListener("resize", () => this.place());
    // The text keeps the focus, so that the next key goes on there.
    this.list.addEventListener("pointerdown", (event) => event.preventDefault());
    this.list.setAttribute("aria-label", say("candidates"));
  }

  /** Put away until the cursor moves. */
  hide(): void {
    this.hidden = true;
    this.place();
  }

  private show(): void {
    this.hidden = false;
    const { char } = this.session;
    // Of a character that someone settled the numbers still work, but the list no longer hides its neighbours.
    const candidates = char && char.confidence !== 1 ? char.candidates.slice(0, MOST) : [];
    this.list.replaceChildren(...candidates.map(([text, share], n) => this.button(text, share, n + 1)));
    this.place();
  }

  private button(text: string, share: number, number: number): HTMLElement {
    const percent = Math.round(share * 100);
    return h(
      "button",
      { type: "button", tabindex: -1, onclick: () => takeCandidate(this.session, number) },
      h("kbd", {}, String(number)),
      h("span", { class: "reading", lang: "zh-Hant" }, text),
      h("span", { class: "share" }, percent ? `${percent} %` : ""),
    );
  }

  /** Beside the character, where there is room: below a row, left or right of a column. */
  private place(): void {
    const element = this.view.elementAt(this.session.cursor);
    const pane = this.view.pane.getBoundingClientRect();
    const box = element?.getBoundingClientRect();
    const outside = !box || box.bottom < pane.top || box.top > pane.bottom || box.right < pane.left || box.left > pane.right;
    this.list.hidden = this.hidden || outside || !this.list.childElementCount;
    if (this.list.hidden || !box) return;
    const own = this.list.getBoundingClientRect();
    const gap = 8;
    let left = this.view.horizontal ? box.left : box.left - own.width - gap;
    if (left < gap) left = this.view.horizontal ? gap : box.right + gap;
    let top = this.view.horizontal ? box.bottom + gap : box.top - gap;
    if (top + own.height > innerHeight - gap) top = innerHeight - own.height - gap;
    this.list.style.left = `${Math.max(gap, Math.min(left, innerWidth - own.width - gap))}px`;
    this.list.style.top = `${Math.max(gap, top)}px`;
  }
}
