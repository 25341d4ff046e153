// What a reader writes on a trace: a note on an event, or on a time that was measured. They are drawn over the lanes and
// listed under them; who keeps them is told.

import { Bands, type Over } from "./bands";
import { h } from "./dom";
import { clean, duration } from "./format";
import type { Scene } from "./scene";

/** A text on a time of a CTA, in cycles since its entry; `thread` is -1 for all of its lanes. */
export interface Remark {
  readonly cta: number;
  readonly thread: number;
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

export class Remarks {
  readonly root = h("div", { class: "tlt-remarks", role: "region", "aria-label": "Notes", hidden: true });
  private remarks: readonly Remark[] = [];
  private pending: Omit<Remark, "text"> | null = null;
  private readonly input = h("input", { type: "text", placeholder: "a note: Enter keeps it", "aria-label": "Note" });
  private readonly list = h("div");

  constructor(
    private readonly scene: Scene,
    /** Draw again; with the notes where the reader has changed them. */
    private readonly changed: (bands: Bands | null, remarks: readonly Remark[] | null) => void,
    private readonly home: () => void,
  ) {
    this.root.append(this.input, this.list);
    this.input.hidden = true;
    this.input.addEventListener("keydown", (event) => this.key(event));
  }

  /** What is written so far. */
  get all(): readonly Remark[] {
    return this.remarks;
  }

  /** Take over what is kept elsewhere. */
  set(remarks: readonly Remark[]): void {
    this.remarks = remarks;
    this.show();
    this.changed(this.bands, null);
  }

  /** Begin a note on what is measured, else on the focused event. */
  begin(): void {
    const { scene } = this;
    const { measured, focused, events } = scene;
    const origin = Number(events.origin);
    if (measured?.lane) {
      const { offset, rate } = scene.axis.line(measured.lane);
      const cycle = (time: number) => Math.round((time - offset) / rate + origin);
      const { cta, thread } = measured.lane;
      this.pending = { cta, thread, start: cycle(measured.from), end: cycle(measured.to) };
    } else if (focused >= 0) {
      const { cta, thread } = events.laneOf(focused);
      this.pending = { cta, thread, start: origin + events.start[focused], end: origin + events.end(focused) };
    } else {
      scene.say("click an event, or measure on its lane, and then write on it");
      return;
    }
    this.root.hidden = false;
    this.input.hidden = false;
    this.input.value = "";
    this.input.focus();
  }

  private key(event: KeyboardEvent): void {
    event.stopPropagation();
    if (event.key !== "Enter" && event.key !== "Escape") return;
    event.preventDefault();
    const text = this.input.value.trim();
    if (event.key === "Enter" && text && this.pending) this.keep([...this.remarks, { ...this.pending, text }]);
    this.pending = null;
    this.input.hidden = true;
    this.show();
    this.home();
  }

  private keep(remarks: readonly Remark[]): void {
    this.remarks = remarks;
    this.show();
    this.changed(this.bands, remarks);
  }

  private show(): void {
    this.list.replaceChildren(
      ...this.remarks.map((remark) => {
        const go = h("button", { type: "button", title: "go there" }, clean(remark.text, 200));
        const gone = h("button", { type: "button", "aria-label": "Remove this note" }, "×");
        go.addEventListener("click", () => this.go(remark));
        gone.addEventListener("click", () => this.keep(this.remarks.filter((each) => each !== remark)));
        const where = `CTA ${remark.cta}, ${duration(remark.end - remark.start, "cycles")}`;
        return h("span", {}, go, h("span", { class: "tlt-count" }, where), gone);
      }),
    );
    this.root.hidden = !this.remarks.length && this.input.hidden;
  }

  private go({ cta, thread, start, end }: Remark): void {
    const { scene } = this;
    const lane = scene.events.lanes.find((each) => each.cta === cta && (thread < 0 || each.thread === thread));
    if (!lane) return;
    const { offset, rate } = scene.axis.line(lane);
    const place = (cycles: number) => offset + rate * (cycles - Number(scene.events.origin));
    const room = Math.max((end - start) * rate, 8);
    scene.look({ from: place(start) - room, to: place(end) + room });
    scene.reveal(lane);
  }

  private get bands(): Bands | null {
    const column = <K extends keyof Remark>(key: K) => this.remarks.map((each) => each[key]);
    const order = [...this.remarks].sort((a, b) => a.cta - b.cta || a.start - b.start);
    this.remarks = order;
    if (!order.length) return null;
    const spans = { cta: column("cta"), start: column("start"), end: column("end"), text: column("text") };
    const over: Over = {
      which: "notes",
      words: "",
      linked: false,
      spans: { ...spans, thread: column("thread"), lane: null, part: null },
    };
    return new Bands(over, this.scene);
  }
}
