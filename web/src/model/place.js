/**
 * New samples on the graph: the twin of an estimator's `project` and of `Trajectory.place`.
 *
 * @typedef {object} Place
 * @property {Float64Array} projection  Linear coordinates, as `project` returns them.
 * @property {number} edge
 * @property {number} position
 * @property {number} distance  From the graph, in units of the data.
 */

import { nearestOnEdges, tieRanks } from "./graph.js";
import { alongPca, prepare } from "./prepare.js";
import { assess, columnsOf, filledRow } from "./trust.js";

/**
 * Place one sample, whether it was there in the fit or not.
 *
 * @param {any} model  state.model of the page.
 * @param {any} graph  state.graph of the page.
 * @param {Float64Array} row  The features, as they were measured; NaN where they are missing.
 * @param {(string | number)[]} [covariates]
 * @param {object} [known]  Once for many samples.
 * @param {Int32Array} [known.ranks]  Of the edges.
 * @param {any} [known.trust]  What `trustModel` returns.
 * @param {string[]} [known.absent]  Features that the table of the sample does not have.
 * @returns {Place & {told: import("./trust.js").Told | null, missing: number}}
 */
export function placeSample(model, graph, row, covariates = [], known = {}) {
  const { ranks = tieRanks(graph.edges, graph.wanted), trust = null, absent = [] } = known;
  const missing = Array.from(columnsOf(model).parts).filter((j) => Number.isNaN(row[j])).length;
  const prepared =
    missing > 0 && trust !== null
      ? alongPca(model, filledRow(trust, model, row, covariates, absent))
      : prepare(model, row, covariates);
  const projection = project(model, prepared);
  const nearest = nearestOnEdges(projection, graph.nodes, graph.edges, projection.length, ranks);
  const told = trust === null ? null : assess(trust, model, row, covariates);
  return { projection, ...nearest, told, missing };
}

/**
 * The linear coordinates Wᵀ(x − mean) of a prepared row.
 *
 * @param {any} model
 * @param {Float64Array} prepared
 * @returns {Float64Array}
 */
export function project(model, prepared) {
  const data = model.kernel ? kernelRow(model.kernel, prepared) : prepared;
  const centred = data.map((value, j) => value - model.mean[j]);
  return model.components ? product(model.components, centred) : centred;
}

/** The kernel between a sample and those that were fitted: xᵀy, or exp(−gamma·‖x − y‖²). */
function kernelRow({ kind, gamma, samples, n }, x) {
  if (kind === "linear") {
    return product(samples, x, n);
  }
  const rate = gamma ?? 1 / x.length;
  return squaredDistances(samples, x, n).map((squared) => Math.exp(-rate * squared));
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
