import assert from "node:assert/strict";
import test from "node:test";

import {
  asLevel,
  encodeCovariates,
  encodeRow,
  prepare,
  prepareKnown,
  rawValue,
} from "../../src/model/prepare.js";

const after = (steps, row, covariates) =>
  Array.from(prepare({ steps }, Float64Array.from(row), covariates));
const numbers = (...values) => Float64Array.from(values);

test("a model without steps leaves a row as it is", () => {
  assert.deepEqual(after([], [1, -2]), [1, -2]);
});

test("missing values become medians", () => {
  assert.deepEqual(after([{ name: "impute", medians: numbers(5, 7) }], [1, NaN]), [1, 7]);
});

test("missing values become what a tree makes likely of them", () => {
  const tree = {
    name: "impute",
    axes: numbers(0.6, 0.8),
    mean: numbers(0, 0),
    places: numbers(0, 10),
    weights: numbers(0.5, 0.5),
    spread: numbers(1),
    noise: numbers(1, 1),
    low: numbers(-50, -Infinity),
    high: numbers(50, Infinity),
  };
  const [known, filled] = after([tree], [6, NaN]);
  assert.equal(known, 6);
  assert.ok(Math.abs(filled - 8) < 1e-4); // at the second place, but for 2e-6 of the first
  assert.deepEqual(after([tree], [1, 2]), [1, 2]);
  assert.ok(Math.abs(after([tree], [NaN, NaN])[0] - 3) < 1e-12);
  // A value far from all others stays, and tells nothing.
  assert.deepEqual(after([tree], [1e6, NaN]), [1e6, after([tree], [NaN, NaN])[1]]);
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

const TABLE = {
  name: "rank_normalize",
  values: numbers(0, 1, 3, 5),
  scores: numbers(-2, 2, 0.5, 1.5),
  offsets: Int32Array.of(0, 2, 4),
};
const SCALES = { name: "standardize", mean: numbers(1, 2), scale: numbers(0.5, 0) };

test("gaps stay gaps before pca, whatever a step makes of all values", () => {
  const steps = [{ name: "impute", medians: numbers(5, 7) }, { name: "log1p" }, ADJUST, SCALES];
  const pca = { name: "pca", mean: numbers(0, 0), components: numbers(1, 0) };
  const row = [Math.expm1(3), NaN];
  const found = prepareKnown({ steps: [...steps, pca] }, row, [40, "a"]);
  // 3 − [(0 − 0.5)·2 + (0 − 0.25)·4] = 5, and (5 − 1)/0.5 = 8
  assert.ok(Math.abs(found[0] - 8) < 1e-12);
  assert.ok(Number.isNaN(found[1]));
});

test("a prepared value goes back to the units of the table", () => {
  const steps = [{ name: "log1p" }, TABLE, ADJUST, { ...SCALES, scale: numbers(0.5, 2) }];
  // 2·0.5 + 1 = 2; 2 + 10·0.5 − 0.5·2 − 0.25·4 = 5; beyond the table it is that of its end, 1
  assert.equal(rawValue({ steps }, 2, 0, [50, "a"]), Math.expm1(1));
  assert.equal(rawValue({ steps: [TABLE] }, 1, 1), 4);
  assert.equal(rawValue({ steps: [TABLE] }, -9, 1), 3);
  assert.equal(rawValue({ steps: [SCALES] }, 8, 0), 5);
  const spared = { ...TABLE, offsets: Int32Array.of(0, 4, 4) };
  assert.equal(rawValue({ steps: [spared] }, 7, 1), 7);
});

const ENCODE = {
  name: "encode",
  columns: ["crp", "sex", "grade", "born", "seen"],
  kinds: ["number", "category", "ordinal", "end of an age", "date"],
  levels: [null, ["f", "m"], ["low", "high"], null, null],
  shares: numbers(0.25, 0.75),
  firsts: [null, null, null, 0, 86400e6],
  orders: [null, null, null, null, null],
  ages: [["age", "born", "seen"]],
};

test("categories become contrasts, dates days, and ages years", () => {
  const year = 365.25 * 86400e6;
  const found = Array.from(encodeRow(ENCODE, [7, 0, 1, 0, 2 * year]));
  assert.deepEqual(found, [7, Math.sqrt(0.75 / 0.25), 1, 2 * 365.25 - 1, 2]);
});

test("levels are set against more frequent ones, equals in their own order", () => {
  const step = {
    ...ENCODE,
    columns: ["ward"],
    kinds: ["category"],
    levels: [[..."abc"]],
    ages: [],
  };
  const row = (shares, level) =>
    Array.from(encodeRow({ ...step, shares: Float64Array.from(shares) }, [level]));
  const [half, third] = [Math.sqrt(0.25 / (0.5 * 0.75)), Math.sqrt(0.25 / (0.75 * 1))];
  assert.deepEqual(row([0.25, 0.5, 0.25], 1), [-half, -third]);
  assert.deepEqual(row([0.25, 0.5, 0.25], 0), [Math.sqrt(0.5 / (0.75 * 0.25)), -third]);
  assert.deepEqual(row([0.25, 0.5, 0.25], 2), [0, Math.sqrt(0.75 / (1 * 0.25))]);
  assert.deepEqual(row([0.25, 0.5, 0.25], NaN), [NaN, NaN]);
  const single = { ...step, levels: [["a"]], shares: numbers(1) };
  assert.deepEqual(Array.from(encodeRow(single, [0])), [0]);
  assert.deepEqual(Array.from(encodeRow(single, [NaN])), [NaN]);
});

test("what is missing is missing in all columns that are made of it", () => {
  const found = Array.from(encodeRow(ENCODE, [7, NaN, NaN, NaN, 86400e6]));
  assert.deepEqual(found, [7, NaN, NaN, 0, NaN]);
});

test("other steps leave an encoded row its gaps, and contrasts as they are", () => {
  const log1p = { name: "log1p", is_number: Uint8Array.of(1, 0) };
  assert.deepEqual(after([{ name: "encode" }, log1p], [0, -3]), [0, -3]);
  const ranks = {
    name: "rank_normalize",
    values: numbers(0, 1),
    scores: numbers(-2, 2),
    offsets: Int32Array.of(0, 0, 2),
  };
  assert.deepEqual(after([ranks], [7, 0.5]), [7, 0]);
  assert.deepEqual(after([ranks], [7, NaN]), [7, NaN]);
  const weigh = { name: "weigh", mean: numbers(0, 0), scale: numbers(0.5, 0) };
  assert.deepEqual(after([weigh], [3, NaN]), [6, NaN]);
  assert.deepEqual(after([ADJUST], [NaN, NaN], [42, "b"]), [NaN, NaN]);
});

/** The same as in tests/data/test_categories.py. */
const SPELLINGS = {
  "LumA ": "LumA",
  " 2.0": "2",
  "+2": "2",
  "-0": "0",
  "1.50": "1.5",
  ".5": "0.5",
  "1e5": "100000",
  "1E5": "100000",
  "1e300": "1e300",
  "007": "007",
  "9007199254740993": "9007199254740993",
  TRUE: "True",
  "1e5x": "1e5x",
};

test("a level has one name", () => {
  for (const [text, level] of Object.entries(SPELLINGS)) {
    assert.equal(asLevel(text), level);
    assert.equal(asLevel(level), level);
  }
});
