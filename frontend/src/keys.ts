// What every key does. The list is the help, too.

import type { Tool } from "./pointer";
import type { Scene } from "./scene";

/** What keys ask of the view beyond the scene. */
export interface Desk {
  search(): void;
  help(): void;
  copy(): void;
  leave(): void;
  use(tool: Tool): void;
  nextColor(): void;
  /** Back (-1) and forth (1) through what was seen. */
  go(by: -1 | 1): void;
  present(): void;
  lines(): void;
  aggregate(): void;
  /** Write on what is measured or focused. */
  remark(): void;
}

interface Binding {
  readonly keys: readonly string[];
  readonly shown: string;
  readonly does: string;
  run(scene: Scene, desk: Desk, key: string): void;
}

const PAGE = 0.8;
const AGAIN = "Shift Backspace";

function laneKey(scene: Scene): string {
  if (scene.focused < 0) {
    scene.say("focus an event first");
    return "";
  }
  const lane = scene.events.laneOf(scene.focused);
  const strips = [...scene.rows.pinned, ...scene.rows.strips];
  return strips.find((strip) => strip.kind !== "head" && strip.node.lanes.includes(lane))?.node.key ?? "";
}

const onLane = (act: (scene: Scene, key: string) => void) => (scene: Scene) => {
  const key = laneKey(scene);
  if (key) act(scene, key);
};

export const BINDINGS: readonly Binding[] = [
  { keys: ["w", "W", "+", "="], shown: "W", does: "zoom in", run: (scene) => scene.zoom(0.7) },
  { keys: ["s", "S", "-"], shown: "S", does: "zoom out", run: (scene) => scene.zoom(1 / 0.7) },
  { keys: ["a", "A"], shown: "A", does: "move left", run: (scene) => scene.pan(-0.15) },
  { keys: ["d", "D"], shown: "D", does: "move right", run: (scene) => scene.pan(0.15) },
  { keys: ["f", "F"], shown: "F", does: "fit the selection", run: (scene) => scene.showSelection() },
  { keys: ["0"], shown: "0", does: "fit everything", run: (scene) => scene.showAll() },
  { keys: [".", "ArrowRight"], shown: ". →", does: "next event on the lane", run: (scene) => scene.step(1) },
  { keys: [",", "ArrowLeft"], shown: ", ←", does: "previous event on the lane", run: (scene) => scene.step(-1) },
  { keys: ["ArrowDown"], shown: "↓", does: "lane below", run: (scene) => scene.stepLane(1) },
  { keys: ["ArrowUp"], shown: "↑", does: "lane above", run: (scene) => scene.stepLane(-1) },
  {
    keys: ["PageDown"],
    shown: "Page ↓",
    does: "lanes further down",
    run: (scene) => scene.scrollTo(scene.state.scroll + PAGE * scene.viewHeight),
  },
  {
    keys: ["PageUp"],
    shown: "Page ↑",
    does: "lanes further up",
    run: (scene) => scene.scrollTo(scene.state.scroll - PAGE * scene.viewHeight),
  },
  { keys: ["]"], shown: "]", does: "along an arrow", run: (scene) => scene.jump(1) },
  { keys: ["["], shown: "[", does: "back along an arrow", run: (scene) => scene.jump(-1) },
  { keys: ["e", "E"], shown: "E", does: "arrows: all, of the hovered event, none", run: (scene) => scene.nextArrows() },
  { keys: ["/"], shown: "/", does: "search", run: (_, desk) => desk.search() },
  { keys: ["n"], shown: "N", does: "next match", run: (scene) => scene.nextMatch(1) },
  { keys: ["N"], shown: "Shift N", does: "previous match", run: (scene) => scene.nextMatch(-1) },
  { keys: ["v", "V"], shown: "V", does: "drag selects", run: (_, desk) => desk.use("select") },
  { keys: ["h", "H"], shown: "H", does: "drag moves", run: (_, desk) => desk.use("pan") },
  { keys: ["m", "M"], shown: "M", does: "drag measures", run: (_, desk) => desk.use("measure") },
  { keys: ["c", "C"], shown: "C", does: "colour by name, payload, duration, lane", run: (_, desk) => desk.nextColor() },
  {
    keys: ["u", "U"],
    shown: "U",
    does: "cycles or ns",
    run: (scene) => scene.set({ unit: scene.units[(scene.units.indexOf(scene.state.unit) + 1) % scene.units.length] }),
  },
  { keys: ["p", "P"], shown: "P", does: "pin the lane", run: onLane((scene, key) => scene.toggle("pinned", key)) },
  { keys: ["x", "X"], shown: "X", does: "hide the lane", run: onLane((scene, key) => scene.toggle("hidden", key)) },
  { keys: ["{"], shown: "{", does: "move the lane up", run: onLane((scene, key) => scene.move(key, -1)) },
  { keys: ["}"], shown: "}", does: "move the lane down", run: onLane((scene, key) => scene.move(key, 1)) },
  { keys: ["Backspace"], shown: "Backspace", does: "undo (also Ctrl Z)", run: (_, desk) => desk.go(-1) },
  { keys: [AGAIN], shown: "Shift Backspace", does: "redo (also Ctrl Shift Z)", run: (_, desk) => desk.go(1) },
  {
    keys: ["b", "B"],
    shown: "B",
    does: "a note on the event, or on what is measured",
    run: (_, desk) => desk.remark(),
  },
  {
    keys: ["i", "I"],
    shown: "I",
    does: "durations of all CTAs, time by nesting, the average iteration",
    run: (_, desk) => desk.aggregate(),
  },
  { keys: ["o", "O"], shown: "O", does: "lines of the kernel, with their time", run: (_, desk) => desk.lines() },
  { keys: ["l", "L"], shown: "L", does: "large, for a talk; and back", run: (_, desk) => desk.present() },
  { keys: ["y", "Y"], shown: "Y", does: "copy as text", run: (_, desk) => desk.copy() },
  { keys: ["?"], shown: "?", does: "this help", run: (_, desk) => desk.help() },
  { keys: ["Escape"], shown: "Esc", does: "clear the selection, then leave the view", run: (_, desk) => desk.leave() },
];

export const MOUSE: readonly (readonly [string, string])[] = [
  ["drag", "select an area (or move, or measure)"],
  ["drag on the time axis", "select that time on all lanes"],
  ["Shift drag", "move"],
  ["Ctrl wheel", "zoom; plain wheel too, once the view was clicked"],
  ["Shift wheel", "move"],
  ["wheel on the labels", "scroll the lanes, once the view was clicked"],
  ["double click", "fit the event, or beside all events everything"],
  ["right click on a label", "pin, hide, collapse, reorder"],
  ["two fingers", "zoom and move"],
];

/** Runs what a key does. Returns false for a key that means nothing here, or with Ctrl, Alt or Meta. */
export function press(event: KeyboardEvent, scene: Scene, desk: Desk): boolean {
  const something = scene.focused >= 0 || scene.selected !== null;
  if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "c" && something) {
    desk.copy();
    return true;
  }
  if ((event.ctrlKey || event.metaKey) && ["z", "y"].includes(event.key.toLowerCase())) {
    desk.go(event.shiftKey || event.key.toLowerCase() === "y" ? 1 : -1);
    return true;
  }
  if (event.ctrlKey || event.metaKey || event.altKey) return false;
  const key = event.key === "Backspace" && event.shiftKey ? AGAIN : event.key;
  const binding = BINDINGS.find(({ keys }) => keys.includes(key));
  binding?.run(scene, desk, event.key);
  return binding !== undefined;
}
