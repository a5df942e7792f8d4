// Lines that are cut into dashes, in coordinates of the data, so that the card draws them as any others.

const PART = 0.6; // of a period that is drawn
const PERIOD = 10; // pixels
// However near one comes, a branch has no more dashes.
const MOST_DASHES = 2000;

/**
 * Parts of a line that are drawn, as pairs of numbers from 0 to 1 along it.
 *
 * @param {number} from where the line begins and
 * @param {number} to ends, along the way on which the dashes are counted
 * @param {number} period of the dashes, on the same way
 */
export function dashes(from, to, period) {
  const span = to - from;
  if (!(period > 0) || span === 0) return [[0, 1]];
  const [low, high] = [Math.min(from, to), Math.max(from, to)];
  const found = [];
  for (let k = Math.floor(low / period); k * period < high; k += 1) {
    const start = Math.max(k * period, low);
    const end = Math.min((k + PART) * period, high);
    if (end > start) found.push([(start - from) / span, (end - from) / span]);
  }
  return found;
}

/**
 * Lines with some of them cut into dashes that are about equally long on the screen.
 *
 * @param {Float32Array} lines (m × 6)
 * @param {(line: number) => (null|{from: number, to: number, axis: number, most: number})} wayOf
 *   null for a line without dashes; else where it lies on its branch, along which axis of the
 *   picture (0 or 1) that is measured, and how long the whole way is
 * @param {number[]} scales pixels of a unit along both axes
 * @returns {{lines: Float32Array, of: Int32Array}} pieces, and the line that each is part of
 */
export function withDashes(lines, wayOf, scales) {
  const drawn = [];
  const of = [];
  for (let m = 0; m < lines.length / 6; m += 1) {
    const ends = lines.subarray(6 * m, 6 * m + 6);
    const way = wayOf(m);
    const period = way && Math.max(PERIOD / scales[way.axis], way.most / MOST_DASHES);
    for (const part of way ? dashes(way.from, way.to, period) : [[0, 1]]) {
      for (const t of part) {
        for (let c = 0; c < 3; c += 1) drawn.push(ends[c] + t * (ends[c + 3] - ends[c]));
      }
      of.push(m);
    }
  }
  return { lines: Float32Array.from(drawn), of: Int32Array.from(of) };
}
