// For readers who do not see the canvas: the focused event in words, and a table of the events in view.

import { h } from "./dom";
import { eventsBetween } from "./events";
import { factsOf, sentence } from "./facts";
import type { Texts } from "./label";
import type { Scene } from "./scene";

const MOST_ROWS = 50;

export class Spoken {
  readonly live = h("div", { class: "tlt-sr", "aria-live": "polite" });
  readonly table = h("table", { class: "tlt-sr", "aria-label": "Events in view" });

  constructor(
    private readonly scene: Scene,
    private readonly texts: Texts,
  ) {}

  say(): void {
    const { focused, events, header } = this.scene;
    this.live.textContent = focused >= 0 ? sentence(focused, events, this.texts, header) : "";
  }

  /** The first events in view, lane by lane. */
  list(): void {
    const { events, header } = this.scene;
    const found = eventsInView(this.scene, MOST_ROWS);
    const heads = ["name", "payload", "start", "duration", "lane"];
    const body = h("tbody");
    for (const i of found.positions) {
      const facts = new Map(factsOf(i, events, this.texts, header).map(({ key, value }) => [key, value]));
      const cells = [
        this.texts.name(i),
        ...["payload", "start", "duration", "track"].map((key) => facts.get(key) ?? ""),
      ];
      body.append(h("tr", {}, ...cells.map((cell) => h("td", {}, cell))));
    }
    const caption = h("caption", {}, found.more ? `The first ${MOST_ROWS} events in view` : "Events in view");
    this.table.replaceChildren(
      caption,
      h("thead", {}, h("tr", {}, ...heads.map((text) => h("th", { scope: "col" }, text)))),
      body,
    );
  }
}

export function eventsInView(scene: Scene, most: number): { positions: number[]; more: boolean } {
  const { events, axis, span, rows, state } = scene;
  const positions: number[] = [];
  for (const strip of [...rows.pinned, ...rows.between(state.scroll, state.scroll + scene.viewHeight)]) {
    if (strip.kind === "head") continue;
    for (const lane of strip.node.lanes)
      for (let row = lane.row; row < lane.row + lane.rows; row++) {
        const { offset, rate } = axis.line(lane);
        for (const i of eventsBetween(events, row, (span.from - offset) / rate, (span.to - offset) / rate)) {
          if (positions.length === most) return { positions, more: true };
          positions.push(i);
        }
      }
  }
  return { positions, more: false };
}
