import assert from "node:assert/strict";
import { test } from "node:test";
import { backwards, outline, smooth } from "../../src/view/curves.js";

/** A place on piece k of a curve. */
function at(curve, k, t) {
  const p = curve.slice(6 * k, 6 * k + 8);
  const u = 1 - t;
  return [0, 1].map(
    (c) => u ** 3 * p[c] + 3 * u * u * t * p[2 + c] + 3 * u * t * t * p[4 + c] + t ** 3 * p[6 + c],
  );
}

const x = [0, 1, 2, 4, 5, 5.5, 8];
const y = [0, 3, 3.1, 3.1, -2, 0, 7];

test("a curve goes through its points and never beyond two neighbours", () => {
  const curve = smooth(x, y);
  assert.equal(curve.length, 2 + 6 * (x.length - 1));
  for (let k = 0; k + 1 < x.length; k += 1) {
    assert.deepEqual(at(curve, k, 0), [x[k], y[k]]);
    let before = x[k];
    for (let t = 0.05; t <= 1; t += 0.05) {
      const [px, py] = at(curve, k, t);
      assert.ok(px > before);
      assert.ok(py >= Math.min(y[k], y[k + 1]) - 1e-9 && py <= Math.max(y[k], y[k + 1]) + 1e-9);
      before = px;
    }
  }
});

test("a curve has no corners: slopes agree where two pieces meet", () => {
  const curve = smooth(x, y);
  for (let k = 1; k + 1 < x.length; k += 1) {
    const [bx, by] = curve.slice(6 * k - 2, 6 * k);
    const [px, py] = curve.slice(6 * k, 6 * k + 2);
    const [ax, ay] = curve.slice(6 * k + 2, 6 * k + 4);
    assert.ok(Math.abs((py - by) / (px - bx) - (ay - py) / (ax - px)) < 1e-9);
  }
});

test("where x turns back or stands still nothing is lost", () => {
  for (const turned of [
    [0, 1, 2, 1, 0],
    [0, 1, 1, 2, 3],
    [5, 4, 3, 2, 1],
  ]) {
    const curve = smooth(turned, [0, 1, 4, 9, 3]);
    assert.ok(curve.every(Number.isFinite));
    turned.forEach((value, k) => assert.equal(curve[6 * k], value));
  }
  assert.deepEqual(smooth([1], [2]), [1, 2]);
});

test("an outline goes there and back", () => {
  const there = smooth([0, 1], [1, 1]);
  const back = backwards(smooth([0, 1], [0, 0]));
  assert.deepEqual(back.slice(0, 2), [1, 0]);
  assert.deepEqual(back.slice(-2), [0, 0]);
  const all = outline(there, back);
  assert.equal(all.length % 6, 2);
  assert.deepEqual(all.slice(12, 14), [1, 0]);
});
