// Branches: how many samples, of which kinds, and which features set them apart.

import { categoryCounts, weightsOf } from "../data.js";
import { standardisedDifference, summarise } from "../model/stats.js";
import { field, fill, h, select, swatch } from "../view/dom.js";
import { clipped, counted, grouped, number, percent } from "../view/format.js";

const MOST_BRANCHES = 100;
const MOST_FEATURES = 12;

export function branchPanel(app) {
  const list = h("div", { class: "scroll" });
  const detail = h("div", { class: "detail" });
  const categories = app.table.filter((column) => column.kind === "category");
  const chosenBranch = () => {
    const [column, code] = app.selectionKey.split("/");
    return column === "branch" ? Number(code) : -1;
  };
  let chosen = -1;
  let columnKey = categories.length ? categories[0].key : null;

  function drawList() {
    const { branches } = app.tree;
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
      );
    });
    const head = ["branch", "samples", "share", "length", "after"].map((name) =>
      h("th", { scope: "col" }, name),
    );
    fill(
      list,
      h("table", { class: "numbers" }, h("thead", {}, h("tr", {}, head)), h("tbody", {}, rows)),
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
      );
      return;
    }
    const branch = app.tree.branches[chosen];
    const inside = Uint8Array.from(app.placed.branch, (b) => (b === chosen ? 1 : 0));
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
      compositionTable(app, column, inside),
    );
  }

  function featureSummary(inside) {
    if (!app.features.length) return null;
    const found = app.features
      .map((column) => ({
        column,
        here: summarise(...among(column, inside, app.weights, 1)),
        elsewhere: summarise(...among(column, inside, app.weights, 0)),
        difference: standardisedDifference(column.values, inside, weightsOf(column, app.weights)),
      }))
      .filter((row) => row.here.n > 0)
      .sort((a, b) => Math.abs(b.difference || 0) - Math.abs(a.difference || 0))
      .slice(0, MOST_FEATURES);
    const binned = Boolean(app.weights);
    const head = ["feature", "mean", ...(binned ? [] : ["median"]), "others", "d"];
    return h(
      "section",
      {},
      h("h4", {}, found.length < app.features.length ? "Features that differ most" : "Features"),
      h(
        "table",
        { class: "numbers tight" },
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            head.map((name) => h("th", { scope: "col" }, name)),
          ),
        ),
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
              h("td", {}, number(row.here.mean, 3)),
              binned ? null : h("td", {}, number(row.here.median, 3)),
              h("td", {}, number(row.elsewhere.mean, 3)),
              h("td", {}, number(row.difference, 2)),
            ),
          ),
        ),
      ),
      h(
        "p",
        { class: "hint" },
        binned
          ? "others: mean elsewhere; d: difference of the means, in standard deviations of the bins' means."
          : "others: mean elsewhere; d: difference of the means, in standard deviations.",
      ),
    );
  }

  function draw() {
    chosen = chosenBranch();
    drawList();
    drawDetail();
  }

  app.on("root theme", draw);
  app.on("selection", () => {
    if (chosenBranch() !== chosen) draw();
  });
  draw();
  return h("div", { class: "panel" }, list, detail);
}

/** The values of a column in some rows, and how many samples each stands for. */
function among(column, inside, weights, wanted) {
  const { values } = column;
  const sizes = weightsOf(column, weights);
  const rows = [];
  for (let i = 0; i < values.length; i += 1) if (inside[i] === wanted) rows.push(i);
  return [rows.map((i) => values[i]), sizes ? rows.map((i) => sizes[i]) : null];
}

/** How many samples of each category are among some rows, as bars. */
export function compositionTable(app, column, inside) {
  const { counts, nMissing } = categoryCounts(column, inside, app.weights);
  const total = counts.reduce((sum, count) => sum + count, 0);
  const rows = column.labels
    .map((label, k) => ({ label, count: counts[k] }))
    .filter((row) => row.count)
    .sort((a, b) => b.count - a.count);
  const shown = rows.slice(0, 20);
  return h(
    "table",
    { class: "bars" },
    h(
      "tbody",
      {},
      shown.map(({ label, count }) => {
        const bar = h("span", { class: "bar" });
        bar.style.width = `${(100 * count) / total}%`;
        return h(
          "tr",
          {},
          h("th", { scope: "row", title: label }, clipped(label, 22)),
          h("td", { class: "track" }, bar),
          h("td", {}, grouped(count)),
          h("td", {}, percent(count / total)),
        );
      }),
      rows.length > shown.length
        ? h("tr", {}, h("th", { scope: "row" }, `${rows.length - shown.length} more`))
        : null,
      nMissing
        ? h(
            "tr",
            {},
            h("th", { scope: "row" }, "missing"),
            h("td", {}),
            h("td", {}, grouped(nMissing)),
          )
        : null,
    ),
  );
}
