/** All parts put together: the book, the page that is open, and what commands do that concerns more than one part. */

import { openReadAgain, openTraining, whoAmI } from "./book_dialogs";
import { Boxes } from "./boxes";
import { Candidates } from "./candidates";
import { match } from "./commands";
import { openCompare } from "./compare";
import { askWhich } from "./conflict";
import { byId, h } from "./dom";
import { openHelp } from "./help";
import type { Place } from "./history";
import { Input } from "./input";
import { listen } from "./live";
import { Menu } from "./menu";
import { Outbox } from "./outbox";
import type { Waiting } from "./outbox";
import { Scan } from "./scan";
import { openSearch } from "./search";
import { getBook, getPage, postState } from "./server";
import { Session } from "./session";
import { Strip } from "./strip";
import { TextView } from "./text_view";
import { Thumbnails } from "./thumbnails";
import { Toolbar } from "./toolbar";
import type { BookData, BookEvent, Conflict } from "./types";
import { say } from "./words";
import type { Word } from "./words";

const NOTICE = 5000;

export class App {
  readonly outbox: Outbox;
  readonly session: Session;
  readonly text: TextView;
  readonly scan: Scan;
  readonly boxes: Boxes;
  readonly input: Input;
  readonly menu: Menu;
  private readonly candidates: Candidates;
  private readonly toolbar: Toolbar;
  private readonly thumbnails: Thumbnails;
  private noticeTimer: number | undefined;

  constructor(public book: BookData) {
    this.outbox = new Outbox(book.id, whoAmI);
    this.session = new Session(this.outbox);
    this.text = new TextView(this.session, byId("text-pane"), byId("sheet"));
    this.input = new Input(this.session, this.text, byId<HTMLTextAreaElement>("input"), (event) => this.key(event));
    this.scan = new Scan(this.session, byId("viewer"), () => this.input.focus());
    new Strip(this.session, this.scan, byId("strip"));
    this.boxes = new Boxes(this.session, this.scan, (mode) => this.showMode(mode));
    this.candidates = new Candidates(this.session, this.text);
    this.menu = new Menu(this);
    this.toolbar = new Toolbar(this);
    this.thumbnails = new Thumbnails(this);
    this.session.on("problem", () => this.tell("notFitting"));
    this.outbox.on("conflict", ({ mine, conflict, reason }) => void this.settle(mine, conflict, reason));
    addEventListener("hashchange", () => void this.goTo(pageInAddress()));
    document.addEventListener("keydown", (event) => this.globalKey(event));
  }

  async start(): Promise<void> {
    document.title = this.book.title;
    await this.outbox.adopt();
    await this.goTo(pageInAddress());
    this.input.focus();
    listen((event) => void this.hear(event), () => void this.catchUp());
    // A tab that was just closed may let go of its edits a moment later.
    setTimeout(() => void this.outbox.adopt(), 2000);
  }

  async goTo(number: number, place: Place | null = null): Promise<void> {
    const page = Math.min(Math.max(Math.round(number) || 1, 1), this.book.pages.length);
    if (page !== this.session.number) await this.session.open(page, place);
    else if (place) this.session.moveTo(place);
    history.replaceState(null, "", `#${page}`);
  }

  async turnPage(by: number): Promise<void> {
    await this.goTo(this.session.number + by);
    this.input.focus();
  }

  private key(event: KeyboardEvent): void {
    if (this.boxes.key(event)) {
      event.preventDefault();
      return;
    }
    if (event.key === "Escape" && !byId("candidates").hidden) {
      this.candidates.hide();
      event.preventDefault();
      return;
    }
    const command = match(event, this.input.inserting);
    if (!command) return;
    event.preventDefault();
    event.stopPropagation();
    command.run(this, event);
  }

  /** Keys that work wherever the focus is; typing goes to the text. */
  private globalKey(event: KeyboardEvent): void {
    const target = event.target as Element;
    if (event.defaultPrevented || target === this.input.field || document.querySelector("dialog[open]")) return;
    if (target.matches("input, select, textarea") && !event.altKey && !event.key.startsWith("F")) return;
    if (this.boxes.key(event)) {
      event.preventDefault();
      return;
    }
    const everywhere = event.altKey || event.ctrlKey || event.metaKey || /^(F\d+|PageUp|PageDown|\?)$/.test(event.key);
    const command = everywhere ? match(event, this.input.inserting) : undefined;
    if (!command) return;
    event.preventDefault();
    command.run(this, event);
  }

  private showMode(mode: string): void {
    this.toolbar.press("draw", mode === "draw");
    this.toolbar.press("corners", mode === "corners");
    byId("hint").textContent = mode === "draw" ? say("drawHint") : mode === "corners" ? say("cornersHint") : "";
    byId("hint").hidden = mode === "off";
    if (mode !== "off") this.input.focus();
  }

  toggleInsert(): void {
    this.input.inserting = !this.input.inserting;
    this.toolbar.showInsert(this.input.inserting);
    byId("text-pane").classList.toggle("inserting", this.input.inserting);
  }

  toggleOrder(): void {
    this.toolbar.press("order", this.scan.overlay.toggleOrder());
  }

  toggleLines(): void {
    this.toolbar.press("boxes", this.scan.overlay.toggleLines());
  }

  toggleThumbnails(): void {
    const open = document.body.classList.toggle("other-pages");
    this.toolbar.press("thumbnails", open);
    this.thumbnails.draw();
  }

  leaveText(): void {
    byId("bar").querySelector<HTMLElement>("button")?.focus();
  }

  async toggleProofread(): Promise<void> {
    const { session } = this;
    await this.outbox.hurry();
    try {
      await postState(session.number, session.state !== "proofread", whoAmI(), this.outbox.client);
      await Promise.all([session.refresh(), this.refreshBook()]);
    } catch (error) {
      this.notice((error as Error).message);
    }
  }

  search(): void {
    openSearch((page, place, length) => void this.goTo(page, place).then(() => {
      if (length > 1) this.session.moveTo({ line: place.line, at: place.at + length }, true);
      this.input.focus();
    }));
  }

  compare(): void {
    openCompare(this.session.machine, this.session.shown, (line) => {
      this.session.moveTo({ line, at: 0 });
      this.input.focus();
    });
  }

  readAgain = (): Promise<void> => this.refreshBook().finally(() => openReadAgain(this));
  training = (): Promise<void> => this.refreshBook().finally(() => openTraining(this));
  help = (): void => openHelp();

  tell(word: Word): void {
    this.notice(say(word));
  }

  notice(text: string): void {
    const place = byId("notice");
    place.replaceChildren(h("p", {}, text));
    clearTimeout(this.noticeTimer);
    this.noticeTimer = setTimeout(() => place.replaceChildren(), NOTICE);
  }

  private async settle(mine: Waiting, conflict: Conflict | null, reason: string): Promise<void> {
    const there = conflict ?? (await getPage(mine.page).then(({ page, version }) => ({ page, version, others: [] }), () => null));
    if (!there) {
      // It stays in the browser's storage: the page asks again when it is opened the next time.
      this.notice(say("refused", { reason }));
      return;
    }
    if (reason) this.notice(say("refused", { reason }));
    if (this.session.number === mine.page) await this.session.refresh();
    const edits = await askWhich(mine, there);
    if (!edits) return;
    this.outbox.settled(mine);
    if (!edits.length) return;
    const ids = Object.entries(mine.lines);
    this.outbox.add(mine.page, there.version, edits, Object.fromEntries(ids));
    if (this.session.number === mine.page) await this.session.refresh();
  }

  private async hear(event: BookEvent): Promise<void> {
    const { session } = this;
    if (event.type === "book") await this.refreshBook();
    if (event.type === "progress" && event.page) this.progress(event);
    if (event.page !== session.number || event.client === this.outbox.client) return;
    if (event.type === "changed") {
      if (event.version !== null && event.version <= session.version) return;
      if (!this.outbox.pending(session.number).length) await session.refresh();
      if (event.client) this.notice(say("changedByOther", { who: event.who || say("someone") }));
    }
  }

  private progress({ page, state, doubts, message, version }: BookEvent): void {
    const old = this.book.pages[page! - 1];
    if (!old) return;
    const entry = { ...old, state: state ?? old.state, doubts: doubts ?? old.doubts, version: version ?? old.version, message };
    this.book.pages[page! - 1] = entry;
    this.thumbnails.draw();
    // Files that could not be written: the edits are safe in the journal, but whoever works here should know.
    if (page === this.session.number && message && message !== old.message && entry.state !== "failed") this.notice(message);
    if (page !== this.session.number || old.state === entry.state) return;
    if (entry.state === "read" && old.state !== "proofread") void this.session.refresh();
    if (entry.state === "failed") this.notice(say("pageFailed", { n: page!, message: message ?? "" }));
  }

  private async refreshBook(): Promise<void> {
    this.book = await getBook();
    this.thumbnails.draw();
  }

  private async catchUp(): Promise<void> {
    await this.outbox.hurry();
    await this.refreshBook();
    if (!this.outbox.pending(this.session.number).length) await this.session.refresh();
  }
}

const pageInAddress = (): number => Number(location.hash.slice(1)) || 1;
