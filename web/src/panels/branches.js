// Branches: how many samples, of which kinds, and which features set them apart.

import { categoryCounts, compareFeatures, weightsOf } from "../data.js";
import { summarise } from "../model/stats.js";
import { field, fill, h, select, swatch } from "../view/dom.js";
import { clipped, counted, grouped, number, percent } from "../view/format.js";
import { tableHead } from "./glossary.js";

const MOST_BRANCHES = 100;
const MOST_FEATURES = 12;
const MOST_CATEGORIES = 20;
// A branch with samples along this part of it is not said to have gaps.
const MOSTLY = 0.95;

export function branchPanel(app) {
  const list = h("div", { class: "scroll" });
  const detail = h("div", { class: "detail" });
  const categories = app.table.filter((column) => column.kind === "category");
  const chosenBranch = () => {
    const [column, code] = app.selectionKey.split("/");
    return column === "branch" ? Number(code) : -1;
  };
  let chosen = -1;
  let columnKey = colorCategory(app, categories) ?? categories[0]?.key ?? null;

  function drawList() {
    const { branches } = app.tree;
    const hasSupport = Boolean(app.state.evidence?.support);
    const order = branches.map((_, k) => k);
    if (branches.length > MOST_BRANCHES) {
      order.sort((a, b) => app.branchSizes[b] - app.branchSizes[a] || a - b);
    }
    const rows = order.slice(0, MOST_BRANCHES).map((k) => {
      const { color, shape } = app.branchColoring.styles[k];
      const name = h(
        "button",
        {
          type: "button",
          class: "link",
          "aria-pressed": String(k === chosen),
          "data-key": `branch ${k}`,
          disabled: app.branchSizes[k] === 0,
          onclick: () => app.toggleCategory(app.computed[0], k),
        },
        swatch(color, shape),
        branches[k].name,
      );
      return h(
        "tr",
        { class: k === chosen ? "chosen" : null },
        h("th", { scope: "row" }, name),
        h("td", {}, grouped(app.branchSizes[k])),
        h("td", {}, percent(app.branchSizes[k] / app.state.n_samples)),
        h("td", {}, number(branches[k].length, 3)),
        h("td", {}, branches[k].parent || "–"),
        hasSupport ? h("td", {}, foundAgain(app.branchSure(k))) : null,
      );
    });
    const head = tableHead(app, [
      ["branch", "branch"],
      "samples",
      ["share", "share"],
      ["length", "length"],
      ["comes after", "after"],
      ...(hasSupport ? [["found again", "support"]] : []),
    ]);
    fill(
      list,
      h("table", { class: "numbers" }, head, h("tbody", {}, rows)),
      branches.length > MOST_BRANCHES
        ? h(
            "p",
            { class: "hint" },
            `The ${MOST_BRANCHES} largest of ${counted(branches.length, "branch")}.`,
          )
        : null,
    );
  }

  function drawDetail() {
    if (chosen < 0) {
      fill(
        detail,
        h("p", { class: "hint" }, "Choose a branch to highlight it and to see what is on it."),
        wholeSection(app),
      );
      return;
    }
    const branch = app.tree.branches[chosen];
    const inside = Uint8Array.from(app.placed.branch, (b) => (b === chosen ? 1 : 0));
    const sure = app.branchSure(chosen);
    fill(
      detail,
      h("h3", {}, branch.name),
      h(
        "p",
        {},
        `${counted(app.branchSizes[chosen], "sample")} (${percent(app.branchSizes[chosen] / app.state.n_samples)}), ` +
          `pseudotime ${number(branch.startTime)} to ${number(branch.endTime)}, length ${number(branch.length)} ` +
          "in units of the data.",
      ),
      h("p", { class: "sure" }, `${sure.words} ${occupiedWords(sure)}`.trim()),
      composition(inside),
      featureSummary(inside),
    );
  }

  function composition(inside) {
    if (!columnKey) return null;
    const column = app.column(columnKey);
    const options = categories.map((c) => ({ value: c.key, text: clipped(c.name) }));
    const choose = (key) => {
      columnKey = key;
      drawDetail();
    };
    const control = select([{ options }], columnKey, choose, "composition");
    return h(
      "section",
      {},
      field("Composition by", control),
      compositionTable(app, column, [{ name: "branch", inside }]),
    );
  }

  function featureSummary(inside) {
    if (!app.features.length) return null;
    const side = inside.map((on) => (on ? 1 : 2));
    const found = compareFeatures(app.features, side, app.weights)
      .filter((row) => row.nA > 0)
      .slice(0, MOST_FEATURES);
    const binned = Boolean(app.weights);
    const median = (row) => summarise(...among(row.column, inside, app.weights, 1)).median;
    return h(
      "section",
      {},
      h("h4", {}, found.length < app.features.length ? "Features that differ most" : "Features"),
      h(
        "table",
        { class: "numbers tight" },
        tableHead(app, [
          "feature",
          "mean here",
          ...(binned ? [] : ["median here"]),
          "mean, others",
          ["effect d", "effect d"],
        ]),
        h(
          "tbody",
          {},
          found.map((row) =>
            h(
              "tr",
              {},
              h(
                "th",
                { scope: "row" },
                h(
                  "button",
                  {
                    type: "button",
                    class: "link",
                    title: row.column.name,
                    onclick: () => app.showFeature(row.column.key),
                  },
                  clipped(row.column.name, 40),
                ),
              ),
              h("td", {}, number(row.meanA, 3)),
              binned ? null : h("td", {}, number(median(row), 3)),
              h("td", {}, number(row.meanB, 3)),
              h("td", {}, number(row.effect, 2)),
            ),
          ),
        ),
      ),
      h(
        "p",
        { class: "hint" },
        "Here: this branch; others: all other branches. Effect d: difference of the means, in standard deviations.",
      ),
    );
  }

  function draw() {
    chosen = chosenBranch();
    drawList();
    drawDetail();
  }

  app.on("root theme", draw);
  app.on("color", () => {
    columnKey = colorCategory(app, categories) ?? columnKey;
    drawDetail();
  });
  app.on("selection", () => {
    if (chosenBranch() !== chosen) draw();
  });
  draw();
  return h("div", { class: "panel" }, list, detail);
}

/** The key of the colour, if it is one of some categories. */
export function colorCategory(app, categories) {
  return categories.find((column) => column.key === app.colorKey)?.key ?? null;
}

/** In how many resamples a branch was found again, for the table. */
function foundAgain({ support, n }) {
  return support === null ? "–" : `${Math.round(support * n)} of ${n}`;
}

function occupiedWords({ occupied }) {
  if (occupied === null || occupied >= MOSTLY) return "";
  return `Samples lie along ${percent(occupied)} of its length; the rest is a gap.`;
}

/** What the fit found of the whole tree, and how sure it is. */
function wholeSection(app) {
  const found = app.state.evidence?.found ?? [];
  if (!found.length) return null;
  return h(
    "section",
    { "aria-label": "How sure the tree is" },
    h("h4", {}, "How sure the tree is"),
    h(
      "ul",
      { class: "sentences" },
      found.map((sentence) => h("li", {}, sentence)),
    ),
    app.isStartRoot
      ? null
      : h("p", { class: "hint" }, "Branches are counted and named here as at the first root."),
  );
}

/** The values of a column in some rows, and how many samples each stands for. */
function among(column, inside, weights, wanted) {
  const { values } = column;
  const sizes = weightsOf(column, weights);
  const rows = [];
  for (let i = 0; i < values.length; i += 1) if (inside[i] === wanted) rows.push(i);
  return [rows.map((i) => values[i]), sizes ? rows.map((i) => sizes[i]) : null];
}

/**
 * How many samples of each category are in one or two groups of rows, as bars and numbers.
 * @param {object} app
 * @param {object} column
 * @param {{name: string, inside: ArrayLike<number | boolean>}[]} groups
 */
export function compositionTable(app, column, groups) {
  const found = groups.map(({ inside }) => {
    const { counts, nMissing } = categoryCounts(column, inside, app.weights);
    return { counts, nMissing, total: counts.reduce((sum, count) => sum + count, 0) };
  });
  const most = (k) => Math.max(...found.map(({ counts, total }) => counts[k] / total || 0));
  const rows = column.labels.map((_, k) => k).filter((k) => most(k) > 0);
  // The most frequent of the first group come first, then those that only the second has.
  const count = (k) => found[0].counts[k];
  rows.sort((a, b) => count(b) - count(a) || most(b) - most(a));
  const shown = rows.slice(0, MOST_CATEGORIES);
  const bar = (part, g) => {
    const element = h("span", { class: g ? "bar second" : "bar" });
    element.style.width = `${100 * part}%`;
    return part > 0 ? element : null;
  };
  const body = shown.map((k) =>
    h(
      "tr",
      {},
      h("th", { scope: "row", title: column.labels[k] }, clipped(column.labels[k], 22)),
      h(
        "td",
        { class: "track", "aria-hidden": "true" },
        found.map(({ counts, total }, g) => bar(counts[k] / total, g)),
      ),
      found.flatMap(({ counts, total }) => [
        h("td", {}, grouped(counts[k])),
        h("td", {}, percent(counts[k] / total)),
      ]),
    ),
  );
  const isMissing = found.some(({ nMissing }) => nMissing);
  return h(
    "table",
    { class: "bars" },
    groups.length > 1 ? compositionHead(groups) : null,
    h(
      "tbody",
      {},
      body,
      rows.length > shown.length
        ? h("tr", {}, h("th", { scope: "row" }, `${rows.length - shown.length} more`))
        : null,
      isMissing
        ? h(
            "tr",
            {},
            h("th", { scope: "row" }, "missing"),
            h("td", {}),
            found.flatMap(({ nMissing }) => [h("td", {}, grouped(nMissing)), h("td", {})]),
          )
        : null,
    ),
  );
}

/** Which two groups the numbers are of. */
function compositionHead(groups) {
  const cells = groups.map(({ name }) => h("th", { scope: "colgroup", colspan: "2" }, name));
  return h("thead", {}, h("tr", {}, h("td", {}), h("td", {}), cells));
}
