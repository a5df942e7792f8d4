// What is selected: how many, what they are made of, how they differ from others; and as a file.

import { toCsv } from "../model/csv.js";
import { download, field, fill, h, select } from "../view/dom.js";
import { clipped, counted, fileName, number, percent, shortest } from "../view/format.js";
import { colorCategory, compositionTable } from "./branches.js";
import { comparison, saveFeatures } from "./comparison.js";

const MOST_ROWS = 50;

export function selectionPanel(app) {
  const element = h("div", { class: "panel" });
  const categories = () => app.columns.filter((column) => column.kind === "category");
  let columnKey = colorCategory(app, categories()) ?? "branch";
  let showsAll = false;
  let isStale = true;

  /** To compare all features takes a moment: not while nobody sees it. */
  function draw() {
    isStale = element.closest("[hidden]") !== null;
    if (isStale) return;
    const groups = app.groups;
    fill(
      element,
      head(app),
      groups ? keeping(app) : null,
      groups ? comparedSection(groups) : null,
      app.selectedRows.length > 1 ? idList(app) : null,
    );
  }

  function comparedSection(groups) {
    // Of a single sample there is nothing to compare: it has its values.
    if (!app.kept.A && app.selectedRows.length === 1) return values(app, app.selectedRows[0]);
    const options = categories().map((c) => ({ value: c.key, text: clipped(c.name) }));
    const choose = (key) => {
      columnKey = key;
      draw();
    };
    const inGroup = (which) => groups.side.map((side) => (side === which ? 1 : 0));
    const sides = groups.names.map((name, k) => ({ name, inside: inGroup(k + 1) }));
    return h(
      "section",
      { "aria-label": "Comparison" },
      h("h3", {}, title(groups)),
      groups.nBoth
        ? h(
            "p",
            { class: "warning" },
            `${counted(groups.nBoth, "sample")} in both A and B ${groups.nBoth === 1 ? "is" : "are"} left out of the comparison.`,
          )
        : null,
      h(
        "div",
        { class: "row" },
        app.kept.A
          ? h(
              "button",
              { type: "button", onclick: () => exportGroups(app, groups) },
              "Compared samples as CSV",
            )
          : null,
        app.features.length
          ? h(
              "button",
              { type: "button", onclick: () => saveFeatures(app, groups) },
              "Feature table as CSV",
            )
          : null,
      ),
      field("Composition by", select([{ options }], columnKey, choose, "composition")),
      compositionTable(app, app.column(columnKey), sides),
      comparison(app, groups, showsAll, () => {
        showsAll = !showsAll;
        draw();
      }),
    );
  }

  app.on("root selection kept", draw);
  app.on("color", () => {
    const key = colorCategory(app, categories());
    if (key === null || key === columnKey) return;
    columnKey = key;
    draw();
  });
  app.on("tab", () => {
    if (isStale) draw();
  });
  draw();
  return element;
}

/** How many are selected, and what can be done with them. */
function head(app) {
  const rows = app.selectedRows;
  const save = (words, isPrimary) =>
    h(
      "button",
      { type: "button", class: isPrimary ? "primary" : null, onclick: () => exportCsv(app) },
      words,
    );
  if (!rows.length) {
    return h(
      "div",
      {},
      h(
        "p",
        { class: "hint" },
        "Nothing is selected. Draw around samples with the lasso (or with Shift held), click a sample, a branch or an entry of the legend.",
      ),
      save(app.weights ? "All bins as CSV" : "All samples as CSV"),
    );
  }
  const size = app.selectedSize;
  const bins = app.weights ? ` in ${counted(rows.length, "bin")}` : "";
  const name = app.selectionName ? `${app.selectionName}: ` : "";
  return h(
    "div",
    {},
    h(
      "p",
      {},
      `${clipped(name, 60)}${counted(size, "sample")}${bins} (${percent(size / app.state.n_samples)} of all).`,
    ),
    h(
      "div",
      { class: "row" },
      save("Selection as CSV", true),
      h("button", { type: "button", onclick: () => app.clearSelection() }, "Clear"),
    ),
  );
}

/** Selections that are kept to be compared. */
function keeping(app) {
  const { A, B } = app.kept;
  const keep = (letter) =>
    h(
      "button",
      {
        type: "button",
        "data-key": `keep ${letter}`,
        disabled: !app.selection || (letter === "B" && !A),
        onclick: () => app.keep(letter),
      },
      `Keep as ${letter}`,
    );
  const rowsOf = ({ mask }) => [...mask.keys()].filter((i) => mask[i]);
  const again = (letter, group) =>
    h(
      "li",
      {},
      h(
        "button",
        {
          type: "button",
          class: "link",
          "data-key": `select ${letter}`,
          title: `Select ${letter} again`,
          onclick: () => app.select(rowsOf(group), group.name),
        },
        `${letter}: ${clipped(group.name || "selection", 40)}, ${counted(group.size, "sample")}`,
      ),
    );
  return h(
    "section",
    { "aria-label": "Selections to compare" },
    h(
      "div",
      { class: "row" },
      keep("A"),
      keep("B"),
      A ? h("button", { type: "button", onclick: () => app.forgetKept() }, "Forget A and B") : null,
    ),
    h("ul", { class: "ids" }, A ? again("A", A) : null, B ? again("B", B) : null),
    A && !B
      ? h("p", { class: "hint" }, "Select others and keep them as B to compare A with them.")
      : null,
  );
}

function title({ names, sizes }) {
  const [first, second] = names.map((name, k) => {
    const words = { selection: "Selection", others: "all others" }[name] ?? name;
    return `${words} (${counted(sizes[k], "sample")})`;
  });
  return `${first} against ${second}`;
}

function idList(app) {
  const rows = app.selectedRows;
  return h(
    "section",
    {},
    h("h4", {}, app.weights ? "Selected bins" : "Selected samples"),
    h(
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
  const rows = app.selection ? app.selectedRows : Array.from({ length: app.nRows }, (_, i) => i);
  download(`${fileName(app.state.title)}-${kind}.csv`, rowsCsv(app, rows), "text/csv");
}

/** The rows of A and of B, or of A and all others, and which they are in. */
function exportGroups(app, { side, names }) {
  const { A, B } = app.kept;
  const groupOf = (i) =>
    side[i] ? names[side[i] - 1] : A.mask[i] && B?.mask[i] ? "A and B" : null;
  const rows = Array.from({ length: app.nRows }, (_, i) => i).filter((i) => groupOf(i) !== null);
  const text = rowsCsv(app, rows, { group: groupOf });
  download(`${fileName(app.state.title)}-compared.csv`, text, "text/csv");
}

/**
 * Some rows with all that the page knows of them.
 * @param {object} app
 * @param {number[]} rows
 * @param {Object<string, function(number): string>} [more] further columns, after the first
 */
function rowsCsv(app, rows, more = {}) {
  const { samples, bins, dims, axes } = app.state;
  const first = samples.ids ? "sample" : "bin";
  const shown = app.table.filter(
    (column) => column.group !== "computed" || column.name !== "distance from the tree",
  );
  const names = [
    first,
    ...Object.keys(more),
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
      ...Object.values(more).map((of) => of(i)),
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
