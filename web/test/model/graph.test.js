import assert from "node:assert/strict";
import test from "node:test";

import {
  connectedParts,
  degrees,
  dijkstra,
  nearestOnEdges,
  onSegments,
  rearranged,
  segments,
  tieRanks,
  toPoints,
} from "../../src/model/graph.js";
import { fork } from "./graphs.js";

const list = (values) => Array.from(values);

test("a loop has two ends", () => {
  assert.deepEqual(list(degrees(Int32Array.of(0, 1, 1, 2, 3, 3), 4)), [1, 2, 1, 2]);
});

test("segments run between tips and forks, as their first edges do", () => {
  const { edges, lengths } = fork();
  const found = segments(edges, lengths, 5);
  assert.deepEqual(list(found.milestones), [0, 2, 3, 4]);
  assert.deepEqual(list(found.ends), [0, 2, 2, 3, 2, 4]);
  assert.deepEqual(list(found.lengths), [3, 3, 5]);
  assert.deepEqual(list(found.ofEdge), [0, 0, 1, 2]);
  assert.deepEqual(list(found.start), [0, 3, 0, 0]);
  assert.deepEqual(list(found.sign), [1, -1, 1, 1]);
});

test("a node to keep divides a segment", () => {
  const { edges, lengths } = fork();
  assert.deepEqual(list(segments(edges, lengths, 5, [1]).ends), [0, 1, 2, 1, 2, 3, 2, 4]);
});

test("a ring is one segment from its first node to its first node", () => {
  const found = segments(Int32Array.of(2, 1, 0, 1, 0, 2), Float64Array.of(1, 2, 4), 3);
  assert.deepEqual(list(found.milestones), [0]);
  assert.deepEqual(list(found.ends), [0, 0]);
  assert.deepEqual(list(found.lengths), [7]);
});

test("a turned segment is walked from its other end", () => {
  const path = segments(Int32Array.of(0, 1, 1, 2), Float64Array.of(1, 3), 3);
  assert.deepEqual(list(rearranged(path, [0], [1]).start), [4, 3]);
});

test("points on edges lie on segments", () => {
  const edges = Int32Array.of(0, 1, 2, 1);
  const lengths = Float64Array.of(1, 3);
  const found = segments(edges, lengths, 3);
  const placed = onSegments(found, lengths, Int32Array.of(0, 1), Float64Array.of(0.5, 0.5));
  assert.deepEqual(list(placed.position), [0.125, 0.625]);
});

test("of parallel edges the shortest counts, and of sources the nearest", () => {
  const edges = Int32Array.of(0, 1, 1, 0, 1, 2, 3, 3);
  const { distance, source, before } = dijkstra(edges, Float64Array.of(3, 2, 1, 0), 4, [0, 2]);
  assert.deepEqual(list(distance), [0, 1, 0, Infinity]);
  assert.deepEqual(list(source), [0, 2, 2, -1]);
  assert.deepEqual(list(before), [-1, 2, -1, -1]);
});

test("ways without length lead on", () => {
  const { distance, before } = dijkstra(Int32Array.of(0, 1, 1, 2), Float64Array.of(0, 0), 3, [0]);
  assert.deepEqual(list(distance), [0, 0, 0]);
  assert.deepEqual(list(before), [-1, 0, 1]);
});

test("distances of a random graph are those of Floyd and Warshall", () => {
  let seed = 1;
  const random = () => {
    seed = (seed * 16807) % 2147483647;
    return seed / 2147483647;
  };
  const n = 30;
  const edges = Int32Array.from({ length: 90 }, () => Math.floor(random() * n));
  const lengths = Float64Array.from({ length: 45 }, random);
  const between = Array.from({ length: n }, (_, i) =>
    Array.from({ length: n }, (__, j) => (i === j ? 0 : Infinity)),
  );
  lengths.forEach((length, e) => {
    const [a, b] = [edges[2 * e], edges[2 * e + 1]];
    between[a][b] = Math.min(between[a][b], length);
    between[b][a] = between[a][b];
  });
  for (let k = 0; k < n; k += 1) {
    for (let i = 0; i < n; i += 1) {
      for (let j = 0; j < n; j += 1) {
        between[i][j] = Math.min(between[i][j], between[i][k] + between[k][j]);
      }
    }
  }
  dijkstra(edges, lengths, n, [3]).distance.forEach((found, node) => {
    assert.ok(found === between[3][node] || Math.abs(found - between[3][node]) < 1e-12);
  });
});

test("a point is reached by the shorter way", () => {
  const at = [Int32Array.of(0, 0), Float64Array.of(0.25, 0.75)];
  const found = toPoints(Int32Array.of(0, 1), Float64Array.of(4), ...at, Float64Array.of(0, 1));
  assert.deepEqual(list(found), [1, 2]);
});

test("connected parts are numbered by their first nodes", () => {
  assert.deepEqual(list(connectedParts(Int32Array.of(3, 1, 0, 2, 4, 4), 5)), [0, 1, 0, 1, 2]);
});

test("the nearest place on an edge is its foot or its end", () => {
  const nodes = Float64Array.of(0, 0, 4, 0, 4, 4);
  const edges = Int32Array.of(0, 1, 1, 2);
  const place = (x, y) => nearestOnEdges(Float64Array.of(x, y), nodes, edges, 2);
  assert.deepEqual(place(1, 2), { edge: 0, position: 0.25, distance: 2 });
  assert.deepEqual(place(6, 5), { edge: 1, position: 1, distance: Math.sqrt(5) });
  assert.deepEqual(place(5, -1), { edge: 0, position: 1, distance: Math.sqrt(2) });
});

test("an edge without length is a place", () => {
  const found = nearestOnEdges(Float64Array.of(3), Float64Array.of(0), Int32Array.of(0, 0), 1);
  assert.deepEqual(found, { edge: 0, position: 0, distance: 3 });
});

test("the halves of an edge that a root divides follow one another in ties", () => {
  // 0–1–2, and roots 3 on the first edge and 4 on its second half.
  const edges = Int32Array.of(0, 3, 1, 2, 3, 4, 4, 1);
  assert.deepEqual(list(tieRanks(edges, [3, 4])), [0, 3, 1, 2]);
  assert.deepEqual(list(tieRanks(edges, [])), [0, 1, 2, 3]);
  const nodes = Float64Array.of(0, 4, 4, 1, 2);
  const point = Float64Array.of(4);
  assert.equal(nearestOnEdges(point, nodes, edges, 1).edge, 1);
  assert.equal(nearestOnEdges(point, nodes, edges, 1, tieRanks(edges, [3, 4])).edge, 3);
});
