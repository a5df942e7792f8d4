import assert from "node:assert/strict";
import { test } from "node:test";
import { coverage, leader, overlap, placeLabels, textWidth } from "../../src/view/labels.js";

const bounds = [0, 0, 600, 400];

/** Numbers that look random, the same every time. */
function random(seed) {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

function many(n, seed) {
  const next = random(seed);
  return Array.from({ length: n }, (_, k) => ({
    x: 600 * next(),
    y: 400 * next(),
    r: 5,
    text: `T${k}${"x".repeat(Math.floor(9 * next()))}`,
    size: 12,
  }));
}

test("names never lie on one another, on marks, or outside the picture", () => {
  for (let seed = 1; seed <= 30; seed += 1) {
    const labels = many(60, seed);
    const taken = labels.map(({ x, y }) => [x - 4, y - 4, x + 4, y + 4]);
    const places = placeLabels(labels, { bounds, taken });
    const boxes = places.filter(Boolean).map((place) => place.box);
    assert.ok(boxes.length >= 50, `${boxes.length} of 60 have a place`);
    boxes.forEach((box, k) => {
      assert.ok(box[0] >= 0 && box[1] >= 0 && box[2] <= 600 && box[3] <= 400);
      assert.ok(!taken.some((other) => overlap(box, other)));
      assert.ok(!boxes.some((other, m) => m !== k && overlap(box, other)));
    });
    assert.deepEqual(placeLabels(labels, { bounds, taken }), places, "the same every time");
  }
});

test("the first name has the usual place, right above its mark", () => {
  const [{ box, leads }] = placeLabels([{ x: 100, y: 100, r: 5, text: "T1", size: 12 }], {
    bounds,
  });
  assert.ok(box[0] > 100 && box[3] < 100 && !leads);
  assert.ok(box[0] < 115 && box[3] > 85);
});

test("names keep away from points where there is room", () => {
  // A cloud at the right of the mark only.
  const points = [];
  for (let x = 100; x < 200; x += 3) for (let y = 40; y < 160; y += 3) points.push(x, y);
  const covered = coverage({ width: 600, height: 400, points });
  const label = { x: 98, y: 100, r: 5, text: "T1", size: 12 };
  const [{ box, leads }] = placeLabels([label], { bounds, covered });
  assert.equal(covered(box), 0);
  assert.ok(box[2] < 98 && !leads);
  // Within the cloud a line leads out of it.
  const [far] = placeLabels([{ ...label, x: 170 }], { bounds, covered });
  assert.equal(covered(far.box), 0);
  assert.ok(far.leads);
});

test("without any room beside points the name still has a place, without one at all it has none", () => {
  const points = [];
  for (let x = 0; x < 600; x += 3) for (let y = 0; y < 400; y += 3) points.push(x, y);
  const covered = coverage({ width: 600, height: 400, points });
  const label = { x: 300, y: 200, r: 5, text: "T1", size: 12 };
  assert.ok(placeLabels([label], { bounds, covered })[0]);
  assert.equal(placeLabels([label], { bounds, taken: [bounds] })[0], null);
  assert.equal(placeLabels([{ ...label, x: -5 }], { bounds })[0], null);
});

test("names with places of their own take the first that is free", () => {
  const label = {
    text: "n = 1",
    size: 11,
    spots: [
      [100, 100],
      [300, 100],
    ],
  };
  const [first, second, third] = placeLabels([label, label, label], { bounds });
  assert.equal((first.box[0] + first.box[2]) / 2, 100);
  assert.equal((second.box[0] + second.box[2]) / 2, 300);
  assert.equal(third, null);
});

test("a box covers the points and the lines in it, however the picture was moved", () => {
  const next = random(7);
  const points = Array.from({ length: 400 }, () => 300 * next());
  for (const shift of [
    [0, 0],
    [1.7, -30.2],
  ]) {
    const moved = points.map((value, k) => value + shift[k % 2]);
    const covered = coverage({ width: 300, height: 300, shift, points: moved });
    // Cells are counted whole: never less than what is inside, never what is a cell away.
    const box = [50, 60, 200, 180].map((value, k) => value + shift[k % 2]);
    const within = (margin) => {
      let n = 0;
      for (let k = 0; k < moved.length; k += 2) {
        const [x, y] = [moved[k], moved[k + 1]];
        const inX = x >= box[0] - margin && x <= box[2] + margin;
        if (inX && y >= box[1] - margin && y <= box[3] + margin) n += 1;
      }
      return n;
    };
    assert.ok(covered(box) >= within(0) && covered(box) <= within(4));
  }
  const covered = coverage({ width: 300, height: 300, points: [], lines: [0, 150, 300, 150] });
  assert.ok(covered([100, 140, 120, 160]) > 0);
  assert.equal(covered([100, 160, 120, 180]), 0);
});

test("a leader goes from the rim of a mark to just before its name", () => {
  const [x0, y0, x1, y1] = leader({ x: 0, y: 0, r: 5 }, [20, -5, 40, 5]);
  assert.deepEqual([x0, y0, y1], [5, 0, 0]);
  assert.ok(x1 > 15 && x1 < 20);
});

test("longer words are wider", () => {
  assert.ok(textWidth("abc", 12) < textWidth("abcdef", 12));
});
