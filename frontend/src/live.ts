/** What the server tells by itself: pages that were read, changes of others. The browser connects again by itself. */

import type { BookEvent } from "./types";

export function listen(onEvent: (event: BookEvent) => void, onBack: () => void): void {
  const source = new EventSource("/api/events");
  let lost = false;
  source.addEventListener("message", (message) => onEvent(JSON.parse(String(message.data)) as BookEvent));
  source.addEventListener("error", () => {
    lost = true;
    // Some answers end it for good; a server that was started again is worth another look.
    if (source.readyState === EventSource.CLOSED) setTimeout(() => listen(onEvent, onBack), 3000);
  });
  source.addEventListener("open", () => {
    if (lost) onBack();
    lost = false;
  });
}
