// Lines that are cut into dashes, in coordinates of the data, so that the card draws them as any others.

const PART = 0.6; // of a period that is drawn

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
 * Lines with those of some branches cut into dashes.
 *
 * @param {Float32Array} lines (m × 6)
 * @param {ArrayLike<number>} branches of each
 * @param {(branch: number) => boolean} isDashed
 * @param {(line: number) => number[]} way from, to and period of a line, as `dashes` takes them
 * @returns {{lines: Float32Array, branches: Int32Array}}
 */
export function withDashes(lines, branches, isDashed, way) {
  const cut = new Map();
  for (const branch of new Set(branches)) cut.set(branch, isDashed(branch));
  if (![...cut.values()].includes(true)) return { lines, branches: Int32Array.from(branches) };
  const drawn = [];
  const of = [];
  for (let m = 0; m < branches.length; m += 1) {
    const ends = lines.subarray(6 * m, 6 * m + 6);
    const parts = cut.get(branches[m]) ? dashes(...way(m)) : [[0, 1]];
    for (const part of parts) {
      for (const t of part) {
        for (let c = 0; c < 3; c += 1) drawn.push(ends[c] + t * (ends[c + 3] - ends[c]));
      }
      of.push(branches[m]);
    }
  }
  return { lines: Float32Array.from(drawn), branches: Int32Array.from(of) };
}
