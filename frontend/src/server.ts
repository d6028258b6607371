/** The server's addresses. Nothing else in the page asks it for anything but pictures. */

import type { BookData, Conflict, EditsAnswer, Edit, Hits, PageAnswer, Tiles } from "./types";

/** The server did not answer, or not with sense: it is worth another try. */
export class AwayError extends Error {
  /** `said` is the server's own sentence, where it had one: a full disk, say. */
  constructor(message: string, readonly said = "") {
    super(message);
  }
}

/** The server said no, and why, in one sentence. */
export class RefusedError extends Error {}

/** Somebody else changed the same lines. */
export class ConflictError extends Error {
  constructor(readonly conflict: Conflict) {
    super("conflict");
  }
}

const TRY_AGAIN = new Set([401, 403, 408, 421, 425, 429]);

export interface EditsCall {
  base: number;
  client: string;
  who: string;
  id: string;
  edits: Edit[];
}

async function call<T>(address: string, init?: RequestInit): Promise<T> {
  let answer: Response;
  try {
    answer = await fetch(address, { signal: AbortSignal.timeout(20_000), ...init });
  } catch (error) {
    throw new AwayError(String(error));
  }
  // A missing token, too many requests, a server that fails: nothing is wrong with what was asked.
  const body: unknown = answer.status === 204 ? null : await answer.json().catch(() => null);
  if (answer.status >= 500 || TRY_AGAIN.has(answer.status)) throw new AwayError(answer.statusText, sentence(body) ?? "");
  if (answer.status === 409 && isConflict(body)) throw new ConflictError(body);
  if (!answer.ok) throw new RefusedError(sentence(body) ?? answer.statusText);
  return body as T;
}

const isConflict = (body: unknown): body is Conflict =>
  typeof body === "object" && body !== null && "others" in body && "page" in body;

function sentence(body: unknown): string | null {
  const detail = typeof body === "object" && body !== null ? (body as { detail?: unknown }).detail : null;
  return typeof detail === "string" ? detail : detail ? JSON.stringify(detail) : null;
}

const post = (body: unknown): RequestInit =>
  ({ method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });

export const getBook = (): Promise<BookData> => call("/api/book");
export const getPage = (page: number): Promise<PageAnswer> => call(`/api/pages/${page}`);
export const getTiles = (page: number): Promise<Tiles> => call(`/api/pages/${page}/tiles.json`);

export const postEdits = (page: number, edits: EditsCall, leaving = false): Promise<EditsAnswer> =>
  call(`/api/pages/${page}/edits`, { ...post(edits), keepalive: leaving });

export const postState = (page: number, proofread: boolean, who: string, client: string): Promise<unknown> =>
  call(`/api/pages/${page}/state`, post({ proofread, who, client }));

export const postRead = (
  page: number, options: { keepLines: boolean; engine: string | null; weights: string | null; others: boolean },
): Promise<unknown> => call(`/api/pages/${page}/read`, post(options));

export const search = (text: string, fold: boolean, limit = 200): Promise<Hits> =>
  call(`/api/search?${new URLSearchParams({ q: text, fold: fold ? "1" : "0", limit: String(limit) })}`);

export const tileAddress = (page: number, level: number, column: number, row: number, version: string): string =>
  `/api/pages/${page}/tiles/${level}/${column}_${row}.jpg?v=${encodeURIComponent(version)}`;
export const thumbnailAddress = (page: number): string => `/api/pages/${page}/thumbnail`;
export const exportAddress = (format: string, page?: number): string =>
  `/api/export?${new URLSearchParams({ format, ...(page ? { page: String(page) } : {}) })}`;
