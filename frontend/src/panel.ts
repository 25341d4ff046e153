// Under the lanes: the details of the focused event and the aggregate table of what is selected.

import { sourceButton } from "./cell";
import { h } from "./dom";
import { factsOf } from "./facts";
import { clean, count, number, percent } from "./format";
import type { Texts } from "./label";
import type { Scene } from "./scene";
import { type NameStats, statistics } from "./stats";

const MOST_NAMES = 200;

export class Panel {
  readonly root = h("div", { class: "tlt-panel", role: "region", "aria-label": "Details", hidden: true });
  private stats: NameStats[] = [];

  constructor(
    private readonly scene: Scene,
    private readonly texts: Texts,
    private readonly actions: readonly HTMLElement[],
  ) {}

  /** The selection has changed. */
  aggregate(): void {
    const { selected, events, axis } = this.scene;
    this.stats = selected ? statistics(events, axis, selected) : [];
    this.show();
  }

  show(): void {
    const { focused, selected } = this.scene;
    const parts: HTMLElement[] = [];
    if (focused >= 0) parts.push(this.details(focused));
    if (selected) parts.push(this.table(selected.length));
    this.root.hidden = parts.length === 0;
    this.root.replaceChildren(...parts, ...(parts.length ? [h("div", {}, ...this.actions)] : []));
  }

  private details(i: number): HTMLElement {
    const { scene } = this;
    const list = h("dl");
    const source = scene.events.source(i);
    const link = (text: string) =>
      sourceButton(this.root, text, source, scene.header.code[source] ?? "", (words) => scene.say(words));
    for (const { key, value } of factsOf(i, scene.events, this.texts, scene.header))
      list.append(h("dt", {}, key), h("dd", { dir: "auto" }, key === "source" ? link(value) : value));
    return h("section", {}, h("h3", { dir: "auto" }, this.texts.name(i)), list);
  }

  private table(total: number): HTMLElement {
    const names = this.scene.events.names;
    const body = h("tbody");
    for (const row of this.stats.slice(0, MOST_NAMES)) {
      const cells = [
        number(row.count),
        ...[row.total, row.mean, row.p50, row.p99].map((value) =>
          value === undefined ? "–" : number(value, value % 1 ? 1 : 0),
        ),
      ];
      body.append(
        h(
          "tr",
          {},
          h("td", { dir: "auto" }, clean(names[row.name], 80)),
          ...cells.map((cell) => h("td", {}, cell)),
          h("td", {}, row.share === undefined ? "–" : percent(row.share)),
        ),
      );
    }
    const head = h("thead", {}, h("tr", {}, ...this.heads.map((text) => h("th", { scope: "col" }, text))));
    const title = `${count(total, "event")} selected`;
    const more = this.stats.length > MOST_NAMES ? `${number(this.stats.length - MOST_NAMES)} more names` : "";
    return h("section", {}, h("h3", {}, title), h("table", { "aria-label": title }, head, body), more);
  }

  private get heads(): string[] {
    return ["name", "count", `total ${this.scene.axis.unit}`, "mean", "p50", "p99", "share"];
  }

  /** The aggregate table as lines with tabs. */
  asText(): string {
    const { names } = this.scene.events;
    const lines = this.stats.map((row) =>
      [names[row.name], row.count, row.total ?? "", row.mean ?? "", row.p50 ?? "", row.p99 ?? "", row.share ?? ""].join(
        "\t",
      ),
    );
    return [this.heads.join("\t"), ...lines].join("\n");
  }
}
