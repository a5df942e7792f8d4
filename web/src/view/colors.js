// From values to colours that colour-blind readers can tell apart, on light and on dark ground.

import { categoryCounts, weightsOf } from "../data.js";

// Okabe and Ito's colours and eight more, as in branchwise.plotting.coloring; the last eight are triangles.
// prettier-ignore
const LIGHT = [
  "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#F0E442", "#000000",
  "#5A2D00", "#9600F0", "#001E87", "#B4FFA5", "#4B2D5A", "#9687FF", "#C3A55A", "#872D3C",
];
// On dark ground black becomes white, and the other eight are chosen again: each the colour farthest
// from the ground, greys and all before it in CIE Lab, for the worst of four kinds of vision
// (16.6 or more), among colours with a contrast of at least 3 to the ground.
// prettier-ignore
const DARK = [
  "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#F0E442", "#FFFFFF",
  "#9600F0", "#B4FFA5", "#A54B3C", "#C3A55A", "#E13CFF", "#78FFC3", "#D200B4", "#87C387",
];
const CATEGORY = { light: LIGHT, dark: DARK };
// Branches have colours that no category has. Light ones as in branchwise.plotting.coloring; dark ones
// found by the same search, for the worst of four kinds of vision, with a contrast of at least 3 to
// the ground: the first four are 30 from one another, the first eight 14.4 from one another, greys
// and Okabe and Ito's colours and 11.6 from the other categories', and all 11.5 from everything.
const BRANCH = {
  // prettier-ignore
  light: [
    "#690F78", "#B41E00", "#785AE1", "#87E15A", "#00E196", "#965A3C", "#784B78", "#B4D2F0",
    "#B41EA5", "#78A569", "#3C1E1E", "#0F3CD2", "#A587C3", "#F0004B", "#2D2D3C", "#692DB4",
  ],
  // prettier-ignore
  dark: [
    "#C32D1E", "#874BD2", "#A5E1FF", "#C3B4A5", "#FF4B69", "#0F87FF", "#D2FF87", "#A5D25A",
    "#D2D2D2", "#785A87", "#F0FF1E", "#8787E1", "#96962D", "#00D21E", "#A5783C", "#B487C3",
  ],
};
const MISSING = { light: "#BDBDBD", dark: "#5C6068" };
const OTHER = { light: "#737373", dark: "#9EA3AB" };
const N_CIRCLES = 8;
const MOST_CATEGORIES = LIGHT.length;

// Viridis at every sixteenth.
// prettier-ignore
const VIRIDIS = [
  "#440154", "#48186a", "#472d7b", "#424086", "#3b528b", "#33638d", "#2c728e", "#26828e", "#21918c",
  "#1fa088", "#28ae80", "#3fbc73", "#5ec962", "#84d44b", "#addc30", "#d8e219", "#fde725",
].map(rgb);
// The dark end would be lost on dark ground.
const RANGE = { light: [0, 1], dark: [0.22, 1] };

/** Red, green and blue, from 0 to 255, of "#rrggbb". */
export function rgb(hex) {
  return [1, 3, 5].map((k) => Number.parseInt(hex.slice(k, k + 2), 16));
}

/** The colour of a part from 0 to 1 of the scale of numbers. */
export function viridis(part, theme) {
  const [from, to] = RANGE[theme];
  const at = (from + (to - from) * Math.min(Math.max(part, 0), 1)) * (VIRIDIS.length - 1);
  const k = Math.min(Math.floor(at), VIRIDIS.length - 2);
  return VIRIDIS[k].map((value, c) => Math.round(value + (at - k) * (VIRIDIS[k + 1][c] - value)));
}

/** "rgb(…)" */
export function css([r, g, b], alpha = 1) {
  return alpha === 1 ? `rgb(${r}, ${g}, ${b})` : `rgba(${r}, ${g}, ${b}, ${alpha})`;
}

/** Contrast of two colours as WCAG defines it, from 1 to 21. */
export function contrast(one, other) {
  const light = (color) => {
    const parts = color.map((v) => v / 255);
    const linear = parts.map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
  };
  const [a, b] = [light(one), light(other)].sort((x, y) => y - x);
  return (a + 0.05) / (b + 0.05);
}

/**
 * How each row is coloured, and what a legend says of it.
 * @param {{name: string, kind: string, unit?: string, values?: ArrayLike<number>,
 *   codes?: ArrayLike<number>, labels?: string[]}} column codes below 0 are missing
 * @param {"light"|"dark"} theme
 * @param {ArrayLike<number>|null} weights how many samples each row stands for
 */
export function colorize(column, theme, weights = null) {
  return column.kind === "number"
    ? byNumber(column, theme, weights)
    : byCategory(column, theme, weights);
}

function byNumber(column, theme, weights) {
  const { values } = column;
  const [low, high] = extent(values);
  const span = high - low;
  const table = Array.from({ length: 257 }, (_, k) => viridis(k / 256, theme));
  const missing = rgb(MISSING[theme]);
  const rgba = new Uint8Array(4 * values.length);
  const nKnown = weightsOf(column, weights);
  let nMissing = 0;
  for (let i = 0; i < values.length; i += 1) {
    const known = !Number.isNaN(values[i]);
    nMissing += (weights ? weights[i] : 1) - (known ? (nKnown ? nKnown[i] : 1) : 0);
    const part = span > 0 ? (values[i] - low) / span : 0.5;
    const color = known ? table[Math.round(256 * Math.min(Math.max(part, 0), 1))] : missing;
    rgba.set(color, 4 * i);
    rgba[4 * i + 3] = 255;
  }
  return {
    kind: "number",
    name: column.name,
    unit: column.unit ?? "",
    rgba,
    shapes: new Uint8Array(values.length),
    low,
    high,
    nMissing,
    missing: MISSING[theme],
    scale: (part) => css(viridis(part, theme)),
  };
}

/** The least and the largest finite value. */
export function extent(values) {
  let [low, high] = [Infinity, -Infinity];
  for (const value of values) {
    if (Number.isFinite(value)) {
      if (value < low) low = value;
      if (value > high) high = value;
    }
  }
  return low <= high ? [low, high] : [0, 0];
}

/** Colours for categories, or branches, in their order; of too many, the largest have their own. */
export function categoryColors(counts, theme, isBranch = false) {
  const palette = (isBranch ? BRANCH : CATEGORY)[theme];
  if (counts.length <= MOST_CATEGORIES) {
    return counts.map((_, k) => ({ color: palette[k], shape: k < N_CIRCLES ? 0 : 1, own: true }));
  }
  const order = counts.map((_, k) => k).sort((a, b) => counts[b] - counts[a] || a - b);
  const kept = order.slice(0, MOST_CATEGORIES - 1).sort((a, b) => a - b);
  const styles = counts.map(() => ({ color: OTHER[theme], shape: 0, own: false }));
  kept.forEach((category, k) => {
    styles[category] = { color: palette[k], shape: k < N_CIRCLES ? 0 : 1, own: true };
  });
  return styles;
}

function byCategory(column, theme, weights) {
  const { codes, labels } = column;
  const { counts, nMissing } = categoryCounts(column, null, weights);
  const styles = categoryColors(counts, theme, column.key === "branch");
  const colors = styles.map((style) => rgb(style.color));
  const missing = rgb(MISSING[theme]);
  const rgba = new Uint8Array(4 * codes.length);
  const shapes = new Uint8Array(codes.length);
  for (let i = 0; i < codes.length; i += 1) {
    rgba.set(codes[i] < 0 ? missing : colors[codes[i]], 4 * i);
    rgba[4 * i + 3] = 255;
    shapes[i] = codes[i] < 0 ? 0 : styles[codes[i]].shape;
  }
  const entries = labels.map((label, k) => ({ label, count: counts[k], code: k, ...styles[k] }));
  const own = entries.filter((entry) => entry.own);
  const others = entries.filter((entry) => !entry.own);
  return {
    kind: "category",
    name: column.name,
    unit: column.unit ?? "",
    rgba,
    shapes,
    entries: own,
    styles,
    nOthers: others.length,
    otherCount: others.reduce((sum, entry) => sum + entry.count, 0),
    other: OTHER[theme],
    nMissing,
    missing: MISSING[theme],
  };
}
