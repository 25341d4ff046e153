// The tree of lanes, rank or launch > SM > CTA > group and thread > lane, and the strips of it that are shown, from the top.

import type { Lane } from "./events";
import { clean } from "./format";

/** A branch, or without children a lane. A branch with one child is not made: the child takes its words. */
export interface Node {
  readonly key: string;
  readonly label: string;
  readonly children: readonly Node[];
  readonly lanes: readonly Lane[];
  readonly depth: number;
}

/** What the reader has done to the lanes. */
export interface Arrangement {
  readonly collapsed: ReadonlySet<string>;
  readonly hidden: ReadonlySet<string>;
  readonly pinned: readonly string[];
  /** Keys of siblings in the order wanted, by their parent's key. */
  readonly order: ReadonlyMap<string, readonly string[]>;
}

export const PLAIN: Arrangement = { collapsed: new Set(), hidden: new Set(), pinned: [], order: new Map() };

/** A strip of the picture: a lane, or the head of a branch. `summary`: a branch that is collapsed shows its lanes in one. */
export interface Strip {
  readonly node: Node;
  /** What it is called here: a pinned one says where it is from. */
  readonly label: string;
  readonly kind: "lane" | "head" | "summary";
  readonly depth: number;
  readonly top: number;
  readonly height: number;
  /** The part of the height that has the events, or the words of a head. */
  readonly body: number;
  /** Where it ends; a head, where the last of its branch does. */
  bottom: number;
}

export const ROW = 18;
export const GAP = 4;
export const HEAD = 20;
/** The least height of a strip with a label. */
export const LABEL = 13;
/** Folded branches share this height, as long as each has a few pixels: so a whole launch is seen at once. */
const WHOLE = 533;
const LEAST_FOLDED = 4;
/** Lanes that are higher in all than so many times that are folded when they are opened. */
const HIGH = 3;
/** A frame looks at every event in view of a folded branch: with more of them it would take too long. */
const MOST_FOLDED = 80_000;
/** What a lane has more where the run before is drawn under it. */
export const UNDER = 7;

type Words = (lane: Lane) => string;

const PART_KEY = ({ rank, launch }: Lane) => (rank !== null ? `rank${rank}` : launch !== null ? `launch${launch}` : "");
const PART: Words = ({ rank, launch, kernel }) => {
  if (rank !== null) return `rank ${rank}`;
  return launch !== null ? [`launch ${launch}`, clean(kernel, 30)].filter(Boolean).join(" · ") : "";
};
const SM: Words = (lane) => (lane.sm >= 0 ? `SM ${lane.sm}` : "");
const CTA: Words = (lane) => `CTA ${lane.cta}`;
const THREAD: Words = (lane) => {
  const words = [lane.group, lane.role].filter((word) => word && word !== "default");
  return [...new Set(words.map((word) => clean(word, 24))), `t${lane.thread}`].join(" ");
};
const LANE: Words = (lane) => clean(lane.name, 40);

const STEPS: readonly { readonly key: (lane: Lane) => string; readonly words: Words }[] = [
  { key: PART_KEY, words: PART },
  { key: (lane) => `sm${lane.sm}`, words: SM },
  { key: (lane) => `cta${lane.cta}`, words: CTA },
  { key: (lane) => `t${lane.thread}:${lane.group}`, words: THREAD },
  { key: (lane) => `lane${lane.name}`, words: LANE },
];

/** The tree over `lanes`, as nodes of the first step. Ranks, SMs and CTAs ascend; threads and lanes stay in the given order. */
export function tree(lanes: readonly Lane[]): Node[] {
  const ordered = [...lanes].sort(
    (a, b) =>
      (a.rank ?? 0) - (b.rank ?? 0) ||
      (a.launch ?? 0) - (b.launch ?? 0) ||
      a.sm - b.sm ||
      a.cta - b.cta ||
      a.index - b.index,
  );
  return branches(ordered, 0, "", "", 0);
}

function branches(lanes: readonly Lane[], step: number, key: string, label: string, depth: number): Node[] {
  const groups = new Map<string, Lane[]>();
  for (const lane of lanes) {
    const own = STEPS[step].key(lane);
    const group = groups.get(own);
    if (group) group.push(lane);
    else groups.set(own, [lane]);
  }
  return [...groups].flatMap(([own, members]) => {
    if (!own) return branches(members, step + 1, key, label, depth); // no such step: there are no ranks or launches
    const path = key ? `${key}/${own}` : own;
    const words = [label, STEPS[step].words(members[0])].filter(Boolean).join(" · ");
    if (step === STEPS.length - 1)
      return [
        {
          key: path,
          label: groups.size === 1 && label && own === "lanemain" ? label : words,
          children: [],
          lanes: members,
          depth,
        },
      ];
    const alone = new Set(members.map(STEPS[step + 1].key)).size === 1;
    if (alone) return branches(members, step + 1, path, words, depth);
    return [
      { key: path, label: words, children: branches(members, step + 1, path, "", depth + 1), lanes: members, depth },
    ];
  });
}

export class Rows {
  readonly pinned: Strip[] = [];
  readonly strips: Strip[] = [];
  /** Heights of the two parts. */
  readonly pinnedHeight: number = 0;
  readonly height: number;
  /** How many nodes are hidden. */
  readonly hiddenCount: number;

  /** `under`: pixels at the bottom of every strip with events. */
  constructor(roots: readonly Node[], arrangement: Arrangement, under = 0) {
    let top = 0;
    let hidden = 0;
    const share = Math.floor(WHOLE / Math.max(arrangement.collapsed.size, 1));
    const folded = Math.min(Math.max(share, LEAST_FOLDED), HEAD);
    const add = (into: Strip[], node: Node, depth: number, label: string) => {
      if (arrangement.hidden.has(node.key)) {
        hidden++;
        return;
      }
      const kind = arrangement.collapsed.has(node.key) ? "summary" : node.children.length ? "head" : "lane";
      const body = kind === "lane" ? node.lanes[0].rows * ROW + GAP : kind === "summary" ? folded : HEAD;
      const height = kind === "head" ? body : body + under;
      const strip = { node, label, kind, depth, top, height, body, bottom: top + height } as const satisfies Strip;
      into.push(strip);
      top += height;
      if (kind !== "head") return;
      for (const child of inOrder(node.children, node.key, arrangement)) add(into, child, depth + 1, child.label);
      (strip as Strip).bottom = top;
    };
    if (arrangement.pinned.length) {
      const byKey = index(roots, new Set(arrangement.pinned));
      for (const key of arrangement.pinned) {
        const found = byKey.get(key);
        if (found) add(this.pinned, found.node, 0, found.label);
      }
      this.pinnedHeight = top;
      top = 0;
      hidden = 0;
    }
    for (const root of inOrder(roots, "", arrangement)) add(this.strips, root, 0, root.label);
    this.height = top;
    this.hiddenCount = hidden;
  }

  /** The strips that `from`..`to` (pixels from the top of the lanes) touch. */
  between(from: number, to: number): Strip[] {
    const found: Strip[] = [];
    for (let n = this.at(from); n < this.strips.length && this.strips[n].top < to; n++) found.push(this.strips[n]);
    return found;
  }

  /** Heads of the branches that are cut off at `scroll`, the outermost first: they stay in sight. */
  stuck(scroll: number): Strip[] {
    const found: Strip[] = [];
    for (;;) {
      const y = scroll + found.length * HEAD;
      let n = this.at(y);
      while (n > 0 && this.strips[n]?.depth > found.length) n--;
      const strip = this.strips[n];
      if (strip?.kind !== "head" || strip.depth !== found.length || strip.top >= y || strip.bottom < y + HEAD)
        return found;
      found.push(strip);
    }
  }

  /** The number of the strip at `y`, or the number of strips below the last. */
  at(y: number): number {
    let low = 0;
    let high = this.strips.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.strips[middle].top + this.strips[middle].height > y) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  /** The strip that shows `lane`, be it its own or that of a collapsed branch. */
  showing(lane: Lane): Strip | undefined {
    return this.strips.find((strip) => strip.kind !== "head" && strip.node.lanes.includes(lane));
  }
}

function inOrder(nodes: readonly Node[], parent: string, arrangement: Arrangement): readonly Node[] {
  const wanted = arrangement.order.get(parent);
  if (!wanted) return nodes;
  const place = new Map(wanted.map((key, n) => [key, n]));
  return [...nodes].sort((a, b) => (place.get(a.key) ?? nodes.length) - (place.get(b.key) ?? nodes.length));
}

/** The wanted nodes, with the words of all that they are in. */
function index(
  nodes: readonly Node[],
  wanted: ReadonlySet<string>,
  above = "",
  found = new Map<string, { node: Node; label: string }>(),
): Map<string, { node: Node; label: string }> {
  for (const node of nodes) {
    const label = above ? `${above} · ${node.label}` : node.label;
    if (wanted.has(node.key)) found.set(node.key, { node, label });
    index(node.children, wanted, label, found);
  }
  return found;
}

/**
 * The branches that are folded at first: those of the SMs, where all lanes together are too high to be understood, and
 * where `count`, the number of all events, is not too high to look at all of them in a frame.
 */
export function foldedAtFirst(roots: readonly Node[], count: number): string[] {
  if (count > MOST_FOLDED) return [];
  const whole = new Rows(roots, PLAIN).height;
  const nodes = roots.flatMap((root) => (hasParts(root) && root.children.length ? root.children : [root]));
  const high = roots.filter(hasParts).length > 1 ? WHOLE : HIGH * WHOLE; // all of them are to be seen
  return whole > high && nodes.length > 1 ? nodes.map((node) => node.key) : [];
}

/** Whether a node of the first step is one of several ranks or launches. */
function hasParts({ lanes: [first] }: Node): boolean {
  return first.rank !== null || first.launch !== null;
}

/** The siblings of the node at `key`, in the order shown, and the key of their parent. */
export function siblings(
  roots: readonly Node[],
  key: string,
  arrangement: Arrangement,
): { parent: string; keys: string[] } {
  const search = (nodes: readonly Node[], parent: string): { parent: string; keys: string[] } | null => {
    if (nodes.some((node) => node.key === key))
      return { parent, keys: inOrder(nodes, parent, arrangement).map((node) => node.key) };
    for (const node of nodes) {
      const found = search(node.children, node.key);
      if (found) return found;
    }
    return null;
  };
  return search(roots, "") ?? { parent: "", keys: [] };
}
