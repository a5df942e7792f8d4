import assert from "node:assert/strict";
import { test } from "node:test";
import { treeWords } from "../../src/view/summary.js";

/** A star of so many arms, rooted at T1, as the app knows it. */
function star(nArms, more = {}) {
  const tips = Array.from({ length: nArms }, (_, k) => ({
    name: `T${k + 1}`,
    kind: "tip",
    part: 0,
  }));
  tips[0].isRoot = true;
  const branches = tips.map(({ name }, k) => ({
    name: k ? `F1-${name}` : "T1-F1",
    length: 2,
    startTime: k ? 2 : 0,
    endTime: k ? 4 : 2,
    leads: true,
    endName: k ? name : "F1",
  }));
  return {
    tree: { milestones: [...tips, { name: "F1", kind: "fork", part: 0 }], branches },
    branchSizes: branches.map((_, k) => 10 + k),
    state: { is_rooted: true },
    isStartRoot: true,
    rootName: "T1",
    ...more,
  };
}

test("the tree in words", () => {
  assert.equal(
    treeWords(star(3)),
    "Tree with 3 tips and 1 fork. Root T1. " +
      "Branch T1-F1: 10 samples, length 2, pseudotime 0 to 2, leads to F1. " +
      "Branch F1-T2: 11 samples, length 2, pseudotime 2 to 4, leads to T2. " +
      "Branch F1-T3: 12 samples, length 2, pseudotime 2 to 4, leads to T3.",
  );
});

test("support is told where it is known, and a default root as such", () => {
  const words = treeWords(
    star(3, {
      state: { is_rooted: false },
      branchSure: (k) => (k ? null : { words: "Found in 20 of 20 resamples." }),
    }),
  );
  assert.match(words, /Root T1, by default\./);
  assert.match(
    words,
    /leads to F1\. Found in 20 of 20 resamples\. Branch F1-T2: [^.]*leads to T2\. Branch/,
  );
});

test("of many branches the first twelve are told and the rest are counted", () => {
  const words = treeWords(star(15));
  assert.equal(words.match(/Branch /g).length, 12);
  assert.match(words, /3 more branches have 69 samples\.$/);
  assert.match(treeWords(star(13)), /1 more branch has 22 samples\.$/);
});

test("a branch by which time does not come says so", () => {
  const app = star(3);
  app.tree.branches[2].leads = false;
  assert.match(treeWords(app), /ends at T3, where time comes by another way\.$/);
});
