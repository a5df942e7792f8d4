import assert from "node:assert/strict";
import { test } from "node:test";
import {
  clipped,
  counted,
  fileName,
  grouped,
  number,
  percent,
  roundBelow,
  ticks,
} from "../../src/view/format.js";

test("numbers are short and keep their digits", () => {
  const shown = [0, 5, -3, 0.25, 1234.5678, 1e-7, 123456789, 2.5e8, 0.1 + 0.2].map((v) =>
    number(v),
  );
  assert.deepEqual(shown, [
    "0",
    "5",
    "−3",
    "0.25",
    "1235",
    "1e−7",
    "123,456,789",
    "250,000,000",
    "0.3",
  ]);
  assert.equal(number(Number.NaN), "–");
  assert.equal(number(Infinity), "∞");
  assert.equal(number(12345.678, 3), "12300");
  assert.equal(number(-0.00012345, 3), "−0.000123");
});

test("counts have groups of three and a plural", () => {
  assert.equal(grouped(1234567), "1,234,567");
  assert.equal(counted(1, "branch"), "1 branch");
  assert.equal(counted(2000, "branch"), "2,000 branches");
  assert.equal(counted(3, "sample"), "3 samples");
});

test("small and large shares are not rounded away", () => {
  assert.deepEqual([0, 0.004, 0.5, 0.996, 1].map(percent), [
    "0 %",
    "0.4 %",
    "50 %",
    "99.6 %",
    "100 %",
  ]);
  assert.equal(percent(Number.NaN), "–");
});

test("long text is cut between letters, not within them", () => {
  assert.equal(clipped("abc", 3), "abc");
  assert.equal(clipped("😀😀😀😀", 3), "😀😀…");
});

test("file names have letters that every system takes", () => {
  assert.equal(fileName('Étude <script> "A/B"'), "e-tude-script-a-b");
  assert.equal(fileName("///"), "branchwise");
});

test("ticks are round numbers within their range", () => {
  assert.deepEqual(ticks(0, 10, 5), [0, 2, 4, 6, 8, 10]);
  assert.deepEqual(ticks(0.13, 0.61, 5), [0.2, 0.3, 0.4, 0.5, 0.6]);
  assert.deepEqual(ticks(3, 3), [3]);
  for (const [low, high] of [
    [-1e6, 3e7],
    [1e-9, 2e-9],
    [-0.3, 0.4],
  ]) {
    const found = ticks(low, high);
    assert.ok(found.length >= 3 && found.length <= 12, `${low} ${high} ${found}`);
    assert.ok(found.every((v) => v >= low - 1e-12 * Math.abs(low) && v <= high * (1 + 1e-12)));
  }
});

test("a bar of the scale has a round length", () => {
  assert.deepEqual([0.7, 1, 4.99, 34, 5e-4].map(roundBelow), [0.5, 1, 2, 20, 5e-4]);
});
