// Over the lanes, where there are several launches: which of them are shown.

import { h } from "./dom";
import { clean, duration, number } from "./format";
import type { Scene } from "./scene";
import type { LaunchFacts } from "./wire";

/** A line for each kernel and shape, in it a switch for each launch that was kept. */
export class Launches {
  readonly root = h("div", {
    class: "tlt-launches",
    role: "group",
    "aria-label": "Launches: click shows or hides one, Alt click shows it alone",
  });
  private readonly chips = new Map<number, HTMLElement>();

  constructor(
    private readonly scene: Scene,
    signal: AbortSignal,
  ) {
    const { launches } = scene.header;
    const groups = new Map<number, LaunchFacts[]>();
    for (const facts of launches) groups.set(facts.group, [...(groups.get(facts.group) ?? []), facts]);
    for (const members of groups.values()) {
      const [{ kernel, of }] = members;
      const times = of > 1 ? h("span", { class: "tlt-count" }, `× ${number(of)}`) : "";
      const chips = members.map((facts) => this.chip(facts, of > 1, signal));
      this.root.append(h("span", {}, h("bdi", {}, clean(kernel, 40)), times, ...chips));
    }
    this.root.hidden = launches.length < 2;
    this.show();
  }

  private chip({ launch, why, begin_ns: begin }: LaunchFacts, several: boolean, signal: AbortSignal): HTMLElement {
    const began = begin === null ? "" : `; it began ${duration(begin, "ns")} after the first`;
    const title = `launch ${launch}${began}`;
    const chip = h("button", { type: "button", title }, several ? why : `launch ${launch}`);
    chip.addEventListener("click", (event) => this.click(launch, event.altKey), { signal });
    this.chips.set(launch, chip);
    return chip;
  }

  private click(launch: number, alone: boolean): void {
    const { state } = this.scene;
    const others = [...this.chips.keys()].filter((each) => each !== launch);
    const hidden = state.hiddenLaunches.filter((each) => each !== launch);
    if (alone) this.scene.set({ hiddenLaunches: others });
    else if (hidden.length < state.hiddenLaunches.length) this.scene.set({ hiddenLaunches: hidden });
    else if (hidden.length === others.length) this.scene.say("one launch at least is shown");
    else this.scene.set({ hiddenLaunches: [...hidden, launch] });
  }

  show(): void {
    for (const [launch, chip] of this.chips)
      chip.setAttribute("aria-pressed", String(!this.scene.state.hiddenLaunches.includes(launch)));
  }
}
