// On which row of its lane an event stands: below what encloses it, and where nothing earlier still runs.

/** Rows of a lane beyond which events share the last one. */
export const MOST_ROWS = 48;

/**
 * Rows for the events `from`..`to` of a lane, which are sorted by start, the longer first. Writes them into `rows` and
 * returns how many there are. An event of no duration takes a cycle, so that two at once stay apart. The pictures of
 * Python have the same rule (`sub_rows` in render/lanes.py); tests/widget/rows.json has what both must give.
 */
export function stack(
  start: Float64Array,
  duration: { readonly [index: number]: number },
  from: number,
  to: number,
  rows: Uint8Array,
): number {
  const busy: number[] = []; // per row, when its last event ends
  for (let i = from; i < to; i++) {
    const begin = start[i];
    const end = begin + Math.max(duration[i], 1);
    let row = busy.length;
    while (row > 0 && !(busy[row - 1] > begin && busy[row - 1] >= end)) row--;
    while (row < busy.length && busy[row] > begin) row++;
    if (row >= MOST_ROWS) row = MOST_ROWS - 1;
    busy[row] = Math.max(end, busy[row] ?? end);
    rows[i] = row;
  }
  return Math.max(busy.length, 1);
}
