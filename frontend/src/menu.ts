// The menus over the lanes: of a label (pin, hide, move, collapse), and any other list of things to do.

import { h } from "./dom";
import type { Scene } from "./scene";
import type { Strip } from "./tree";

/** What is offered, and what it does. */
export type Entry = readonly [string, () => void];

export class Menu {
  private root: HTMLElement | null = null;

  /** `home` gives the keyboard back to the lanes. */
  constructor(
    private readonly stage: HTMLElement,
    private readonly scene: Scene,
    private readonly home: () => void,
  ) {}

  open(strip: Strip, x: number, y: number): void {
    this.show(this.entries(strip), x, y);
  }

  show(entries: readonly Entry[], x: number, y: number): void {
    this.close();
    const items = entries.map(([text, act]) => {
      const item = h("button", { type: "button", role: "menuitem" }, text);
      item.addEventListener("click", () => {
        this.close();
        this.home();
        act();
      });
      return item;
    });
    const root = h("div", { class: "tlt-menu", role: "menu" }, ...items);
    root.style.left = `${Math.max(Math.min(x, this.stage.clientWidth - 190), 0)}px`;
    root.style.top = `${Math.max(Math.min(y, this.stage.clientHeight - items.length * 25 - 10), 0)}px`;
    root.addEventListener("keydown", (event) => {
      event.stopPropagation();
      if (event.key !== "Escape") return;
      this.close();
      this.home();
    });
    this.root = root;
    this.stage.append(root);
    items[0].focus();
  }

  private entries({ node }: Strip): Entry[] {
    const { scene } = this;
    const { key } = node;
    const { pinned, collapsed } = scene.state.lanes;
    const entries: Entry[] = [
      [pinned.includes(key) ? "Unpin" : "Pin to the top", () => scene.toggle("pinned", key)],
      ["Hide", () => scene.toggle("hidden", key)],
      ["Move up", () => scene.move(key, -1)],
      ["Move down", () => scene.move(key, 1)],
    ];
    entries.push([collapsed.has(key) ? "Open" : "Collapse", () => scene.toggle("collapsed", key)]);
    if (scene.rows.hiddenCount)
      entries.push([`Show the ${scene.rows.hiddenCount} hidden`, () => scene.arrange({ hidden: new Set() })]);
    return entries;
  }

  holds(target: Node): boolean {
    return this.root?.contains(target) ?? false;
  }

  close(): void {
    this.root?.remove();
    this.root = null;
  }
}
