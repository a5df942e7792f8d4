/**
 * New samples in the learned space, and on the graph: the twin of `transform` and `project`.
 *
 * @typedef {object} Place
 * @property {Float64Array} embedding  As `transform` returns it.
 * @property {boolean} known  Whether the sample was one of those fitted.
 * @property {number} edge
 * @property {number} position
 * @property {number} distance  From the graph, in units of the data.
 */

import { nearestOnEdges, tieRanks } from "./graph.js";
import { findRow } from "./keys.js";
import { encodeCovariates, prepare } from "./prepare.js";

/** exp(−36) is 2e-16: centres farther than the nearest by so many σ have no weight. */
const CUTOFF = 36;
/** The root of the least positive number with all its digits. */
const TINY_ROOT = 2 ** -511;

/**
 * Place one sample.
 *
 * @param {any} model  state.model of the page.
 * @param {any} graph  state.graph of the page.
 * @param {Float64Array} row  The features, as they were measured.
 * @param {(string | number)[]} [covariates]
 * @param {Int32Array} [ranks]  Of the edges, once for many samples.
 * @returns {Place}
 */
export function placeSample(
  model,
  graph,
  row,
  covariates = [],
  ranks = tieRanks(graph.edges, graph.wanted),
) {
  const prepared = prepare(model, row, covariates);
  const fitted = knownRow(model, row, covariates, prepared);
  const embedding = fitted >= 0 ? fittedPlace(model, fitted) : embed(model, prepared);
  const point = embedding.map((value) => value * graph.scale);
  const nearest = nearestOnEdges(point, graph.nodes, graph.edges, point.length, ranks);
  return { embedding, known: fitted >= 0, ...nearest };
}

/** The row of the training data that a sample is, or −1: first as measured, then as prepared. */
function knownRow(model, row, covariates, prepared) {
  if (!model.known) {
    return -1;
  }
  let fitted = -1;
  if (model.raw_known) {
    const adjust = model.steps.find((step) => step.name === "adjust");
    const z = adjust === undefined ? [] : encodeCovariates(adjust, covariates);
    fitted = findRow(model.raw_known, [...row, ...z]);
  }
  return fitted >= 0 ? fitted : findRow(model.known, prepared);
}

/** Where the fit has put a training row. */
function fittedPlace({ known, components, mean }, row) {
  const d = components ? components.length / mean.length : mean.length;
  return Float64Array.from(known.embedding.subarray(row * d, (row + 1) * d));
}

/**
 * The place of a prepared row in the learned space.
 *
 * @param {any} model
 * @param {Float64Array} prepared
 * @returns {Float64Array}
 */
export function embed(model, prepared) {
  const data = model.kernel ? kernelRow(model.kernel, prepared) : prepared;
  const centred = data.map((value, j) => value - model.mean[j]);
  const projected = model.components ? product(model.components, centred) : centred;
  switch (model.place.kind) {
    case "DDRTree":
      return amongCentres(model.place, projected);
    case "DRTree":
      return nextLeaf(model.place, projected);
    case "SPL":
      return tiedToNeighbours(model.place, projected, model.place.rows_centred ? centred : data);
    default:
      throw new Error(`samples cannot be placed by "${model.place.kind}", which is unknown.`);
  }
}

/** The kernel between a sample and those that were fitted: xᵀy, or exp(−gamma·‖x − y‖²). */
function kernelRow({ kind, gamma, samples, n }, x) {
  if (kind === "linear") {
    return product(samples, x, n);
  }
  const rate = gamma ?? 1 / x.length;
  return squaredDistances(samples, x, n).map((squared) => Math.exp(-rate * squared));
}

/**
 * Minimiser of a new point's own terms of the objective of DDRTree, W and C staying put.
 *
 * z = [Wᵀy + γ·Σ_k r_k(z)·c_k]/(1 + γ), iterated from Wᵀy. With hard assignments the centre nearest
 * to Wᵀy gives the minimum at once.
 */
function amongCentres({ centers, gamma, sigma, rtol, max_steps: maxSteps }, projected) {
  const largest = centers.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
  const scale = rtol * Math.max(largest, Math.sqrt(sigma));
  let z = projected;
  for (let step = 0; step < (sigma > 0 ? maxSteps : 1); step += 1) {
    const pull = assignedCentre(centers, z, sigma);
    const next = projected.map((value, k) => (value + gamma * pull[k]) / (1 + gamma));
    const isFar = next.some((value, k) => Math.abs(value - z[k]) > scale);
    z = next;
    if (!isFar) {
      break;
    }
  }
  return z;
}

/** Σ_k r_k·c_k with r_k ∝ exp(−‖z − c_k‖²/σ); the nearest centre when σ = 0. */
function assignedCentre(centers, z, sigma) {
  const d = z.length;
  const squared = squaredDistances(centers, z);
  const nearest = indexOfLeast(squared);
  if (sigma === 0) {
    return centers.subarray(nearest * d, (nearest + 1) * d);
  }
  const sum = new Float64Array(d);
  let total = 0;
  for (let k = 0; k < squared.length; k += 1) {
    const excess = squared[k] - squared[nearest];
    if (excess <= CUTOFF * sigma) {
      const weight = Math.exp(-excess / sigma);
      total += weight;
      for (let j = 0; j < d; j += 1) {
        sum[j] += weight * centers[k * d + j];
      }
    }
  }
  return sum.map((value) => value / total);
}

/**
 * The best place for one more leaf of DRTree's tree, all other points staying put.
 *
 * Hanging at node j it is z = (Wᵀy + λz_j)/(1 + λ): the node nearest to Wᵀy is the best.
 */
function nextLeaf({ centers, lam }, projected) {
  const nearest = indexOfLeast(squaredDistances(centers, projected)) * projected.length;
  return projected.map((value, k) => (value + lam * centers[nearest + k]) / (1 + lam));
}

/** Posterior mean of one more sample of SPL, tied to its nearest training samples. */
function tiedToNeighbours(place, projected, x) {
  const { rows, embedding, n_ties: nTies, scale, share, gamma } = place;
  const slack = place.slack ?? Infinity;
  const upper = place.upper ?? Infinity;
  const d = projected.length;
  const squared = squaredDistances(rows, x, embedding.length / d);
  const pull = new Float64Array(d);
  let total = 0;
  for (const i of indicesOfLeast(squared, nTies)) {
    let phi = (Math.sqrt(squared[i]) * scale) ** 2;
    phi = slack === Infinity ? Math.max(phi, TINY_ROOT) : phi;
    const s = bestWeight(share, phi, slack, upper);
    total += s;
    for (let k = 0; k < d; k += 1) {
      pull[k] += s * embedding[i * d + k];
    }
  }
  return projected.map((value, k) => (4 * pull[k] + gamma * value) / (4 * total + gamma + 1));
}

/** Maximiser over 0 < s ≤ upper of a·log s − 2φs − s²/(2·slack): Loss.weights. */
function bestWeight(a, phi, slack, upper) {
  const s = slack === Infinity ? a / (2 * phi) : a / (phi + Math.hypot(phi, Math.sqrt(a / slack)));
  return Math.min(s, upper);
}

/** A matrix, row after row, times a vector. */
function product(matrix, x, n = matrix.length / x.length) {
  const out = new Float64Array(n);
  for (let i = 0; i < n; i += 1) {
    for (let j = 0, at = i * x.length; j < x.length; j += 1, at += 1) {
      out[i] += matrix[at] * x[j];
    }
  }
  return out;
}

/** Squared distances from x to the rows of a matrix. */
function squaredDistances(matrix, x, n = matrix.length / x.length) {
  const out = new Float64Array(n);
  for (let i = 0; i < n; i += 1) {
    for (let j = 0, at = i * x.length; j < x.length; j += 1, at += 1) {
      out[i] += (x[j] - matrix[at]) * (x[j] - matrix[at]);
    }
  }
  return out;
}

/** The first of the least values. */
function indexOfLeast(values) {
  let best = 0;
  for (let i = 1; i < values.length; i += 1) {
    best = values[i] < values[best] ? i : best;
  }
  return best;
}

/** So many of the least values, in their order; of equals, the first. */
function indicesOfLeast(values, n) {
  const order = Int32Array.from(values.keys());
  return order.sort((a, b) => values[a] - values[b] || a - b).subarray(0, n);
}
