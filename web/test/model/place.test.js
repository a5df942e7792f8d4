import assert from "node:assert/strict";
import test from "node:test";

import { embed, placeSample } from "../../src/model/place.js";

const numbers = (...values) => Float64Array.from(values);

/** A model of two features that it takes as they are, and places in some way. */
function modelOf(place, rest = {}) {
  const nothing = { steps: [], kernel: null, known: null, raw_known: null };
  return { ...nothing, mean: numbers(1, 1), components: null, place, ...rest };
}

const HARD = { kind: "DDRTree", gamma: 3, sigma: 0, rtol: 1e-10, max_steps: 1000 };

test("with hard assignments the nearest centre pulls", () => {
  const place = { ...HARD, centers: numbers(0, 0, 8, 0) };
  // (z + 3·c)/4 of z = (4, 2), which is as far from both: the first pulls.
  assert.deepEqual(embed(modelOf(place), numbers(5, 3)), numbers(1, 0.5));
});

test("with soft assignments the place is a fixed point", () => {
  const place = { ...HARD, sigma: 2, centers: numbers(0, 0, 2, 0) };
  const z = embed(modelOf(place), numbers(2.5, 1));
  const weights = [0, 2].map((c) => Math.exp(-((z[0] - c) ** 2) / 2));
  const pull = (2 * weights[1]) / (weights[0] + weights[1]);
  assert.ok(Math.abs(z[0] - (1.5 + 3 * pull) / 4) < 1e-9);
});

test("a leaf of a tree hangs at the nearest node", () => {
  const place = { kind: "DRTree", lam: 1, centers: numbers(0, 0, 4, 0) };
  assert.deepEqual(embed(modelOf(place), numbers(4, 1)), numbers(3.5, 0));
});

test("a sample of SPL is tied to its nearest neighbours", () => {
  const place = {
    kind: "SPL",
    rows: numbers(0, 0, 1, 0, 9, 9),
    rows_centred: true,
    embedding: numbers(1, 0, 3, 0, 99, 99),
    n_ties: 2,
    scale: 2,
    slack: null,
    upper: 0.25,
    share: 1,
    gamma: 1,
  };
  // φ = 1 both, s = min(1/2, 1/4): [4·(1 + 3)/4 + 0.5]/(4/2 + 2)
  assert.deepEqual(embed(modelOf(place), numbers(1.5, 1)), numbers(4.5 / 4, 0));
});

test("kernels are evaluated with the training samples", () => {
  const place = { kind: "DRTree", lam: 0, centers: numbers(0, 0) };
  const samples = numbers(1, 2, 3, 4);
  const rest = { mean: numbers(0, 0), components: null };
  const linear = { kind: "linear", gamma: null, samples, n: 2 };
  const products = embed(modelOf(place, { ...rest, kernel: linear }), numbers(1, 1));
  assert.deepEqual(products, numbers(3, 7));
  const rbf = { kind: "rbf", gamma: null, samples, n: 2 };
  const found = embed(modelOf(place, { ...rest, kernel: rbf }), numbers(1, 2));
  assert.deepEqual(found, numbers(1, Math.exp(-4)));
});

test("the place on the graph is in units of the data", () => {
  const place = { kind: "DRTree", lam: 0, centers: numbers(0, 0) };
  const graph = {
    nodes: numbers(0, 0, 10, 0),
    edges: Int32Array.of(0, 1),
    wanted: new Int32Array(0),
    scale: 2,
  };
  const found = placeSample(modelOf(place), graph, numbers(3, 4));
  assert.deepEqual(found.embedding, numbers(2, 3));
  assert.equal(found.known, false);
  assert.equal(found.edge, 0);
  assert.equal(found.position, 0.4);
  assert.equal(found.distance, 6);
});

test("a way of placing that is unknown is an error", () => {
  assert.throws(() => embed(modelOf({ kind: "Other" }), numbers(1, 1)), /"Other", which is unkn/);
});
