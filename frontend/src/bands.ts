// Bands over the lanes: the critical path, waits with their cause, waves, the rows of any frame. `tltrace_nb.widget.overlays`
// makes them. A span without length is a mark: a line, and its text beside it.

import { css } from "./color";
import { lowerBound } from "./events";
import { AXIS, FONT, type Frame, type Placed, xOf } from "./frame";
import type { Scene } from "./scene";
import type { Theme } from "./theme";
import { LABEL } from "./tree";

/** What Python sends. Spans are in order of CTA, then start; times are cycles since the CTA's entry. */
export interface Over {
  readonly which: string;
  readonly words: string;
  /** Whether a line leads from each span to the next of its CTA. */
  readonly linked: boolean;
  readonly spans: {
    readonly cta: readonly number[];
    readonly start: readonly number[];
    readonly end: readonly number[];
    /** Null where a span is over all lanes of its CTA, or of its thread. */
    readonly thread: readonly number[] | null;
    readonly lane: readonly string[] | null;
    /** Of which launch or rank it is; null where there is but one. */
    readonly part: readonly number[] | null;
    readonly text: readonly string[];
  };
}

/** Most bands of a frame. */
const MOST_DRAWN = 4000;
const EDGE = 3;
/** How wide the line of a mark is. */
const MARK = 2;
/** The space on both sides of its text. */
const FLAG = 4;

interface Box {
  readonly x: number;
  readonly y: number;
  readonly w: number;
  readonly h: number;
}

export class Bands {
  /** Positions of the spans of each CTA. */
  private readonly byCta = new Map<string, number[]>();
  private readonly starts = new Map<string, Float64Array>();
  private readonly longest: number;

  constructor(
    readonly over: Over,
    private readonly scene: Scene,
  ) {
    const { cta, part, start, end } = over.spans;
    cta.forEach((id, n) => {
      const key = keyOf(id, part?.[n] ?? null);
      const known = this.byCta.get(key);
      if (known) known.push(n);
      else this.byCta.set(key, [n]);
    });
    for (const [key, spans] of this.byCta)
      this.starts.set(
        key,
        Float64Array.from(spans, (n) => start[n]),
      );
    this.longest = start.reduce((most, from, n) => Math.max(most, end[n] - from), 0);
  }

  draw(context: CanvasRenderingContext2D, shown: readonly Placed[], frame: Frame, theme: Theme): void {
    const { scene, over } = this;
    const { ratio } = frame;
    const origin = Number(scene.events.origin);
    const ends = new Map<number, { x: number; y: number }>();
    const begins = new Map<number, { x: number; y: number }>();
    let drawn = 0;
    context.textBaseline = "middle";
    context.textAlign = "left";
    context.font = `600 ${10.5 * ratio}px ${FONT}`;
    for (const { strip, y } of shown) {
      if (strip.kind === "head") continue;
      const done = new Set<number>();
      for (const lane of strip.node.lanes) {
        const key = keyOf(lane.cta, lane.launch ?? lane.rank);
        const spans = this.byCta.get(key);
        if (!spans) continue;
        const { offset, rate } = scene.axis.line(lane);
        const cycle = (time: number) => (time - offset) / rate + origin;
        const from = lowerBound(this.starts.get(key)!, cycle(scene.span.from) - this.longest, 0, spans.length);
        for (let k = from; k < spans.length && drawn < MOST_DRAWN; k++) {
          const n = spans[k];
          if (over.spans.start[n] > cycle(scene.span.to)) break;
          const { thread, lane: name } = over.spans;
          if (done.has(n) || (thread && thread[n] !== lane.thread) || (name && name[n] !== lane.name)) continue;
          done.add(n);
          const place = (value: number) => xOf(offset + rate * (value - origin), scene.span, frame) * ratio;
          const [left, right] = [place(over.spans.start[n]), place(over.spans.end[n])];
          const box = { x: left, y: (y + 1) * ratio, w: Math.max(right - left, ratio), h: (strip.body - 2) * ratio };
          if (right > left) this.band(context, box, over.spans.text[n], frame, theme);
          else {
            const until = k + 1 < spans.length ? place(over.spans.start[spans[k + 1]]) : Number.POSITIVE_INFINITY;
            const text = begins.has(n) ? "" : over.spans.text[n]; // once, on the first of its lanes
            this.mark(context, { ...box, w: until - left }, text, frame, theme);
          }
          drawn++;
          if (begins.has(n)) continue;
          begins.set(n, { x: left, y: box.y + box.h / 2 });
          ends.set(n, { x: right, y: box.y + box.h / 2 });
        }
      }
    }
    if (over.linked) this.links(context, begins, ends, frame, theme);
  }

  private band(context: CanvasRenderingContext2D, box: Box, text: string, frame: Frame, theme: Theme): void {
    const { ratio } = frame;
    context.fillStyle = theme.accent;
    context.globalAlpha = this.over.linked ? 0 : 0.12; // a path is on bars, whose colours must stay what they are
    context.fillRect(box.x, box.y, box.w, box.h);
    context.globalAlpha = 1;
    const edge = Math.min(EDGE * ratio, box.h / 3);
    context.fillRect(box.x, box.y + box.h - edge, box.w, edge);
    context.fillRect(box.x, box.y, ratio, box.h);
    if (!this.over.linked) this.text(context, box, text, frame, theme); // what is on the path has its name on its bar
  }

  /** A line, and at it the text on a flag, which is read over the words of a bar. */
  private mark(context: CanvasRenderingContext2D, box: Box, text: string, frame: Frame, theme: Theme): void {
    const { ratio, gutter } = frame;
    context.fillStyle = theme.accent;
    context.fillRect(Math.round(box.x) - ratio, box.y, MARK * ratio, box.h);
    const wide = context.measureText(text).width + 2 * FLAG * ratio;
    if (!text || wide > box.w || box.x < gutter * ratio || box.h < LABEL * ratio) return;
    context.fillRect(box.x, box.y, wide, LABEL * ratio);
    context.fillStyle = css(theme.ground);
    context.fillText(text, box.x + FLAG * ratio, box.y + (LABEL / 2 + 0.5) * ratio);
  }

  /** As much of a text as has room in a box, over the words of a bar; none where the box is lower than its letters. */
  private text(
    context: CanvasRenderingContext2D,
    box: Box,
    text: string,
    { ratio, width, gutter }: Frame,
    theme: Theme,
  ): void {
    const from = Math.max(box.x, gutter * ratio) + 4 * ratio;
    const room = Math.min(box.x + box.w, width * ratio) - from - 3 * ratio;
    if (!text || room < 40 * ratio || box.h < LABEL * ratio) return;
    context.save();
    context.beginPath();
    context.rect(from - 2 * ratio, box.y, room + 2 * ratio, box.h);
    context.clip();
    const middle = box.y + box.h / 2;
    context.fillStyle = css(theme.ground);
    context.fillRect(
      from - 2 * ratio,
      middle - (LABEL / 2) * ratio,
      context.measureText(text).width + 4 * ratio,
      LABEL * ratio,
    );
    context.fillStyle = theme.accent;
    context.fillText(text, from, middle);
    context.restore();
  }

  /** From the end of each span to the begin of the next, where that is on another lane. */
  private links(
    context: CanvasRenderingContext2D,
    begins: ReadonlyMap<number, { x: number; y: number }>,
    ends: ReadonlyMap<number, { x: number; y: number }>,
    { ratio }: Frame,
    theme: Theme,
  ): void {
    context.strokeStyle = theme.accent;
    context.lineWidth = 1.5 * ratio;
    context.beginPath();
    for (const spans of this.byCta.values())
      for (let k = 1; k < spans.length; k++) {
        const [from, to] = [ends.get(spans[k - 1]), begins.get(spans[k])];
        if (!from || !to || Math.max(from.y, to.y) < AXIS * ratio) continue;
        context.moveTo(from.x, from.y);
        context.lineTo(to.x, to.y);
      }
    context.stroke();
  }
}

function keyOf(cta: number, part: number | null): string {
  return `${part ?? ""}|${cta}`;
}
