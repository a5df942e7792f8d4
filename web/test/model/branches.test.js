import assert from "node:assert/strict";
import test from "node:test";

import {
  byImportance,
  distinct,
  placeSamples,
  placesOnBranches,
  rootedTree,
  unbroken,
} from "../../src/model/branches.js";
import { fork, graphOf, ringAndPoint } from "./graphs.js";

const list = (values) => Array.from(values);

test("time on a fork runs along its edges", () => {
  const tree = rootedTree(fork(), [0]);
  assert.deepEqual(list(tree.nodeTime), [0, 1, 3, 6, 8]);
  assert.deepEqual(
    tree.branches.map(({ name, parent, startTime, endTime }) => [name, parent, startTime, endTime]),
    [
      ["T1-F1", "", 0, 3],
      ["F1-T2", "T1-F1", 3, 8],
      ["F1-T3", "T1-F1", 3, 6],
    ],
  );
  assert.deepEqual(
    tree.milestones.map(({ name, kind, isRoot, nBranches }) => [name, kind, isRoot, nBranches]),
    [
      ["T1", "tip", true, 1],
      ["T2", "tip", false, 1],
      ["T3", "tip", false, 1],
      ["F1", "fork", false, 3],
    ],
  );
});

test("another root turns the branches between them, and names stay", () => {
  const tree = rootedTree(fork(), [3]);
  assert.deepEqual(list(tree.nodeTime), [6, 5, 3, 0, 8]);
  assert.deepEqual(
    tree.branches.map((branch) => branch.name),
    ["T3-F1", "F1-T1", "F1-T2"],
  );
  assert.deepEqual(
    tree.branches.map((branch) => branch.parentBranch),
    [-1, 0, 0],
  );
});

test("a root between two milestones is R1", () => {
  const tree = rootedTree(fork(), [1]);
  assert.deepEqual(
    tree.branches.map((branch) => branch.name),
    ["R1-T1", "R1-F1", "F1-T2", "F1-T3"],
  );
  assert.equal(tree.milestones[0].kind, "root");
});

test("with several roots time runs from the nearest", () => {
  const tree = rootedTree(fork(), [0, 4]);
  assert.deepEqual(list(tree.roots), [0, 4]);
  assert.deepEqual(list(tree.nodeTime), [0, 1, 3, 6, 0]);
  assert.deepEqual(list(tree.nodeRoot), [0, 0, 0, 0, 4]);
});

test("parts without a wanted root get their default one", () => {
  const tree = rootedTree(ringAndPoint(), [2]);
  assert.deepEqual(list(tree.roots), [2, 4]);
  assert.deepEqual(list(tree.nodeTime), [2, 1, 0, 1, 0]);
  assert.deepEqual(
    tree.branches.map(({ name, length, part }) => [name, length, part]),
    [
      ["R1-R1", 4, 0],
      ["R2-R2", 0, 1],
    ],
  );
});

test("without a wanted root all parts get their default one", () => {
  assert.deepEqual(list(rootedTree(ringAndPoint(), []).roots), [0, 4]);
});

test("parallel branches get numbers, and the shortest leads on", () => {
  const graph = graphOf({
    edges: [0, 1, 1, 2, 1, 3, 3, 2, 2, 4],
    lengths: [1, 2, 2, 3, 1],
    named: { node: [0, 4, 1, 2], name: ["T1", "T2", "F1", "F2"] },
    default_roots: [0],
  });
  const { branches } = rootedTree(graph, []);
  assert.deepEqual(
    branches.map(({ name, parent, leads }) => [name, parent, leads]),
    [
      ["T1-F1", "", true],
      ["F1-F2.1", "T1-F1", true],
      ["F1-F2.2", "T1-F1", false],
      ["F2-T2", "F1-F2.1", true],
    ],
  );
});

test("samples have a branch, a position on it, and a pseudotime", () => {
  const graph = fork();
  const tree = rootedTree(graph, [4]);
  const edge = Int32Array.of(0, 1, 3);
  const placed = placeSamples(tree, graph, edge, Float64Array.of(0.5, 0.5, 0.2));
  assert.deepEqual(
    list(placed.branch).map((b) => tree.branches[b].name),
    ["F1-T1", "F1-T1", "T2-F1"],
  );
  assert.deepEqual(list(placed.pseudotime), [7.5, 6, 4]);
  assert.deepEqual(list(placed.branchPosition), [2.5 / 3, 1 / 3, 0.8]);
});

test("points of one rooting are found again in another", () => {
  const graph = fork();
  const tree = rootedTree(graph, [0]);
  const points = placesOnBranches(tree, graph, 5);
  const same = placeSamples(tree, graph, points.edge, points.position);
  same.branchPosition.forEach((position, k) => {
    assert.equal(same.branch[k], points.branch[k]);
    assert.ok(Math.abs(position - (k % 5) / 4) < 1e-12);
  });
  const other = rootedTree(graph, [4]);
  const moved = placeSamples(other, graph, points.edge, points.position);
  assert.deepEqual(list(moved.pseudotime.slice(5, 10)), [5, 3.75, 2.5, 1.25, 0]);
});

test("names are sorted by kind and number", () => {
  assert.deepEqual(["F1", "T10", "T2", "R1"].sort(byImportance), ["R1", "T2", "T10", "F1"]);
});

test("only repeated names get numbers", () => {
  assert.deepEqual(distinct(["F1-F2", "F1-T1", "F1-F2"]), ["F1-F2.1", "F1-T1", "F1-F2.2"]);
});

test("a curve is cut where it has gaps", () => {
  assert.deepEqual(unbroken([NaN, 1, 2, NaN, NaN, 3, NaN], Number.isNaN), [[1, 2], [3]]);
  assert.deepEqual(unbroken([NaN], Number.isNaN), []);
});
