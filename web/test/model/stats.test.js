import assert from "node:assert/strict";
import test from "node:test";

import { percentileOf, standardisedDifference, summarise } from "../../src/model/stats.js";

test("missing values are counted and left out", () => {
  assert.deepEqual(summarise([4, NaN, 1, 3, 2]), {
    n: 4,
    mean: 2.5,
    sd: Math.sqrt(5 / 3),
    q25: 1.75,
    median: 2.5,
    q75: 3.25,
    min: 1,
    max: 4,
    nMissing: 1,
  });
});

test("a value with a weight counts as often", () => {
  const values = [5, 1, 3, NaN];
  const weights = [2, 3, 1, 4];
  const repeated = values.flatMap((value, i) => new Array(weights[i]).fill(value));
  const { sd, ...rest } = summarise(values, weights);
  const { sd: expected, ...other } = summarise(repeated);
  assert.deepEqual(rest, other);
  assert.ok(Math.abs(sd - expected) < 1e-12);
});

test("no value, or one, has no spread", () => {
  assert.equal(summarise([NaN]).n, 0);
  assert.ok(Number.isNaN(summarise([]).median));
  assert.ok(Number.isNaN(summarise([3]).sd));
  assert.equal(summarise([3]).q25, 3);
});

test("differences are in units of the pooled standard deviation", () => {
  // Means 5 and 2, variances 1 and 1.
  assert.equal(standardisedDifference([4, 5, 6, 1, 2, 3, NaN], [1, 1, 1, 0, 0, 0, 1]), 3);
  assert.equal(standardisedDifference([4, 5, 6, 1, 2, 3], [0, 0, 0, 1, 1, 1]), -3);
  assert.ok(Number.isNaN(standardisedDifference([1, 2], [1, 1])));
});

test("percentiles are interpolated, and end at 0 and 100", () => {
  const percentiles = Float32Array.from({ length: 101 }, (_, k) => k / 10);
  assert.equal(percentileOf(5, percentiles), 50);
  assert.ok(Math.abs(percentileOf(5.05, percentiles) - 50.5) < 1e-4);
  assert.equal(percentileOf(-1, percentiles), 0);
  assert.equal(percentileOf(11, percentiles), 100);
  assert.equal(percentileOf(2, new Float32Array(101).fill(2)), 100);
});
