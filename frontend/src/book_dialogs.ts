/** What concerns pages and book: reading again, training, files to take away, one's name. */

import type { App } from "./app";
import { button, field, openDialog } from "./dialog";
import { h } from "./dom";
import { exportAddress, postRead } from "./server";
import { say } from "./words";

export function openReadAgain(app: App): void {
  const { settings } = app.book;
  if (!settings.canRead) {
    openDialog("readAgain", "read", h("p", {}, say("cannotRead")));
    return;
  }
  const keep = h("input", { type: "radio", name: "lines", checked: true });
  const fresh = h("input", { type: "radio", name: "lines" });
  const engine = choices(settings.engines, settings.engine);
  const weights = choices(settings.weightsChoices, settings.weights);
  const others = h("input", { type: "checkbox" });
  const start = button("startReading", () => {
    const request = { keepLines: keep.checked, engine: engine.value || null, weights: weights.value || null, others: others.checked };
    void postRead(app.session.number, request)
      .then(() => dialog.close(), (error: Error) => (problem.textContent = error.message));
  }, "strong");
  const problem = h("p", { role: "alert" });
  const dialog = openDialog(
    "readAgain", "read", h("p", {}, say("readAgainNote")),
    h("fieldset", {}, h("legend", {}, say("pageOf", { n: app.session.number, total: app.book.pages.length })),
      h("label", {}, keep, say("keepLines")), h("label", {}, fresh, say("newLines"))),
    field("engine", engine), field("weights", weights), h("label", { class: "check" }, others, say("readOthers")), problem,
    h("div", { class: "buttons" }, button("cancel", () => dialog.close()), start),
  );
  start.focus();
}

function choices(values: string[], chosen: string): HTMLSelectElement {
  const label = (value: string) => (value === "package" || value === "given" ? say(value) : value);
  const all = values.includes(chosen) ? values : [chosen, ...values];
  return h("select", {}, ...all.map((value) => h("option", { value, selected: value === chosen }, label(value))));
}

/** So many pages are a beginning. */
const ENOUGH = 20;

export function openTraining(app: App): void {
  const { readyForTraining, trainCommand, settings } = app.book;
  const tuned = settings.weightsChoices.filter((name) => name !== "package" && name !== "given");
  const more = readyForTraining < ENOUGH ? h("p", {}, say("trainMore", { n: ENOUGH })) : "";
  const command = h("code", { tabindex: 0 }, trainCommand);
  const copy = button("copy", () => {
    void navigator.clipboard?.writeText(trainCommand).then(() => (copy.textContent = say("copied")));
  }, "strong");
  openDialog(
    "training", "training", h("p", { class: "count" }, say("ready", { n: readyForTraining })), more,
    h("p", {}, say("trainHint")),
    h("pre", {}, command), h("p", { class: "then" }, say(tuned.length ? "trainThere" : "trainThen", { name: tuned.join(", ") })),
    h("div", { class: "buttons" }, copy),
  );
}

export function openDownload(app: App): void {
  const whole = h("select", {}, h("option", { value: "" }, say("book")), h("option", { value: "page", selected: true }, say("thisPage")));
  const format = h("select", {}, ...app.book.formats.map((name) => h("option", { value: name }, name)));
  const link = h("a", { class: "plain strong", download: true }, say("download"));
  const aim = () => link.setAttribute("href", exportAddress(format.value, whole.value ? app.session.number : undefined));
  whole.addEventListener("change", aim);
  format.addEventListener("change", aim);
  aim();
  const changes = h("a", { class: "plain", href: "/api/changes.tsv", download: true }, say("changes"));
  openDialog("download", "download", field("format", format), field("book", whole), h("div", { class: "buttons" }, changes, link));
}

const NAME = "tongguocr/who";

export const whoAmI = (): string => localStorage.getItem(NAME) ?? "";

export function nameField(): HTMLElement {
  const input = h("input", { value: whoAmI(), maxlength: 100, autocomplete: "name" });
  input.addEventListener("input", () => localStorage.setItem(NAME, input.value.trim()));
  return field("name", input);
}
