/** The page that is open: what the server has, what is seen, the cursor, undo. Who draws it listens. */

import { getPage } from "./server";
import { charAt, settle } from "./cursor";
import { applyAll, EditError, findLine, touched } from "./edits";
import { Emitter } from "./emitter";
import { EMPTY, record, redo, takeStep, undo } from "./history";
import type { History, Place, Step } from "./history";
import type { Outbox } from "./outbox";
import type { Edit, LineData, PageAnswer, PageData, PageStatus } from "./types";

interface Events {
  open: PageAnswer;
  page: PageData;
  cursor: Place | null;
  hover: Place | null;
  problem: string;
}

/** So many steps can still be taken back after the page was left. */
const KEPT = 300;

const NOTHING: PageData = { width: 0, height: 0, lines: [] };

export class Session extends Emitter<Events> {
  number = 0;
  version = 0;
  state: PageStatus = "unread";
  machine: PageData | null = null;
  shown: PageData = NOTHING;
  cursor: Place | null = null;
  /** Where a selection began. */
  anchor: Place | null = null;
  hover: Place | null = null;
  private confirmed: PageData = NOTHING;
  private history: History = EMPTY;
  private opening = 0;

  constructor(readonly outbox: Outbox) {
    super();
    addEventListener("pagehide", () => this.keepHistory());
    outbox.on("saved", ({ page, answer }) => {
      if (page === this.number) this.confirm(answer.version, answer.page);
    });
  }

  get line(): LineData | undefined {
    return this.cursor ? findLine(this.shown, this.cursor.line) : undefined;
  }

  get char() {
    return charAt(this.shown, this.cursor);
  }

  get canUndo(): boolean {
    return this.history.undo.length > 0;
  }

  get canRedo(): boolean {
    return this.history.redo.length > 0;
  }

  /** Show another page, the cursor at a place of it. */
  async open(number: number, place: Place | null = null): Promise<void> {
    const mine = ++this.opening;
    const answer = await getPage(number);
    if (mine !== this.opening) return;
    this.keepHistory();
    this.number = number;
    this.take(answer);
    this.history = recall(this.key());
    this.cursor = settle(this.shown, place);
    this.anchor = this.hover = null;
    this.emit("open", answer);
    this.emit("page", this.shown);
    this.emit("cursor", this.cursor);
    // The pointer's frame was that of the other page.
    this.emit("hover", null);
  }

  /** Ask again what the server has: others changed it, or it was read. */
  async refresh(): Promise<void> {
    const number = this.number;
    const answer = await getPage(number);
    if (number !== this.number || answer.version < this.version) return;
    this.take(answer);
    this.changed();
  }

  private take(answer: PageAnswer): void {
    this.state = answer.state;
    this.machine = answer.machine;
    this.version = answer.version;
    this.confirmed = reuse(this.confirmed, answer.page);
    this.rebase();
  }

  private confirm(version: number, page: PageData): void {
    if (version < this.version) return;
    this.version = version;
    this.confirmed = reuse(this.shown, page);
    this.rebase();
    this.changed();
  }

  /** What is seen: what the server has, with the edits that it has not yet. */
  private rebase(): void {
    try {
      this.shown = applyAll(this.confirmed, this.outbox.pending(this.number));
    } catch (error) {
      // The server will say that they conflict, and the conflict is asked about.
      if (!(error instanceof EditError)) throw error;
      this.shown = this.confirmed;
    }
  }

  private changed(): void {
    this.cursor = settle(this.shown, this.cursor);
    this.emit("page", this.shown);
    this.emit("cursor", this.cursor);
  }

  /** Do it, see it at once, and send it. False where it does not fit. */
  edit(edits: Edit[], to: Place | null = this.cursor): boolean {
    return this.attempt(() => {
      const { page, step } = takeStep(this.shown, edits, this.cursor, to);
      this.history = record(this.history, step);
      this.commit(page, edits, to);
    });
  }

  undo(): boolean {
    return this.attempt(() => this.travel(undo(this.history, this.shown), (step) => [step.inverse, step.from]));
  }

  redo(): boolean {
    return this.attempt(() => this.travel(redo(this.history, this.shown), (step) => [step.edits, step.to]));
  }

  private travel(
    found: { history: History; page: PageData; step: Step } | null,
    choose: (step: Step) => [Edit[], Place | null],
  ): void {
    if (!found) return;
    const [edits, place] = choose(found.step);
    this.history = found.history;
    this.commit(found.page, edits, place);
  }

  private attempt(action: () => void): boolean {
    try {
      action();
      return true;
    } catch (error) {
      if (!(error instanceof EditError)) throw error;
      this.emit("problem", error.message);
      return false;
    }
  }

  private commit(page: PageData, edits: Edit[], to: Place | null): void {
    const ids = edits.flatMap((edit) => touched(edit) ?? page.lines.map((line) => line.id));
    const lines = Object.fromEntries(ids.map((id) => [id, findLine(page, id) ?? null]));
    this.shown = page;
    this.outbox.add(this.number, this.version, edits, lines);
    this.cursor = to;
    this.anchor = null;
    this.changed();
  }

  moveTo(place: Place | null, extend = false): void {
    this.anchor = extend ? (this.anchor ?? this.cursor) : null;
    this.cursor = settle(this.shown, place);
    this.emit("cursor", this.cursor);
  }

  point(place: Place | null): void {
    if (place?.line === this.hover?.line && place?.at === this.hover?.at) return;
    this.hover = place;
    this.emit("hover", place);
  }

  private key = (): string => `tongguocr/undo/${this.number}`;

  private keepHistory(): void {
    if (!this.number) return;
    try {
      sessionStorage.setItem(this.key(), JSON.stringify({ undo: this.history.undo.slice(-KEPT), redo: [] }));
    } catch {
      // Too long for the storage: it lasts until the page is left.
      sessionStorage.removeItem(this.key());
    }
  }
}

function recall(key: string): History {
  const kept = sessionStorage.getItem(key);
  return kept ? (JSON.parse(kept) as History) : EMPTY;
}

/** The new page, with the old objects where a line is as it was: what did not change need not be drawn. */
function reuse(old: PageData, fresh: PageData): PageData {
  const known = new Map(old.lines.map((line) => [line.id, line]));
  const lines = fresh.lines.map((line) => {
    const before = known.get(line.id);
    return before && JSON.stringify(before) === JSON.stringify(line) ? before : line;
  });
  return { ...fresh, lines };
}
