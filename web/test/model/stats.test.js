import assert from "node:assert/strict";
import test from "node:test";

import {
  adjusted,
  compareGroups,
  percentileOf,
  studentP,
  summarise,
} from "../../src/model/stats.js";

const WELCH = 0.07362224303599005;
const STUDENT = [
  [0.5, 1, 0.7048327646991335],
  [2.3, 3.7, 0.08830340068840908],
  [-8, 12.25, 3.2922186496997265e-6],
  [1.2, 48000.5, 0.23014526302319893],
  [35, 400, 7.997797796978966e-124],
  [1e-9, 5, 0.9999999992407866],
  [20, 2000000.5, 5.619048154838686e-89],
  [1.7, 10000000.0, 0.08913095661441345],
  [1.5, 0.8, 0.41478654528645903],
];

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

test("effects are in units of the pooled standard deviation", () => {
  // Means 5 and 2, variances 1 and 1.
  const found = compareGroups([4, 5, 6, 1, 2, 3, NaN, 99], [1, 1, 1, 2, 2, 2, 1, 0]);
  assert.deepEqual([found.nA, found.nB, found.meanA, found.meanB], [3, 3, 5, 2]);
  assert.deepEqual([found.difference, found.effect], [3, 3]);
  assert.equal(compareGroups([4, 5, 6, 1, 2, 3], [2, 2, 2, 1, 1, 1]).effect, -3);
  assert.ok(Number.isNaN(compareGroups([1, 2], [1, 1]).effect));
});

test("p is that of Welch's test", () => {
  const values = [1.5, 2, 2, 4.25, 7, 0.5, 1, 1, 1];
  const { p } = compareGroups(values, [1, 1, 1, 1, 1, 2, 2, 2, 2]);
  assert.ok(Math.abs(p / WELCH - 1) < 1e-12); // scipy.stats.ttest_ind(equal_var=False)
});

test("without spread or a second value there is no p", () => {
  const p = (values, side) => compareGroups(values, side).p;
  assert.ok(Number.isNaN(p([1, 2, 3], [1, 2, 2])));
  assert.ok(Number.isNaN(p([NaN, 2, 3, 4], [1, 1, 2, 2])));
  assert.ok(Number.isNaN(p([0.1, 0.1, 0.1, 0.3, 0.3], [1, 1, 1, 2, 2])));
  assert.equal(compareGroups([0.1, 0.1, 0.1, 0.3, 0.3], [1, 1, 1, 2, 2]).effect, -Infinity);
  assert.ok(Number.isNaN(compareGroups([0.1, 0.1, 0.1, 0.1], [1, 1, 2, 2]).effect));
  assert.ok(p([1, 1, 1, 2, 3], [1, 1, 1, 2, 2]) > 0); // one group without spread
});

test("rounding is no spread", () => {
  const nearly = [0.3, 0.30000000000000004, 0.3, 0.1, 0.10000000000000002, 0.1];
  const found = compareGroups(nearly, [1, 1, 1, 2, 2, 2]);
  assert.ok(Number.isNaN(found.p));
  assert.equal(found.effect, Infinity);
  const same = compareGroups(nearly, [1, 2, 1, 0, 0, 0]);
  assert.deepEqual([same.difference, same.effect], [0, NaN]);
});

test("bins with their squares give what their samples give", () => {
  const samples = [1, 2, 4, 8, 3, 5, 5.5, 7, 6];
  const side = [1, 1, 1, 1, 2, 2, 2, 2, 2];
  const wanted = compareGroups(samples, side);
  const bins = [[0, 1, 2], [3], [4, 5], [6, 7, 8]];
  const means = bins.map((rows) => rows.reduce((sum, i) => sum + samples[i], 0) / rows.length);
  const squares = bins.map((rows, k) =>
    rows.reduce((sum, i) => sum + (samples[i] - means[k]) ** 2, 0),
  );
  const weights = bins.map((rows) => rows.length);
  const found = compareGroups(means, [1, 1, 2, 2], { weights, squares });
  for (const key of Object.keys(wanted)) {
    assert.ok(Math.abs(found[key] - wanted[key]) < 1e-12, key);
  }
  const empty = compareGroups([...means, NaN], [1, 1, 2, 2, 2], {
    weights: [...weights, 0],
    squares: [...squares, 0],
  });
  assert.deepEqual(empty, found);
});

test("Student's distribution is scipy's", () => {
  // 2·scipy.stats.t.sf(|t|, ν)
  for (const [t, degrees, wanted] of STUDENT) {
    assert.ok(Math.abs(studentP(t, degrees) / wanted - 1) < 1e-10, `${t}, ${degrees}`);
  }
  assert.equal(studentP(0, 3), 1);
  assert.equal(studentP(1e200, 3), 0);
  assert.equal(studentP(100, 1e6), 0);
});

test("p-values are adjusted as Benjamini and Hochberg do", () => {
  assert.deepEqual(
    [...adjusted([0.01, NaN, 0.04, 0.03, 0.2])].map((q) => Math.round(1e12 * q) / 1e12),
    [0.04, NaN, 0.053333333333, 0.053333333333, 0.2],
  );
  assert.deepEqual([...adjusted([0.9, 1])], [1, 1]);
  assert.deepEqual([...adjusted([])], []);
});

test("percentiles are interpolated, and end at 0 and 100", () => {
  const percentiles = Float32Array.from({ length: 101 }, (_, k) => k / 10);
  assert.equal(percentileOf(5, percentiles), 50);
  assert.ok(Math.abs(percentileOf(5.05, percentiles) - 50.5) < 1e-4);
  assert.equal(percentileOf(-1, percentiles), 0);
  assert.equal(percentileOf(11, percentiles), 100);
  assert.equal(percentileOf(2, new Float32Array(101).fill(2)), 100);
});
