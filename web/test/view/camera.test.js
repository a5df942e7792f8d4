import assert from "node:assert/strict";
import { test } from "node:test";
import { Camera, boundsOf, project, projectAll } from "../../src/view/camera.js";

const bounds = { low: [-1, 0, 2], high: [3, 2, 5] };
const near = (a, b) => assert.ok(Math.abs(a - b) < 1e-9, `${a} is not ${b}`);

test("the box of the data fits into the picture", () => {
  for (const options of [{}, { stretch: true }, { solid: true }]) {
    const m = new Camera(bounds, options).matrix(400, 300);
    for (const x of [-1, 3]) {
      for (const y of [0, 2]) {
        for (const z of options.solid ? [2, 5] : [0]) {
          const [px, py] = project(m, x, y, z);
          assert.ok(px > 0 && px < 400 && py > 0 && py < 300, JSON.stringify([options, px, py]));
        }
      }
    }
  }
});

test("one unit is as long upwards as to the right, unless the picture is stretched", () => {
  const m = new Camera(bounds).matrix(400, 300);
  near(m[0], -m[5]);
  const stretched = new Camera(bounds, { stretch: true }).matrix(400, 300);
  assert.ok(Math.abs(stretched[0] + stretched[5]) > 1);
});

test("zooming keeps what is under the pointer", () => {
  for (const options of [{}, { stretch: true }, { solid: true }]) {
    const camera = new Camera(bounds, options);
    const before = project(camera.matrix(400, 300), 2, 1.5, 4);
    camera.zoomAt(3, before[0], before[1], 400, 300);
    const after = project(camera.matrix(400, 300), 2, 1.5, 4);
    near(before[0], after[0]);
    near(before[1], after[1]);
  }
});

test("looking at a place brings it to the middle", () => {
  const camera = new Camera(bounds, { solid: true });
  camera.lookAt([3, 0, 5], 400, 300);
  const [x, y] = project(camera.matrix(400, 300), 3, 0, 5);
  near(x, 200);
  near(y, 150);
});

test("turning is a rotation: the three axes stay at right angles", () => {
  const camera = new Camera(bounds, { solid: true });
  camera.turn(37, -21);
  const m = camera.matrix(400, 300);
  const rows = [m.slice(0, 3), m.slice(4, 7), m.slice(8, 11)];
  for (const [a, b] of [
    [0, 1],
    [0, 2],
    [1, 2],
  ]) {
    near(
      rows[a].reduce((sum, v, k) => sum + v * rows[b][k], 0),
      0,
    );
  }
});

test("many places are projected as one is", () => {
  const m = new Camera(bounds, { solid: true }).matrix(400, 300);
  const { xy, depth } = projectAll(m, Float32Array.from([1, 2, 3, -1, 0, 2]), 2);
  const wanted = project(m, -1, 0, 2);
  assert.ok(Math.abs(xy[2] - wanted[0]) < 1e-3 && Math.abs(xy[3] - wanted[1]) < 1e-3);
  assert.ok(Math.abs(depth[1] - wanted[2]) < 1e-5);
});

test("no points have a box all the same", () => {
  assert.deepEqual(boundsOf(new Float32Array(), 0), { low: [0, 0, 0], high: [1, 1, 1] });
});
