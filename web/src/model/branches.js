/**
 * The branches of a rooted graph: the twin of branchwise.trajectory.branches and of what Trajectory
 * knows after `rooted(node=…)`.
 *
 * @typedef {object} Graph  state.graph of the page.
 * @property {Float64Array} nodes
 * @property {Int32Array} edges
 * @property {Float64Array} lengths
 * @property {{node: Int32Array, name: string[]}} named  Tips T1, T2, … and forks F1, F2, …
 * @property {Int32Array} default_roots  One per connected part.
 *
 * @typedef {object} Milestone
 * @property {string} name
 * @property {number} node
 * @property {"tip" | "fork" | "root"} kind
 * @property {boolean} isRoot
 * @property {number} nBranches
 * @property {number} time
 * @property {number} part
 *
 * @typedef {object} Branch
 * @property {string} name
 * @property {number} start  The node that it leaves.
 * @property {number} end  The node that it leads to.
 * @property {string} startName
 * @property {string} endName
 * @property {number} startMilestone  Index into `milestones`.
 * @property {number} endMilestone  Index into `milestones`.
 * @property {number} length
 * @property {number} startTime
 * @property {number} endTime  By the shortest way there.
 * @property {string} parent  The branch that leads to its start; "" at a root.
 * @property {number} parentBranch  Index into `branches`, or −1.
 * @property {boolean} leads  Whether time reaches its end by this branch.
 * @property {number} part
 *
 * @typedef {object} Tree
 * @property {Int32Array} roots  Ascending.
 * @property {Float64Array} nodeTime
 * @property {Int32Array} nodeRoot  The nearest root of each node.
 * @property {Int32Array} parts  The connected part of each node.
 * @property {Milestone[]} milestones  The most important first: R1, …, T1, T2, …, F1, …
 * @property {Branch[]} branches  From the roots outwards.
 * @property {Int32Array} ofEdge  The branch that each edge is part of.
 * @property {Float64Array} start  Per edge: from the branch's start to the edge's first end.
 * @property {Int8Array} sign  Per edge: −1 where it runs against its branch.
 * @property {Float64Array} lengths  Of the branches.
 * @property {import("./graph.js").Segments} found
 */

import {
  connectedParts,
  countNodes,
  degrees,
  dijkstra,
  onSegments,
  rearranged,
  segments,
  toPoints,
} from "./graph.js";

/** Kinds of milestones by the first letters of their names, the most important first. */
const LETTERS = "RTF";
const KINDS = { R: "root", T: "tip", F: "fork" };

/**
 * Time, milestones and branches from some roots, and from the default ones of other parts.
 *
 * Branches that start earlier come first, and then those with the more important end.
 *
 * @param {Graph} graph
 * @param {Iterable<number>} wanted  Nodes.
 * @returns {Tree}
 */
export function rootedTree(graph, wanted) {
  const { edges, lengths } = graph;
  const nNodes = countNodes(edges);
  const parts = connectedParts(edges, nNodes);
  const roots = rootsOfAllParts(wanted, graph.default_roots, parts);
  const { distance: nodeTime, source: nodeRoot } = dijkstra(edges, lengths, nNodes, roots);
  const traced = segments(edges, lengths, nNodes, roots);
  const named = allNames(graph.named, traced.milestones);
  const before = cameFrom(traced, roots, nNodes);
  const rank = importanceRanks(named, nNodes);
  const found = outward(traced, { nodeTime, before, rank, step: steps(before, traced.milestones) });
  const milestones = listMilestones(found, named, rank, { roots, nodeTime, parts });
  const branches = listBranches(found, milestones, { before, nodeTime, parts });
  const { ofEdge, start, sign, lengths: branchLengths } = found;
  return {
    roots,
    nodeTime,
    nodeRoot,
    parts,
    milestones,
    branches,
    ofEdge,
    start,
    sign,
    lengths: branchLengths,
    found,
  };
}

/**
 * The wanted roots, and the default ones of parts without any.
 *
 * @param {Iterable<number>} wanted
 * @param {Int32Array} defaults
 * @param {Int32Array} parts
 */
function rootsOfAllParts(wanted, defaults, parts) {
  const roots = new Set(wanted);
  const covered = new Set(Array.from(roots, (node) => parts[node]));
  for (const node of defaults) {
    if (!covered.has(parts[node])) {
      roots.add(node);
    }
  }
  return Int32Array.from(roots).sort();
}

/**
 * Names of all milestones by node; roots that are neither tip nor fork become R1, R2, …
 *
 * @param {{node: Int32Array, name: string[]}} given
 * @param {Int32Array} milestones
 * @returns {Map<number, string>}
 */
function allNames(given, milestones) {
  const named = new Map(given.name.map((name, k) => [given.node[k], name]));
  let n = 0;
  for (const node of milestones) {
    if (!named.has(node)) {
      n += 1;
      named.set(node, `R${n}`);
    }
  }
  return named;
}

/**
 * Compare two names so that R1 comes before T1 before T2 before T10 before F1.
 *
 * @param {string} a
 * @param {string} b
 */
export function byImportance(a, b) {
  const kind = LETTERS.indexOf(a[0]) - LETTERS.indexOf(b[0]);
  return kind !== 0 ? kind : Number(a.slice(1)) - Number(b.slice(1));
}

/**
 * The place of each named node among them all.
 *
 * @param {Map<number, string>} named
 * @param {number} nNodes
 */
function importanceRanks(named, nNodes) {
  const rank = new Int32Array(nNodes);
  const sorted = [...named.entries()].sort((a, b) => byImportance(a[1], b[1]));
  sorted.forEach(([node], place) => {
    rank[node] = place;
  });
  return rank;
}

/**
 * The milestone before each milestone on the way from the nearest root, by node; else −1.
 *
 * @param {import("./graph.js").Segments} found
 * @param {Int32Array} roots
 * @param {number} nNodes
 */
function cameFrom(found, roots, nNodes) {
  const { milestones } = found;
  const number = new Int32Array(nNodes);
  milestones.forEach((node, k) => {
    number[node] = k;
  });
  const ends = found.ends.map((node) => number[node]);
  const sources = roots.map((node) => number[node]);
  const { before } = dijkstra(ends, found.lengths, milestones.length, sources);
  const result = new Int32Array(nNodes).fill(-1);
  before.forEach((previous, k) => {
    result[milestones[k]] = previous < 0 ? -1 : milestones[previous];
  });
  return result;
}

/**
 * How many milestones come before each on its way from the roots, by node.
 *
 * @param {Int32Array} before
 * @param {Int32Array} milestones
 */
function steps(before, milestones) {
  const count = new Int32Array(before.length).fill(-1);
  for (const node of milestones) {
    const way = [];
    let here = node;
    while (count[here] < 0 && before[here] >= 0) {
      way.push(here);
      here = before[here];
    }
    count[here] = Math.max(count[here], 0);
    for (let k = way.length - 1, n = count[here]; k >= 0; k -= 1) {
      n += 1;
      count[way[k]] = n;
    }
  }
  return count;
}

/**
 * The segments from the roots outwards, each from its earlier end to its later one.
 *
 * @param {import("./graph.js").Segments} found
 * @param {{nodeTime: Float64Array, before: Int32Array, rank: Int32Array, step: Int32Array}} known
 */
function outward(found, { nodeTime, before, rank, step }) {
  const n = found.lengths.length;
  const turned = new Uint8Array(n);
  const start = new Int32Array(n);
  const end = new Int32Array(n);
  for (let k = 0; k < n; k += 1) {
    const [a, b] = [found.ends[2 * k], found.ends[2 * k + 1]];
    // Times alone do not tell the direction of a branch without length.
    let later = Math.sign(nodeTime[a] - nodeTime[b]);
    later = before[a] === b ? 1 : later;
    later = before[b] === a ? -1 : later;
    turned[k] = later > 0 || (later === 0 && rank[a] > rank[b]) ? 1 : 0;
    [start[k], end[k]] = turned[k] ? [b, a] : [a, b];
  }
  const order = Int32Array.from(turned.keys()).sort(
    (i, j) =>
      nodeTime[start[i]] - nodeTime[start[j]] ||
      step[start[i]] - step[start[j]] ||
      rank[start[i]] - rank[start[j]] ||
      rank[end[i]] - rank[end[j]] ||
      i - j,
  );
  return rearranged(found, order, turned);
}

/**
 * The milestones, the most important first.
 *
 * @param {import("./graph.js").Segments} found
 * @param {Map<number, string>} named
 * @param {Int32Array} rank
 * @param {{roots: Int32Array, nodeTime: Float64Array, parts: Int32Array}} known
 * @returns {Milestone[]}
 */
function listMilestones(found, named, rank, { roots, nodeTime, parts }) {
  const degree = degrees(found.ends, nodeTime.length);
  const isRoot = new Set(roots);
  const sorted = Array.from(found.milestones).sort((a, b) => rank[a] - rank[b]);
  return sorted.map((node) => ({
    name: named.get(node),
    node,
    kind: KINDS[named.get(node)[0]],
    isRoot: isRoot.has(node),
    nBranches: degree[node],
    time: nodeTime[node],
    part: parts[node],
  }));
}

/**
 * The branches, each with its parent.
 *
 * @param {import("./graph.js").Segments} found
 * @param {Milestone[]} milestones
 * @param {{before: Int32Array, nodeTime: Float64Array, parts: Int32Array}} known
 * @returns {Branch[]}
 */
function listBranches(found, milestones, { before, nodeTime, parts }) {
  const index = new Map(milestones.map(({ node }, k) => [node, k]));
  const ends = Array.from(found.lengths, (_, b) => [found.ends[2 * b], found.ends[2 * b + 1]]);
  const named = (node) => milestones[index.get(node)].name;
  const names = distinct(ends.map(([start, end]) => `${named(start)}-${named(end)}`));
  const leading = leadingBranches(found, before);
  return ends.map(([start, end], b) => {
    const parentBranch = leading.get(start) ?? -1;
    return {
      name: names[b],
      start,
      end,
      startName: named(start),
      endName: named(end),
      startMilestone: index.get(start),
      endMilestone: index.get(end),
      length: found.lengths[b],
      startTime: nodeTime[start],
      endTime: nodeTime[end],
      parent: parentBranch < 0 ? "" : names[parentBranch],
      parentBranch,
      leads: leading.get(end) === b,
      part: parts[start],
    };
  });
}

/**
 * The branch by which time reaches each milestone, by node; roots have none.
 *
 * Of several branches between two milestones, the shortest leads on.
 *
 * @param {import("./graph.js").Segments} found  Each from its earlier end to its later one.
 * @param {Int32Array} before  What `cameFrom` returns.
 * @returns {Map<number, number>}
 */
function leadingBranches(found, before) {
  const longestFirst = Array.from(found.lengths.keys()).sort(
    (a, b) => found.lengths[b] - found.lengths[a] || a - b,
  );
  const leading = new Map();
  for (const b of longestFirst) {
    if (before[found.ends[2 * b + 1]] === found.ends[2 * b]) {
      leading.set(found.ends[2 * b + 1], b);
    }
  }
  return leading;
}

/**
 * Equal names (of branches between the same two milestones) with numbers.
 *
 * @param {string[]} names
 */
export function distinct(names) {
  const count = new Map();
  for (const name of names) {
    count.set(name, (count.get(name) ?? 0) + 1);
  }
  const seen = new Map();
  return names.map((name) => {
    seen.set(name, (seen.get(name) ?? 0) + 1);
    return count.get(name) === 1 ? name : `${name}.${seen.get(name)}`;
  });
}

/**
 * Branch, position on it, and pseudotime of points on edges.
 *
 * @param {Tree} tree
 * @param {Graph} graph
 * @param {Int32Array} edge
 * @param {Float64Array} position
 * @returns {{branch: Int32Array, branchPosition: Float64Array, pseudotime: Float64Array}}
 */
export function placeSamples(tree, graph, edge, position) {
  const placed = onSegments(tree.found, graph.lengths, edge, position);
  return {
    branch: placed.segment,
    branchPosition: placed.position,
    pseudotime: toPoints(graph.edges, graph.lengths, edge, position, tree.nodeTime),
  };
}

/**
 * So many points on every branch, evenly from its start to its end, as places on edges.
 *
 * Trends are computed for the branches of one rooting: their points on the edges of the graph tell
 * where they lie in another.
 *
 * @param {Tree} tree
 * @param {Graph} graph
 * @param {number} nPoints  At least two.
 * @returns {{branch: Int32Array, edge: Int32Array, position: Float64Array}}
 */
export function placesOnBranches(tree, graph, nPoints) {
  const nBranches = tree.branches.length;
  const branch = new Int32Array(nBranches * nPoints);
  const edge = new Int32Array(nBranches * nPoints);
  const position = new Float64Array(nBranches * nPoints);
  const middle = tree.start.map((start, e) => start + (tree.sign[e] * graph.lengths[e]) / 2);
  const late = middle.map((at, e) => at + graph.lengths[e] / 2);
  const edges = Array.from({ length: nBranches }, () => []);
  tree.ofEdge.forEach((b, e) => edges[b].push(e));
  for (let b = 0; b < nBranches; b += 1) {
    edges[b].sort((i, j) => middle[i] - middle[j] || i - j);
    for (let k = 0, at = 0; k < nPoints; k += 1) {
      const walked = (k / (nPoints - 1)) * tree.lengths[b];
      while (at + 1 < edges[b].length && late[edges[b][at]] < walked) {
        at += 1;
      }
      const e = edges[b][at];
      const part = (tree.sign[e] * (walked - tree.start[e])) / (graph.lengths[e] || 1);
      const i = b * nPoints + k;
      branch[i] = b;
      edge[i] = e;
      position[i] = Math.min(Math.max(part, 0), 1);
    }
  }
  return { branch, edge, position };
}

/**
 * What is left of a sequence between the members that are gaps.
 *
 * @template T
 * @param {T[]} sequence
 * @param {(member: T) => boolean} isGap
 * @returns {T[][]}
 */
export function unbroken(sequence, isGap) {
  const pieces = [[]];
  for (const member of sequence) {
    if (isGap(member)) pieces.push([]);
    else pieces.at(-1).push(member);
  }
  return pieces.filter((piece) => piece.length > 0);
}
