// Who has the keys: the lanes, whatever of a view is clicked, and never the notebook around it.

import { SUPPRESS } from "./dom";

/** Whatever is clicked, the lanes have the keys, but for a box that is typed into: else a notebook would have them. */
export function keepFocus(root: HTMLElement, stage: HTMLElement, scroll: HTMLElement, signal: AbortSignal): void {
  let byHand = false;
  root.addEventListener("pointerdown", () => (byHand = true), { signal, capture: true });
  root.addEventListener("keydown", () => (byHand = false), { signal, capture: true });
  // Some notebooks look at keys before they go down to the element; the window is asked before these.
  window.addEventListener("keydown", (event) => letSave(root, event), { signal, capture: true });
  for (const type of ["click", "change"] as const)
    root.addEventListener(
      type,
      ({ target }) => {
        const focused = focusedIn(root);
        const elsewhere = focused === null || !root.contains(focused);
        const done = focused === (target as Element).closest(type === "click" ? "button" : "select");
        // What takes no focus itself hands it on to the root; there it stays as long as words are marked.
        const plain = focused === root && getSelection()?.isCollapsed !== false;
        if (byHand && (elsewhere || done || plain || focused === scroll)) stage.focus({ preventScroll: true });
      },
      { signal },
    );
}

/** Saving is the notebook's, also from here: for this one key the mark is away by which its shortcuts are kept out. */
function letSave(root: HTMLElement, event: KeyboardEvent): void {
  if (!(event.ctrlKey || event.metaKey) || event.key.toLowerCase() !== "s") return;
  if (!event.composedPath().includes(root)) return;
  const marked = [root, ...root.querySelectorAll(`[${SUPPRESS}]`)];
  for (const element of marked) element.removeAttribute(SUPPRESS);
  setTimeout(() => {
    for (const element of marked) element.setAttribute(SUPPRESS, "true");
  });
}

/** The element under `root` that has the focus, be it in a shadow tree. */
export function focusedIn(root: HTMLElement): Element | null {
  return (root.getRootNode() as Document | ShadowRoot).activeElement;
}

/** Whether a button, of no menu and no dialog, has no use for a key. */
export function isSpare({ target, key }: KeyboardEvent): boolean {
  const button = (target as Element).closest("button");
  return button !== null && !button.closest("[role=menu], [role=dialog]") && !["Enter", " ", "Tab"].includes(key);
}
