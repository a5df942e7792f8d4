import assert from "node:assert/strict";
import { test } from "node:test";
import { escapeXml, paintSvg } from "../../src/paint/svg.js";

test("text from the data stays text", () => {
  const hostile = `</text><script>alert("1")</script>&'\u0000\uD800`;
  const shapes = [{ kind: "text", x: 1, y: 2, text: hostile, size: 12, fill: `"><script>` }];
  const svg = paintSvg(shapes, 10, 10, hostile);
  assert.ok(!svg.includes("<script"));
  assert.equal(svg.match(/<text/g).length, 1);
  assert.equal(escapeXml("\u0000"), "\uFFFD");
  assert.equal(escapeXml("\uD800x"), "\uFFFDx");
});

test("every kind of shape is drawn, and what is clipped lies in a picture of its own", () => {
  const points = {
    xy: [1, 1, 3, 3],
    rgba: [1, 2, 3, 255, 9, 9, 9, 128],
    shapes: [0, 1],
    order: [0, 1],
  };
  const inner = [
    { kind: "points", ...points, radius: 2 },
    { kind: "disc", x: 1, y: 1, r: 2, fill: "red" },
    { kind: "star", x: 1, y: 1, r: 2, fill: "red", stroke: "blue" },
    { kind: "lines", xy: [0, 0, 1, 1], color: "red", width: 1, dash: [4, 4] },
    { kind: "polyline", xy: [0, 0, 1, 1], stroke: "red", width: 1, closed: true },
    { kind: "rect", x: 0, y: 0, width: 1, height: 1, fill: "red" },
  ];
  const svg = paintSvg(
    [{ kind: "clip", x: 0, y: 0, width: 5, height: 5, shapes: inner }],
    9,
    9,
    "t",
  );
  assert.equal(svg.match(/<svg/g).length, 2);
  for (const tag of [
    "<circle",
    "<polygon",
    "<path",
    "<rect",
    'fill-opacity="0.5"',
    "stroke-dasharray",
  ]) {
    assert.ok(svg.includes(tag), tag);
  }
});
