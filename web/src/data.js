// What the page holds, in the form that the views and panels ask for.

import { adjusted, compareGroups } from "./model/stats.js";

const MISSING = { Uint8Array: 255, Uint16Array: 65535 };

/**
 * Columns of the table, features and computed ones, each with a key; codes below 0 are missing.
 *
 * Of bins, `known` says how many samples have a number, where some lack it.
 */
export function tableColumns(state) {
  const nRows = state.samples.edge.length;
  return state.columns.map((column, k) => {
    const shared = { ...column, key: `column:${k}`, unit: column.unit ?? "" };
    if (column.kind === "number") return shared;
    return column.counts
      ? { ...shared, ...mostFrequent(column.counts, column.labels.length, nRows) }
      : { ...shared, codes: signedCodes(column.codes) };
  });
}

/** Codes with −1 where a value is missing. */
export function signedCodes(codes) {
  const missing = MISSING[codes.constructor.name] ?? -1;
  return Int32Array.from(codes, (code) => (code === missing ? -1 : code));
}

/** Of each bin the most frequent label, and its share; −1 where all are missing. */
export function mostFrequent(counts, nLabels, n) {
  const codes = new Int32Array(n).fill(-1);
  const share = new Float32Array(n).fill(Number.NaN);
  for (let i = 0; i < n; i += 1) {
    let [total, most] = [0, 0];
    for (let k = 0; k < nLabels; k += 1) {
      const count = counts[i * nLabels + k];
      total += count;
      if (count > most) {
        most = count;
        codes[i] = k;
      }
    }
    if (total) share[i] = most / total;
  }
  return { codes, share };
}

/** How many samples of each category are among some rows, or all; exact also for bins. */
export function categoryCounts(column, inside, weights) {
  const { codes, labels, counts: inBins } = column;
  const counts = labels.map(() => 0);
  let nMissing = 0;
  for (let i = 0; i < codes.length; i += 1) {
    if (inside && !inside[i]) continue;
    const size = weights ? weights[i] : 1;
    if (inBins) {
      let known = 0;
      for (let k = 0; k < labels.length; k += 1) {
        counts[k] += inBins[i * labels.length + k];
        known += inBins[i * labels.length + k];
      }
      nMissing += size - known;
    } else if (codes[i] < 0) {
      nMissing += size;
    } else {
      counts[codes[i]] += size;
    }
  }
  return { counts, nMissing };
}

/** How many samples the value of a column stands for in each row; null: one each. */
export function weightsOf(column, weights) {
  return column.known ?? weights;
}

/**
 * Every feature in two groups of rows, those that differ most first; exact also for bins.
 *
 * @param {object[]} features columns
 * @param {Uint8Array} side of each row: 1 in A, 2 in B
 * @param {ArrayLike<number> | null} weights
 */
export function compareFeatures(features, side, weights) {
  const found = features.map((column) => ({
    column,
    ...compareGroups(column.values, side, {
      weights: weightsOf(column, weights),
      squares: column.squares ?? null,
    }),
  }));
  const q = adjusted(found.map((row) => row.p));
  const size = ({ effect }) => (Number.isNaN(effect) ? -1 : Math.abs(effect));
  return found.map((row, k) => ({ ...row, adjusted: q[k] })).sort((a, b) => size(b) - size(a) || 0);
}

/** An order in which no row is hidden because of its place in the table: the same every time. */
export function shuffled(n) {
  const order = Uint32Array.from({ length: n }, (_, k) => k);
  let seed = 12345;
  for (let k = n - 1; k > 0; k -= 1) {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
    const other = Math.floor((seed / 2 ** 32) * (k + 1));
    [order[k], order[other]] = [order[other], order[k]];
  }
  return order;
}

/** Radii of points in pixels: smaller the more there are; of bins, by the number of samples. */
export function radiiOf(nRows, counts) {
  if (!counts) {
    const radius = Math.min(Math.max(95 / Math.sqrt(nRows + 1), 1.6), 5);
    return new Float32Array(nRows).fill(radius);
  }
  let largest = 1;
  for (const count of counts) largest = Math.max(largest, count);
  return Float32Array.from(counts, (count) => Math.max(7 * Math.sqrt(count / largest), 0.9));
}
