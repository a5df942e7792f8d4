/** What Python said of how much to trust places, of rows with and without gaps: see README.md. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";

import { placeSamples, rootedTree } from "../../src/model/branches.js";
import { decode } from "../../src/model/codec.js";
import { driverWords, rangeWords } from "../../src/model/messages.js";
import { placeSample } from "../../src/model/place.js";
import { alongTree, columnsOf, rootedPlaces, trustModel } from "../../src/model/trust.js";

const cases = JSON.parse(readFileSync(new URL("trust.json", import.meta.url)));

function assertNear(found, expected, name) {
  const allowed = 1e-6 * Math.max(1, Math.abs(expected));
  assert.ok(Math.abs(found - expected) <= allowed, `${name}: ${found}, not ${expected}`);
}

/** The rows of a case at their places, as the page has them. */
async function placed({ page, rows }) {
  const { model, graph } = await decode(page);
  const trust = trustModel(model, graph);
  const given = rows.map((row) => Float64Array.from(row, (value) => value ?? NaN));
  const found = given.map((row) => placeSample(model, graph, row, [], { trust }));
  return { model, graph, trust, found };
}

cases.forEach((given, at) => {
  test(`places and the trust in them are those of Python, model ${at}`, async () => {
    const { said } = given;
    const { model, graph, trust, found } = await placed(given);
    const tree = rootedTree(graph, graph.wanted);
    const places = rootedPlaces(trust, tree, graph);
    found.forEach(({ projection, edge, position, distance, told, missing }, i) => {
      const where = [Int32Array.of(edge), Float64Array.of(position)];
      const { branch, pseudotime } = placeSamples(tree, graph, ...where);
      const { lower, upper, branches } = alongTree(trust, places, told.shares);
      assert.equal(tree.branches[branch[0]].name, said.branch[i]);
      assert.equal(missing, said.missing[i]);
      assert.equal(rangeWords(told, columnsOf(model)), said.out_of_range[i]);
      assert.equal(driverWords(told, columnsOf(model)), said.drivers[i]);
      assertNear(pseudotime[0], said.pseudotime[i], "pseudotime");
      assertNear(distance, said.distance[i], "distance");
      assertNear(told.p, said.p[i], "p");
      assertNear(told.misfit, said.misfit[i], "misfit");
      assertNear(Math.min(lower, pseudotime[0]), said.pseudotime_lower[i], "lower");
      assertNear(Math.max(upper, pseudotime[0]), said.pseudotime_upper[i], "upper");
      branches.forEach((value, k) => assertNear(value, given.branches[i][k], "branches"));
      projection.forEach((value, k) => assertNear(value, said[`projection${k}`][i], "projection"));
    });
  });
});

test("of a column that had one value, another one is told with it", () => {
  const columns = { names: ["site", "hb"], day_zero: [null, null] };
  const outside = [
    { column: 0, value: 500, low: 5, high: 5 },
    { column: 1, value: 135, low: 8.1, high: 17.2 },
  ];
  assert.equal(
    rangeWords({ outside }, columns),
    "site 500 (always 5 in the fit); hb 135 (8.1 to 17.2)",
  );
});

test("how far a row is does not depend on the rows before it", async () => {
  const [given] = cases;
  const { model, graph, trust, found } = await placed(given);
  const last = given.rows.length - 1;
  for (const i of [last, 0, 2, 0]) {
    const row = Float64Array.from(given.rows[i], (value) => value ?? NaN);
    assert.equal(placeSample(model, graph, row, [], { trust }).told.misfit, found[i].told.misfit);
  }
});

test("another root moves times, and the probabilities of branches stay whole", async () => {
  const [given] = cases;
  const { graph, trust, found } = await placed(given);
  for (const node of [0, 5, graph.named.node[2]]) {
    const tree = rootedTree(graph, [node]);
    const places = rootedPlaces(trust, tree, graph);
    for (const { told } of found) {
      const { lower, upper, branches, spans } = alongTree(trust, places, told.shares);
      assert.ok(lower <= upper);
      spans.forEach((span, k) => {
        if (span === null) return;
        const [from, to] = span;
        assert.ok(lower <= from && from <= to && to <= upper);
        // All that lies on a branch lies between its ends, as time runs.
        const { startTime, endTime } = tree.branches[k];
        if (branches[k] > 0.1) assert.ok(from >= startTime - 1e-9 && to <= endTime + 1e-9);
      });
      assertNear(
        branches.reduce((a, b) => a + b, 0),
        1,
        "all branches",
      );
    }
  }
});

test("a page without a reference does not say how much to trust a place", async () => {
  const { model, graph } = await decode(cases[0].page);
  assert.equal(trustModel({ ...model, trust: null }, graph), null);
  assert.equal(trustModel({ reason: "no model" }, graph), null);
  const row = Float64Array.from(cases[0].rows[0]);
  assert.equal(placeSample(model, graph, row).told, null);
});
