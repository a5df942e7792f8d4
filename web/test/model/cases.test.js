/** What Python said of some graphs and models: see README.md. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";

import { placeSamples, rootedTree } from "../../src/model/branches.js";
import { decode } from "../../src/model/codec.js";
import { treeLayout } from "../../src/model/layout.js";
import { readSamples } from "../../src/model/newSamples.js";
import { placeSample } from "../../src/model/place.js";
import { prepare } from "../../src/model/prepare.js";
import { graphOf } from "./graphs.js";

const cases = JSON.parse(readFileSync(new URL("cases.json", import.meta.url)));
const TOLERANCE = 1e-9;

/** The numbers are the same but for rounding. */
function assertNear(found, expected, what) {
  assert.equal(found.length, expected.length, what);
  Array.from(found).forEach((value, k) => {
    const size = Math.max(1, Math.abs(expected[k]));
    assert.ok(Math.abs(value - expected[k]) <= TOLERANCE * size, `${what}[${k}]: ${value}`);
  });
}

const assertSame = (found, expected, what) => assert.deepEqual(Array.from(found), expected, what);

for (const expected of cases.trees) {
  test(`a ${expected.kind} of ${expected.n} nodes is rooted and laid out as in Python`, () => {
    const graph = graphOf(expected);
    const tree = rootedTree(graph, expected.wanted);
    assertSame(tree.roots, expected.roots, "roots");
    assertNear(tree.nodeTime, expected.node_time, "nodeTime");
    assertSame(tree.parts, expected.parts, "parts");
    const milestones = tree.milestones.toSorted((a, b) => a.node - b.node);
    milestones.forEach(({ time, ...milestone }, k) => {
      const { time: itsTime, ...other } = expected.milestones[k];
      assertNear([time], [itsTime], "time");
      assert.deepEqual({ ...milestone, ...other }, milestone);
    });
    assert.equal(tree.branches.length, expected.branches.length);
    tree.branches.forEach((branch, k) => {
      const { length, startTime, endTime, ...other } = expected.branches[k];
      assert.deepEqual({ ...branch, ...other }, branch);
      const times = [branch.length, branch.startTime, branch.endTime];
      assertNear(times, [length, startTime, endTime], "times");
    });
    assertSame(tree.ofEdge, expected.of_edge, "ofEdge");
    assertNear(tree.start, expected.start, "start");
    assertSame(tree.sign, expected.sign, "sign");
    const where = [Int32Array.from(expected.edge), Float64Array.from(expected.position)];
    const placed = placeSamples(tree, graph, ...where);
    assertSame(placed.branch, expected.branch, "branch");
    assertNear(placed.branchPosition, expected.branch_position, "branchPosition");
    assertNear(placed.pseudotime, expected.pseudotime, "pseudotime");
    checkLayout(tree, treeLayout(tree, placed), expected.layout);
  });
}

/** The layout is Python's, whose milestones come in the order of their nodes. */
function checkLayout(tree, found, expected) {
  const at = tree.milestones.map(({ name }) => expected.names.indexOf(name));
  const places = at.flatMap((k) => expected.milestones.slice(2 * k, 2 * k + 2));
  assertNear(found.milestones, places, "milestones");
  assertSame(found.branch, expected.branch, "branch");
  assertSame(
    Array.from(found.start, (k) => at[k]),
    expected.start,
    "start",
  );
  assertSame(
    Array.from(found.end, (k) => (k < 0 ? -1 : at[k])),
    expected.end,
    "end",
  );
  for (const key of ["times", "across", "room", "closings", "samples"]) {
    assertNear(found[key], expected[key], key);
  }
  assertSame(found.closingBranch, expected.closing_branch, "closingBranch");
  assertSame(found.arm, expected.arm, "arm");
}

for (const { label, data } of cases.models) {
  test(`samples are placed as in Python by ${label.replace(/^\d+ /, "")}`, async () => {
    const { model, graph, out, wanted, text } = await decode(data);
    const read = readSamples(text, model);
    const tree = rootedTree(graph, wanted);
    const nFeatures = model.features.length;
    const nPrepared = model.n_prepared;
    read.ids.forEach((id, i) => {
      const row = out.rows.slice(i * nFeatures, (i + 1) * nFeatures);
      assert.equal(id, `P${i}`);
      assert.deepEqual(read.rows[i], row);
      const expected = out.prepared.slice(i * nPrepared, (i + 1) * nPrepared);
      assertNear(prepare(model, row, read.covariates[i]), expected, "prepared");
      const place = placeSample(model, graph, row, read.covariates[i]);
      const d = place.projection.length;
      assertNear(place.projection, out.projection.slice(i * d, (i + 1) * d), "projection");
      assertNear([place.distance], [out.distance[i]], "distance");
      const where = [Int32Array.of(place.edge), Float64Array.of(place.position)];
      const placed = placeSamples(tree, graph, ...where);
      assert.equal(tree.branches[placed.branch[0]].name, out.branch[i]);
      assertNear(placed.pseudotime, [out.pseudotime[i]], "pseudotime");
    });
  });
}
