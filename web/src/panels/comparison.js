// Two groups of samples, feature by feature.

import { toCsv } from "../model/csv.js";
import { download, h } from "../view/dom.js";
import { clipped, counted, fileName, number } from "../view/format.js";
import { tableHead } from "./glossary.js";

const MOST_FEATURES = 15;

/**
 * The features that differ most, and what the numbers are.
 * @param {object} app
 * @param {object} groups app.groups
 * @param {boolean} showsAll
 * @param {function(): void} toggle show all features, or the first again
 */
export function comparison(app, groups, showsAll, toggle) {
  if (!app.features.length) {
    return h("p", { class: "hint" }, "This page holds no values of features to compare.");
  }
  const found = app.compareFeatures(groups);
  const shown = showsAll ? found : found.slice(0, MOST_FEATURES);
  const head = tableHead(app, [
    ...groups.names.map((name) => `mean, ${name}`),
    ["differs by", "difference"],
    ["effect d", "effect d"],
    ["p", "p-value"],
    ["adjusted p", "adjusted p-value"],
  ]);
  return h(
    "section",
    {},
    h("h4", {}, "Features that differ most, by the size of effect d"),
    h(
      "table",
      { class: "numbers tight compared" },
      head,
      shown.map((row) => featureRows(app, row)),
    ),
    found.length > MOST_FEATURES
      ? h(
          "button",
          { type: "button", class: "link", "data-key": "all features", onclick: toggle },
          showsAll
            ? `Show the first ${MOST_FEATURES}`
            : `Show all ${counted(found.length, "feature")}`,
        )
      : null,
    h("p", { class: "hint" }, meaning(app, found)),
  );
}

/** A feature: its name, and its numbers below, where there is room for them. */
function featureRows(app, row) {
  const name = h(
    "button",
    {
      type: "button",
      class: "link",
      title: row.column.name,
      "data-key": `feature ${row.column.key}`,
      onclick: () => app.showFeature(row.column.key),
    },
    clipped(row.column.name, 40),
  );
  return h(
    "tbody",
    {},
    h("tr", {}, h("th", { scope: "rowgroup", colspan: "6" }, name)),
    h(
      "tr",
      { title: `known values: ${number(row.nA)} and ${number(row.nB)}` },
      [row.meanA, row.meanB, row.difference].map((value) => h("td", {}, short(value))),
      h("td", {}, number(row.effect, 2)),
      h("td", {}, pText(row.p)),
      h("td", {}, pText(row.adjusted)),
    ),
  );
}

/** What was computed, and what it is good for. */
function meaning(app, found) {
  const nTested = found.filter((row) => !Number.isNaN(row.p)).length;
  const bins = app.weights
    ? " Bins are taken whole; the numbers are those of the samples in them. Medians cannot be told of bins."
    : "";
  return (
    "p: Welch's t-test of the two means, two-sided; adjusted (Benjamini and Hochberg) for the " +
    `${counted(nTested, "feature")} of this page that could be tested. ` +
    "The groups were chosen by looking at the same data, so p-values rank the features and prove nothing." +
    ` No p: fewer than two values in a group, or no spread in either.${bins}`
  );
}

/** A number that fits into a narrow column. */
function short(value) {
  const isSmall = value !== 0 && Math.abs(value) < 0.001;
  return isSmall ? value.toExponential(1).replaceAll("-", "−") : number(value, 3);
}

/** A p-value as a table has it. */
export function pText(p) {
  if (Number.isNaN(p)) return "–";
  if (p < 1e-300) return "<1e−300";
  if (p < 0.001) return p.toExponential(0).replace("-", "−");
  return String(Number(p.toPrecision(2)));
}

/** Give all features as a file. */
export function saveFeatures(app, groups) {
  const [a, b] = groups.names;
  const names = ["feature", `n_${a}`, `n_${b}`, `mean_${a}`, `mean_${b}`];
  const text = toCsv(
    [...names, "difference", "effect_d", "p", "p_adjusted"],
    app
      .compareFeatures(groups)
      .map((row) => [
        row.column.name,
        row.nA,
        row.nB,
        row.meanA,
        row.meanB,
        row.difference,
        row.effect,
        row.p,
        row.adjusted,
      ]),
  );
  download(`${fileName(app.state.title)}-features.csv`, text, "text/csv");
}
