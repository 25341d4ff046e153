// Reads what tltrace_nb/widget/wire.py wrote: a JSON header and columns of byte planes.

export const VERSION = 1;
export const INSTANT = 1;
export const TRUNCATED = 2;
export const PAYLOAD = 4;
export const PAYLOAD_END = 8;

export interface ColumnSpec {
  name: string;
  code: "int" | "f32" | "f64";
  width: number;
  least: string;
  length: number;
}

/** What a launch is chosen by: `why` it is there, of `of` launches of the same kernel and shape, its `group`. */
export interface LaunchFacts {
  readonly launch: number;
  readonly kernel: string;
  readonly group: number;
  readonly why: string;
  readonly of: number;
  /** ns since the first launch began; null where that is not known. */
  readonly begin_ns: number | null;
}

export interface Header {
  version: number;
  title: string;
  /** The card that it was recorded on; empty where that is not known, and for a virtual one, which has a badge. */
  device: string;
  badge: { text: string; why: string; warns: boolean } | null;
  /** The least and the greatest time of another trace for which the axis is to have room. */
  room: Record<"cycles" | "ns", [number, number] | null> | null;
  losses: string;
  /** Names that are moments in the light set of automatic markers, and durations in the full one. */
  light: string[];
  /** Where there are several; else empty. */
  launches: LaunchFacts[];
  events: number;
  origin: string;
  ns: boolean;
  palette: string[];
  names: string[];
  name_color: number[];
  sources: string[];
  /** What stands on the lines of the kernel, as far as it is known, by their source. */
  code: Record<string, string>;
  groups: string[];
  roles: string[];
  lane_names: string[];
  columns: ColumnSpec[];
}

export type Numbers = Uint8Array | Uint16Array | Uint32Array | Int32Array | Float64Array;
export type Column = Numbers | BigInt64Array;

const EXACT = 2 ** 53;

/** The bytes behind whatever a notebook hands over: a view may start anywhere in its buffer. */
export function bytesOf(data: ArrayBuffer | ArrayBufferView): Uint8Array {
  if (data instanceof ArrayBuffer) return new Uint8Array(data);
  return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
}

export class Wire {
  readonly columns = new Map<string, Column>();

  constructor(
    readonly header: Header,
    bytes: Uint8Array,
  ) {
    if (header.version !== VERSION) {
      throw new Error(`this data has format ${header.version}, and this timeline reads ${VERSION}: run the cell again`);
    }
    let at = 0;
    for (const spec of header.columns) {
      const size = spec.width * spec.length;
      if (at + size > bytes.length) throw new Error(`the data ends in the middle of column ${spec.name}`);
      this.columns.set(spec.name, decode(spec, bytes.subarray(at, at + size)));
      at += size;
    }
  }

  /** A column of numbers; `undefined` where the trace has none of that name. */
  find(name: string): Numbers | undefined {
    const column = this.columns.get(name);
    if (column instanceof BigInt64Array) throw new Error(`column ${name} is too wide`);
    return column;
  }

  get(name: string): Numbers {
    const column = this.find(name);
    if (!column) throw new Error(`the data has no column ${name}`);
    return column;
  }
}

function decode(spec: ColumnSpec, bytes: Uint8Array): Column {
  const { code, width, length } = spec;
  if (code === "f32") {
    const bits = new Uint32Array(length);
    addPlanes(bits, bytes, width);
    return Float64Array.from(new Float32Array(bits.buffer));
  }
  if (code === "f64") {
    const bits = new BigInt64Array(length);
    addBigPlanes(bits, bytes, width);
    return new Float64Array(bits.buffer);
  }
  const least = Number(spec.least);
  const most = least + 256 ** width - 1;
  if (width > 6 || least <= -EXACT || most >= EXACT) {
    const wide = new BigInt64Array(length).fill(BigInt(spec.least));
    addBigPlanes(wide, bytes, width);
    return wide;
  }
  const values = numbersFor(least, most, length);
  if (least !== 0) values.fill(least);
  addPlanes(values, bytes, width);
  return values;
}

/** The smallest array for whole numbers from `least` to `most`. */
function numbersFor(least: number, most: number, length: number): Numbers {
  if (least >= 0 && most < 2 ** 8) return new Uint8Array(length);
  if (least >= 0 && most < 2 ** 16) return new Uint16Array(length);
  if (least >= 0 && most < 2 ** 32) return new Uint32Array(length);
  if (least >= -(2 ** 31) && most < 2 ** 31) return new Int32Array(length);
  return new Float64Array(length);
}

function addPlanes(values: Numbers, bytes: Uint8Array, width: number): void {
  const length = values.length;
  for (let plane = 0, scale = 1; plane < width; plane++, scale *= 256) {
    const from = plane * length;
    for (let i = 0; i < length; i++) values[i] += bytes[from + i] * scale;
  }
}

function addBigPlanes(values: BigInt64Array, bytes: Uint8Array, width: number): void {
  const length = values.length;
  const words = new Uint8Array(new ArrayBuffer(8));
  const word = new DataView(words.buffer);
  for (let i = 0; i < length; i++) {
    for (let plane = 0; plane < width; plane++) words[plane] = bytes[plane * length + i];
    values[i] += word.getBigInt64(0, true);
  }
}
