/**
 * What a tree says of a row of which only some columns are known: the twin of
 * branchwise.solvers.conditional, whose letters these are.
 *
 * @typedef {object} TreeModel  Matrices row after row.
 * @property {Float64Array} axes  A: d rows of D columns.
 * @property {Float64Array} mean  D.
 * @property {Float64Array} places  c_t, along the axes: T rows of d columns.
 * @property {Float64Array} weights  π_t: T.
 * @property {Float64Array} spread  S: d × d.
 * @property {Float64Array} noise  ψ: D, above 0.
 *
 * @typedef {object} Conditional
 * @property {Float64Array} probabilities  Of the places.
 * @property {Float64Array} mean  Of z, along the axes.
 * @property {Float64Array} covariance  Of z, d × d.
 * @property {number} squared  Squared Mahalanobis distance to the nearest place.
 * @property {number} nKnown  Columns.
 */

/**
 * The distribution of z, and of the place, given what is known of a row.
 *
 * @param {TreeModel} model
 * @param {ArrayLike<number>} row  NaN where a value is not known.
 * @returns {Conditional}
 */
export function condition(model, row) {
  const { places, weights } = model;
  const d = places.length / weights.length;
  const sums = sumsOverColumns(model, row);
  const { G, K, b, nKnown } = sums;
  const squared = squaredDistances(model, sums);
  const probabilities = shares(weights, squared);
  const { c, between } = spreadOfPlaces(places, probabilities, d);
  const Gc = apply(G, c);
  const moved = apply(
    K,
    b.map((value, i) => value - Gc[i]),
  );
  const kept = times(K, G, d).map((value, i) => (i % (d + 1) === 0 ? 1 : 0) - value);
  const added = times(times(kept, between, d), transposed(kept, d), d);
  return {
    probabilities,
    mean: c.map((value, i) => value + moved[i]),
    covariance: K.map((value, i) => value + added[i]),
    squared: squared.reduce((a, value) => Math.min(a, value), Infinity),
    nKnown,
  };
}

/**
 * The row, with the conditional mean of what is not known.
 *
 * @param {TreeModel} model
 * @param {ArrayLike<number>} row
 * @param {Conditional} found  Of this row.
 * @returns {Float64Array}
 */
export function fill(model, row, found) {
  const { axes, mean } = model;
  const D = mean.length;
  return mean.map((value, j) => {
    if (!Number.isNaN(row[j])) return row[j];
    let sum = value;
    for (let k = 0; k < found.mean.length; k += 1) sum += found.mean[k] * axes[k * D + j];
    return sum;
  });
}

/**
 * What the columns say of z.
 *
 * @typedef {object} Sums
 * @property {Float64Array} G  A_O Ψ_O⁻¹ A_Oᵀ.
 * @property {Float64Array} K  (S⁻¹ + G)⁻¹.
 * @property {Float64Array} b  A_O Ψ_O⁻¹ (y_O − mean_O).
 * @property {number} q  (y_O − mean_O)ᵀ Ψ_O⁻¹ (y_O − mean_O).
 * @property {number} nKnown
 */

/**
 * The sums over the known columns of a row that all else comes from.
 *
 * @param {TreeModel} model
 * @param {ArrayLike<number>} row  NaN where a value is not known.
 * @param {Sums | null} [same]  Those of another row that has the same columns.
 * @returns {Sums}
 */
export function sumsOverColumns({ axes, mean, noise, spread }, row, same = null) {
  const D = mean.length;
  const d = axes.length / D;
  const G = same?.G ?? new Float64Array(d * d);
  const b = new Float64Array(d);
  let [q, nKnown] = [0, 0];
  for (let j = 0; j < D; j += 1) {
    if (Number.isNaN(row[j])) continue;
    const apart = row[j] - mean[j];
    q += (apart * apart) / noise[j];
    nKnown += 1;
    for (let i = 0; i < d; i += 1) {
      const scaled = axes[i * D + j] / noise[j];
      b[i] += scaled * apart;
      if (same !== null) continue;
      for (let k = 0; k < d; k += 1) G[i * d + k] += scaled * axes[k * D + j];
    }
  }
  return { G, K: same?.K ?? latentCovariance(spread, G, d), b, q, nKnown };
}

/**
 * The squared Mahalanobis distance of the known columns of a row to each place.
 *
 * @param {TreeModel} model
 * @param {Sums} sums  Of the row.
 */
export function squaredDistances({ places, weights }, { G, K, b, q }) {
  const d = places.length / weights.length;
  const GK = times(G, K, d);
  const h = b.map((value, i) => value - dot(GK, i * d, b, 0, d));
  const GKG = times(GK, G, d);
  const rest = G.map((value, i) => value - GKG[i]);
  const least = q - dot(b, 0, apply(K, b), 0, d);
  return weights.map((_, t) => {
    const c = places.subarray(t * d, (t + 1) * d);
    const value = least - 2 * dot(h, 0, c, 0, d) + dot(c, 0, apply(rest, c), 0, d);
    return Math.max(value, 0); // but for rounding
  });
}

/** K = (S⁻¹ + G)⁻¹ = L(I + LᵀGL)⁻¹Lᵀ with LLᵀ = S, which may be singular. */
function latentCovariance(spread, G, d) {
  const L = factor(spread, d);
  const Lt = transposed(L, d);
  const inner = times(times(Lt, G, d), L, d);
  for (let i = 0; i < d; i += 1) inner[i * (d + 1)] += 1;
  const R = factor(inner, d);
  // V = R⁻¹Lᵀ, forward; K = VᵀV.
  const V = Lt;
  for (let i = 0; i < d; i += 1) {
    for (let k = 0; k < d; k += 1) {
      let value = V[i * d + k];
      for (let j = 0; j < i; j += 1) value -= R[i * d + j] * V[j * d + k];
      V[i * d + k] = value / R[i * (d + 1)];
    }
  }
  return times(transposed(V, d), V, d);
}

/** Cholesky's lower factor; a column without variance beside those before it is zero. */
function factor(matrix, d) {
  const L = new Float64Array(d * d);
  for (let k = 0; k < d; k += 1) {
    const pivot = matrix[k * (d + 1)] - dot(L, k * d, L, k * d, k);
    if (!(pivot > d * Number.EPSILON * matrix[k * (d + 1)])) continue;
    for (let i = k; i < d; i += 1) {
      L[i * d + k] = (matrix[i * d + k] - dot(L, i * d, L, k * d, k)) / Math.sqrt(pivot);
    }
  }
  return L;
}

/**
 * The probability of each place: π_t·exp(−squared_t/2), as a part of their sum.
 *
 * @param {Float64Array} weights
 * @param {Float64Array} squared
 */
export function shares(weights, squared) {
  const joint = squared.map((value, t) => Math.log(weights[t]) - value / 2);
  const top = joint.reduce((a, value) => Math.max(a, value), -Infinity);
  const parts = joint.map((value) => Math.exp(value - top));
  const total = parts.reduce((a, value) => a + value, 0);
  return parts.map((value) => value / total);
}

/** Mean and covariance of the places. */
function spreadOfPlaces(places, probabilities, d) {
  const [c, between] = [new Float64Array(d), new Float64Array(d * d)];
  probabilities.forEach((p, t) => {
    for (let i = 0; i < d; i += 1) c[i] += p * places[t * d + i];
  });
  probabilities.forEach((p, t) => {
    for (let i = 0; i < d; i += 1) {
      const apart = p * (places[t * d + i] - c[i]);
      for (let k = 0; k < d; k += 1) between[i * d + k] += apart * (places[t * d + k] - c[k]);
    }
  });
  return { c, between };
}

/** Σ a[i + k]·b[j + k] of the first n. */
function dot(a, i, b, j, n) {
  let sum = 0;
  for (let k = 0; k < n; k += 1) sum += a[i + k] * b[j + k];
  return sum;
}

/** A square matrix times a vector. */
export function apply(matrix, x) {
  return Float64Array.from(x, (_, i) => dot(matrix, i * x.length, x, 0, x.length));
}

/** The product of two d × d matrices. */
function times(a, b, d) {
  const out = new Float64Array(d * d);
  for (let i = 0; i < d; i += 1) {
    for (let j = 0; j < d; j += 1) {
      for (let k = 0; k < d; k += 1) out[i * d + k] += a[i * d + j] * b[j * d + k];
    }
  }
  return out;
}

function transposed(a, d) {
  return a.map((_, i) => a[(i % d) * d + Math.floor(i / d)]);
}
