// Where on the tree a new sample may be: a band along it, fainter on branches that are less likely.

import { rgb } from "./view/colors.js";

// Branches that are less likely than this are left without a band.
const LEAST_LIKELY = 0.05;
const CASING = 11; // pixels
const BAND = 8;

/** Branches that have a band, with how likely each is beside the likeliest. */
function likelyBranches({ sure }) {
  if (!sure) return [];
  const most = sure.branches.reduce((a, b) => Math.max(a, b), 0);
  return [...sure.branches.keys()]
    .filter((k) => sure.branches[k] >= LEAST_LIKELY)
    .map((branch) => ({ branch, span: sure.spans[branch], part: sure.branches[branch] / most }));
}

/**
 * Parts of the edges on which a sample may be.
 *
 * @param {Object} app
 * @param {(node: number) => number[]} at the place of a node
 * @param {Object} sample one of app.placesOfAdded()
 * @returns {{part: number, lines: number[][][]}[]} of each branch the pieces, by their two ends
 */
export function alongEdges(app, at, sample) {
  const { edges } = app.graph;
  const { ofEdge, nodeTime } = app.tree;
  return likelyBranches(sample).map(({ branch, span, part }) => {
    const lines = [];
    ofEdge.forEach((of, edge) => {
      if (of !== branch) return;
      const ends = [edges[2 * edge], edges[2 * edge + 1]];
      const piece = within(
        ends.map((node) => nodeTime[node]),
        span,
      );
      if (piece) lines.push(piece.map((way) => between(at(ends[0]), at(ends[1]), way)));
    });
    return { part, lines };
  });
}

/** The same of the arms of the tree by pseudotime. */
export function alongArms(app, sample) {
  const { layout } = app;
  return likelyBranches(sample).map(({ branch, span, part }) => {
    const lines = [];
    layout.branch.forEach((of, arm) => {
      if (of !== branch) return;
      const times = [...layout.times.subarray(2 * arm, 2 * arm + 2)];
      const piece = within(times, span);
      const ends = times.map((time) => [time, layout.across[arm], 0]);
      if (piece) lines.push(piece.map((way) => between(...ends, way)));
    });
    return { part, lines };
  });
}

/** The parts of a stretch between two times at which an interval begins and ends in it; or null. */
function within([from, to], [lower, upper]) {
  const [low, high] = [Math.max(Math.min(from, to), lower), Math.min(Math.max(from, to), upper)];
  if (!(low < high)) return null;
  return [low, high].map((time) => (time - from) / (to - from));
}

function between(a, b, part) {
  return a.map((value, k) => value + part * (b[k] - value));
}

/** The band as shapes: yellow in ink, as the star is, with the line of the tree on it. */
export function bandShapes(theme, project, pieces) {
  return pieces
    .toSorted((a, b) => a.part - b.part)
    .flatMap(({ part, lines }) => {
      const xy = lines.flatMap((ends) => ends.flatMap((end) => project(...end).slice(0, 2)));
      const strong = 0.25 + 0.75 * part;
      const color = (name, opacity) =>
        `rgba(${rgb(theme[name]).join(", ")}, ${opacity.toFixed(3)})`;
      return [
        { kind: "lines", xy, color: color("ink", 0.8 * strong), width: CASING },
        { kind: "lines", xy, color: color("star", strong), width: BAND },
        { kind: "lines", xy, color: color("line", strong), width: 2.2 },
      ];
    });
}
