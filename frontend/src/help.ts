/** The sheet of keys, made from the table of commands. */

import { COMMANDS, keyOf } from "./commands";
import { openDialog } from "./dialog";
import { h } from "./dom";
import { say } from "./words";

export function openHelp(): void {
  const groups = ["keysOfText", "keysOfLines", "keysOfView", "keysOfBook"] as const;
  const tables = groups.map((group) => {
    const rows = COMMANDS.filter((command) => command.group === group).map((command) =>
      h("tr", {}, h("td", {}, h("kbd", {}, keyOf(command))), h("td", {}, say(command.word))));
    return h("section", {}, h("h3", {}, say(group)), h("table", {}, h("tbody", {}, ...rows)));
  });
  openDialog("help", "help", h("p", {}, say("keysLead")), h("div", { class: "sheets", tabindex: 0 }, ...tables));
}
