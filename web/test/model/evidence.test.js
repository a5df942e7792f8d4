import assert from "node:assert/strict";
import { test } from "node:test";
import { branchesSure, pWords } from "../../src/model/evidence.js";

// Four edges: two of one stretch, which the first root had split, and one each of two others.
const evidence = {
  is_tested: true,
  level: 0.05,
  sure: 0.8,
  segment: [0, 0, 1, 2],
  p: [0.003, 0.4, NaN],
  piece: [0, 1, 2, 3],
  support: [0.9, 0.75, 1, NaN],
  n_resamples: 20,
  occupied: [1, 0.5, 1, 0],
  found: [],
};
const lengths = [1, 3, 1, 0];

/** What is said of one branch, by the branch of each edge. */
function sureOf(given, ofEdge, branch) {
  const branches = new Array(Math.max(...ofEdge, -1) + 1);
  return branchesSure(given, { ofEdge, branches }, lengths)[branch];
}

test("a branch has the support of its piece and the p of its stretch", () => {
  const own = [0, 1, 2, 3];
  const found = sureOf(evidence, own, 0);
  assert.deepEqual([found.support, found.n, found.p, found.occupied], [0.9, 20, 0.003, 1]);
  assert.equal(
    found.words,
    "Found again in 18 of 20 resamples. Samples leave a gap beside it that is rare where nothing " +
      "forks (p = 0.003).",
  );
  assert.match(sureOf(evidence, own, 1).words, /15 of 20 resamples: resamples disa/);
  assert.match(sureOf(evidence, own, 2).words, /is not rare .* \(p = 0.4\)/);
});

test("what was never found is not known, and is not zero", () => {
  const found = sureOf(evidence, [0, 1, 2, 3], 3);
  assert.deepEqual([found.support, found.p, found.occupied], [null, null, null]);
  assert.match(found.words, /^How often resamples find it again is not known\. There is no fork/);
});

test("pieces that are one branch now are told one by one", () => {
  const found = sureOf(evidence, [0, 0, 1, 2], 0);
  assert.deepEqual([found.support, found.p, found.occupied], [null, 0.003, 0.625]);
  assert.match(found.words, /^Its parts were found again in 18 and 15 of 20 resamples: resamples/);
});

test("without resamples, tests or anything, that is said", () => {
  const bare = { ...evidence, support: null, n_resamples: null, is_tested: false, p: [NaN] };
  const found = sureOf(bare, [0, 0, 0, 0], 0);
  assert.deepEqual([found.support, found.n], [null, null]);
  assert.match(found.words, /is not known\. Gaps beside it were not looked at/);
  assert.equal(sureOf(undefined, [0], 0).words, "");
});

test("small p-values are not written out", () => {
  assert.equal(pWords(1e-9), "p < 0.001");
  assert.equal(pWords(0.0312), "p = 0.031");
  assert.equal(pWords(1), "p = 1");
});
