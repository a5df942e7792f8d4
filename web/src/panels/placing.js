// A new sample: paste or drop a table, see where it falls.

import { absentWords, driverWords, listed, rangeWords, written } from "../model/messages.js";
import { columnsOf } from "../model/trust.js";
import { toCsv } from "../model/csv.js";
import { download, fill, h, uniqueId } from "../view/dom.js";
import { clipped, counted, fileName, grouped, number, percent } from "../view/format.js";

const MOST_BYTES = 50e6;
const MOST_ROWS = 200;
// So many columns that are out of range are told.
const MOST_COLUMNS = 5;
// Branches that are less likely than this are not told.
const LEAST_TOLD = 0.05;
const UNKNOWN_SCATTER =
  "How far from the tree is usual this page cannot say: the fit did not keep how its samples scatter.";

export function placingPanel(app) {
  const { model } = app.state;
  if (!model || model.reason) {
    const reason =
      model?.reason ?? "This page holds no model; place new samples with branchwise transform.";
    return h("div", { class: "panel" }, h("p", {}, reason));
  }
  const wanted = [...model.features, ...model.covariates];
  const area = h("textarea", {
    id: uniqueId("rows"),
    rows: "5",
    spellcheck: "false",
    placeholder: `${wanted.slice(0, 3).join(",")}${wanted.length > 3 ? ",…" : ""}\n1.2,3.4,…`,
  });
  const problem = h("p", { class: "problem", role: "alert" });
  const lacking = h("p", { class: "hint lacking", "aria-live": "polite" });
  const result = h("div", {});
  const file = h("input", {
    type: "file",
    accept: ".csv,.tsv,.txt,text/csv",
    class: "visually-hidden",
    id: uniqueId("file"),
    onchange: () => read(file.files),
  });

  const place = (hints = {}) => {
    problem.textContent = lacking.textContent = "";
    try {
      const { without, nFeatures, dropped } = app.addSamples(area.value, hints);
      lacking.textContent = without.length ? absentWords(without, nFeatures) : "";
      if (dropped.length) {
        const why = dropped[0].column ? "as a value is missing" : "as all values are missing";
        const named = dropped.map(({ id, column }) => (column ? `${id} (${column})` : id));
        problem.textContent = `${counted(dropped.length, "row")} left out, ${why}: ${listed(named)}.`;
      }
    } catch (error) {
      problem.textContent = error.message;
    }
  };

  async function read(files) {
    problem.textContent = "";
    const [given] = files;
    if (!given) return;
    if (given.size > MOST_BYTES) {
      problem.textContent = `${given.name} has ${Math.round(given.size / 1e6)} MB; for tables above 50 MB use branchwise transform.`;
      return;
    }
    area.value = await given.text();
    file.value = "";
    place({ usual: /\.csv$/i.test(given.name) ? "," : "\t" });
  }

  const drop = h(
    "div",
    { class: "drop" },
    h("label", { for: area.id }, "Paste a CSV row or table, or drop a file here"),
    area,
  );

  // Anywhere on the page: a browser would leave it for a file that is dropped beside the box.
  document.addEventListener("dragover", (event) => {
    event.preventDefault();
    drop.classList.add("over");
  });
  document.addEventListener("dragleave", () => drop.classList.remove("over"));
  document.addEventListener("drop", (event) => {
    event.preventDefault();
    drop.classList.remove("over");
    const { files } = event.dataTransfer;
    app.openTab("new");
    if (files.length) read(files);
    else area.value = event.dataTransfer.getData("text");
  });

  function draw() {
    if (!app.added.length) {
      fill(
        result,
        h(
          "p",
          { class: "hint" },
          `${model.trust ? "Wanted" : "Needed"} are ${counted(model.features.length, "feature")}` +
            `${model.covariates.length ? ` and ${model.covariates.join(", ")}` : ""}, by name in any order; ` +
            `${model.trust ? "some may be missing; " : ""}further columns are ignored. ` +
            `Nothing leaves this page.${model.trust ? "" : ` ${UNKNOWN_SCATTER}`}`,
        ),
        h(
          "button",
          {
            type: "button",
            onclick: () =>
              download("header.csv", `${toCsv(["sample", ...wanted], [])}`, "text/csv"),
          },
          "Header as CSV",
        ),
      );
      return;
    }
    const rows = app.placesOfAdded();
    fill(
      result,
      ...rows
        .slice(-MOST_ROWS)
        .reverse()
        .map((row) => card(app, row, rows.indexOf(row))),
      rows.length > MOST_ROWS
        ? h("p", { class: "hint" }, `The last ${MOST_ROWS} of ${rows.length}.`)
        : null,
      h(
        "div",
        { class: "row" },
        h(
          "button",
          {
            type: "button",
            onclick: () =>
              download(`${fileName(app.state.title)}-placed.csv`, placedCsv(app), "text/csv"),
          },
          "Places as CSV",
        ),
        h("button", { type: "button", onclick: () => app.clearAdded() }, "Remove"),
      ),
    );
  }

  app.on("added root", draw);
  draw();
  return h(
    "div",
    { class: "panel" },
    drop,
    h(
      "div",
      { class: "row" },
      h(
        "button",
        { type: "button", class: "primary", onclick: () => place() },
        "Place on the tree",
      ),
      h("label", { class: "button", for: file.id }, "Choose a file"),
      file,
    ),
    problem,
    lacking,
    result,
  );
}

/** What is said of one new sample. */
function card(app, row, k) {
  const columns = columnsOf(app.state.model);
  const facts = [
    ["branch", branchWords(app, row)],
    ["pseudotime", timeWords(app, row)],
    ["distance from the tree", `${number(row.distance, 6)}${row.far && `, ${row.far}`}`],
    ...columnFacts(row, columns),
    [
      app.state.axes.slice(0, 3).join(", "),
      [...row.projection.slice(0, 3)].map((v) => number(v, 6)).join(", "),
    ],
  ];
  const isShown = k === app.shownAdded;
  return h(
    "section",
    { class: "card", "aria-label": row.id },
    h(
      "h3",
      {},
      h(
        "button",
        {
          type: "button",
          class: "link",
          title: "Show it in the views, with the whole tree",
          "aria-pressed": String(isShown),
          "data-key": `added/${k}`,
          onclick: () => app.showAdded(k),
        },
        row.id,
      ),
    ),
    row.warning ? h("p", { class: "warning" }, `⚠ ${row.warning}`) : null,
    h(
      "dl",
      {},
      facts.flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]),
    ),
  );
}

/** The branch, how likely it is, and which others are. */
function branchWords(app, { branchName, branch, branchPosition, sure }) {
  const place = `at ${number(100 * branchPosition, 3)} % of it`;
  if (!sure) return `${branchName}, ${place}`;
  const others = [...sure.branches.keys()]
    .filter((k) => k !== branch && sure.branches[k] >= LEAST_TOLD)
    .sort((a, b) => sure.branches[b] - sure.branches[a])
    .map((k) => `${app.tree.branches[k].name} ${percent(sure.branches[k])}`);
  const also = others.length ? `; other branches: ${listed(others, 3)}` : "";
  return `${branchName} (probability ${percent(sure.probability)}), ${place}${also}`;
}

function timeWords(app, { pseudotime, sure }) {
  if (!sure) return number(pseudotime, 6);
  const level = percent(app.state.model.trust.level);
  return `${number(pseudotime)} (${number(sure.lower)} to ${number(sure.upper)} with ${level} probability)`;
}

/** Columns that are to be looked at again, one to a line, and how many are missing. */
function columnFacts({ told, missing }, { names, parts, day_zero: first }) {
  const shown = (value, column) => written(value, first[column], number);
  const outside = (told?.outside ?? []).map(
    ({ column: j, value, low, high }) =>
      `${clipped(names[j])} ${shown(value, j)}: ${shown(low, j)} to ${shown(high, j)} in the fit`,
  );
  const drivers = (told?.drivers ?? []).map(({ column, value, expected }) => {
    const said = [value, expected].some(Number.isNaN)
      ? ""
      : ` ${shown(value, column)}: ${shown(expected, column)} expected by the other columns`;
    return `${clipped(names[column])}${said}`;
  });
  const more = outside.length - MOST_COLUMNS;
  const facts = [
    ["out of range", [...outside.slice(0, MOST_COLUMNS), more > 0 ? `and ${more} more` : ""]],
    ["what makes it far", [...new Set(drivers)]],
    ["missing", missing ? [`${grouped(missing)} of ${counted(parts.length, "feature")}`] : []],
  ];
  return facts
    .map(([name, lines]) => [name, lines.filter(Boolean).map((line) => h("div", {}, line))])
    .filter(([, lines]) => lines.length > 0);
}

/** The number of the branch of the largest probability. */
function likeliest(probabilities) {
  const best = Math.max(...probabilities);
  return [...probabilities].indexOf(best);
}

/** The columns of `branchwise transform`, but for the embedding. */
function placedCsv(app) {
  const columns = columnsOf(app.state.model);
  const names = [
    "id",
    "branch",
    "position",
    "pseudotime",
    "distance",
    "p",
    "misfit",
    "pseudotime_lower",
    "pseudotime_upper",
    "branch_probability",
    "likeliest_branch",
    "out_of_range",
    "drivers",
    "missing",
    ...app.state.axes.map((_, k) => `projection${k}`),
  ];
  return toCsv(
    names,
    app
      .placesOfAdded()
      .map(({ told, sure, ...row }) => [
        row.id,
        row.branchName,
        row.branchPosition,
        row.pseudotime,
        row.distance,
        told?.p,
        told?.misfit,
        sure?.lower,
        sure?.upper,
        sure?.probability,
        sure && app.tree.branches[likeliest(sure.branches)].name,
        rangeWords(told, columns),
        driverWords(told, columns),
        row.missing,
        ...row.projection,
      ]),
  );
}
