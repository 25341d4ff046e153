// Elements without a framework. Text is only ever set as text.

type Child = Node | string | null;

/** Notebooks look for this on the focused element, some also around it, before they run a shortcut of theirs. */
export const SUPPRESS = "data-lm-suppress-shortcuts";
const FOCUSABLE: ReadonlySet<string> = new Set(["button", "input", "select"]);

/** An element with attributes and children. A function under `onclick` and the like is not taken: use listeners. */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Readonly<Record<string, string | boolean>> = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === true) element.setAttribute(key, "");
    else if (value !== false) element.setAttribute(key, value);
  }
  if (FOCUSABLE.has(tag) || "tabindex" in attributes) element.setAttribute(SUPPRESS, "true");
  element.append(...children.filter((child) => child !== null));
  return element;
}

/** Put text on the clipboard; pages without https have the old way only. */
export async function copyText(text: string, near: HTMLElement): Promise<void> {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const focused = document.activeElement as HTMLElement | null;
  const area = h("textarea", { class: "tlt-sr", "aria-hidden": "true" });
  area.value = text;
  near.append(area);
  area.select();
  const done = document.execCommand("copy");
  area.remove();
  focused?.focus();
  if (!done) throw new Error("not allowed");
}

export function context2d(canvas: HTMLCanvasElement): CanvasRenderingContext2D {
  const context = canvas.getContext("2d");
  if (!context) throw new Error("this browser cannot draw on a canvas");
  return context;
}
