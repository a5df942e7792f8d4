// A feature along the tree: samples by pseudotime, and its trend on every branch.

import { placeSamples, placesOnBranches, unbroken } from "../model/branches.js";
import { extent, rgb } from "../view/colors.js";
import { paintElement } from "../paint/canvas.js";
import { backwards, outline, smooth } from "../view/curves.js";
import { field, fill, h, select, setChosen } from "../view/dom.js";
import { clipped, number, ticks } from "../view/format.js";

const LEFT = 52;
const FOOT = 34;
const TOP = 12;
// So much of the samples' range may be added above and below for a band to be seen whole.
const MOST_ADDED = 0.3;

export function featurePanel(app) {
  if (!app.features.length) {
    return h(
      "div",
      { class: "panel" },
      h("p", { class: "hint" }, "This page holds no values of features."),
    );
  }
  let chosen = app.features[0].key;
  const canvas = h("canvas", {
    class: "chart",
    role: "img",
    "aria-label": "Feature by pseudotime",
  });
  const caption = h("p", { class: "hint" });
  const options = app.features.map((column) => ({
    value: column.key,
    text: clipped(column.name, 60),
    title: column.name,
  }));
  const control = select([{ options }], chosen, (key) => {
    chosen = key;
    draw();
  });
  const colorButton = h(
    "button",
    { type: "button", onclick: () => app.setColor(chosen) },
    "Colour the views by it",
  );

  app.showFeature = (key) => {
    chosen = key;
    setChosen(control, key);
    app.openTab("feature");
    draw();
  };
  app.chosenFeature = () => app.column(chosen);
  /** The chart as shapes, for an exported picture. */
  app.featureShapes = (width, height, theme) =>
    chartShapes(app, app.column(chosen), width, height, theme);

  function draw() {
    if (!canvas.clientWidth) return;
    const column = app.column(chosen);
    paintElement(canvas, (width, height) =>
      chartShapes(app, column, width, height, app.themeColors()),
    );
    canvas.setAttribute("aria-label", describe(app, column));
    fill(caption, captionOf(app));
  }

  new ResizeObserver(draw).observe(canvas);
  app.on("root theme selection tab", draw);
  return h("div", { class: "panel" }, field("Feature", control), canvas, caption, colorButton);
}

function captionOf(app) {
  const { trends } = app.state;
  if (!trends) return "Samples by pseudotime. Trends are not part of this page; its notes say why.";
  const level = Math.round(100 * trends.level);
  const moved = app.isStartRoot
    ? ""
    : " The trends were fitted at the first root and are shown along the new one.";
  const blank = trends.mean.some(Number.isNaN)
    ? " Where there are no samples, there is no trend."
    : "";
  return `Lines: trend on each branch, with its pointwise ${level} % band.${blank}${moved}`;
}

function describe(app, column) {
  const values = new Map();
  for (const { branch, mean } of trendCurves(app, column)) {
    values.set(branch, [...(values.get(branch) ?? []), ...mean]);
  }
  const ends = [...values].map(([branch, mean]) => {
    const name = app.tree.branches[branch].name;
    return `${name} from ${number(mean[0], 3)} to ${number(mean.at(-1), 3)}`;
  });
  return `${column.name} by pseudotime. ${ends.join("; ")}`;
}

/** The trend of a feature on every branch of the tree as it is rooted now, without its gaps. */
function trendCurves(app, column) {
  const { trends } = app.state;
  if (!trends) return [];
  const nPoints = trends.n_points;
  const nBranches = app.startTree.branches.length;
  const first =
    app.features.findIndex((feature) => feature.key === column.key) * nBranches * nPoints;
  const places = placesOnBranches(app.startTree, app.graph, nPoints);
  const { branch, branchPosition, pseudotime } = placeSamples(
    app.tree,
    app.graph,
    places.edge,
    places.position,
  );
  const curves = new Map();
  for (let k = 0; k < nBranches * nPoints; k += 1) {
    const from = places.branch[k];
    // Ends of branches lie on a milestone, which an edge of another branch may share; a root
    // within a branch cuts its curve in two.
    const key = `${from} ${branch[k]}`;
    if (!curves.has(key)) curves.set(key, { from, branch: branch[k], points: [] });
    curves.get(key).points.push({
      along: branchPosition[k],
      time: pseudotime[k],
      mean: trends.mean[first + k],
      lower: trends.lower[first + k],
      upper: trends.upper[first + k],
    });
  }
  const drawn = [...curves.values()].filter(({ points }) => points.length > 1);
  return drawn.flatMap(({ branch: b, points }) => {
    points.sort((p, q) => p.along - q.along);
    return unbroken(points, (point) => Number.isNaN(point.mean)).map((piece) => ({
      branch: b,
      time: piece.map((point) => point.time),
      mean: piece.map((point) => point.mean),
      lower: piece.map((point) => point.lower),
      upper: piece.map((point) => point.upper),
    }));
  });
}

/** From the least to the largest value, and farther where a band does, within reason. */
function rangeOf(column, curves) {
  const [low, high] = extent(column.values);
  const most = MOST_ADDED * (high - low);
  const [least, largest] = extent(curves.flatMap(({ lower, upper }) => [...lower, ...upper]));
  if (!curves.length) return [low, high];
  return [
    Math.max(Math.min(low, least), low - most),
    Math.min(Math.max(high, largest), high + most),
  ];
}

function chartShapes(app, column, width, height, theme) {
  const curves = trendCurves(app, column);
  const [low, high] = rangeOf(column, curves);
  const pad = 0.04 * (high - low || 1);
  const latest = app.latest || 1;
  const x = (time) => LEFT + ((width - LEFT - 12) * time) / latest;
  const y = (value) => {
    const part = (value - low + pad) / (high - low + 2 * pad);
    return height - FOOT - (height - FOOT - TOP) * part;
  };
  return [
    ...axes(column, { low, high, latest, x, y, width, height, theme }),
    {
      kind: "clip",
      x: LEFT,
      y: TOP - 4,
      width: width - LEFT - 8,
      height: height - FOOT - TOP + 4,
      shapes: [
        ...samples(app, column, x, y, theme),
        ...curveShapes(app, curves, x, y),
        ...curveNames(app, curves, x, y, theme),
      ],
    },
  ];
}

function axes(column, { low, high, latest, x, y, width, height, theme }) {
  const shapes = [];
  const label = { kind: "text", size: 11, fill: theme.soft };
  for (const value of ticks(low, high, 5)) {
    const at = y(value);
    shapes.push({ kind: "lines", xy: [LEFT, at, width - 12, at], color: theme.grid, width: 1 });
    shapes.push({ ...label, x: LEFT - 6, y: at + 4, text: number(value, 3), anchor: "end" });
  }
  for (const value of ticks(0, latest, 5)) {
    const at = x(value);
    shapes.push({
      kind: "lines",
      xy: [at, height - FOOT, at, height - FOOT + 4],
      color: theme.soft,
      width: 1,
    });
    shapes.push({
      ...label,
      x: at,
      y: height - FOOT + 16,
      text: number(value, 3),
      anchor: "middle",
    });
  }
  shapes.push({
    ...label,
    x: (LEFT + width) / 2,
    y: height - 4,
    text: "pseudotime",
    anchor: "middle",
  });
  const words = clipped(column.name, 40);
  shapes.push({
    ...label,
    x: 11,
    y: (height - FOOT + TOP) / 2,
    text: words,
    anchor: "middle",
    turned: true,
  });
  return shapes;
}

function samples(app, column, x, y, theme) {
  const { styles } = app.branchColoring;
  const ground = rgb(theme.ground);
  const xy = new Float32Array(2 * app.nRows);
  const rgba = new Uint8Array(4 * app.nRows);
  const order = [];
  for (const i of app.shuffle) {
    if (Number.isNaN(column.values[i])) continue;
    xy[2 * i] = x(app.placed.pseudotime[i]);
    xy[2 * i + 1] = y(column.values[i]);
    const faded = app.selection && !app.selection[i] ? 0.85 : 0.25;
    const color = rgb(styles[app.placed.branch[i]].color);
    rgba.set(
      color.map((value, c) => (1 - faded) * value + faded * ground[c]),
      4 * i,
    );
    rgba[4 * i + 3] = 200;
    order.push(i);
  }
  if (app.selection) order.sort((a, b) => app.selection[a] - app.selection[b]);
  const radius = Math.min(Math.max(45 / Math.sqrt(app.nRows + 1), 1), 2.5);
  return [{ kind: "points", xy, rgba, shapes: new Uint8Array(app.nRows), radius, order }];
}

function curveShapes(app, curves, x, y) {
  const { styles } = app.branchColoring;
  const bands = [];
  const lines = [];
  for (const { branch, time, mean, lower, upper } of curves) {
    const { color } = styles[branch];
    const [r, g, b] = rgb(color);
    const along = time.map(x);
    if (time.length > 1 && lower.every((value) => !Number.isNaN(value))) {
      const there = smooth(along, upper.map(y));
      const back = backwards(smooth(along, lower.map(y)));
      const fill = `rgba(${r}, ${g}, ${b}, 0.25)`;
      bands.push({ kind: "curve", xy: outline(there, back), closed: true, fill });
    }
    // A single point between gaps is a short stroke.
    const xy =
      time.length > 1
        ? smooth(along, mean.map(y))
        : smooth([along[0] - 2, along[0] + 2], [y(mean[0]), y(mean[0])]);
    lines.push({ kind: "curve", xy, stroke: app.themeColors().ground, width: 5 });
    lines.push({ kind: "curve", xy, stroke: color, width: 2.8 });
  }
  return [...bands, ...lines];
}

/** The name of each branch above the middle of its longest curve, where no other name is. */
function curveNames(app, given, x, y, theme) {
  const taken = [];
  const shapes = [];
  const named = new Set();
  const length = ({ time }) => Math.abs(time.at(-1) - time[0]);
  const curves = [...given].sort((a, b) => length(b) - length(a));
  for (const { branch, time, mean } of curves) {
    const k = Math.floor(time.length / 2);
    const text = app.tree.branches[branch].name;
    if (named.has(text)) continue;
    const half = 3.6 * text.length;
    const at = Math.min(Math.max(x(time[k]), x(0) + half + 2), x(app.latest) - half);
    const above = y(mean[k]) - 8;
    const isFree = taken.every(([left, right, height]) => {
      return at - half > right || at + half < left || Math.abs(above - height) > 13;
    });
    if (!isFree) continue;
    taken.push([at - half, at + half, above]);
    named.add(text);
    const look = { size: 11.5, bold: true, fill: theme.ink, halo: theme.ground, anchor: "middle" };
    shapes.push({ kind: "text", x: at, y: Math.max(above, TOP + 8), text, ...look });
  }
  return shapes;
}
