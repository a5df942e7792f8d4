/**
 * How much to trust a place: the twin of branchwise.placing (`Placer.assess`), whose letters these
 * are.
 *
 * @typedef {object} Told  What is said of a row, whatever the root.
 * @property {number} misfit  √(squared distance to the nearest place / known columns).
 * @property {number} p  Conformal; NaN if no samples were held out.
 * @property {number} nHeldOut  Samples held out of the fit.
 * @property {Float64Array} shares  The probability of each place.
 * @property {Driver[]} drivers  The columns that make it far, the worst first.
 * @property {Outside[]} outside  All columns beyond the training table, the farthest first.
 *
 * @typedef {{column: number, value: number, expected: number}} Driver  In the units of the table.
 * @typedef {{column: number, value: number, low: number, high: number}} Outside
 */

import { placeSamples } from "./branches.js";
import {
  apply,
  condition,
  fill,
  shares,
  squaredDistances,
  sumsOverColumns,
} from "./conditional.js";
import { fillByTree, prepareKnown, rawValue } from "./prepare.js";

const TINY = 2 ** -1022;

/**
 * What is needed of a page's model, once for many rows; null if it does not say how its training
 * samples scatter.
 *
 * @param {any} model  state.model of the page.
 * @param {any} graph  state.graph of the page.
 */
export function trustModel(model, graph) {
  const given = model?.trust ?? null;
  if (given === null) return null;
  const { edge, position, weights, spread, noise } = given;
  const { axes, mean } = axesOf(model, noise.length);
  const places = footPoints(graph, edge, position);
  const tree = { axes, mean, places, weights, spread, noise };
  return { given, tree, columns: columnsOf(model), last: null };
}

/** The axes and the mean of the estimator in the space before a pca that it comes behind. */
function axesOf(model, D) {
  const n = model.mean.length;
  const W = model.components ?? identity(n);
  const pca = model.steps.find((step) => step.name === "pca");
  if (pca === undefined) return { axes: W, mean: model.mean };
  const d = W.length / n;
  const axes = new Float64Array(d * D);
  const mean = Float64Array.from(pca.mean);
  for (let k = 0; k < n; k += 1) {
    for (let j = 0; j < D; j += 1) {
      const c = pca.components[k * D + j];
      mean[j] += model.mean[k] * c;
      for (let i = 0; i < d; i += 1) axes[i * D + j] += W[i * n + k] * c;
    }
  }
  return { axes, mean };
}

function identity(n) {
  return Float64Array.from({ length: n * n }, (_, k) => (k % (n + 1) === 0 ? 1 : 0));
}

/** Places on edges as points. */
function footPoints({ nodes, node_dims: d, edges }, edge, position) {
  const points = new Float64Array(edge.length * d);
  edge.forEach((e, t) => {
    const [a, b] = [edges[2 * e] * d, edges[2 * e + 1] * d];
    for (let k = 0; k < d; k += 1) {
      points[t * d + k] = nodes[a + k] + position[t] * (nodes[b + k] - nodes[a + k]);
    }
  });
  return points;
}

/**
 * What the columns of a row are made of: of a model that encodes some, there may be several of one.
 *
 * @param {any} model  state.model of the page.
 * @returns {{names: string[], parts: ArrayLike<number>, is_measured: ArrayLike<number>,
 *   day_zero: (string | null)[]}}  Names of the features that they are made of; a column of each, by
 *   which gaps are counted; which are measured, and not levels; and the date of day 0 of days.
 */
export function columnsOf({ columns, features }) {
  if (columns) return columns;
  const every = features.map((_, j) => j);
  const [ones, none] = [features.map(() => 1), features.map(() => null)];
  return { names: features, parts: every, is_measured: ones, day_zero: none };
}

/**
 * What the tree says of a row.
 *
 * @param {any} trust  What `trustModel` returned.
 * @param {any} model  state.model of the page.
 * @param {Float64Array} row  As it was measured, or encoded, with at least one known value.
 * @param {(string | number)[]} covariates
 * @returns {Told}
 */
export function assess(trust, model, row, covariates) {
  const { given, tree, columns } = trust;
  const known = prepareKnown(model, row, covariates).map((value, j) =>
    given.varies[j] ? value : NaN,
  );
  const sums = sumsOf(trust, known);
  const squared = squaredDistances(tree, sums);
  const nearest = smallest(squared);
  const misfit = Math.sqrt(squared[nearest] / Math.max(sums.nKnown, 1));
  const inTable = (value, j) =>
    columns.is_measured[j] ? rawValue(model, value, j, covariates) : NaN;
  return {
    misfit,
    p: pValue(given, misfit, sums.nKnown),
    nHeldOut: given.scores.length,
    shares: shares(tree.weights, squared),
    drivers: toName(given, tree, known, residuals(tree, known, sums, nearest)).map(
      ({ column, expected }) => ({
        column,
        value: columns.is_measured[column] ? row[column] : NaN,
        expected: inTable(expected, column),
      }),
    ),
    outside: outside(given, columns, row),
  };
}

function smallest(squared) {
  return squared.reduce((best, value, t) => (value < squared[best] ? t : best), 0);
}

/**
 * The columns whose residual is larger than usual, and what is expected in their place: the one with
 * the largest is taken out, and again, as a wrong value makes others look wrong.
 */
function toName({ usual, n_named: most }, tree, known, first) {
  const left = Float64Array.from(known);
  const found = [];
  for (let scaled = first; found.length < Math.min(most, known.length - 1);) {
    const size = scaled.map(Math.abs);
    const worst = size.reduce((best, value, j) => (value > size[best] ? j : best), 0);
    if (!(size[worst] > (usual ?? Infinity))) break;
    left[worst] = NaN;
    found.push(worst);
    const sums = sumsOverColumns(tree, left);
    scaled = residuals(tree, left, sums, smallest(squaredDistances(tree, sums)));
  }
  if (found.length === 0) return [];
  const sums = sumsOverColumns(tree, left);
  const z = likely(tree, sums, smallest(squaredDistances(tree, sums)));
  return found.map((column) => ({ column, expected: valueAt(tree, z, column) }));
}

/** Along the axes, what the known columns let expect for a place. */
function likely({ places, weights }, { G, K, b }, t) {
  const d = places.length / weights.length;
  const c = places.subarray(t * d, (t + 1) * d);
  const Gc = apply(G, c);
  const w = apply(
    K,
    b.map((value, i) => value - Gc[i]),
  );
  return c.map((value, i) => value + w[i]);
}

/** The prepared value of a column for z along the axes. */
function valueAt({ axes, mean }, z, j) {
  return z.reduce((sum, value, i) => sum + value * axes[i * mean.length + j], mean[j]);
}

/** Those of the columns; their matrices are the same for rows that lack the same columns. */
function sumsOf(trust, known) {
  const lacking = known.reduce(
    (text, value, j) => (Number.isNaN(value) ? `${text},${j}` : text),
    "",
  );
  const same = trust.last?.lacking === lacking ? trust.last.sums : null;
  const sums = sumsOverColumns(trust.tree, known, same);
  trust.last = { lacking, sums };
  return sums;
}

/**
 * Of each column given the others, for one place: in units of its standard deviation given them;
 * 0 where not known.
 */
function residuals(tree, known, sums, t) {
  const { axes, mean, noise } = tree;
  const [D, d] = [mean.length, sums.b.length];
  const z = likely(tree, sums, t);
  return Float64Array.from(known, (value, j) => {
    if (Number.isNaN(value)) return 0;
    let vague = 0;
    for (let i = 0; i < d; i += 1) {
      for (let k = 0; k < d; k += 1) vague += sums.K[i * d + k] * axes[i * D + j] * axes[k * D + j];
    }
    const own = Math.max(1 / noise[j] - vague / noise[j] ** 2, TINY);
    return (value - valueAt(tree, z, j)) / noise[j] / Math.sqrt(own);
  });
}

/** (1 + held-out scores at least as large) / (1 + held-out scores). */
function pValue({ scores, center, beyond }, misfit, nKnown) {
  if (scores.length === 0) return NaN;
  const chance = 2 / (9 * nKnown);
  const score = (Math.cbrt(misfit ** 2) + chance - center) / Math.sqrt(chance + beyond);
  let [low, high] = [0, scores.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (scores[middle] < score) low = middle + 1;
    else high = middle;
  }
  return (1 + scores.length - low) / (1 + scores.length);
}

/** The columns that lie beyond the training table by more than this part of its range. */
function outside({ low, high, room }, { is_measured: isMeasured }, row) {
  const found = [];
  row.forEach((value, column) => {
    if (!isMeasured[column]) return;
    const [least, most] = [low[column], high[column]];
    const width = room * (most - least);
    if (Number.isNaN(value) || (least - width <= value && most + width >= value)) return;
    const beyond = Math.max(least - value, value - most);
    const away = most > least ? beyond / (most - least) : Infinity;
    found.push({ column, value, low: least, high: most, away });
  });
  return found.sort((a, b) => b.away - a.away || a.column - b.column);
}

/**
 * A prepared row, before pca, in which the mean of what the tree makes likely stands for what is
 * not known; where the fit had medians in the place of gaps, so has this row, but in columns that
 * its table does not have.
 *
 * @param {any} trust
 * @param {any} model
 * @param {Float64Array} row
 * @param {(string | number)[]} covariates
 * @param {string[]} absent  Features that its table does not have.
 * @returns {Float64Array}
 */
export function filledRow(trust, model, row, covariates, absent) {
  const impute = model.steps.find((step) => step.name === "impute");
  const medians = impute?.medians;
  const known = prepareKnown(model, row, covariates);
  if (impute && !medians) return fillByTree(impute, known);
  const full = fill(trust.tree, known, condition(trust.tree, known));
  if (!medians) return full;
  const { names } = trust.columns;
  const some = row.map((value, j) =>
    absent.includes(names[j]) ? NaN : Number.isNaN(value) ? medians[j] : value,
  );
  const there = prepareKnown(model, some, covariates);
  return full.map((value, j) => (Number.isNaN(there[j]) ? value : there[j]));
}

/**
 * Branch and time of the places of a tree, as it is rooted now.
 *
 * @param {any} trust
 * @param {any} tree  What `rootedTree` returned.
 * @param {any} graph
 */
export function rootedPlaces(trust, tree, graph) {
  const { edge, position, end_edges: edges, end_positions: positions, lengths } = trust.given;
  const { branch, pseudotime } = placeSamples(tree, graph, edge, position);
  const ends = placeSamples(tree, graph, edges, positions).pseudotime;
  const within = Array.from(lengths, (length, t) =>
    timesWithin(ends[t], ends[lengths.length + t], length, pseudotime[t]),
  );
  const order = Int32Array.from(pseudotime.keys()).sort(
    (a, b) => pseudotime[a] - pseudotime[b] || a - b,
  );
  return { branch, within, order, nBranches: tree.branches.length };
}

/** The earliest and the latest time of a stretch, by those at its ends and of a place between. */
function timesWithin(first, last, length, time) {
  const [around, room] = [first + last, length * 1e-9];
  const earliest = around <= length + room ? 0 : Math.min(first, last);
  const hasOne = Math.abs(around - length) <= room;
  const latest = hasOne ? Math.max(first, last) : (around + length) / 2;
  return [Math.min(earliest, time), Math.max(latest, time)];
}

/**
 * @typedef {object} Along  Where along the tree a row may be.
 * @property {number} lower  The interval of pseudotime that holds most of its distribution.
 * @property {number} upper
 * @property {Float64Array} branches  The probability of each branch.
 * @property {(number[] | null)[]} spans  Of each branch the interval that holds most of what is on it, as
 *   far as it lies in that of the tree: both ends of the tree may be likely, and all between not.
 */

/**
 * Where along the tree a row may be, by the probability of each place.
 *
 * @param {any} trust  What `trustModel` returned.
 * @param {any} rooted  What `rootedPlaces` returned.
 * @param {Float64Array} parts
 * @returns {Along}
 */
export function alongTree(trust, { branch, within, order, nBranches }, parts) {
  const { level } = trust.given;
  const [lower, upper] = central(order, parts, within, 1, level);
  const branches = new Float64Array(nBranches);
  const own = Array.from({ length: nBranches }, () => []);
  order.forEach((t) => own[branch[t]].push(t));
  parts.forEach((part, t) => {
    branches[branch[t]] += part;
  });
  const spans = own.map((places, k) => {
    if (places.length === 0) return null;
    const span = central(places, parts, within, branches[k], level);
    return span.map((time) => Math.min(Math.max(time, lower), upper));
  });
  return { lower, upper, branches, spans };
}

/**
 * The times between which most of some places lies, in the order of time, by their parts: from the
 * earliest time of a stretch to the latest of one.
 */
function central(places, parts, within, total, level) {
  const tails = (1 - level) / 2;
  let [below, first, last] = [0, -1, 0];
  places.forEach((t, k) => {
    below += parts[t] / total;
    if (first < 0 && below >= tails) first = k;
    if (below < 1 - tails) last = k + 1;
  });
  const [from, to] = [Math.max(first, 0), Math.min(last, places.length - 1)];
  return [within[places[from]][0], within[places[to]][1]];
}
