import assert from "node:assert/strict";
import test from "node:test";

import { encodeCovariates, prepare } from "../../src/model/prepare.js";

const after = (steps, row, covariates) =>
  Array.from(prepare({ steps }, Float64Array.from(row), covariates));
const numbers = (...values) => Float64Array.from(values);

test("a model without steps leaves a row as it is", () => {
  assert.deepEqual(after([], [1, -2]), [1, -2]);
});

test("missing values become medians", () => {
  assert.deepEqual(after([{ name: "impute", medians: numbers(5, 7) }], [1, NaN]), [1, 7]);
});

test("logarithms keep zero", () => {
  assert.deepEqual(after([{ name: "log1p" }], [0, 1]), [0, Math.log(2)]);
});

test("normal scores are interpolated, and constant beyond the table", () => {
  const step = {
    name: "rank_normalize",
    values: numbers(0, 1, 3),
    scores: numbers(-2, 2, 0.5),
    offsets: Int32Array.of(0, 2, 3),
  };
  assert.deepEqual(after([step], [0.5, 9]), [0, 0.5]);
  assert.deepEqual(after([step], [-1, 9]), [-2, 0.5]);
  assert.deepEqual(after([step], [9, 9]), [2, 0.5]);
  assert.deepEqual(after([step], [1, 9]), [2, 0.5]);
});

const ADJUST = {
  name: "adjust",
  names: ["age", "site"],
  levels: [null, ["a", "b", "c"]],
  center: numbers(40, 0.5, 0.25),
  coefficients: numbers(0.5, 9, 2, 9, 4, 9),
  mean: numbers(1, 7),
  is_explained: Uint8Array.of(0, 1),
};

test("covariates are taken out, and what they explain is its mean", () => {
  // 10 − [(42 − 40)·0.5 + (1 − 0.5)·2 + (0 − 0.25)·4] = 9
  assert.deepEqual(after([ADJUST], [10, 3], [42, "b"]), [9, 7]);
});

test("levels become indicators of all but the first", () => {
  assert.deepEqual(Array.from(encodeCovariates(ADJUST, [30, "a"])), [30, 0, 0]);
  assert.deepEqual(Array.from(encodeCovariates(ADJUST, [30, " c "])), [30, 0, 1]);
  assert.throws(() => encodeCovariates(ADJUST, [30, "z"]), /levels in fit were 'a', 'b', 'c'/);
});

test("whole numbers and truth values are levels however they are spelt", () => {
  const step = {
    names: ["x", "y"],
    levels: [
      ["1", "2"],
      ["False", "True"],
    ],
  };
  assert.deepEqual(Array.from(encodeCovariates(step, ["2.0", "TRUE"])), [1, 1]);
  assert.deepEqual(Array.from(encodeCovariates(step, ["+1", "false"])), [0, 0]);
});

test("features are standardised, and constants are zero", () => {
  const step = { name: "standardize", mean: numbers(1, 3), scale: numbers(2, 0) };
  assert.deepEqual(after([step], [5, 8]), [2, 0]);
});

test("steps follow one another down to principal axes", () => {
  const scale = { name: "standardize", mean: numbers(0, 0), scale: numbers(2, 4) };
  const axes = { name: "pca", mean: numbers(1, 1), components: numbers(0.6, 0.8) };
  assert.deepEqual(after([scale, axes], [4, 8]), [1.4]);
});
