import assert from "node:assert/strict";
import test from "node:test";

import { placeSamples, rootedTree } from "../../src/model/branches.js";
import { density, spread, treeLayout } from "../../src/model/layout.js";
import { fork, ringAndPoint } from "./graphs.js";

const list = (values) => Array.from(values);

/** The layout of a graph with a sample in the middle of every edge. */
function layoutOf(graph, wanted) {
  const tree = rootedTree(graph, wanted);
  const edge = Int32Array.from(graph.lengths.keys());
  const placed = placeSamples(tree, graph, edge, new Float64Array(edge.length).fill(0.5));
  return { tree, placed, layout: treeLayout(tree, placed) };
}

test("a fork has its arms side by side, and its stem between them", () => {
  const { layout } = layoutOf(fork(), [0]);
  assert.deepEqual(list(layout.across), [1, 1.5, 0.5]);
  assert.deepEqual(list(layout.milestones), [0, 1, 8, 1.5, 6, 0.5, 3, 1]);
  assert.deepEqual(list(layout.times), [0, 3, 3, 8, 3, 6]);
  assert.deepEqual(list(layout.room), [0, 2, 1, 2, 0, 1]);
  assert.equal(layout.closings.length, 0);
});

test("samples keep their pseudotime and stay near their arm", () => {
  const { layout, placed } = layoutOf(fork(), [0]);
  placed.pseudotime.forEach((time, i) => {
    assert.equal(layout.samples[2 * i], time);
    assert.ok(Math.abs(layout.samples[2 * i + 1] - layout.across[layout.arm[i]]) <= 0.4);
  });
});

test("a ring is cut where both ways are equally long, and parts lie apart", () => {
  const { layout } = layoutOf(ringAndPoint(), [2]);
  assert.deepEqual(list(layout.branch), [0, 1, 0]);
  assert.deepEqual(list(layout.end), [-1, -1, -1]);
  assert.deepEqual(list(layout.times), [0, 2, 0, 0, 0, 2]);
  assert.deepEqual(list(layout.closings), [2, 3, 2, 2]);
  assert.deepEqual(list(layout.closingBranch), [0]);
  assert.deepEqual(list(layout.across), [3, 0.5, 2]);
});

test("a tree without samples is laid out, too", () => {
  const tree = rootedTree(fork(), [0]);
  const none = { branch: new Int32Array(0), branchPosition: [], pseudotime: new Float64Array(0) };
  assert.equal(treeLayout(tree, none).samples.length, 0);
});

test("samples at one time are spread across", () => {
  const found = spread(new Int32Array(4), Float64Array.of(0.5, 0.5, 0.5, 3), Float64Array.of(0, 4));
  assert.deepEqual(
    list(found).map((value) => Number(value.toFixed(2))),
    [0, -0.31, 0.19, -0.05],
  );
});

test("the density of even samples is even", () => {
  const time = Float64Array.from({ length: 1001 }, (_, i) => i / 500);
  const found = density(new Int32Array(1001), time, Float64Array.of(0, 2));
  for (const i of [0, 500, 1000]) {
    assert.ok(Math.abs(found[i] - 500) < 50);
  }
});
