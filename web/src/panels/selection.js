// What is selected: how many, of which branches and categories, and as a file.

import { toCsv } from "../model/csv.js";
import { download, field, fill, h, select } from "../view/dom.js";
import { clipped, counted, fileName, number, percent, shortest } from "../view/format.js";
import { compositionTable } from "./branches.js";

const MOST_ROWS = 50;

export function selectionPanel(app) {
  const body = h("div", {});
  let columnKey = "branch";

  function draw() {
    if (!app.selection) {
      fill(
        body,
        h(
          "p",
          { class: "hint" },
          "Nothing is selected. Draw around samples with the lasso (or with Shift held), click a sample, a branch or an entry of the legend.",
        ),
        h(
          "button",
          { type: "button", onclick: () => exportCsv(app) },
          app.weights ? "All bins as CSV" : "All samples as CSV",
        ),
      );
      return;
    }
    const rows = app.selectedRows;
    const size = app.selectedSize;
    const categories = app.columns.filter((column) => column.kind === "category");
    const options = categories.map((c) => ({ value: c.key, text: clipped(c.name) }));
    const choose = (key) => {
      columnKey = key;
      draw();
    };
    const control = select([{ options }], columnKey, choose, "composition");
    const bins = app.weights ? ` in ${counted(rows.length, "bin")}` : "";
    const name = app.selectionName ? `${app.selectionName}: ` : "";
    fill(
      body,
      h(
        "p",
        {},
        `${clipped(name, 60)}${counted(size, "sample")}${bins} (${percent(size / app.state.n_samples)} of all).`,
      ),
      h(
        "div",
        { class: "row" },
        h(
          "button",
          { type: "button", class: "primary", onclick: () => exportCsv(app) },
          "Selection as CSV",
        ),
        h("button", { type: "button", onclick: () => app.clearSelection() }, "Clear"),
      ),
      rows.length === 1
        ? values(app, rows[0])
        : [
            field("Composition by", control),
            compositionTable(app, app.column(columnKey), app.selection),
          ],
      rows.length === 1 ? null : h("h4", {}, app.weights ? "Bins" : "Samples"),
      rows.length === 1
        ? null
        : h(
            "ul",
            { class: "ids" },
            rows.slice(0, MOST_ROWS).map((i) =>
              h(
                "li",
                {},
                h(
                  "button",
                  {
                    type: "button",
                    class: "link",
                    "data-key": `row ${i}`,
                    onclick: () => app.lookAt(i),
                  },
                  clipped(app.label(i), 40),
                ),
                ` ${app.tree.branches[app.placed.branch[i]].name}`,
              ),
            ),
          ),
      rows.length > MOST_ROWS
        ? h(
            "p",
            { class: "hint" },
            `The first ${MOST_ROWS} of ${counted(rows.length, app.weights ? "bin" : "sample")}; the file has all.`,
          )
        : null,
    );
  }

  app.on("root selection", draw);
  draw();
  return h("div", { class: "panel" }, body);
}

/** All that the page knows of one row. */
function values(app, i) {
  const rows = [
    ["branch", app.tree.branches[app.placed.branch[i]].name],
    ["position on it", percent(app.placed.branchPosition[i])],
    ["pseudotime", number(app.placed.pseudotime[i], 6)],
    ...app.table.map((column) => [column.name, app.value(column, i)]),
  ];
  return h(
    "dl",
    { class: "values" },
    rows.flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]),
  );
}

function exportCsv(app) {
  const kind = app.selection ? "selection" : "samples";
  download(`${fileName(app.state.title)}-${kind}.csv`, rowsCsv(app), "text/csv");
}

/** The selected rows, or all of them, with all that the page knows of them. */
function rowsCsv(app) {
  const { samples, bins, dims, axes } = app.state;
  const rows = app.selection ? app.selectedRows : Array.from({ length: app.nRows }, (_, i) => i);
  const first = samples.ids ? "sample" : "bin";
  const shown = app.table.filter(
    (column) => column.group !== "computed" || column.name !== "distance from the tree",
  );
  const names = [
    first,
    ...(bins ? ["samples"] : []),
    "branch",
    "branch_position",
    "pseudotime",
    "distance",
    ...axes.slice(0, dims),
    ...shown.flatMap((column) => headers(column, Boolean(bins))),
  ];
  const { scale } = app.graph;
  return toCsv(
    distinctNames(names),
    rows.map((i) => [
      samples.ids ? samples.ids[i] : i,
      ...(bins ? [bins.count[i]] : []),
      app.tree.branches[app.placed.branch[i]].name,
      app.placed.branchPosition[i],
      app.placed.pseudotime[i],
      written(samples.distance, i),
      ...Array.from({ length: dims }, (_, k) => written(samples.points, dims * i + k, scale)),
      ...shown.flatMap((column) => cells(column, i)),
    ]),
  );
}

/** A column of bins says what was made of its samples. */
function headers(column, isBinned) {
  if (!isBinned) return [column.name];
  if (column.kind === "number") return [`${column.name} (mean)`];
  return [`${column.name} (most frequent)`, `${column.name} (share)`];
}

function cells(column, i) {
  if (column.kind === "number") return [written(column.values, i)];
  const label = column.codes[i] < 0 ? "" : column.labels[column.codes[i]];
  return column.share ? [label, written(column.share, i)] : [label];
}

/** A number with the digits that it has. */
function written(values, i, divisor = 1) {
  const value = values[i] / divisor;
  return values instanceof Float32Array ? shortest(Math.fround(value)) : value;
}

/** Names with underscores after those that stand before. */
export function distinctNames(names) {
  const taken = new Set();
  return names.map((name) => {
    let free = name;
    while (taken.has(free)) free += "_";
    taken.add(free);
    return free;
  });
}
