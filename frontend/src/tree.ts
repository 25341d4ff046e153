// The tree of lanes, rank > SM > CTA > group and thread > lane, and the strips of it that are shown, from the top.

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
  readonly kind: "lane" | "head" | "summary";
  readonly depth: number;
  readonly top: number;
  readonly height: number;
}

export const ROW = 18;
export const GAP = 4;
export const HEAD = 20;
/** What a lane has more where the run before is drawn under it. */
export const UNDER = 7;

type Words = (lane: Lane) => string;

const RANK: Words = (lane) => (lane.rank === null ? "" : `rank ${lane.rank}`);
const SM: Words = (lane) => (lane.sm >= 0 ? `SM ${lane.sm}` : "");
const CTA: Words = (lane) => `CTA ${lane.cta}`;
const THREAD: Words = (lane) => {
  const words = [lane.group, lane.role].filter((word) => word && word !== "default");
  return [...new Set(words.map((word) => clean(word, 24))), `t${lane.thread}`].join(" ");
};
const LANE: Words = (lane) => clean(lane.name, 40);

const STEPS: readonly { readonly key: (lane: Lane) => string; readonly words: Words }[] = [
  { key: (lane) => (lane.rank === null ? "" : `rank${lane.rank}`), words: RANK },
  { key: (lane) => `sm${lane.sm}`, words: SM },
  { key: (lane) => `cta${lane.cta}`, words: CTA },
  { key: (lane) => `t${lane.thread}:${lane.group}`, words: THREAD },
  { key: (lane) => `lane${lane.name}`, words: LANE },
];

/** The tree over `lanes`, as nodes of the first step. Ranks, SMs and CTAs ascend; threads and lanes stay in the given order. */
export function tree(lanes: readonly Lane[]): Node[] {
  const ordered = [...lanes].sort(
    (a, b) => (a.rank ?? 0) - (b.rank ?? 0) || a.sm - b.sm || a.cta - b.cta || a.index - b.index,
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
    if (!own) return branches(members, step + 1, key, label, depth); // no such step: there are no ranks
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
    const add = (into: Strip[], node: Node, depth: number) => {
      if (arrangement.hidden.has(node.key)) {
        hidden++;
        return;
      }
      const folded = arrangement.collapsed.has(node.key);
      const kind = node.children.length === 0 ? "lane" : folded ? "summary" : "head";
      const own = kind === "lane" ? node.lanes[0].rows * ROW + GAP : HEAD;
      const height = kind === "head" ? own : own + under;
      into.push({ node, kind, depth, top, height });
      top += height;
      if (kind === "head")
        for (const child of inOrder(node.children, node.key, arrangement)) add(into, child, depth + 1);
    };
    if (arrangement.pinned.length) {
      const byKey = index(roots, new Set(arrangement.pinned));
      for (const key of arrangement.pinned) {
        const node = byKey.get(key);
        if (node) add(this.pinned, node, 0);
      }
      this.pinnedHeight = top;
      top = 0;
      hidden = 0;
    }
    for (const root of inOrder(roots, "", arrangement)) add(this.strips, root, 0);
    this.height = top;
    this.hiddenCount = hidden;
  }

  /** The strips that `from`..`to` (pixels from the top of the lanes) touch. */
  between(from: number, to: number): Strip[] {
    const found: Strip[] = [];
    for (let n = this.at(from); n < this.strips.length && this.strips[n].top < to; n++) found.push(this.strips[n]);
    return found;
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

function index(
  nodes: readonly Node[],
  wanted: ReadonlySet<string>,
  found = new Map<string, Node>(),
): Map<string, Node> {
  for (const node of nodes) {
    if (wanted.has(node.key)) found.set(node.key, node);
    index(node.children, wanted, found);
  }
  return found;
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
