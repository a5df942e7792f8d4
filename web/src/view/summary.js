// The tree in words, for those who hear the page.

import { counted, number } from "./format.js";

const MOST_BRANCHES = 12;

/** The tree as it is rooted now: tips, forks, the root, and its branches from the root outwards. */
export function treeWords(app) {
  const { branches, milestones } = app.tree;
  const nParts = new Set(milestones.map((milestone) => milestone.part)).size;
  const nOf = (kind) => milestones.filter((milestone) => milestone.kind === kind).length;
  const parts = nParts > 1 ? ` in ${counted(nParts, "part")}` : "";
  const isDefault = !app.state.is_rooted && app.isStartRoot;
  const nRoots = milestones.filter((milestone) => milestone.isRoot).length;
  const words = [
    `Tree with ${counted(nOf("tip"), "tip")} and ${counted(nOf("fork"), "fork")}${parts}.`,
    `${nRoots > 1 ? "Roots" : "Root"} ${app.rootName}${isDefault ? ", by default" : ""}.`,
    ...branches.slice(0, MOST_BRANCHES).map((branch, k) => branchWords(app, branch, k)),
  ];
  const more = branches.length - MOST_BRANCHES;
  if (more > 0) {
    const rest = app.branchSizes.slice(MOST_BRANCHES).reduce((sum, size) => sum + size, 0);
    const other = more === 1 ? "1 more branch has" : `${counted(more, "more branch")} have`;
    words.push(`${other} ${counted(rest, "sample")}.`);
  }
  return words.join(" ");
}

function branchWords(app, { name, length, startTime, endTime, leads, endName }, k) {
  const end = leads ? `leads to ${endName}` : `ends at ${endName}, where time comes by another way`;
  const sure = app.branchSure?.(k)?.words;
  return (
    `Branch ${name}: ${counted(app.branchSizes[k], "sample")}, length ${number(length, 3)}, ` +
    `pseudotime ${number(startTime, 3)} to ${number(endTime, 3)}, ${end}.${sure ? ` ${sure}` : ""}`
  );
}
