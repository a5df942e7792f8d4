/**
 * Places for drawing a rooted tree: time along it, branches side by side.
 *
 * The twin of branchwise.trajectory.layout.
 *
 * @typedef {object} Arms  Arm b is branch b or its first half; second halves come last.
 * @property {Int32Array} branch
 * @property {Int32Array} start  Milestone that it leaves.
 * @property {Int32Array} end  Milestone that it leads to; −1 where it was cut.
 * @property {Float64Array} times  Two per arm.
 * @property {Int32Array} parent  The arm before it, which has a lower number; −1 at a root.
 * @property {Float64Array} cut  Per branch: the position where its second half begins.
 * @property {Int32Array} second  Per branch: the arm that is its second half, or −1.
 * @property {Uint8Array} closes  Per branch: whether it closes a cycle.
 *
 * @typedef {object} TreeLayout
 * @property {Float64Array} milestones  Time and place across, two per milestone of the tree.
 * @property {Int32Array} branch  Per arm.
 * @property {Int32Array} start  Per arm: index of the milestone that it leaves.
 * @property {Int32Array} end  Per arm: index of the milestone that it leads to; −1 where cut.
 * @property {Float64Array} times  Two per arm.
 * @property {Float64Array} across  Per arm.
 * @property {Float64Array} room  Low and high, two per arm: for it and all that follows it.
 * @property {Float64Array} closings  Four per closing: two places (time, across) that are one.
 * @property {Int32Array} closingBranch  Per closing.
 * @property {Float64Array} cut  Per branch: the position where its second half begins.
 * @property {Int32Array} second  Per branch: the arm that is its second half, or −1.
 * @property {Int32Array} arm  Per sample.
 * @property {Float64Array} samples  Time and place across, two per sample.
 */

import { byImportance } from "./branches.js";
import { quantile } from "./stats.js";

/** Of the room between two neighbouring arms, the part on either side that samples may take. */
const REACH = 0.4;
/** Between connected parts, in units of the room of one arm. */
const GAP = 0.5;
/** Cells of the longest way from a root in which samples are counted for the width of an arm. */
const N_CELLS = 60;
/** The width of an arm is full where samples are as dense as around this part of them. */
const FULL_AT = 0.8;
/** Parts of a branch shorter than this part of it come from rounding. */
const ROUNDING = 1e-9;
/** Multiples of it fill an interval evenly, however many there are. */
const GOLDEN = (Math.sqrt(5) - 1) / 2;

/**
 * Lay out a rooted tree: pseudotime along it, branches side by side, none crossing.
 *
 * Every arm without followers gets room of width one across, and every other arm lies in the
 * middle between the first and the last of those that follow it, in their common room. Samples
 * keep their pseudotime and are spread across their arm, as far as samples are dense there.
 *
 * @param {import("./branches.js").Tree} tree
 * @param {{branch: Int32Array, branchPosition: Float64Array, pseudotime: Float64Array}} placed
 *   What `placeSamples` returns.
 * @returns {TreeLayout}
 */
export function treeLayout(tree, placed) {
  const arms = armsOf(tree);
  const roots = sortedRoots(tree);
  const { room, across, atRoots } = sideBySide(arms, roots, tree.milestones);
  const place = new Float64Array(tree.milestones.length);
  roots.forEach((k, i) => {
    place[k] = atRoots[i];
  });
  arms.end.forEach((k, arm) => {
    if (k >= 0) {
      place[k] = across[arm];
    }
  });
  const milestones = pairs(tree.milestones.length, (k) => [tree.milestones[k].time, place[k]]);
  const arm = placed.branch.map((b, i) =>
    arms.second[b] >= 0 && placed.branchPosition[i] > arms.cut[b] ? arms.second[b] : b,
  );
  const offset = spread(arm, placed.pseudotime, arms.times);
  const closingBranch = Int32Array.from(arms.closes.keys()).filter((b) => arms.closes[b]);
  return {
    milestones,
    branch: arms.branch,
    start: arms.start,
    end: arms.end,
    times: arms.times,
    across,
    room,
    closings: closingsOf(tree, arms, across, milestones, closingBranch),
    closingBranch,
    cut: arms.cut,
    second: arms.second,
    arm,
    samples: pairs(arm.length, (i) => [placed.pseudotime[i], across[arm[i]] + offset[i]]),
  };
}

/**
 * The roots as indices of milestones, part after part, the most important first.
 *
 * @param {import("./branches.js").Tree} tree
 */
function sortedRoots({ milestones }) {
  const roots = [...milestones.keys()].filter((k) => milestones[k].isRoot);
  return roots.sort(
    (a, b) =>
      milestones[a].part - milestones[b].part ||
      byImportance(milestones[a].name, milestones[b].name),
  );
}

/**
 * Branches by which time reaches a milestone are one arm, and the others two.
 *
 * @param {import("./branches.js").Tree} tree
 * @returns {Arms}
 */
function armsOf({ branches, milestones }) {
  const n = branches.length;
  const closes = new Uint8Array(n);
  const cut = new Float64Array(n).fill(1);
  const second = new Int32Array(n).fill(-1);
  const until = new Float64Array(n);
  const halved = [];
  branches.forEach(({ start, end, length, startTime, endTime, leads }, b) => {
    // A node without neighbours has a loop without length, which stays whole.
    closes[b] = !leads && (length > 0 || start !== end) ? 1 : 0;
    if (closes[b] && length > 0) {
      cut[b] = Math.min(Math.max((1 + (endTime - startTime) / length) / 2, 0), 1);
    }
    until[b] = leads ? endTime : startTime + cut[b] * length;
    // Where both ways to a milestone are equally long, nothing is left for the second half.
    if (cut[b] < 1 - ROUNDING) {
      second[b] = n + halved.length;
      halved.push(b);
    }
  });
  const branch = Int32Array.from([...branches.keys(), ...halved]);
  const start = branch.map((b, k) =>
    k < n ? branches[b].startMilestone : branches[b].endMilestone,
  );
  const end = branch.map((b, k) => (k < n && branches[b].leads ? branches[b].endMilestone : -1));
  const leading = new Int32Array(milestones.length).fill(-1);
  end.forEach((k, arm) => {
    if (k >= 0) {
      leading[k] = arm;
    }
  });
  const times = pairs(branch.length, (k) => [
    k < n ? branches[branch[k]].startTime : branches[branch[k]].endTime,
    until[branch[k]],
  ]);
  return { branch, start, end, times, parent: start.map((k) => leading[k]), cut, second, closes };
}

/**
 * Room of each arm, its place in it, and the places of the roots; the first on top.
 *
 * @param {Arms} arms
 * @param {number[]} roots
 * @param {import("./branches.js").Milestone[]} milestones
 */
function sideBySide(arms, roots, milestones) {
  const n = arms.parent.length;
  const part = roots.map((k) => milestones[k].part);
  // A root is like an arm, of which no line is seen; it comes before all others.
  const row = new Map(roots.map((root, k) => [root, n + k]));
  const above = arms.parent.map((parent, k) => (parent >= 0 ? parent : row.get(arms.start[k])));
  const size = new Float64Array(n + roots.length);
  for (let k = n - 1; k >= 0; k -= 1) {
    size[k] = size[k] || 1;
    size[above[k]] += size[k];
  }
  const high = new Float64Array(size.length);
  let top = size.subarray(n).reduce((sum, value) => sum + value, 0);
  top += GAP * part.filter((value, k) => k > 0 && value !== part[k - 1]).length;
  for (let k = 0; k < roots.length; k += 1) {
    top -= k > 0 && part[k] !== part[k - 1] ? GAP : 0;
    high[n + k] = top;
    top -= size[n + k];
  }
  const free = high.slice();
  for (let k = 0; k < n; k += 1) {
    high[k] = free[above[k]];
    free[k] = high[k];
    free[above[k]] -= size[k];
  }
  const low = high.map((value, k) => value - size[k]);
  const across = low.map((value, k) => (value + high[k]) / 2);
  const first = new Float64Array(size.length).fill(NaN);
  const last = new Float64Array(size.length).fill(NaN);
  for (let k = n - 1; k >= 0; k -= 1) {
    if (!Number.isNaN(first[k])) {
      across[k] = (first[k] + last[k]) / 2;
    }
    first[above[k]] = across[k];
    if (Number.isNaN(last[above[k]])) {
      last[above[k]] = across[k];
    }
  }
  return {
    room: pairs(n, (k) => [low[k], high[k]]),
    across: across.slice(0, n),
    atRoots: first.map((value, k) => (value + last[k]) / 2).subarray(n),
  };
}

/**
 * Pairs of places that are one: where branches that close a cycle were cut.
 *
 * @param {import("./branches.js").Tree} tree
 * @param {Arms} arms
 * @param {Float64Array} across
 * @param {Float64Array} milestones
 * @param {Int32Array} closing
 */
function closingsOf(tree, arms, across, milestones, closing) {
  const places = new Float64Array(4 * closing.length);
  closing.forEach((b, i) => {
    const other = arms.second[b];
    const k = tree.branches[b].endMilestone;
    places.set([arms.times[2 * b + 1], across[b]], 4 * i);
    places.set(
      other >= 0
        ? [arms.times[2 * other + 1], across[other]]
        : [milestones[2 * k], milestones[2 * k + 1]],
      4 * i + 2,
    );
  });
  return places;
}

/**
 * Offsets of samples across their arms, within ±REACH, wider where samples are denser.
 *
 * @param {Int32Array} arm  Per sample.
 * @param {Float64Array} time  Per sample.
 * @param {Float64Array} times  Two per arm.
 */
export function spread(arm, time, times) {
  const offset = new Float64Array(arm.length);
  if (arm.length === 0) {
    return offset;
  }
  const order = Int32Array.from(arm.keys());
  order.sort((i, j) => arm[i] - arm[j] || time[i] - time[j] || i - j);
  const dense = density(arm, time, times);
  const full = quantile(dense, FULL_AT);
  let rank = 0;
  order.forEach((i, place) => {
    rank = place > 0 && arm[order[place - 1]] === arm[i] ? rank + 1 : 0;
    const turns = 0.5 + GOLDEN * rank;
    offset[i] = REACH * Math.min(dense[i] / full, 1) * (2 * (turns - Math.floor(turns)) - 1);
  });
  return offset;
}

/**
 * Samples per time around each sample on its arm, from counts in cells of about equal length.
 *
 * @param {Int32Array} arm  Per sample.
 * @param {Float64Array} time  Per sample.
 * @param {Float64Array} times  Two per arm.
 */
export function density(arm, time, times) {
  const nArms = times.length / 2;
  const cell = times.reduce((most, value) => Math.max(most, value), -Infinity) / N_CELLS || 1;
  const first = new Int32Array(nArms + 1);
  const nCells = new Int32Array(nArms);
  const width = new Float64Array(nArms);
  for (let k = 0; k < nArms; k += 1) {
    const length = times[2 * k + 1] - times[2 * k];
    nCells[k] = Math.max(roundHalfEven(length / cell), 1);
    width[k] = length > 0 ? length / nCells[k] : cell;
    first[k + 1] = first[k] + nCells[k] + 1;
  }
  // Each sample counts at the two borders of its cell, by its distance to them.
  const left = new Int32Array(arm.length);
  const part = new Float64Array(arm.length);
  const early = new Float64Array(first[nArms]);
  const late = new Float64Array(first[nArms]);
  arm.forEach((k, i) => {
    const at = Math.min(Math.max((time[i] - times[2 * k]) / width[k], 0), nCells[k]);
    const border = Math.min(Math.floor(at), nCells[k] - 1);
    part[i] = at - border;
    left[i] = border + first[k];
    early[left[i]] += 1 - part[i];
    late[left[i] + 1] += part[i];
  });
  const count = early.map((value, border) => value + late[border]);
  const measure = new Float64Array(first[nArms]);
  for (let k = 0; k < nArms; k += 1) {
    // Samples on an arm next to no length are as dense as on half a cell, not beyond all others.
    measure.fill(Math.max(width[k], cell / 2), first[k], first[k + 1]);
    measure[first[k]] /= 2;
    measure[first[k + 1] - 1] /= 2;
  }
  const smoothMeasure = smoothed(measure, first);
  const perTime = smoothed(count, first).map((value, border) => value / smoothMeasure[border]);
  return left.reduce((result, border, i) => {
    result[i] = (1 - part[i]) * perTime[border] + part[i] * perTime[border + 1];
    return result;
  }, new Float64Array(arm.length));
}

/**
 * Each with half of its neighbours on the same arm.
 *
 * @param {Float64Array} values
 * @param {Int32Array} first  Where the values of each arm begin, and the end.
 */
function smoothed(values, first) {
  const result = values.slice();
  for (let k = 0; k + 1 < first.length; k += 1) {
    for (let i = first[k]; i < first[k + 1]; i += 1) {
      result[i] += i > first[k] ? values[i - 1] / 2 : 0;
      result[i] += i + 1 < first[k + 1] ? values[i + 1] / 2 : 0;
    }
  }
  return result;
}

/** The nearest whole number; of two, the even one. */
function roundHalfEven(value) {
  const low = Math.floor(value);
  const part = value - low;
  if (part === 0.5) {
    return low % 2 === 0 ? low : low + 1;
  }
  return part < 0.5 ? low : low + 1;
}

/**
 * Two numbers for each of n things, one after the other.
 *
 * @param {number} n
 * @param {(k: number) => [number, number]} of
 */
function pairs(n, of) {
  const result = new Float64Array(2 * n);
  for (let k = 0; k < n; k += 1) {
    result.set(of(k), 2 * k);
  }
  return result;
}
