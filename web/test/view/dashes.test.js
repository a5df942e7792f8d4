import assert from "node:assert/strict";
import { test } from "node:test";
import { dashes, withDashes } from "../../src/view/dashes.js";

test("dashes go on from one line to the next", () => {
  const whole = dashes(0, 10, 3).map((part) => part.map((t) => 10 * t));
  const pieces = [
    ...dashes(0, 4, 3).map((part) => part.map((t) => 4 * t)),
    ...dashes(4, 10, 3).map((part) => part.map((t) => 4 + 6 * t)),
  ];
  const length = (all) => all.reduce((sum, [a, b]) => sum + b - a, 0);
  assert.ok(Math.abs(length(whole) - length(pieces)) < 1e-9);
  assert.ok(Math.abs(length(whole) - 6.4) < 1e-9); // 1.8 of each 3, and the last one not whole
});

test("a line against its branch has the same dashes", () => {
  const [forth, back] = [dashes(1, 7, 2), dashes(7, 1, 2)];
  const places = (all, from, to) =>
    all.map((part) => part.map((t) => (from + t * (to - from)).toFixed(9)).sort());
  assert.deepEqual(places(forth, 1, 7), places(back, 7, 1));
});

test("a line without length is drawn whole", () => {
  assert.deepEqual(dashes(2, 2, 1), [[0, 1]]);
  assert.deepEqual(dashes(0, 2, 0), [[0, 1]]);
});

test("only lines in doubt are cut, and dashes are equally long however near one is", () => {
  const lines = Float32Array.from([0, 0, 0, 10, 0, 0, 0, 5, 0, 10, 5, 0]);
  const wayOf = (k) => (k === 1 ? { from: 0, to: 10, axis: 0, most: 10 } : null);
  const near = withDashes(lines, wayOf, [40, 40]);
  const far = withDashes(lines, wayOf, [10, 10]);
  assert.deepEqual([...far.lines.subarray(0, 6)], [0, 0, 0, 10, 0, 0]);
  assert.equal(far.of.filter((k) => k === 0).length, 1);
  const pixels = ({ lines: all }, scale) => scale * (all[9] - all[6]);
  assert.ok(Math.abs(pixels(near, 40) - pixels(far, 10)) < 1e-4);
  // Nobody draws a million of them.
  assert.ok(withDashes(lines, wayOf, [1e9, 1e9]).of.length < 3000);
});
