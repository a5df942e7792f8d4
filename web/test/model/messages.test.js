import assert from "node:assert/strict";
import test from "node:test";

import {
  absentWords,
  driverWords,
  farWords,
  fourDigits,
  rangeWords,
  warningOf,
} from "../../src/model/messages.js";

const toldOf = (rest = {}) => ({ p: 0.5, nHeldOut: 399, outside: [], drivers: [], ...rest });

test("numbers are those of Python's .4g, halves to the even digit", () => {
  const said = [
    [0, "0"],
    [130.25, "130.2"],
    [130.35, "130.3"],
    [1235.5, "1236"],
    [12345, "1.234e+04"],
    [9999.5, "1e+04"],
    [-3.25, "-3.25"],
    [0.0001, "0.0001"],
    [0.00001, "1e-05"],
    [100, "100"],
    [NaN, "nan"],
    [-Infinity, "-inf"],
  ];
  for (const [value, words] of said) assert.equal(fourDigits(value), words);
});

test("a sample is far from p = 0.05 on, or where its values are beyond the fit", () => {
  const outside = [{ column: 0, value: 130, low: 8, high: 17 }];
  const of = (told, partNearer = null) => warningOf({ told, partNearer });
  assert.equal(of(toldOf({ p: 0.0525 }), 100), "");
  assert.match(of(toldOf({ p: 0.05 })), /^Far from the tree \(p = 0.05\): its branch .* little\.$/);
  assert.match(of(toldOf({ outside })), /^Beyond the samples of the fit: .* and their units\.$/);
  assert.match(of(toldOf({ p: 0.0025, outside })), /^Far from .* and their units\.$/);
});

test("without held-out samples, those of the fit are compared with", () => {
  const of = (told, partNearer) => warningOf({ told, partNearer });
  assert.equal(of(null, 99), "");
  assert.match(of(null, 99.5), /^Far from the tree, farther than nearly all samples/);
  assert.match(of(toldOf({ p: NaN }), 99.5), /^Far from the tree, farther than nearly all/);
  assert.equal(of(null, null), "");
});

test("p in words counts the samples that are nearer", () => {
  const of = (p, nHeldOut = 399) => farWords({ told: toldOf({ p, nHeldOut }), partNearer: 50 });
  assert.equal(of(0.01), "farther than 99 of 100 samples held out of the fit: p = 0.01");
  assert.equal(of(0.0025), "farther than all of 399 samples held out of the fit: p = 0.0025");
  assert.equal(of(0.005), "farther than 997 of 1000 samples held out of the fit: p = 0.005");
  assert.equal(of(0.5), "farther than 50 of 100 samples held out of the fit: p = 0.5");
  assert.equal(of(1), "farther than none of 100 samples held out of the fit: p = 1");
  assert.equal(of(0.2, 19), "farther than 16 of 19 samples held out of the fit: p = 0.2");
  assert.equal(
    farWords({ told: null, partNearer: 50.4 }),
    "farther than 50 % of the samples of the fit",
  );
  assert.equal(farWords({ told: null, partNearer: null }), "");
});

test("columns are named with what they are compared with", () => {
  const outside = [130, 140, 150, 160].map((value, k) => ({
    column: k,
    value,
    low: 8,
    high: 17.25,
  }));
  const names = { names: [..."abcd"], day_zero: [null, null, null, null] };
  assert.equal(
    rangeWords({ outside }, names),
    "a 130 (8 to 17.25); b 140 (8 to 17.25); c 150 (8 to 17.25); and 1 more",
  );
  const drivers = [
    { column: 1, value: 135, expected: 13.24 },
    { column: 3, value: NaN, expected: NaN },
  ];
  assert.equal(driverWords({ drivers }, names), "b 135 (expected 13.24); d");
  assert.equal(rangeWords(null, names) + driverWords(null, names), "");
  const dates = { names: ["seen"], day_zero: ["2024-01-01T12:00:00"] };
  const early = { column: 0, value: -36525.25, low: 0, high: 30.5 };
  assert.equal(
    rangeWords({ outside: [early] }, dates),
    "seen 1924-01-01 (2024-01-01 to 2024-02-01)",
  );
  const driver = { column: 0, value: 1e9, expected: 3 };
  assert.equal(driverWords({ drivers: [driver] }, dates), "seen 1e+09 (expected 2024-01-04)");
});

test("columns that a table does not have are told", () => {
  assert.equal(
    absentWords(["'hb'", "'crp'"], 20),
    "The table has no values of 2 of the 20 features: 'hb', 'crp'; its samples are placed by the others.",
  );
});
