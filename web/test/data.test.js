import assert from "node:assert/strict";
import { test } from "node:test";
import { categoryCounts, mostFrequent, radiiOf, shuffled, signedCodes } from "../src/data.js";
import { distinctNames } from "../src/panels/selection.js";
import { words } from "../src/panels/details.js";
import { isInside } from "../src/view/plot.js";

test("missing codes of every width become −1", () => {
  assert.deepEqual([...signedCodes(Uint8Array.of(0, 255, 254))], [0, -1, 254]);
  assert.deepEqual([...signedCodes(Uint16Array.of(255, 65535))], [255, -1]);
  assert.deepEqual([...signedCodes(Int32Array.of(-1, 65535))], [-1, 65535]);
});

test("bins show their most frequent label and its share", () => {
  const { codes, share } = mostFrequent(Uint32Array.of(1, 3, 0, 0, 2, 2), 2, 3);
  assert.deepEqual([...codes], [1, -1, 0]);
  assert.deepEqual([share[0], Number.isNaN(share[1]), share[2]], [0.75, true, 0.5]);
  assert.deepEqual([...mostFrequent(new Uint32Array(), 0, 2).codes], [-1, -1]);
});

test("the composition of bins counts every sample, not the most frequent label", () => {
  const counts = Uint32Array.of(1, 3, 2, 0);
  const column = { labels: ["a", "b"], counts, ...mostFrequent(counts, 2, 2) };
  assert.deepEqual(categoryCounts(column, [1, 1], [5, 2]), { counts: [3, 3], nMissing: 1 });
  assert.deepEqual(categoryCounts(column, [0, 1], [5, 2]), { counts: [2, 0], nMissing: 0 });
  const plain = { labels: ["a", "b"], codes: Int32Array.of(0, -1, 1) };
  assert.deepEqual(categoryCounts(plain, [1, 1, 0], null), { counts: [1, 0], nMissing: 1 });
});

test("the order of drawing is a permutation, the same every time", () => {
  const order = shuffled(1000);
  assert.deepEqual([...order], [...shuffled(1000)]);
  assert.deepEqual(
    [...order].sort((a, b) => a - b),
    Array.from({ length: 1000 }, (_, k) => k),
  );
  assert.notDeepEqual(
    [...order],
    Array.from({ length: 1000 }, (_, k) => k),
  );
});

test("the area of a bin's disc tells the number of its samples", () => {
  const radii = radiiOf(3, Uint32Array.of(100, 400, 1600));
  assert.ok(Math.abs(radii[1] / radii[0] - 2) < 1e-6);
  assert.ok(Math.abs(radii[2] / radii[1] - 2) < 1e-6);
});

test("columns of a file have names of their own", () => {
  assert.deepEqual(distinctNames(["sample", "branch", "branch", "branch_"]), [
    "sample",
    "branch",
    "branch_",
    "branch__",
  ]);
});

test("facts are told in words", () => {
  assert.equal(words({ a_b: [1, 2], c: null }), "a b: 1, 2; c: none");
  assert.equal(words(true), "yes");
  assert.equal(words([]), "none");
});

test("a lasso holds what it winds around, also if it is not convex", () => {
  const corners = [
    [0, 0],
    [4, 0],
    [4, 4],
    [2, 1],
    [0, 4],
  ];
  assert.ok(isInside(0.5, 2, corners));
  assert.ok(!isInside(2, 3, corners));
  assert.ok(!isInside(9, 1, corners));
});
