/** Quantiles of numbers, interpolated linearly as numpy.quantile does. */

/**
 * @param {ArrayLike<number>} sorted  Ascending, at least one, none missing.
 * @param {number} q  From 0 to 1.
 */
export function quantileOfSorted(sorted, q) {
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
