// What is said of the event under the pointer, and how the wheel works.

import { h } from "./dom";
import { factsOf } from "./facts";
import type { Frame } from "./frame";
import type { Texts } from "./label";
import type { Scene } from "./scene";

const HINT_MS = 1400;

export class Tip {
  readonly root = h("div", { class: "tlt-tip", hidden: true });
  private said = -1;

  constructor(
    private readonly scene: Scene,
    private readonly texts: Texts,
  ) {}

  /** Say it beside the pointer, or nothing. */
  show(pointer: { x: number; y: number } | null, frame: Frame): void {
    const { root, scene } = this;
    const i = scene.hovered;
    root.hidden = i < 0 || !pointer;
    if (i < 0 || !pointer) return;
    if (this.said !== i) {
      this.said = i;
      const facts = factsOf(i, scene.events, this.texts, scene.header);
      const lines = facts.map(({ key, value }) => h("div", {}, `${key} `, h("span", { dir: "auto" }, value)));
      root.replaceChildren(h("b", { dir: "auto" }, this.texts.name(i)), ...lines);
    }
    const [width, height] = [root.offsetWidth, root.offsetHeight];
    const { x, y } = pointer;
    const left = x + 14 + width > frame.width ? Math.max(x - 14 - width, 2) : x + 14;
    const below = y + 16 + height <= frame.height;
    const top = below ? y + 16 : Math.max(Math.min(y - 12 - height, frame.height - height), 2);
    root.style.transform = `translate(${Math.round(left)}px, ${Math.round(top)}px)`;
  }
}

/** Shown for a moment when the wheel is turned and the page scrolls. */
export class Hint {
  readonly root = h(
    "div",
    { class: "tlt-hint", hidden: true },
    "Ctrl + wheel zooms; click to activate the wheel and the keys",
  );
  private timer = 0;

  show(): void {
    this.root.hidden = false;
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => {
      this.root.hidden = true;
    }, HINT_MS);
  }

  close(): void {
    clearTimeout(this.timer);
  }
}
