// A selection on its way to Python: runs of positions in the frame, as pairs (first, how many) of uint32.

/** More runs than this are refused: a notebook takes 10 MB from the browser at most. */
export const MOST_RUNS = 1_000_000;

export function toRuns(ids: Uint32Array): Uint32Array {
  const sorted = ids.slice().sort();
  const runs: number[] = [];
  for (let i = 0; i < sorted.length; i++) {
    if (i > 0 && sorted[i] === sorted[i - 1] + 1) runs[runs.length - 1]++;
    else runs.push(sorted[i], 1);
  }
  if (runs.length > 2 * MOST_RUNS) throw new Error("this selection is too scattered to hand over: select it in Python");
  return Uint32Array.from(runs);
}

export function fromRuns(bytes: Uint8Array): Uint32Array {
  const runs = new Uint32Array(bytes.slice().buffer);
  let count = 0;
  for (let n = 1; n < runs.length; n += 2) count += runs[n];
  const ids = new Uint32Array(count);
  for (let n = 0, at = 0; n < runs.length; n += 2) for (let k = 0; k < runs[n + 1]; k++) ids[at++] = runs[n] + k;
  return ids;
}
