// Numbers and names as text, the same as in tltrace_nb/base/numbers.py and words.py: tests/widget/texts.json has both.

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

/** With thousands separated; a dash where it is not finite. Ties are rounded away from zero. */
export function number(value: number | bigint, digits = 0): string {
  const text = typeof value === "bigint" ? String(value) : value.toFixed(digits);
  if (typeof value !== "bigint" && !Number.isFinite(value)) return "–";
  const [whole, rest] = text.replace(/^-(?=[0.]*$)/u, "").split(".");
  const grouped = whole.replace(/\B(?=(\d{3})+$)/gu, ",");
  return rest === undefined ? grouped : `${grouped}.${rest}`;
}

/** With no more digits behind the point than it needs. */
export function short(value: number, digits: number): string {
  return number(value, digits)
    .replace(/(\.\d*?)0+$/u, "$1")
    .replace(/\.$/u, "");
}

export function count(value: number | bigint, noun: string): string {
  return nouns(number(value), value, noun);
}

function nouns(text: string, value: number | bigint, noun: string): string {
  return `${text} ${noun}${value === 1 || value === 1n || value === -1 || value === -1n ? "" : "s"}`;
}

/** The units of times in ns, and from which size on each is used: less would be written as 1,000.0 of the next. */
export const UNITS = [
  { size: 1e6, unit: "ms", length: 3, point: 6 },
  { size: 1e3, unit: "µs", length: 2, point: 3 },
  { size: 1, unit: "ns", length: 1, point: 1 },
] as const;
const NEARLY = 0.99995;

function time(ns: number, digits: "length" | "point"): string {
  const suited = UNITS.find(({ size }) => Math.abs(ns) >= NEARLY * size) ?? UNITS[2];
  return Number.isFinite(ns) ? `${number(ns / suited.size, suited[digits])} ${suited.unit}` : "–";
}

/** A length of time in the unit that suits its size. */
export function duration(value: number, unit: "cycles" | "ns"): string {
  if (unit === "ns") return time(value, "length");
  return nouns(short(value, value < 10 ? 2 : 0), value, "cycle");
}

/** A point in time, in ns, in the unit that suits its size, to the nanosecond. */
export function moment(ns: number): string {
  return time(ns, "point");
}

export function percent(share: number): string {
  return Number.isFinite(share) ? `${number(100 * share, share < 0.1 ? 2 : 1)} %` : "–";
}
