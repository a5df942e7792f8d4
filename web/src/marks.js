// What is written and marked above the points of a view: milestones, new samples, the one looked for.

import { bandShapes } from "./intervals.js";
import { coverage, leader, overlap, placeLabels } from "./view/labels.js";
import { clipped } from "./view/format.js";

// Beyond so many nodes their discs are smaller.
const MANY_NODES = 400;
// Beyond so many new samples their names would cover the picture.
const MOST_NAMED = 40;
// Beyond so many milestones their names would cover the picture.
const MOST_NAMES = 60;
// So many marks outside the picture get an arrow, the newest first.
const MOST_ARROWS = 6;
// Of so many points names keep away; of more, these are picked evenly.
const MOST_AVOIDED = 3000;
const MOST_LINES = 3000;
const EDGE = 16; // pixels from an arrow to the edge of the picture

/**
 * Dots at nodes, and marks with their names where there is room for them.
 *
 * @param {Object} app
 * @param {Object} theme
 * @param {string} tool
 * @param {{project: Function, size: number[], matrix: number[], grow: number, covers: number[][]}}
 *   view covers: boxes in which something else lies above the picture
 * @param {{positions: Float32Array, lines: Float32Array, nodes: Object, at: Function,
 *   placeOf: Function, bandOf: Function, foot?: number, more?: Object[]}} drawn bandOf: where on the
 *   tree a new sample may be; more: further labels, of less weight
 */
export function annotations(app, theme, tool, view, drawn) {
  const [width, height] = view.size;
  const bounds = [2, 2, width - 2, height - (drawn.foot ?? 0) - 2];
  const milestones = milestoneMarks(app, theme, view, drawn.at);
  const marks = [...lookedMarks(app, theme, view, drawn), ...addedMarks(app, theme, view, drawn)];
  const inside = marks.filter((mark) => isInside(mark, bounds));
  const arrows = marks
    .filter((mark) => !isInside(mark, bounds))
    .slice(0, MOST_ARROWS)
    .map((mark) => arrow(theme, mark, bounds, view.covers));
  const shown = [...milestones, ...inside, ...arrows];
  const labels = [
    ...milestones.filter((mark) => mark.isRoot),
    ...arrows,
    ...inside,
    ...milestones.filter((mark) => !mark.isRoot),
    ...(drawn.more ?? []),
  ].filter((mark) => mark.text);
  const places = placeLabels(labels, {
    bounds,
    covered: covering(app, view, drawn),
    taken: [
      ...view.covers,
      ...shown.map(({ x, y, r }) => [x - r + 1, y - r + 1, x + r - 1, y + r - 1]),
    ],
  });
  const sample = app.placesOfAdded()[app.shownAdded];
  return [
    ...(sample ? bandShapes(theme, view.project, drawn.bandOf(sample)) : []),
    ...nodeDots(theme, tool, drawn, view.project),
    ...shown.flatMap((mark) => mark.shapes),
    ...labels.flatMap((label, k) => (places[k] ? named(theme, label, places[k]) : [])),
  ];
}

function isInside({ x, y }, [left, top, right, bottom]) {
  return x >= left && x <= right && y >= top && y <= bottom;
}

/** What names would cover: some of the points, and the lines of the graph. */
function covering(app, { size, matrix: m, project }, { positions, lines }) {
  const step = Math.max(1, Math.ceil(app.nRows / MOST_AVOIDED));
  const points = new Float32Array(2 * Math.ceil(app.nRows / step));
  for (let k = 0, i = 0; i < app.nRows; k += 2, i += step) {
    const [x, y, z] = [positions[3 * i], positions[3 * i + 1], positions[3 * i + 2]];
    points[k] = m[0] * x + m[1] * y + m[2] * z + m[3];
    points[k + 1] = m[4] * x + m[5] * y + m[6] * z + m[7];
  }
  const ends = [];
  if (lines.length <= 6 * MOST_LINES) {
    for (let k = 0; k < lines.length; k += 3) {
      const [x, y] = project(lines[k], lines[k + 1], lines[k + 2]);
      ends.push(x, y);
    }
  }
  const [width, height] = size;
  return coverage({ width, height, shift: [m[3], m[7]], points, lines: ends });
}

/** A name where there is room for it, with a line to it if that is not beside its mark. */
function named(theme, label, { box, leads }) {
  const { text, size, bold, fill, target } = label;
  const shapes = [];
  if (leads) {
    shapes.push({ kind: "lines", xy: leader(label, box), color: theme.soft, width: 1 });
  }
  shapes.push({
    kind: "text",
    x: (box[0] + box[2]) / 2,
    y: (box[1] + box[3]) / 2 + 0.36 * size,
    text,
    size,
    bold,
    fill,
    anchor: "middle",
    halo: theme.ground,
    target,
    box,
  });
  return shapes;
}

/** Dots at nodes, discs if they are to be clicked. */
function nodeDots(theme, tool, { nodes, at, dashOf }, project) {
  const r = nodes.ids.length > MANY_NODES ? 2 : 3.4;
  // Dots between dashes would make a line of them again.
  const shown = tool === "root" || !dashOf ? nodes.ids : [];
  return Array.from(shown, (node) => {
    const [x, y] = project(...at(node));
    return tool === "root"
      ? { kind: "disc", x, y, r, fill: theme.ground, stroke: theme.line, width: 1.4 }
      : { kind: "disc", x, y, r: 1.8, fill: theme.line };
  });
}

/** Tips and forks, and a ring at the roots, which come first. */
function milestoneMarks(app, theme, { project }, at) {
  const { milestones } = app.tree;
  const order = [...milestones.filter((m) => m.isRoot), ...milestones.filter((m) => !m.isRoot)];
  const isDefault = !app.state.is_rooted && app.isStartRoot;
  return order.slice(0, MOST_NAMES).map(({ name, node, isRoot }) => {
    const [x, y] = project(...at(node));
    const disc = { kind: "disc", x, y, fill: theme.line, stroke: theme.ground, width: 1.2, r: 4.2 };
    const ring = { kind: "disc", x, y, r: 8, stroke: theme.accent, width: 3 };
    const role = isDefault ? " (default root)" : " (root)";
    return {
      x,
      y,
      r: isRoot ? 10 : 5,
      isRoot,
      text: `${name}${isRoot ? role : ""}`,
      ...look(theme),
      shapes: isRoot ? [ring, disc] : [disc],
    };
  });
}

function look(theme) {
  return { size: 12.5, bold: true, fill: theme.ink };
}

/** A ring that is seen on any ground. */
function ring(theme, x, y, r, color = theme.ink, dash = undefined) {
  return [
    { kind: "disc", x, y, r, stroke: theme.ground, width: 5 },
    { kind: "disc", x, y, r, stroke: color, width: 2.5, dash },
  ];
}

/** The sample that was looked for. */
function lookedMarks(app, theme, { project, grow }, { positions }) {
  const { row, name } = app.looked ?? { row: -1 };
  if (row < 0) return [];
  const [x, y] = project(...positions.subarray(3 * row, 3 * row + 3));
  const r = app.radii[row] * grow + 6;
  const target = { kind: "looked", row };
  const [halo, line] = ring(theme, x, y, r);
  return [
    { x, y, r: r + 2, text: clipped(name, 30), ...look(theme), target, shapes: [halo, line] },
  ];
}

/**
 * New samples, the newest first; the one that is shown has a ring, those to be careful with a
 * dashed one.
 */
function addedMarks(app, theme, { project }, { placeOf }) {
  const places = app.placesOfAdded();
  const isNamed = places.length <= MOST_NAMED;
  const marks = places.map((sample, k) => {
    const [x, y] = project(...placeOf(sample));
    const { isFar } = sample;
    const isShown = k === app.shownAdded;
    const r = isNamed ? 11 : 6;
    const target = { kind: "added", k };
    const star = { kind: "star", x, y, r, fill: theme.star, stroke: theme.ink };
    const shapes = [
      ...(isShown ? ring(theme, x, y, r + 4) : []),
      ...(isFar ? ring(theme, x, y, r + (isShown ? 9 : 4), theme.problem, [4, 4]) : []),
      { ...star, target, box: [x - r, y - r, x + r, y + r] },
    ];
    const reach = r + (isShown ? 6 : 0) + (isFar ? 5 : 0);
    const text = isNamed ? clipped(sample.id, 30) : "";
    return { x, y, r: reach, text, ...look(theme), target, shapes };
  });
  return marks.reverse();
}

/** At the edge of the picture, towards a mark that is outside of it. */
function arrow(theme, { x, y, text, target }, [left, top, right, bottom], covers) {
  const [cx, cy] = [(left + right) / 2, (top + bottom) / 2];
  const [dx, dy] = [x - cx, y - cy];
  let reach = Math.min(
    (right - EDGE - cx) / Math.max(Math.abs(dx), 1e-9),
    (bottom - EDGE - cy) / Math.max(Math.abs(dy), 1e-9),
  );
  const boxAt = (part) => {
    const [px, py] = [cx + part * dx, cy + part * dy];
    return [px - 14, py - 14, px + 14, py + 14];
  };
  const length = Math.hypot(dx, dy) || 1;
  // Under the legend or a button nobody would see it.
  while (reach > 0 && covers.some((other) => overlap(other, boxAt(reach)))) reach -= 4 / length;
  const [ax, ay] = [cx + reach * dx, cy + reach * dy];
  const [ux, uy] = [dx / length, dy / length];
  const corner = (along, across) => [ax + along * ux - across * uy, ay + along * uy + across * ux];
  const xy = [...corner(13, 0), ...corner(-9, 10), ...corner(-4, 0), ...corner(-9, -10)];
  const shape = {
    kind: "polyline",
    xy,
    closed: true,
    fill: theme.star,
    stroke: theme.ink,
    width: 1.5,
  };
  const hit = { target: { ...target, isOutside: true }, box: boxAt(reach) };
  return { x: ax, y: ay, r: 14, text, ...look(theme), ...hit, shapes: [{ ...shape, ...hit }] };
}
