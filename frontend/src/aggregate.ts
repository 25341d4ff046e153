// All CTAs at once: how the durations of each name are spread, what they are made of, and the average iteration.

import { h } from "./dom";
import { HIDDEN } from "./events";
import { flame } from "./flame";
import { type Folded, fold, usualAnchor } from "./fold";
import { clean, count, duration, number } from "./format";
import { nest, type Path } from "./nesting";
import { SELECTED } from "./paint";
import type { Scene } from "./scene";
import { quantile } from "./stats";

const BINS = 32;
const [WIDE, HIGH] = [160, 20];
const MOST_NAMES = 60;

export class Aggregate {
  readonly root = h("div", { class: "tlt-aggregate", role: "region", "aria-label": "All CTAs", hidden: true });
  /** The name that an iteration begins with, where a reader has chosen it. */
  private anchor = -1;

  constructor(private readonly scene: Scene) {}

  toggle(): void {
    this.root.hidden = !this.root.hidden;
    this.show();
  }

  /** Anew, of the selected events, else of all that are not hidden. */
  show(): void {
    if (this.root.hidden) return;
    this.root.replaceChildren(this.names(), this.nesting(), this.iteration());
  }

  /** The iteration alone anew: another event is focused. */
  follow(): void {
    if (!this.root.hidden) this.root.lastElementChild?.replaceWith(this.iteration());
  }

  /** What the time is made of; a click on a path leaves its ranges and those inside it. */
  private nesting(): HTMLElement {
    const { scene } = this;
    const { events, axis, selected, paint } = scene;
    const chosen = (i: number) => !selected || (paint.marks[i] & SELECTED) !== 0;
    const nesting = nest(events, axis, (i) => events.code[i] !== HIDDEN && chosen(i));
    const choose = (path: Path) => {
      const found: number[] = [];
      for (let i = 0; i < events.count; i++) {
        let each = nesting.of(i);
        while (each && each !== path) each = each.above;
        if (each) found.push(i);
      }
      scene.select(Uint32Array.from(found));
    };
    return h(
      "section",
      {},
      h("h3", {}, `Time by nesting of ${this.counted}`),
      h(
        "div",
        { class: "tlt-count" },
        "what is inside a range is below it; a click selects a range with what is inside",
      ),
      flame(scene, nesting, choose),
    );
  }

  /** In words, which events are counted. */
  private get counted(): string {
    const { events, selected } = this.scene;
    if (selected) return "what is selected";
    return events.code.includes(HIDDEN) ? "what is shown" : "all CTAs";
  }

  private names(): HTMLElement {
    const { events, axis, selected } = this.scene;
    const lengths = new Map<number, { length: number; i: number }[]>();
    const add = (i: number, rate: number) => {
      if (events.code[i] === HIDDEN || events.isInstant(i)) return;
      const list = lengths.get(events.nameCode(i));
      const one = { length: rate * events.duration[i], i };
      if (list) list.push(one);
      else lengths.set(events.nameCode(i), [one]);
    };
    if (selected) for (const i of selected) add(i, axis.line(events.laneOf(i)).rate);
    else
      for (let row = 0; row < events.rowLane.length; row++) {
        const { rate } = axis.line(events.lanes[events.rowLane[row]]);
        for (let i = events.rowStart[row]; i < events.rowStart[row + 1]; i++) add(i, rate);
      }
    const total = (list: { length: number }[]) => list.reduce((sum, { length }) => sum + length, 0);
    const order = [...lengths].sort((a, b) => total(b[1]) - total(a[1])).slice(0, MOST_NAMES);
    const body = h("tbody", {}, ...order.map(([name, list]) => this.row(name, list)));
    const heads = ["name", "durations", "count", "least", "p10", "p50", "p90", "p99", "most"];
    const head = h("thead", {}, h("tr", {}, ...heads.map((text) => h("th", { scope: "col" }, text))));
    const title = `Durations of ${this.counted}, ${axis.unit}`;
    return h("section", {}, h("h3", {}, title), h("table", { "aria-label": title }, head, body));
  }

  private row(name: number, list: { length: number; i: number }[]): HTMLElement {
    const { events } = this.scene;
    const sorted = Float64Array.from(list, ({ length }) => length).sort();
    const text = (value: number) => number(value, value % 1 ? 1 : 0);
    const at = [0, 0.1, 0.5, 0.9, 0.99, 1].map((share) => text(quantile(sorted, share)));
    return h(
      "tr",
      {},
      h("td", {}, clean(events.names[name], 60)),
      h("td", {}, this.histogram(name, list, sorted)),
      h("td", {}, number(list.length)),
      ...at.map((value) => h("td", {}, value)),
    );
  }

  /** Bars from the least to the greatest duration; a click on one selects its events. */
  private histogram(name: number, list: { length: number; i: number }[], sorted: Float64Array): HTMLElement {
    const [low, high] = [sorted[0], sorted[sorted.length - 1]];
    const binOf = (length: number) =>
      high > low ? Math.min(Math.floor(((length - low) / (high - low)) * BINS), BINS - 1) : 0;
    const counts = new Uint32Array(BINS);
    for (const { length } of list) counts[binOf(length)]++;
    const most = counts.reduce((a, b) => Math.max(a, b), 1);
    const picture = svg("svg", { width: WIDE, height: HIGH, viewBox: `0 0 ${WIDE} ${HIGH}`, class: "tlt-histogram" });
    counts.forEach((n, bin) => {
      const tall = n ? Math.max((n / most) * (HIGH - 1), 1.5) : 0;
      const wide = WIDE / BINS;
      picture.append(
        svg("rect", {
          x: bin * wide,
          y: HIGH - tall,
          width: wide - 0.5,
          height: tall,
          fill: this.scene.paint.nameCss(name),
        }),
      );
    });
    const button = h("button", {
      type: "button",
      title: "a click selects the events of a bar",
      "aria-label": "histogram",
    });
    button.append(picture);
    button.addEventListener("click", (event) => {
      const box = picture.getBoundingClientRect();
      const bin = Math.floor(((event.clientX - box.left) / box.width) * BINS);
      const chosen = list.filter(({ length }) => binOf(length) === bin).map(({ i }) => i);
      if (chosen.length) this.scene.select(Uint32Array.from(chosen).sort());
    });
    return button;
  }

  private iteration(): HTMLElement {
    const { events, focused } = this.scene;
    if (focused >= 0) this.anchor = events.nameCode(focused);
    const anchor = this.anchor >= 0 ? this.anchor : usualAnchor(events);
    const folded = anchor < 0 ? null : fold(events, anchor);
    if (!folded) return h("section", {}, h("h3", {}, "No iterations: no range is there twice on a lane"));
    const from = clean(events.names[anchor], 40);
    const [, period] = folded.period;
    const title = `The average iteration, from ${from} to ${from}: ${duration(period, "cycles")}`;
    const of = `median of ${count(folded.iterations, "iteration")}; thin lines: from p10 to p90; click an event of another name to begin there`;
    const rows = folded.rows.map(({ label, bars }) =>
      h("div", { class: "tlt-fold" }, h("span", {}, label), wrap(this.folded(folded, bars))),
    );
    return h("section", {}, h("h3", {}, title), h("div", { class: "tlt-count" }, of), ...rows);
  }

  private folded(folded: Folded, bars: Folded["rows"][number]["bars"]): SVGElement {
    const most = Math.max(folded.period[2], ...folded.rows.flatMap((row) => row.bars.map(({ end }) => end[1])), 1);
    const picture = svg("svg", {
      width: "100%",
      height: HIGH,
      viewBox: `0 0 1000 ${HIGH}`,
      preserveAspectRatio: "none",
    });
    const x = (cycles: number) => (1000 * cycles) / most;
    for (const { name, start, end, share } of bars) {
      const color = this.scene.paint.nameCss(name);
      const wide = Math.max(x(end[1]) - x(start[1]), 1.5);
      const bar = svg("rect", { x: x(start[1]), y: 3, width: wide, height: HIGH - 8, fill: color, opacity: share });
      const words = `${this.scene.events.names[name]}: ${duration(start[1], "cycles")} to ${duration(end[1], "cycles")}`;
      const title = svg("title", {});
      title.textContent = words;
      bar.append(title);
      picture.append(bar);
      for (const [low, , high] of [start, end])
        picture.append(
          svg("rect", { x: x(low), y: HIGH - 4, width: Math.max(x(high) - x(low), 1), height: 2, fill: color }),
        );
    }
    picture.append(svg("rect", { x: x(folded.period[1]), y: 0, width: 1, height: HIGH, fill: "currentColor" }));
    return picture;
  }
}

function wrap(picture: SVGElement): HTMLElement {
  const box = h("span");
  box.append(picture);
  return box;
}

/** What elements of pictures are of; as the browser knows it, so that the bundle has no address in it. */
function namespaceOfPictures(): string | null {
  return new DOMParser().parseFromString("<svg></svg>", "text/html").body.children[0].namespaceURI;
}

function svg(tag: string, attributes: Readonly<Record<string, string | number>>): SVGElement {
  const element = document.createElementNS(namespaceOfPictures(), tag) as SVGElement;
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, String(value));
  return element;
}
