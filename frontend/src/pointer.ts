// Mouse, touchpad and fingers on the lanes.

import type { Lane } from "./events";
import { AXIS, type Frame, placed, stuck, timeAt } from "./frame";
import { hit } from "./hit";
import { snapped } from "./measure";
import type { Scene } from "./scene";
import { GAP, HEAD, ROW, type Strip } from "./tree";

export type Tool = "select" | "pan" | "measure";

/** How near, in pixels, an event is to the pointer that hovers it. */
const REACH = 3;
/** How near, in pixels, an edge is to which a measuring pointer jumps. */
const SNAP = 7;
const SLOP = 4;
/** Size of the corner that the browser makes the handle of a height. */
const CORNER = 16;
const WHEEL = 0.0016;

export interface Pointing {
  readonly frame: () => Frame;
  readonly tool: () => Tool;
  /** The pointer is at this place (CSS pixels in the stage), or gone. */
  moved(x: number | null, y: number): void;
  hint(): void;
  menu(strip: Strip, x: number, y: number): void;
}

interface Drag {
  readonly kind: Tool | "none" | "lane";
  readonly x: number;
  readonly y: number;
  readonly time: number;
  readonly scroll: number;
  readonly onAxis: boolean;
  readonly strip: Strip | null;
  moved: boolean;
}

export class Pointer {
  private drag: Drag | null = null;
  private readonly fingers = new Map<number, { x: number; y: number }>();

  constructor(
    private readonly stage: HTMLElement,
    private readonly scene: Scene,
    private readonly to: Pointing,
    signal: AbortSignal,
  ) {
    const on = <K extends keyof HTMLElementEventMap>(
      type: K,
      handle: (event: HTMLElementEventMap[K]) => void,
      passive = true,
    ) => stage.addEventListener(type, handle, { signal, passive });
    on("pointerdown", (event) => this.down(event));
    on("pointermove", (event) => this.move(event));
    on("pointerup", (event) => this.up(event));
    on("pointercancel", (event) => this.cancel(event));
    on("pointerleave", () => this.leave());
    on("wheel", (event) => this.wheel(event), false);
    on("dblclick", (event) => this.twice(event));
    on("contextmenu", (event) => this.context(event), false);
  }

  private place(event: MouseEvent): { x: number; y: number } {
    const box = this.stage.getBoundingClientRect();
    const scale = box.width / this.stage.offsetWidth || 1; // larger where it is presented
    const { clientLeft, clientTop } = this.stage;
    return {
      x: (event.clientX - box.left) / scale - clientLeft,
      y: (event.clientY - box.top) / scale - clientTop,
    };
  }

  /** The strip at `y`, and the row of all rows there (-1 for a head, or for the run before at a lane's foot). */
  stripAt(y: number): { strip: Strip | null; row: number } {
    const shown = [...stuck(this.scene), ...placed(this.scene, this.to.frame())];
    const under = shown.find((each) => y >= each.y && y < each.y + each.strip.height);
    if (!under || y < AXIS) return { strip: null, row: -1 };
    const { strip } = under;
    if (strip.kind !== "lane") return { strip, row: -1 };
    const lane = strip.node.lanes[0];
    if (y - under.y >= lane.rows * ROW + GAP) return { strip, row: -1 };
    const row = Math.floor((y - under.y - GAP / 2) / ROW);
    return { strip, row: lane.row + Math.min(Math.max(row, 0), lane.rows - 1) };
  }

  /** The rows of all rows at `y`, all of them in a collapsed branch, and the first lane there. */
  private rowsAt(y: number): { rows: number[]; lane: Lane | null } {
    const { strip, row } = this.stripAt(y);
    if (!strip || strip.kind === "head" || (strip.kind === "lane" && row < 0)) return { rows: [], lane: null };
    const { lanes } = strip.node;
    if (strip.kind === "lane") return { rows: [row], lane: lanes[0] };
    return { rows: lanes.flatMap((lane) => Array.from({ length: lane.rows }, (_, n) => lane.row + n)), lane: lanes[0] };
  }

  /** The time at a place, or that of an edge near it. */
  private edgeAt(x: number, y: number): number {
    const frame = this.to.frame();
    const { span } = this.scene;
    const perPixel = (span.to - span.from) / (frame.width - frame.gutter);
    return snapped(this.scene, this.rowsAt(y).rows, timeAt(x, span, frame), SNAP * perPixel);
  }

  /** The event at a place; -1 for none. In a collapsed branch, one of any of its lanes. */
  eventAt(x: number, y: number): number {
    const { scene } = this;
    const frame = this.to.frame();
    if (x < frame.gutter || x > frame.width) return -1;
    const time = timeAt(x, scene.span, frame);
    const perPixel = (scene.span.to - scene.span.from) / (frame.width - frame.gutter);
    for (const each of this.rowsAt(y).rows) {
      const { offset, rate } = scene.axis.line(scene.events.lanes[scene.events.rowLane[each]]);
      const found = hit(scene.events, each, (time - offset) / rate, (REACH * perPixel) / rate);
      if (found >= 0) return found;
    }
    return -1;
  }

  private down(event: PointerEvent): void {
    const { x, y } = this.place(event);
    if ((event.target as Element).closest(".tlt-scroll, .tlt-menu") || this.onHandle(x, y)) return;
    this.fingers.set(event.pointerId, { x, y });
    if (event.button > 1 || this.fingers.size > 1) return;
    const frame = this.to.frame();
    const onAxis = y < AXIS;
    const { strip } = this.stripAt(y);
    const inGutter = x < frame.gutter;
    const tool =
      event.shiftKey || event.button === 1 ? "pan" : onAxis && this.to.tool() === "pan" ? "pan" : this.to.tool();
    const kind = inGutter
      ? strip
        ? "lane"
        : "none"
      : event.pointerType === "touch" && tool === "select"
        ? "pan"
        : tool;
    const time = kind === "measure" ? this.edgeAt(x, y) : timeAt(x, this.scene.span, frame);
    this.drag = { kind, x, y, time, scroll: this.scene.state.scroll, onAxis, strip, moved: false };
    this.stage.setPointerCapture(event.pointerId);
  }

  private move(event: PointerEvent): void {
    const { x, y } = this.place(event);
    const finger = this.fingers.get(event.pointerId);
    if (finger && this.fingers.size === 2) {
      this.pinch(event.pointerId, { x, y });
      return;
    }
    if (finger) this.fingers.set(event.pointerId, { x, y });
    const { drag, scene } = this;
    if (!drag) {
      const busy = (event.target as Element).closest(".tlt-scroll, .tlt-menu, .tlt-tip");
      scene.hover(busy ? -1 : this.eventAt(x, y));
      this.to.moved(busy ? null : x, y);
      return;
    }
    if (!drag.moved && Math.hypot(x - drag.x, y - drag.y) < SLOP) return;
    drag.moved = true;
    scene.hover(-1);
    this.to.moved(x, y);
    this.dragged(drag, x, y, false);
  }

  private dragged(drag: Drag, x: number, y: number, done: boolean): void {
    const { scene } = this;
    const frame = this.to.frame();
    const within = Math.min(Math.max(x, frame.gutter), frame.width);
    const time = drag.kind === "measure" ? this.edgeAt(within, y) : timeAt(within, scene.span, frame);
    const span = { from: Math.min(time, drag.time), to: Math.max(time, drag.time) };
    if (drag.kind === "pan") {
      const shift = drag.time - timeAt(x, scene.span, frame);
      if (shift) scene.look({ from: scene.span.from + shift, to: scene.span.to + shift });
      scene.scrollTo(drag.scroll + drag.y - y);
    } else if (drag.kind === "measure") {
      scene.measured = { ...span, lane: this.rowsAt(y).lane ?? this.rowsAt(drag.y).lane };
      scene.brush(scene.area, false);
    } else if (drag.kind === "select") {
      const top = AXIS + scene.rows.pinnedHeight - scene.state.scroll;
      const lanes = [Math.min(drag.y, y) - top, Math.max(drag.y, y) - top] as const;
      scene.measured = null;
      scene.brush({ span, lanes: drag.onAxis ? null : lanes }, done);
    }
  }

  private up(event: PointerEvent): void {
    const { x, y } = this.place(event);
    const { drag } = this;
    this.forget(event);
    if (!drag) return;
    if (drag.moved) {
      if (drag.kind === "lane" && drag.strip) this.drop(drag.strip, y - drag.y);
      else this.dragged(drag, x, y, true);
      return;
    }
    if (drag.kind === "lane" && drag.strip) this.label(drag.strip);
    else if (drag.kind !== "none") this.click(x, y);
  }

  /** A click on an event focuses it; beside all events it clears the selection. */
  private click(x: number, y: number): void {
    const { scene } = this;
    const found = this.eventAt(x, y);
    if (found >= 0) {
      if (scene.area) scene.clearSelection();
      scene.focus(found, false);
    } else {
      const { strip } = this.stripAt(y);
      if (strip?.kind === "summary") scene.toggle("collapsed", strip.node.key);
      else scene.clearSelection();
    }
  }

  /** A double click on an event fits it, beside all events everything. */
  private twice(event: MouseEvent): void {
    const { x, y } = this.place(event);
    if (x <= this.to.frame().gutter || this.onHandle(x, y)) return;
    const found = this.eventAt(x, y);
    if (found < 0) this.scene.showAll();
    else this.scene.showSelection();
  }

  /** Whether a place is on the corner by which the lanes are made higher. */
  private onHandle(x: number, y: number): boolean {
    const { clientWidth, clientHeight } = this.stage;
    return x > clientWidth - CORNER && y > clientHeight - CORNER;
  }

  private label(strip: Strip): void {
    if (strip.kind !== "lane") this.scene.toggle("collapsed", strip.node.key);
  }

  /** A label that was dragged goes past as many siblings as it was dragged over. */
  private drop(strip: Strip, by: number): void {
    const steps = Math.round(Math.abs(by) / Math.max(strip.height, HEAD));
    for (let n = 0; n < steps; n++) this.scene.move(strip.node.key, by > 0 ? 1 : -1);
  }

  private cancel(event: PointerEvent): void {
    if (this.drag?.kind === "select") this.scene.brush(null, false);
    this.forget(event);
  }

  private forget(event: PointerEvent): void {
    this.fingers.delete(event.pointerId);
    this.drag = null;
  }

  private leave(): void {
    if (this.drag) return;
    this.scene.hover(-1);
    this.to.moved(null, 0);
  }

  /** Two fingers: the times under them stay under them. */
  private pinch(id: number, now: { x: number; y: number }): void {
    const { scene } = this;
    const [other] = [...this.fingers].filter(([key]) => key !== id).map(([, place]) => place);
    const before = this.fingers.get(id)!;
    this.fingers.set(id, now);
    this.drag = null;
    const frame = this.to.frame();
    const apart = [before.x - other.x, now.x - other.x].map(Math.abs);
    if (Math.min(...apart) < 10) return;
    const width = frame.width - frame.gutter;
    const fixed = timeAt((before.x + other.x) / 2, scene.span, frame);
    const next = ((scene.span.to - scene.span.from) * apart[0]) / apart[1];
    const share = ((now.x + other.x) / 2 - frame.gutter) / width;
    scene.look({ from: fixed - share * next, to: fixed + (1 - share) * next });
  }

  private wheel(event: WheelEvent): void {
    const { scene } = this;
    const frame = this.to.frame();
    const { x } = this.place(event);
    const zooming = event.ctrlKey || event.metaKey;
    const active = (this.stage.getRootNode() as Document | ShadowRoot).activeElement === this.stage;
    if ((event.target as Element).closest(".tlt-scroll, .tlt-menu")) return;
    if (!zooming && !active) {
      this.to.hint();
      return; // the page scrolls
    }
    const unit = event.deltaMode === 1 ? 16 : event.deltaMode === 2 ? 400 : 1;
    const [dx, dy] = [event.deltaX * unit, event.deltaY * unit];
    event.preventDefault();
    if (!zooming && (event.shiftKey || Math.abs(dx) > Math.abs(dy))) {
      scene.pan((Math.abs(dx) > Math.abs(dy) ? dx : dy) / (frame.width - frame.gutter));
    } else if (!zooming && x < frame.gutter) scene.scrollTo(scene.state.scroll + dy);
    else {
      const share = Math.min(Math.max((x - frame.gutter) / (frame.width - frame.gutter), 0), 1);
      // A touchpad's pinch comes as a wheel with Ctrl and small steps.
      const strength = zooming && Math.abs(dy) < 40 ? 6 : 1;
      scene.zoom(Math.exp(Math.min(Math.max(dy * strength, -300), 300) * WHEEL), share);
    }
    const place = this.place(event);
    scene.hover(this.eventAt(place.x, place.y));
    this.to.moved(place.x, place.y);
  }

  private context(event: MouseEvent): void {
    const { x, y } = this.place(event);
    const { strip } = this.stripAt(y);
    if (!strip || x >= this.to.frame().gutter) return;
    event.preventDefault();
    event.stopPropagation(); // the notebook would open its own over it
    this.to.menu(strip, x, y);
  }
}
