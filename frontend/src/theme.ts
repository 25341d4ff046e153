// Light or dark, as the notebook is, and the colours of everything that is not an event.

import { css, luminance, mix, parse, type Rgb } from "./color";

export interface Theme {
  readonly dark: boolean;
  readonly ground: Rgb;
  readonly band: string;
  readonly head: string;
  readonly ink: string;
  readonly soft: string;
  readonly line: string;
  readonly accent: string;
  readonly warn: string;
}

const LIGHT = { ink: "#1b1f24", soft: "#5b6470", line: "#dfe3e8", accent: "#0b5cad", warn: "#b93c06" };
const DARK = { ink: "#e6e9ed", soft: "#9aa4af", line: "#343b44", accent: "#6cb6ff", warn: "#ff8a5b" };

/** The theme for what `root` is painted on. */
export function themeOf(root: HTMLElement): Theme {
  const ground = parse(getComputedStyle(root).backgroundColor);
  const dark = luminance(ground) < 0.35;
  const words = dark ? DARK : LIGHT;
  const toward = parse(words.ink);
  return { dark, ground, band: css(mix(ground, toward, 0.035)), head: css(mix(ground, toward, 0.075)), ...words };
}

/** Call `changed` when the notebook, or the reader's system, may have changed its theme. */
export function onThemeChange(changed: () => void, signal: AbortSignal): void {
  const observer = new MutationObserver(changed);
  const options = {
    attributes: true,
    attributeFilter: ["class", "style", "data-theme", "data-jp-theme-light", "data-jp-theme-name"],
  };
  for (const element of [document.documentElement, document.body]) observer.observe(element, options);
  signal.addEventListener("abort", () => observer.disconnect());
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", changed, { signal });
}
