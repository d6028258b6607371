/**
 * Edits on their way to the server. They lie in the browser's storage until the server has said that they are on its
 * disk: a closed tab, a reload or a killed server loses none. Each batch has an id, so that one sent twice counts once.
 */

import { AwayError, ConflictError, postEdits, RefusedError } from "./server";
import { Emitter } from "./emitter";
import type { Conflict, Edit, EditsAnswer, LineData } from "./types";

/** What waits for one page. `base` is the version that the edits were made on. */
export interface Waiting {
  page: number;
  client: string;
  base: number;
  id: string;
  edits: Edit[];
  /** The lines as these edits leave them, null if gone: what a conflict shows, even after a reload. */
  lines: Record<string, LineData | null>;
}

export type SaveState = "saved" | "saving" | "away";

interface Events {
  state: SaveState;
  saved: { page: number; answer: EditsAnswer; edits: Edit[] };
  conflict: { mine: Waiting; conflict: Conflict | null; reason: string };
}

const DELAY = 150;
const RETRY = [400, 800, 1500, 3000];

export const newId = (): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(12)), (byte) => byte.toString(16).padStart(2, "0")).join("");

export class Outbox extends Emitter<Events> {
  readonly client = newId();
  private readonly queues: Waiting[] = [];
  private readonly prefix: string;
  private sending: Waiting | null = null;
  private failures = 0;
  /** Why the server took nothing the last time, in its own words, if it had any. */
  reason = "";
  private timer: number | undefined;

  constructor(book: string, private readonly who: () => string) {
    super();
    this.prefix = `tongguocr/edits/${book}/`;
    void navigator.locks?.request(this.lockName(this.client), () => new Promise(() => undefined));
    addEventListener("pagehide", () => this.leave());
    addEventListener("online", () => this.hurry());
  }

  get count(): number {
    return this.queues.reduce((sum, waiting) => sum + waiting.edits.length, 0);
  }

  get state(): SaveState {
    return this.failures > 0 && this.count ? "away" : this.count ? "saving" : "saved";
  }

  /** The edits of a page that the server has not confirmed, in order. */
  pending(page: number): Edit[] {
    return this.queues.filter((waiting) => waiting.page === page).flatMap((waiting) => waiting.edits);
  }

  add(page: number, base: number, edits: Edit[], lines: Record<string, LineData | null>): void {
    let waiting = this.queues.find((one) => one.page === page && one !== this.sending && one.client === this.client);
    if (!waiting) this.queues.push((waiting = { page, client: this.client, base, id: newId(), edits: [], lines: {} }));
    waiting.edits.push(...edits);
    Object.assign(waiting.lines, lines);
    this.store(waiting);
    this.emit("state", this.state);
    if (this.timer === undefined && !this.sending) this.timer = setTimeout(() => void this.send(), DELAY);
  }

  /** Send at once what waits; resolves when it is saved or could not be. */
  async hurry(): Promise<void> {
    clearTimeout(this.timer);
    this.timer = undefined;
    if (!this.sending) await this.send();
  }

  /** Take over what closed tabs left behind, and send it. */
  async adopt(): Promise<void> {
    const names = Object.keys(localStorage).filter((name) => name.startsWith(this.prefix));
    for (const name of names) {
      const waiting = JSON.parse(localStorage.getItem(name) ?? "null") as Waiting | null;
      if (!waiting || this.queues.some((one) => one.id === waiting.id)) continue;
      if (waiting.client !== this.client && (await this.isOrphan(waiting.client))) this.queues.push(waiting);
    }
    if (this.queues.length) await this.hurry();
  }

  private async isOrphan(client: string): Promise<boolean> {
    if (!navigator.locks) return true;
    return navigator.locks.request(this.lockName(client), { ifAvailable: true }, (lock) => lock !== null);
  }

  private lockName = (client: string): string => `tongguocr-${client}`;

  private name = (waiting: Waiting): string => `${this.prefix}${waiting.client}/${waiting.page}/${waiting.id}`;

  private store(waiting: Waiting): void {
    try {
      localStorage.setItem(this.name(waiting), JSON.stringify(waiting));
    } catch {
      // The storage is full or forbidden: the edits are in memory, and on their way within a moment.
    }
  }

  private drop(waiting: Waiting): void {
    this.queues.splice(this.queues.indexOf(waiting), 1);
    localStorage.removeItem(this.name(waiting));
  }

  private async send(): Promise<void> {
    this.timer = undefined;
    while (this.queues.length) {
      this.sending = this.queues[0]!;
      const going = this.sending;
      try {
        const answer = await postEdits(going.page, this.call(going));
        this.failures = 0;
        this.reason = "";
        this.drop(going);
        this.emit("saved", { page: going.page, answer, edits: going.edits });
      } catch (error) {
        if (error instanceof AwayError) {
          this.sending = null;
          this.failures += 1;
          this.reason = error.said;
          this.timer = setTimeout(() => void this.send(), RETRY[Math.min(this.failures, RETRY.length) - 1]);
          this.emit("state", this.state);
          return;
        }
        this.failures = 0;
        this.disagree(going, error);
      }
      this.sending = null;
      this.emit("state", this.state);
    }
  }

  /** All that waits for the page goes to the one who can decide. */
  private disagree(going: Waiting, error: unknown): void {
    const same = this.queues.filter((waiting) => waiting.page === going.page && waiting.client === going.client);
    const mine: Waiting = { ...going, edits: [], lines: {} };
    for (const waiting of same) {
      mine.edits.push(...waiting.edits);
      Object.assign(mine.lines, waiting.lines);
      this.drop(waiting);
    }
    // Until it is decided it stays in the storage: a reload asks again.
    this.store(mine);
    const conflict = error instanceof ConflictError ? error.conflict : null;
    this.emit("conflict", { mine, conflict, reason: error instanceof RefusedError ? error.message : "" });
  }

  /** The conflict is settled: what lay in the storage for it goes. */
  settled(mine: Waiting): void {
    localStorage.removeItem(this.name(mine));
  }

  private call = (waiting: Waiting) =>
    ({ base: waiting.base, client: waiting.client, who: this.who(), id: waiting.id, edits: waiting.edits });

  /** The tab goes: what waits is sent without waiting for an answer; the next tab makes sure. */
  private leave(): void {
    for (const waiting of this.queues) void postEdits(waiting.page, this.call(waiting), true).catch(() => undefined);
  }
}
