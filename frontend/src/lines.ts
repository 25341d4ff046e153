// The lines of the kernel with the time that their events take: a click on a line selects them, and the lines of what is
// focused or selected stand out.

import { sourceButton } from "./cell";
import { h } from "./dom";
import { HIDDEN } from "./events";
import { clean, duration, number, percent } from "./format";
import type { Scene } from "./scene";

interface Line {
  /** Its number among the sources. */
  readonly source: number;
  readonly events: number;
  /** Of its ranges, in the unit of the axis. */
  readonly time: number;
}

export class Lines {
  readonly root = h("div", { class: "tlt-lines", role: "region", "aria-label": "Lines of the kernel", hidden: true });
  private rows = new Map<number, HTMLElement>();

  constructor(private readonly scene: Scene) {}

  toggle(): void {
    this.root.hidden = !this.root.hidden;
    this.show();
  }

  /** All lines anew: what is hidden, or the unit, has changed. */
  show(): void {
    if (this.root.hidden) return;
    const { scene } = this;
    const lines = linesOf(scene);
    const most = Math.max(...lines.map(({ time }) => time), 1e-9);
    const all = lines.reduce((sum, { time }) => sum + time, 0);
    const body = h("tbody");
    this.rows = new Map(lines.map((line) => [line.source, this.row(line, most, all)]));
    body.append(...this.rows.values());
    const heads = ["line", "code", "events", `time, ${scene.axis.unit}`, "share"];
    const head = h("thead", {}, h("tr", {}, ...heads.map((text) => h("th", { scope: "col" }, text))));
    this.root.replaceChildren(
      lines.length ? h("table", { "aria-label": "Time per line" }, head, body) : "no event says on which line it is",
    );
    this.mark();
  }

  private row({ source, events, time }: Line, most: number, all: number): HTMLElement {
    const { scene } = this;
    const text = scene.events.sources[source];
    const code = scene.header.code[text] ?? "";
    const bar = h("span", { class: "tlt-line-bar" });
    bar.style.width = `${(100 * time) / most}%`;
    const name = h("button", { type: "button", title: "select its events" }, clean(text, 60));
    name.addEventListener("click", () => scene.select(positionsOf(scene, source)));
    return h(
      "tr",
      {},
      h("td", {}, name),
      h(
        "td",
        {},
        h(
          "code",
          {},
          sourceButton(this.root, code, text, code, (words) => scene.say(words)),
        ),
      ),
      h("td", {}, number(events)),
      h("td", { class: "tlt-line-time" }, bar, h("span", {}, duration(time, scene.axis.unit))),
      h("td", {}, all > 0 ? percent(time / all) : "–"),
    );
  }

  /** Mark the lines of the focused event, else of the selected ones. */
  mark(): void {
    if (this.root.hidden) return;
    const { events, focused, selected } = this.scene;
    const meant = focused >= 0 ? [focused] : (selected ?? []);
    const sources = new Set<number>();
    for (const i of meant) sources.add(events.siteSource[events.site[i]]);
    for (const [source, row] of this.rows) row.classList.toggle("tlt-on", sources.has(source));
  }
}

/** The lines that have events which are not hidden, by file and number. */
function linesOf({ events, axis }: Scene): Line[] {
  const times = new Float64Array(events.sources.length);
  const counts = new Uint32Array(events.sources.length);
  for (let row = 0; row < events.rowLane.length; row++) {
    const { rate } = axis.line(events.lanes[events.rowLane[row]]);
    for (let i = events.rowStart[row]; i < events.rowStart[row + 1]; i++) {
      if (events.code[i] === HIDDEN) continue;
      const source = events.siteSource[events.site[i]];
      counts[source]++;
      times[source] += rate * events.duration[i];
    }
  }
  const place = (text: string): [string, number] => {
    const at = text.lastIndexOf(":");
    return [text.slice(0, at), Number(text.slice(at + 1))];
  };
  return Array.from(counts, (_, source) => source)
    .filter((source) => counts[source] && events.sources[source])
    .map((source) => ({ source, events: counts[source], time: times[source] }))
    .sort((a, b) => {
      const [[file, line], [other, until]] = [a, b].map(({ source }) => place(events.sources[source]));
      return file.localeCompare(other) || line - until;
    });
}

function positionsOf({ events }: Scene, source: number): Uint32Array {
  const found: number[] = [];
  for (let i = 0; i < events.count; i++)
    if (events.code[i] !== HIDDEN && events.siteSource[events.site[i]] === source) found.push(i);
  return Uint32Array.from(found);
}
