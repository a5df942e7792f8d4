import assert from "node:assert/strict";
import test from "node:test";

import { placeSample, project } from "../../src/model/place.js";

const numbers = (...values) => Float64Array.from(values);

/** A model of two features that it takes as they are. */
function modelOf(rest = {}) {
  return {
    features: ["a", "b"],
    steps: [],
    kernel: null,
    mean: numbers(1, 1),
    components: null,
    ...rest,
  };
}

test("a sample is centred and projected", () => {
  assert.deepEqual(project(modelOf(), numbers(5, 3)), numbers(4, 2));
  const components = numbers(0.6, 0.8);
  assert.deepEqual(project(modelOf({ components }), numbers(6, 11)), numbers(11));
});

test("kernels are evaluated with the training samples", () => {
  const samples = numbers(1, 2, 3, 4);
  const mean = numbers(0, 0);
  const linear = { kind: "linear", gamma: null, samples, n: 2 };
  assert.deepEqual(project(modelOf({ mean, kernel: linear }), numbers(1, 1)), numbers(3, 7));
  const rbf = { kind: "rbf", gamma: null, samples, n: 2 };
  const found = project(modelOf({ mean, kernel: rbf }), numbers(1, 2));
  assert.deepEqual(found, numbers(1, Math.exp(-4)));
});

test("the place on the graph is the nearest", () => {
  const graph = {
    nodes: numbers(0, 0, 10, 0),
    edges: Int32Array.of(0, 1),
    wanted: new Int32Array(0),
  };
  const found = placeSample(modelOf(), graph, numbers(5, 4));
  assert.deepEqual(found.projection, numbers(4, 3));
  assert.equal(found.edge, 0);
  assert.equal(found.position, 0.4);
  assert.equal(found.distance, 3);
});
