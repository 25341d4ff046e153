// The address of a page says what its view looks like, so that a link is a view.

import type { Saved } from "./state";
import type { Options, View } from "./view";

const KEY = "#view=";
/** What need not be said of a view. */
const USUAL: Partial<Record<keyof Saved, unknown>> = {
  span: null,
  scroll: 0,
  color_by: "name",
  query: "",
  filter: false,
  align: "cta",
  hidden_names: [],
  hidden: [],
  pinned: [],
  order: {},
};

/** `options` with the view of the address, and with every later view written there. */
export function fromHash(options: Options): Options {
  return {
    ...options,
    view: { ...options.view, ...read() },
    onView: (view) => {
      const said = Object.entries(view).filter(
        ([key, value]) => JSON.stringify(value) !== JSON.stringify(USUAL[key as keyof Saved]),
      );
      history.replaceState(null, "", KEY + encodeURIComponent(JSON.stringify(Object.fromEntries(said))));
    },
  };
}

/** Let `view` go to what the address says whenever a reader changes it. */
export function followHash(view: View): void {
  addEventListener("hashchange", () => view.setView({ ...USUAL, ...read() } as Saved));
}

/** What the address says; nothing where that makes no sense. */
function read(): Saved {
  if (!location.hash.startsWith(KEY)) return {};
  try {
    const value: unknown = JSON.parse(decodeURIComponent(location.hash.slice(KEY.length)));
    return typeof value === "object" && value !== null ? value : {};
  } catch {
    return {};
  }
}
