// The list of keys, over the lanes.

import { h } from "./dom";
import { BINDINGS, MOUSE } from "./keys";
import { HELP } from "./query";

export function help(close: () => void): HTMLElement {
  const shut = h("button", { type: "button" }, "Close");
  shut.addEventListener("click", close, { once: true });
  const line = (keys: string, does: string) =>
    h("div", {}, h("span", {}, ...keys.split(" ").flatMap((key) => [h("kbd", {}, key), " "])), h("span", {}, does));
  const code = (typed: string) =>
    h("span", {}, ...typed.split(/ (?=\w+[>:<=])/).flatMap((each) => [h("kbd", {}, each), " "]));
  const plain = (what: string, does: string) => h("div", {}, h("span", {}, what), h("span", {}, does));
  return h(
    "div",
    { class: "tlt-help", role: "dialog", "aria-label": "Keys and mouse", tabindex: "-1" },
    h("b", {}, "Keys, while the lanes have the focus "),
    shut,
    h("div", { class: "tlt-keys" }, ...BINDINGS.map(({ shown, does }) => line(shown, does))),
    h("b", {}, "Mouse and fingers"),
    h("div", { class: "tlt-keys" }, ...MOUSE.map(([what, does]) => plain(what, does))),
    h("b", {}, "Search"),
    h("div", { class: "tlt-keys" }, ...HELP.map(([typed, finds]) => h("div", {}, code(typed), h("span", {}, finds)))),
  );
}
