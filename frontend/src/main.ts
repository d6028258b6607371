/** The page begins here. */

import { App } from "./app";
import { byId } from "./dom";
import { getBook } from "./server";
import { language, say } from "./words";
import type { Word } from "./words";

const RETRY = 2000;

async function begin(): Promise<void> {
  document.documentElement.lang = language;
  for (const element of document.querySelectorAll<HTMLElement>("[data-label]")) {
    element.setAttribute("aria-label", say(element.dataset.label as Word));
  }
  byId("input").setAttribute("aria-label", say("textHelp"));
  try {
    await new App(await getBook()).start();
  } catch (error) {
    byId("notice").textContent = (error as Error).message;
    setTimeout(() => location.reload(), RETRY);
    throw error;
  }
}

void begin();
