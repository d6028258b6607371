/** The interface's words in the browser's language. */

import { en } from "./lang/en";
import type { Word, Words } from "./lang/en";
import { ja } from "./lang/ja";
import { zhHans } from "./lang/zh_hans";
import { zhHant } from "./lang/zh_hant";

export type { Word };

const LANGUAGES: Record<string, Words> = { en, ja, "zh-Hant": zhHant, "zh-Hans": zhHans };

/** The first of the wanted languages that there is; Chinese by its script, or by the region that uses it. */
export function choose(wanted: readonly string[]): string {
  for (const tag of wanted) {
    const { language, script } = new Intl.Locale(tag).maximize();
    const name = language === "zh" ? `zh-${script}` : language;
    if (name && name in LANGUAGES) return name;
  }
  return "en";
}

export const language = choose(globalThis.navigator?.languages ?? []);
const words = LANGUAGES[language] ?? en;

/** A phrase, with what stands in its braces put in: `{n}`, or a word for one and for more, `{n:page|pages}`. */
export function say(word: Word, values: Record<string, string | number> = {}): string {
  return fillIn(words[word], values);
}

export const fillIn = (phrase: string, values: Record<string, string | number>): string =>
  phrase.replace(/\{(\w+)(?::([^|}]*)\|([^}]*))?\}/g, (_, name: string, one?: string, more?: string) =>
    one === undefined ? String(values[name] ?? "") : values[name] === 1 ? one : more!);
