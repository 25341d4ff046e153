// A flame graph, from the outermost ranges down: each as wide as its time, below it what is inside it.

import { css, ink, type Rgb } from "./color";
import { h } from "./dom";
import { clean, count, duration } from "./format";
import { largestFirst, type Nesting, type Path, widthOf } from "./nesting";
import type { Scene } from "./scene";

const ROW = 21;
/** The share of the whole below which a path is not drawn. */
const LEAST = 1 / 1500;

/** The paths as buttons; `choose` is told which was clicked. */
export function flame(scene: Scene, nesting: Nesting, choose: (path: Path) => void): HTMLElement {
  const whole = nesting.roots.reduce((sum, path) => sum + widthOf(path), 0) || 1;
  const boxes: HTMLElement[] = [];
  let rows = 0;
  const add = (paths: Iterable<Path>, left: number, row: number) => {
    let x = left;
    for (const path of largestFirst(paths)) {
      const share = widthOf(path) / whole;
      if (share >= LEAST) {
        boxes.push(box(scene, path, x, share, row, choose));
        rows = Math.max(rows, row + 1);
        add(path.inside.values(), x, row + 1);
      }
      x += share;
    }
  };
  add(nesting.roots, 0, 0);
  const root = h("div", { class: "tlt-flame", role: "group", "aria-label": "Time by nesting" }, ...boxes);
  root.style.height = `${rows * ROW}px`;
  return root;
}

function box(
  { events, paint, axis }: Scene,
  path: Path,
  left: number,
  share: number,
  row: number,
  choose: (path: Path) => void,
): HTMLElement {
  const names: string[] = [];
  for (let each: Path | null = path; each; each = each.above) names.unshift(clean(events.names[each.name], 60));
  const { total, self } = path;
  const [all, own] = [total, self].map((time) => duration(time, axis.unit));
  const words = `${names.join(" / ")}: ${count(path.count, "time")}, ${all}`;
  const title = path.inside.size ? `${words}, ${own} of it in no range inside` : words;
  const button = h("button", { type: "button", title, "aria-label": title }, h("bdi", {}, names[names.length - 1]));
  const color: Rgb = paint.nameRgb(path.name);
  button.style.cssText =
    `left:${100 * left}%;top:${row * ROW}px;width:${100 * share}%;` + `background:${css(color)};color:${ink(color)}`;
  button.addEventListener("click", () => choose(path));
  return button;
}
