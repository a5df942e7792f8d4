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
 * Two groups of samples compared by one feature, from the known values of each.
 *
 * `difference` is that of the means, A less B; `effect` the same divided by the pooled standard
 * deviation √([(n_A − 1)s_A² + (n_B − 1)s_B²]/(n_A + n_B − 2)), Cohen's d: NaN where a side has no
 * value or all are equal, infinite where only the means differ. `p` is that of Welch's t-test, two-
 * sided; NaN where a side has fewer than two values, or neither has any spread.
 *
 * @param {ArrayLike<number>} values
 * @param {ArrayLike<number>} side  1 in A, 2 in B, otherwise in neither.
 * @param {{weights?: ArrayLike<number> | null, squares?: ArrayLike<number> | null}} [bins]  Where a
 *   value is the mean of several samples: how many, and Σ(x − mean)² of them.
 */
export function compareGroups(values, side, { weights = null, squares = null } = {}) {
  const [a, b] = [1, 2].map((which) => moments(values, side, which, weights, squares));
  const pooled = Math.sqrt((a.squares + b.squares) / (a.n + b.n - 2));
  const isSame = pooled === 0 && Math.abs(a.mean - b.mean) <= ROUNDING * Math.abs(a.mean);
  const difference = isSame ? 0 : a.mean - b.mean;
  return {
    nA: a.n,
    nB: b.n,
    meanA: a.mean,
    meanB: b.mean,
    difference,
    effect: difference / pooled,
    p: welchP(difference, a, b),
  };
}

/** Number, mean and Σ(x − mean)² of one side. */
function moments(values, side, which, weights, squares) {
  let [n, sum, shift] = [0, 0, NaN];
  // From the first value on: of equal ones the mean is that value, and the spread 0, exactly.
  for (let i = 0; i < values.length; i += 1) {
    const weight = weights === null ? 1 : weights[i];
    if (side[i] !== which || Number.isNaN(values[i]) || weight === 0) continue;
    if (n === 0) shift = values[i];
    n += weight;
    sum += weight * (values[i] - shift);
  }
  const mean = n > 0 ? shift + sum / n : NaN;
  let [total, rest] = [0, 0];
  for (let i = 0; i < values.length; i += 1) {
    const weight = weights === null ? 1 : weights[i];
    if (side[i] !== which || Number.isNaN(values[i]) || weight === 0) continue;
    total += weight * (values[i] - mean) ** 2 + (squares === null ? 0 : squares[i]);
    rest += weight * (values[i] - mean);
  }
  const left = n > 0 ? total - rest ** 2 / n : 0; // without what rounding has left of the mean
  // Means of equal values in bins differ in their last digits: that is no spread.
  return { n, mean, squares: left > n * (ROUNDING * mean) ** 2 ? left : 0 };
}

/** A standard deviation of a smaller part of the mean is none. */
const ROUNDING = 1e-12;

/** Welch's t-test: the means of two groups, whose variances may differ. */
function welchP(difference, a, b) {
  if (a.n < 2 || b.n < 2) return NaN;
  const [ofA, ofB] = [a, b].map(({ n, squares }) => squares / (n - 1) / n);
  const variance = ofA + ofB;
  if (!(variance > 0)) return NaN;
  const part = ofA / variance;
  const degrees = 1 / (part ** 2 / (a.n - 1) + (1 - part) ** 2 / (b.n - 1));
  return studentP(difference / Math.sqrt(variance), degrees);
}

/**
 * The probability of a |t| as large, by Student's distribution: I_x(ν/2, ½) with x = ν/(ν + t²).
 *
 * @param {number} t
 * @param {number} degrees  ν, above 0.
 */
export function studentP(t, degrees) {
  const a = degrees / 2;
  const ratio = t ** 2 / degrees;
  const x = 1 / (1 + ratio);
  const rest = ratio / (1 + ratio); // 1 − x, also where x is nearly 1
  if (!(x > 0)) return 0;
  if (!(rest > 0)) return 1;
  // x^a·(1 − x)^½/B(a, ½)
  const front = (Math.exp(-a * Math.log1p(ratio)) * Math.sqrt(rest) * gammaRatio(a)) / SQRT_PI;
  return x < (a + 1) / (a + 2.5)
    ? (front * betaFraction(x, a, 0.5)) / a
    : 1 - (front * betaFraction(rest, 0.5, a)) / 0.5;
}

const SQRT_PI = Math.sqrt(Math.PI);

/** Γ(a + ½)/Γ(a): an asymptotic series, from where it has all digits. */
function gammaRatio(a) {
  let [at, product] = [a, 1];
  while (at < 20) {
    product *= at / (at + 0.5);
    at += 1;
  }
  const u = 1 / at ** 2;
  const series =
    (-1 / 8 + u * (1 / 192 + u * (-1 / 640 + u * (17 / 14336 - (u * 31) / 18432)))) / at;
  return product * Math.sqrt(at) * Math.exp(series);
}

/** The continued fraction of the incomplete beta function (Abramowitz & Stegun 26.5.8). */
function betaFraction(x, a, b) {
  const tiny = 1e-300;
  const away = (value) => (Math.abs(value) < tiny ? tiny : value);
  let c = 1;
  let d = 1 / away(1 - ((a + b) * x) / (a + 1));
  let result = d;
  for (let m = 1; m < 100_000; m += 1) {
    const even = (m * (b - m) * x) / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / away(1 + even * d);
    c = away(1 + even / c);
    result *= d * c;
    const odd = (-(a + m) * (a + b + m) * x) / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / away(1 + odd * d);
    c = away(1 + odd / c);
    result *= d * c;
    if (Math.abs(d * c - 1) < 1e-16) break;
  }
  return result;
}

/**
 * p-values adjusted for their number (Benjamini & Hochberg, 1995); NaN are not counted.
 *
 * @param {ArrayLike<number>} p
 */
export function adjusted(p) {
  const order = Array.from(p, (_, k) => k).filter((k) => !Number.isNaN(p[k]));
  order.sort((i, j) => p[i] - p[j]);
  const result = Float64Array.from(p, () => NaN);
  let least = 1;
  for (let rank = order.length; rank > 0; rank -= 1) {
    const k = order[rank - 1];
    least = Math.min(least, (p[k] * order.length) / rank);
    result[k] = least;
  }
  return result;
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
