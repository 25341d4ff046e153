// The element of a timeline that is saved in a notebook, with its events in it. It has a still picture inside and draws
// the events in its place once it has been in sight for a while: where a kernel's own view stands in, it is not seen.

import { mount } from "./mount";
import type { View } from "./view";

/** So long a kernel's view may take to come. */
const GRACE_MS = 1000;

/** Make `name` the element. It is one per edition of this script, as notebooks of several may be open in a page. */
export function define(name: string): void {
  if (customElements.get(name)) return;
  class Saved extends HTMLElement {
    private readonly sight = new IntersectionObserver((entries) => this.seen(entries[entries.length - 1]));
    private readonly place = document.createElement("div");
    private view: View | null = null;
    private waiting = 0;

    connectedCallback(): void {
      this.sight.observe(this);
    }

    disconnectedCallback(): void {
      this.sight.disconnect();
      this.close();
    }

    private seen(entry: IntersectionObserverEntry): void {
      clearTimeout(this.waiting);
      if (entry.isIntersecting && !this.view) this.waiting = window.setTimeout(() => this.open(), GRACE_MS);
      else if (!this.getClientRects().length) this.close();
    }

    private async open(): Promise<void> {
      const { header, columns, options } = this.dataset;
      if (!this.getClientRects().length || !header || !columns) return;
      const stills = [...this.children] as HTMLElement[];
      this.append(this.place);
      const view = await mount(this.place, { header, columns }, JSON.parse(options ?? "{}")).catch((error: Error) => {
        console.error(error);
        this.place.remove();
        return null;
      });
      if (!view) return;
      this.view = view;
      for (const still of stills) still.hidden = true;
      if (!this.isConnected) this.close();
    }

    private close(): void {
      clearTimeout(this.waiting);
      this.view?.close();
      this.view = null;
      this.place.remove();
      this.place.replaceChildren();
      for (const still of this.children) (still as HTMLElement).hidden = false;
    }
  }
  customElements.define(name, Saved);
}
