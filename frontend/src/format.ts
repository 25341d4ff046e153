// Numbers and names as text. What a payload looks like is the same as in tltrace_nb/render/text.py.

const WHOLE = 2 ** 33;

/** `text` on one line, without control characters, elided after `chars` characters. */
export function clean(text: string, chars = 200): string {
  const parts = Array.from(
    text
      .slice(0, 4 * chars)
      .replace(/\s+/gu, " ")
      .trim(),
    (c) => (/[\p{Cc}\p{Cs}\p{Co}\p{Cn}\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff]/u.test(c) ? "\ufffd" : c),
  );
  if (parts.length > chars || text.length > 4 * chars) return `${parts.slice(0, chars - 1).join("")}…`;
  return parts.join("") || "(unnamed)";
}

/** A payload exactly; a float in the fewest digits that give the same 32-bit float, as NumPy writes it. */
export function payloadValue(value: number | bigint | undefined, float: boolean): string {
  if (value === undefined) return "";
  if (typeof value === "bigint" || !float) return String(value);
  if (Number.isNaN(value)) return "nan";
  if (!Number.isFinite(value)) return value > 0 ? "inf" : "-inf";
  if (Number.isInteger(value) && Math.abs(value) < WHOLE) return String(value);
  if (Math.fround(value) !== value) return scientific(value, String(value), 1e-4, 1e16);
  for (let digits = 1; digits <= 9; digits++) {
    const text = value.toPrecision(digits);
    if (Math.fround(Number(text)) === value) return scientific(value, String(Number(text)), 1e-4, 1e16);
  }
  return String(value);
}

/** Python writes small and large floats with an exponent of two digits. */
function scientific(value: number, text: string, least: number, most: number): string {
  const size = Math.abs(value);
  if (size >= least && size < most) return text.includes(".") || text.includes("e") ? text : `${text}.0`;
  const [digits, exponent] = Number(text).toExponential().split("e");
  const sign = exponent[0];
  return `${digits}e${sign}${exponent.slice(1).padStart(2, "0")}`;
}

/** The value at the begin, and the one at the end where that differs. */
export function payloadText(begin: string, end: string): string {
  if (!begin || !end || begin === end) return begin || end;
  return `${begin} → ${end}`;
}

const grouped = new Intl.NumberFormat("en-US");
const GROUPED = Array.from(
  { length: 4 },
  (_, digits) =>
    new Intl.NumberFormat("en-US", {
      minimumFractionDigits: digits,
      maximumFractionDigits: digits,
      signDisplay: "negative",
    }),
);

export function count(value: number | bigint, noun: string): string {
  return `${grouped.format(value)} ${noun}${value === 1 || value === 1n || value === -1 ? "" : "s"}`;
}

/** With thousands separated. */
export function number(value: number | bigint, digits = 0): string {
  return GROUPED[digits].format(value);
}

export function nanoseconds(value: number): string {
  return `${number(value, 1)} ns`;
}

/** A span of time in the unit that suits its size. */
export function duration(value: number, unit: "cycles" | "ns"): string {
  if (unit === "cycles") return count(value < 10 ? Math.round(value * 100) / 100 : Math.round(value), "cycle");
  const size = Math.abs(value);
  if (size >= 1e6) return `${number(value / 1e6, 3)} ms`;
  if (size >= 1e3) return `${number(value / 1e3, 2)} µs`;
  return nanoseconds(value);
}

export function percent(share: number): string {
  return Number.isFinite(share) ? `${(100 * share).toFixed(share < 0.1 ? 2 : 1)} %` : "–";
}
