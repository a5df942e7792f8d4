/** What Python said of rows with gaps: see README.md. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";

import { condition, fill } from "../../src/model/conditional.js";

const cases = JSON.parse(readFileSync(new URL("conditional.json", import.meta.url)));

const flat = (values) => Float64Array.from(values.flat(Infinity));
const modelOf = (given) =>
  Object.fromEntries(Object.entries(given).map(([name, values]) => [name, flat(values)]));
const rowOf = (given) => Float64Array.from(given, (value) => value ?? NaN);

function assertNear(found, expected, name) {
  assert.equal(found.length, expected.length, name);
  found.forEach((value, i) => {
    const allowed = 1e-8 * Math.max(1, Math.abs(expected[i]));
    assert.ok(Math.abs(value - expected[i]) <= allowed, `${name}: ${value}, not ${expected[i]}`);
  });
}

cases.forEach(({ model, rows, said }, at) => {
  test(`rows with gaps are what Python says, model ${at}`, () => {
    const tree = modelOf(model);
    rows.map(rowOf).forEach((row, i) => {
      const found = condition(tree, row);
      assertNear(found.probabilities, flat(said.probabilities[i]), "probabilities");
      assertNear(found.mean, flat(said.mean[i]), "mean");
      assertNear(found.covariance, flat(said.covariance[i]), "covariance");
      assertNear([found.squared], [said.squared[i]], "squared");
      assert.equal(found.nKnown, said.nKnown[i]);
      assertNear(fill(tree, row, found), flat(said.filled[i]), "filled");
    });
  });
});

test("a row of which nothing is known is the tree itself", () => {
  const tree = modelOf(cases[0].model);
  const found = condition(tree, rowOf([null, null, null, null]));
  assert.deepEqual([found.squared, found.nKnown], [0, 0]);
  assertNear(found.probabilities, tree.weights, "probabilities");
});
