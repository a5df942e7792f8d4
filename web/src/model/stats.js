/** What is said of some samples: summaries, counts and differences. */

/**
 * Summary of the known values; each may stand for several samples, as many as its weight.
 *
 * The standard deviation is that of n − 1. Quantiles are numpy's, of every value as often as its
 * weight says.
 *
 * @param {ArrayLike<number>} values  NaN for missing ones.
 * @param {ArrayLike<number> | null} [weights]  Whole numbers.
 */
export function summarise(values, weights = null) {
  const weightOf = (i) => (weights === null ? 1 : weights[i]);
  const rows = [];
  let [n, nMissing, sum] = [0, 0, 0];
  for (let i = 0; i < values.length; i += 1) {
    if (Number.isNaN(values[i])) {
      nMissing += weightOf(i);
    } else if (weightOf(i) > 0) {
      rows.push(i);
      n += weightOf(i);
      sum += weightOf(i) * values[i];
    }
  }
  const mean = n > 0 ? sum / n : NaN;
  const squares = rows.reduce((total, i) => total + weightOf(i) * (values[i] - mean) ** 2, 0);
  const order = Int32Array.from(rows).sort((a, b) => values[a] - values[b]);
  const sorted = Float64Array.from(order, (i) => values[i]);
  const at =
    weights === null ? (q) => quantileOfSorted(sorted, q) : repeated(sorted, order, weights);
  return {
    n,
    mean,
    sd: n > 1 ? Math.sqrt(squares / (n - 1)) : NaN,
    q25: n > 0 ? at(0.25) : NaN,
    median: n > 0 ? at(0.5) : NaN,
    q75: n > 0 ? at(0.75) : NaN,
    min: n > 0 ? sorted[0] : NaN,
    max: n > 0 ? sorted[sorted.length - 1] : NaN,
    nMissing,
  };
}

/** Quantiles of sorted values, each as often as its weight says, without writing them out. */
function repeated(sorted, order, weights) {
  const until = new Float64Array(order.length);
  let n = 0;
  order.forEach((i, k) => {
    n += weights[i];
    until[k] = n;
  });
  const valueAt = (place) => sorted[until.findIndex((end) => place < end)];
  return (q) => {
    const at = q * (n - 1);
    const k = Math.floor(at);
    const neighbours = [valueAt(k), valueAt(Math.min(k + 1, n - 1))];
    return quantileOfSorted(neighbours, at - k);
  };
}

/**
 * Difference of the means inside and outside, divided by the pooled standard deviation.
 *
 * That is √([(n₁ − 1)s₁² + (n₀ − 1)s₀²]/(n₁ + n₀ − 2)) of the known values. NaN where either side
 * has none, or all are equal; infinite where only the means differ.
 *
 * @param {ArrayLike<number>} values
 * @param {ArrayLike<number | boolean>} inside
 * @param {ArrayLike<number> | null} [weights]
 */
export function standardisedDifference(values, inside, weights = null) {
  const [n, sum, squares] = [
    [0, 0],
    [0, 0],
    [0, 0],
  ];
  const each = (use) => {
    for (let i = 0; i < values.length; i += 1) {
      if (!Number.isNaN(values[i])) {
        use(values[i], inside[i] ? 1 : 0, weights === null ? 1 : weights[i]);
      }
    }
  };
  each((value, side, weight) => {
    n[side] += weight;
    sum[side] += weight * value;
  });
  const mean = [sum[0] / n[0], sum[1] / n[1]];
  each((value, side, weight) => {
    squares[side] += weight * (value - mean[side]) ** 2;
  });
  const pooled = Math.sqrt((squares[0] + squares[1]) / (n[0] + n[1] - 2));
  return (mean[1] - mean[0]) / pooled;
}

/**
 * The percentage of training samples that have at most this value, interpolated.
 *
 * @param {number} value
 * @param {ArrayLike<number>} percentiles  101 of them, from 0 to 100 %.
 */
export function percentileOf(value, percentiles) {
  const last = percentiles.length - 1;
  if (!(value >= percentiles[0])) {
    return 0;
  }
  if (value >= percentiles[last]) {
    return 100;
  }
  let k = 0;
  while (percentiles[k + 1] <= value) {
    k += 1;
  }
  const part = (value - percentiles[k]) / (percentiles[k + 1] - percentiles[k]);
  return (100 * (k + part)) / last;
}

/**
 * A quantile, interpolated linearly as numpy.quantile does.
 *
 * @param {ArrayLike<number>} sorted  Ascending, at least one, none missing.
 * @param {number} q  From 0 to 1.
 */
function quantileOfSorted(sorted, q) {
  const at = q * (sorted.length - 1);
  const k = Math.min(Math.floor(at), sorted.length - 1);
  const [low, high] = [sorted[k], sorted[Math.min(k + 1, sorted.length - 1)]];
  const part = at - k;
  const step = high - low;
  return part >= 0.5 ? high - step * (1 - part) : low + step * part;
}

/**
 * @param {ArrayLike<number>} values  At least one, none missing.
 * @param {number} q  From 0 to 1.
 */
export function quantile(values, q) {
  return quantileOfSorted(Float64Array.from(values).sort(), q);
}
