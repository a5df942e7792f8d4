// What is selected: how many, of which branches and categories, and as a file.

import { toCsv } from "../model/csv.js";
import { download, field, fill, h, select } from "../view/dom.js";
import { clipped, counted, fileName, percent } from "../view/format.js";
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
        h("button", { type: "button", onclick: () => exportCsv(app) }, app.weights ? "All bins as CSV" : "All samples as CSV"),
      );
      return;
    }
    const rows = app.selectedRows;
    const size = app.selectedSize;
    const categories = app.columns.filter((column) => column.kind === "category");
    const options = categories.map((c) => ({ value: c.key, text: clipped(c.name) }));
    const control = select([{ options }], columnKey, (key) => {
      columnKey = key;
      draw();
    });
    const bins = app.weights ? ` in ${counted(rows.length, "bin")}` : "";
    const name = app.selectionName ? `${app.selectionName}: ` : "";
    fill(
      body,
      h("p", {}, `${clipped(name, 60)}${counted(size, "sample")}${bins} (${percent(size / app.state.n_samples)} of all).`),
      h(
        "div",
        { class: "row" },
        h("button", { type: "button", class: "primary", onclick: () => exportCsv(app) }, "Selection as CSV"),
        h("button", { type: "button", onclick: () => app.clearSelection() }, "Clear"),
      ),
      field("Composition by", control),
      compositionTable(app, app.column(columnKey), app.selection),
      h("h4", {}, app.weights ? "Bins" : "Samples"),
      h(
        "ul",
        { class: "ids" },
        rows.slice(0, MOST_ROWS).map((i) =>
          h("li", {}, h("button", { type: "button", class: "link", onclick: () => app.find(i) }, clipped(app.label(i), 40)), ` ${app.tree.branches[app.placed.branch[i]].name}`),
        ),
      ),
      rows.length > MOST_ROWS ? h("p", { class: "hint" }, `The first ${MOST_ROWS} of ${counted(rows.length, app.weights ? "bin" : "sample")}; the file has all.`) : null,
    );
  }

  app.on("root selection", draw);
  draw();
  return h("div", { class: "panel" }, body);
}

function exportCsv(app) {
  const kind = app.selection ? "selection" : "samples";
  download(`${fileName(app.state.title)}-${kind}.csv`, rowsCsv(app), "text/csv");
}

/** The selected rows, or all of them, with all that the page knows of them. */
export function rowsCsv(app) {
  const { samples, bins, dims, axes } = app.state;
  const rows = app.selection ? app.selectedRows : Array.from({ length: app.nRows }, (_, i) => i);
  const first = samples.ids ? "sample" : "bin";
  const shown = app.table.filter((column) => column.name !== "distance from the tree");
  const names = [
    first, ...(bins ? ["samples"] : []), "branch", "branch_position", "pseudotime", "distance",
    ...axes.slice(0, dims), ...shown.map((column) => column.name),
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
      samples.distance[i],
      ...Array.from({ length: dims }, (_, k) => samples.points[dims * i + k] / scale),
      ...shown.map((column) => cell(column, i)),
    ]),
  );
}

function cell(column, i) {
  if (column.kind === "number") return column.values[i];
  return column.codes[i] < 0 ? "" : column.labels[column.codes[i]];
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
