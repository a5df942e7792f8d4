// What the two views draw of the app's state.

import { alongArms, alongEdges } from "./intervals.js";
import { annotations } from "./marks.js";
import { flatNodes, flatPlace, onAxes } from "./model/flat.js";
import { rgb } from "./view/colors.js";
import { clipped, counted, grouped, number, roundBelow, ticks } from "./view/format.js";

// Beyond so many nodes, or a third of the samples, only tips and forks are clicked, unless the tool
// is for roots.
const MOST_NODES = 400;
// Pixels within which a click means a node: any one with the tool for roots, a tip or fork, others.
const REACHES = { root: 9, milestone: 5.5, node: 4 };
// Beyond so many samples the graph is drawn above them, or nobody would see it.
const MOST_ABOVE = 3000;
// A branch that so few of the resamples have again is drawn with dashes.
const SURE = 0.8;
// Beyond so many branches their numbers of samples would cover the picture.
const MOST_COUNTED = 40;
const MIXED = 0.86;
// Of a line in the legend of an exported picture.
const LEGEND_LETTERS = 30;

/** Colours of rows, with those outside the selection faded into the ground; and their order. */
export function pointStyles(app, theme) {
  const { coloring, selection, shuffle } = app;
  if (!selection) return { rgba: coloring.rgba, shapes: coloring.shapes, order: shuffle };
  const ground = rgb(theme.ground);
  const rgba = coloring.rgba.slice();
  for (let i = 0; i < app.nRows; i += 1) {
    if (selection[i]) continue;
    for (let c = 0; c < 3; c += 1) {
      rgba[4 * i + c] = Math.round((1 - MIXED) * rgba[4 * i + c] + MIXED * ground[c]);
    }
  }
  const order = new Uint32Array(shuffle.length);
  let at = 0;
  for (const wanted of [0, 1]) {
    for (const i of shuffle) {
      if (selection[i] === wanted) {
        order[at] = i;
        at += 1;
      }
    }
  }
  return { rgba, shapes: coloring.shapes, order };
}

/** Nodes that can be clicked in the views, and how. */
function clickable(app, tool, placeOf) {
  const nNodes = app.tree.nodeTime.length;
  const isMilestone = new Set(app.tree.milestones.map((milestone) => milestone.node));
  const all = tool === "root" || nNodes <= Math.min(MOST_NODES, app.nRows / 3);
  const ids = all ? Int32Array.from({ length: nNodes }, (_, k) => k) : Int32Array.from(isMilestone);
  const positions = new Float32Array(3 * ids.length);
  ids.forEach((node, k) => positions.set(placeOf(node), 3 * k));
  const kindOf = (node) =>
    tool === "root" ? "root" : isMilestone.has(node) ? "milestone" : "node";
  return {
    ids,
    positions,
    reach: Float32Array.from(ids, (node) => REACHES[kindOf(node)]),
    first: Uint8Array.from(ids, (node) => Number(kindOf(node) !== "node")),
  };
}

/** Colours of lines: all alike, or those of the branches. */
function lineColors(app, theme, branches, alpha) {
  const rgba = new Uint8Array(4 * branches.length);
  const { styles } = app.branchColoring;
  const plain = rgb(theme.line);
  const byBranch = app.colorKey === "branch";
  branches.forEach((branch, k) => {
    const color = byBranch ? rgb(styles[branch].color) : plain;
    rgba.set(byBranch ? color.map((v, c) => Math.round(0.4 * v + 0.6 * plain[c])) : color, 4 * k);
    rgba[4 * k + 3] = alpha;
  });
  return rgba;
}

/** Whether a branch is found again in less than 80 % of the resamples; false if nobody knows. */
function isDoubtful(app, branch) {
  const support = app.branchSure?.(branch)?.support;
  return typeof support === "number" && support < SURE;
}

/** What a line with dashes means, if there are any. */
export function dashWords(app) {
  const some = app.tree.branches.some((_, k) => isDoubtful(app, k));
  return some ? "Dashed line: branch found in less than 80 % of the resamples" : "";
}

// The embedding

/** Places of rows, three numbers each, from arrays with fewer. */
function inSpace(values, given, n, shown = given) {
  const places = new Float32Array(3 * n);
  for (let i = 0; i < n; i += 1) {
    for (let k = 0; k < shown; k += 1) places[3 * i + k] = values[given * i + k];
  }
  return places;
}

/**
 * Positions of samples and nodes in a picture: "flat", or the "2" or "3" axes that show the tree
 * best, or the components themselves if there are no more than two.
 */
function embeddingPositions(app, picture) {
  const { samples, dims, views } = app.state;
  const { nodes, node_dims: d, edges } = app.graph;
  const nNodes = nodes.length / d;
  if (picture === "flat") {
    const places = flatNodes(views.flat, edges, nNodes);
    return {
      positions: inSpace(views.flat.points, 2, app.nRows),
      places: inSpace(places, 2, nNodes),
    };
  }
  const shown = Math.min(Number(picture), dims);
  const positions = views?.axes.points ?? samples.points;
  return {
    positions: inSpace(positions, dims, app.nRows, shown),
    places: views
      ? inSpace(views.axes.nodes, dims, nNodes, shown)
      : inSpace(nodes, d, nNodes, shown),
  };
}

/** Edges of the graph as lines, and where each lies on its branch, if that is in doubt. */
function edgeLines(app, places) {
  const { edges, lengths } = app.graph;
  const { ofEdge: branches, start, sign, lengths: most } = app.tree;
  const lines = new Float32Array(3 * edges.length);
  edges.forEach((node, k) => lines.set(places.subarray(3 * node, 3 * node + 3), 3 * k));
  const dashOf = dashed(app, (k) => {
    const [from, to] = [start[k], start[k] + sign[k] * lengths[k]];
    return { branch: branches[k], from, to, axis: 0, most: most[branches[k]] };
  });
  return { lines, branches, dashOf };
}

/** Ways of lines that get dashes, null for others; null altogether if there are none. */
function dashed(app, wayOf) {
  const doubtful = app.tree.branches.map((_, k) => isDoubtful(app, k));
  if (!doubtful.includes(true)) return null;
  return (k) => {
    const way = wayOf(k);
    return doubtful[way.branch] ? way : null;
  };
}

/** The embedding with its graph, in one of its pictures. */
export function embeddingScene(app, theme, picture, tool) {
  const { positions, places } = embeddingPositions(app, picture);
  const { edges } = app.graph;
  const { lines, branches, dashOf } = edgeLines(app, places);
  const at = (node) => [...places.subarray(3 * node, 3 * node + 3)];
  const nodes = clickable(app, tool, at);
  const placeOf = (sample) => embeddingPlace(app, sample, picture);
  const bandOf = (sample) => alongEdges(app, at, sample);
  const drawn = { positions, lines, nodes, at, dashOf, placeOf, bandOf };
  return {
    positions,
    count: app.nRows,
    radii: app.radii,
    ...pointStyles(app, theme),
    lines,
    lineRgba: lineColors(app, theme, branches, 255),
    lineBranches: branches,
    dashOf,
    lineWidth: edges.length > 4000 ? 1 : 2.2,
    linesFirst: app.nRows <= MOST_ABOVE,
    nodes,
    placeOf,
    decorate: (view) => [
      ...(picture === "3" ? axisNames(app, theme, view.project) : []),
      ...(picture === "flat" ? scaleBar(theme, view) : []),
      ...caption(app, theme, picture, view.size),
      ...annotations(app, theme, tool, view, {
        ...drawn,
        foot: app.state.views ? CAPTION : 0,
        more: picture === "flat" ? branchSizes(app, theme, at, view.project) : [],
      }),
    ],
  };
}

function embeddingPlace(app, sample, picture) {
  const { views } = app.state;
  if (picture === "flat") return [...flatPlace(views.flat, app.graph, sample), 0];
  const place = views ? onAxes(views.axes, sample.projection) : sample.projection;
  return [0, 1, 2].map((k) => (k < Number(picture) ? (place[k] ?? 0) : 0));
}

// The height of the words at the foot of the embedding, in pixels.
const CAPTION = 20;

/** What the picture shows, in words at its foot. */
function caption(app, theme, picture, [width, height]) {
  const { views } = app.state;
  if (!views) return [];
  const shares = views.axes.shares.slice(0, Number(picture));
  const shown = Math.round(100 * shares.reduce((sum, share) => sum + share, 0));
  const words =
    picture === "flat"
      ? "Lengths along the tree and distances from it are true."
      : `The linear axes that show the tree best: ${shown} % of its extent.`;
  const short = picture === "flat" ? "true lengths and distances" : `${shown} % of the extent`;
  const text = width < 500 ? short : words;
  return [{ kind: "text", x: 12, y: height - 6, text, size: 11, fill: theme.soft }];
}

/** A bar as long as a round number, at the foot of the flat drawing: it has no axes. */
function scaleBar(theme, { size: [width, height], matrix }) {
  const scale = Math.abs(matrix[0]);
  const length = roundBelow((0.18 * width) / scale);
  const [right, y] = [width - 14, height - 9];
  const left = right - length * scale;
  const look = { kind: "text", size: 11, fill: theme.soft, anchor: "end" };
  return [
    { kind: "lines", xy: [left, y, right, y], color: theme.ink, width: 2 },
    { ...look, x: left - 6, y: y + 4, text: number(length) },
  ];
}

/** The number of samples beside the middle of each branch of the flat drawing. */
function branchSizes(app, theme, at, project) {
  const { branches } = app.tree;
  if (branches.length > MOST_COUNTED) return [];
  return branches.map(({ start, end }, k) => {
    // Branches are straight.
    const middle = at(start).map((value, c) => (value + at(end)[c]) / 2);
    const [x, y] = project(...middle);
    return { text: `n = ${grouped(app.branchSizes[k])}`, size: 11, fill: theme.soft, x, y, r: 2 };
  });
}

/** Arrows along the axes in three dimensions, in the corner. */
function axisNames(app, theme, project) {
  const zero = project(0, 0, 0);
  const names = (app.state.views?.axes.names ?? app.state.axes).slice(0, 3);
  return names.flatMap((name, k) => {
    const end = project(...[0, 1, 2].map((c) => (c === k ? 1 : 0)));
    const [dx, dy] = [end[0] - zero[0], end[1] - zero[1]];
    const length = Math.hypot(dx, dy) || 1;
    const away = project(...[0, 1, 2].map((c) => (c === k ? 1 : 0)))[2] - zero[2];
    const reach = 34 * Math.min(1, Math.sqrt(Math.max(0, 1 - away * away)) || 1);
    const [x, y] = [56, 72];
    const [tx, ty] = [x + (dx / length) * reach, y + (dy / length) * reach];
    return [
      { kind: "lines", xy: [x, y, tx, ty], color: theme.soft, width: 1.5 },
      {
        kind: "text",
        x: tx,
        y: ty + 4,
        text: name,
        size: 10,
        fill: theme.soft,
        anchor: "middle",
        halo: theme.ground,
      },
    ];
  });
}

// The tree by pseudotime

/** Arms as lines, each with the way across to it, and where these lie, if the branch is in doubt. */
function armLines(app) {
  const { layout } = app;
  const nArms = layout.across.length;
  const lines = new Float32Array(12 * nArms);
  const branches = new Int32Array(2 * nArms);
  for (let arm = 0; arm < nArms; arm += 1) {
    const [from, to] = layout.times.subarray(2 * arm, 2 * arm + 2);
    const here = layout.across[arm];
    const before = layout.milestones[2 * layout.start[arm] + 1];
    lines.set([from, before, 0, from, here, 0, from, here, 0, to, here, 0], 12 * arm);
    branches.fill(layout.branch[arm], 2 * arm, 2 * arm + 2);
  }
  const dashOf = dashed(app, (k) => {
    const axis = k % 2 ? 0 : 1; // along time, or across
    const [from, to] = [lines[6 * k + axis], lines[6 * k + 3 + axis]];
    return { branch: branches[k], from, to, axis, most: Math.abs(to - from) };
  });
  return { lines, branches, dashOf };
}

/** Time to the right, branches side by side. */
export function treeScene(app, theme, tool) {
  const { layout, tree } = app;
  const positions = new Float32Array(3 * app.nRows);
  for (let i = 0; i < app.nRows; i += 1) {
    positions[3 * i] = layout.samples[2 * i];
    positions[3 * i + 1] = layout.samples[2 * i + 1];
  }
  const { lines, branches, dashOf } = armLines(app);
  const places = nodePlaces(app);
  const at = (node) => [places[2 * node], places[2 * node + 1], 0];
  const nodes = clickable(app, tool, at);
  const placeOf = (sample) => treePlace(app, tree, sample);
  return {
    positions,
    count: app.nRows,
    radii: app.radii.map((r) => 0.85 * r),
    ...pointStyles(app, theme),
    lines,
    lineRgba: lineColors(app, theme, branches, 255),
    lineBranches: branches,
    dashOf,
    lineWidth: layout.across.length > 1000 ? 1 : 2.2,
    linesFirst: true,
    nodes,
    placeOf,
    decorate: (view) => [
      ...closings(app, theme, view.project),
      ...timeAxis(app, theme, view.size, view.matrix),
      ...annotations(app, theme, tool, view, {
        positions,
        lines,
        nodes,
        at,
        dashOf,
        placeOf,
        bandOf: (sample) => alongArms(app, sample),
        foot: AXIS,
        more: sizeLabels(app, theme, view.project),
      }),
    ],
  };
}

/** The number of samples beside each branch: above or below its arm, near the middle. */
function sizeLabels(app, theme, project) {
  const { layout, tree } = app;
  if (tree.branches.length > MOST_COUNTED) return [];
  return tree.branches.map((_, k) => {
    const [from, to] = layout.times.subarray(2 * k, 2 * k + 2);
    const spots = [0.5, 0.35, 0.65, 0.2, 0.8].flatMap((part) => {
      const [x, y] = project(from + part * (to - from), layout.across[k], 0);
      return [12, 24, 36, 50].flatMap((away) => [
        [x, y - away],
        [x, y + away],
      ]);
    });
    const text = `n = ${grouped(app.branchSizes[k])}`;
    return { text, size: 11, fill: theme.soft, spots };
  });
}

/** Time and place across of every node: on the arm of its branch. */
function nodePlaces(app) {
  const { layout, tree, graph } = app;
  const nNodes = tree.nodeTime.length;
  const places = new Float64Array(2 * nNodes);
  graph.edges.forEach((node, k) => {
    const edge = k >> 1;
    const branch = tree.ofEdge[edge];
    const along = tree.start[edge] + (k & 1 ? tree.sign[edge] * graph.lengths[edge] : 0);
    const arm = armAt(layout, branch, tree.lengths[branch] ? along / tree.lengths[branch] : 0);
    places[2 * node] = tree.nodeTime[node];
    places[2 * node + 1] = layout.across[arm];
  });
  tree.milestones.forEach(({ node }, k) => {
    places.set(layout.milestones.subarray(2 * k, 2 * k + 2), 2 * node);
  });
  return places;
}

/** The arm of a branch at a position on it. */
function armAt(layout, branch, position) {
  const second = layout.second[branch];
  return second >= 0 && position > layout.cut[branch] ? second : branch;
}

function treePlace(app, tree, sample) {
  const arm = armAt(app.layout, sample.branch, sample.branchPosition);
  return [sample.pseudotime, app.layout.across[arm], 0];
}

/** Dashed lines between places that are one, where a cycle was cut. */
function closings(app, theme, project) {
  const { closings: places } = app.layout;
  const shapes = [];
  for (let k = 0; k < places.length / 4; k += 1) {
    const [x0, y0] = project(places[4 * k], places[4 * k + 1], 0);
    const [x1, y1] = project(places[4 * k + 2], places[4 * k + 3], 0);
    shapes.push({
      kind: "lines",
      xy: [x0, y0, x1, y1],
      color: theme.line,
      width: 1.5,
      dash: [4, 4],
    });
  }
  return shapes;
}

// The height of the axis of time, in pixels.
const AXIS = 22;

/** Ticks of pseudotime at the foot. */
function timeAxis(app, theme, [width, height], matrix) {
  const [scale, shift] = [matrix[0], matrix[3]];
  const [low, high] = [(0 - shift) / scale, (width - shift) / scale];
  const shown = ticks(Math.max(low, 0), Math.min(high, app.latest * 1.02), 6);
  const shapes = [
    { kind: "rect", x: 0, y: height - AXIS, width, height: AXIS, fill: theme.veil },
    {
      kind: "text",
      x: width - 8,
      y: height - 7,
      text: "pseudotime",
      size: 11,
      fill: theme.soft,
      anchor: "end",
    },
  ];
  for (const value of shown) {
    const x = scale * value + shift;
    if (x < 12 || x > width - 90) continue;
    shapes.push({
      kind: "lines",
      xy: [x, height - AXIS, x, height - AXIS + 4],
      color: theme.soft,
      width: 1,
    });
    shapes.push({
      kind: "text",
      x,
      y: height - 7,
      text: number(value),
      size: 11,
      fill: theme.soft,
      anchor: "middle",
    });
  }
  return shapes;
}

// The legend, for exported pictures

/** Text in lines that fit beside the picture. */
function lines(text) {
  const found = [""];
  for (const word of text.split(" ").filter(Boolean)) {
    const longer = `${found.at(-1)} ${word}`.trim();
    if (longer.length <= LEGEND_LETTERS) found[found.length - 1] = longer;
    else found.push(word);
  }
  return found.filter(Boolean);
}

/** The legend as shapes with its upper left corner at a place, and its height. */
export function legendShapes(app, theme, x, y) {
  const { coloring } = app;
  const line = (words, at, bold = false) => ({
    kind: "text",
    x: at,
    y: 0,
    text: words,
    size: 12,
    bold,
    fill: theme.ink,
  });
  const shapes = [{ ...line(clipped(coloring.name, LEGEND_LETTERS), x, true), y: y + 12 }];
  let at = y + 30;
  if (coloring.kind === "number") {
    for (let k = 0; k < 60; k += 1) {
      shapes.push({
        kind: "rect",
        x: x + 2 * k,
        y: at - 8,
        width: 2.5,
        height: 12,
        fill: coloring.scale(k / 59),
      });
    }
    shapes.push({ ...line(number(coloring.low), x), y: at + 20 });
    shapes.push({ ...line(number(coloring.high), x + 120), y: at + 20, anchor: "end" });
    at += 40;
    for (const words of lines(coloring.unit)) {
      shapes.push({ ...line(words, x), y: at, size: 11, fill: theme.soft });
      at += 15;
    }
    at += 6;
  } else {
    for (const entry of coloring.entries) {
      shapes.push({
        kind: "points",
        xy: [x + 6, at - 4],
        rgba: [...rgb(entry.color), 255],
        shapes: [entry.shape],
        radius: 5,
        order: [0],
      });
      const words = `${clipped(entry.label, LEGEND_LETTERS)} (${entry.count})`;
      shapes.push({ ...line(words, x + 18), y: at });
      at += 18;
    }
    if (coloring.nOthers) {
      shapes.push({ kind: "disc", x: x + 6, y: at - 4, r: 5, fill: coloring.other });
      const words = `${counted(coloring.nOthers, "other")} (${coloring.otherCount})`;
      shapes.push({ ...line(words, x + 18), y: at });
      at += 18;
    }
  }
  if (coloring.nMissing) {
    shapes.push({ kind: "disc", x: x + 6, y: at - 4, r: 5, fill: coloring.missing });
    shapes.push({ ...line(`missing (${coloring.nMissing})`, x + 18), y: at });
    at += 18;
  }
  for (const words of lines(dashWords(app))) {
    shapes.push({ ...line(words, x), y: at, size: 11, fill: theme.soft });
    at += 15;
  }
  return { shapes, height: at - y };
}
