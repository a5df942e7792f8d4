// A new sample: paste or drop a table, see where it falls.

import { FAR_WORDS } from "../model/messages.js";
import { toCsv } from "../model/csv.js";
import { download, fill, h, uniqueId } from "../view/dom.js";
import { counted, fileName, number } from "../view/format.js";

const MOST_BYTES = 50e6;
const MOST_ROWS = 200;

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
  const result = h("div", {});
  const file = h("input", {
    type: "file",
    accept: ".csv,.tsv,.txt,text/csv",
    class: "visually-hidden",
    id: uniqueId("file"),
    onchange: () => read(file.files),
  });

  const place = (hints = {}) => {
    problem.textContent = "";
    try {
      const given = app.addSamples(area.value, hints);
      if (given.dropped.length) {
        const named = given.dropped.slice(0, 5).map(({ id, column }) => `${id} (${column})`);
        problem.textContent = `${counted(given.dropped.length, "row")} left out, as a value is missing: ${named.join(", ")}.`;
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
          `Needed are ${counted(model.features.length, "feature")}` +
            `${model.covariates.length ? ` and ${model.covariates.join(", ")}` : ""}, by name in any order; ` +
            "further columns are ignored. Nothing leaves this page.",
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
        .map((row) => card(app, row)),
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
    result,
  );
}

/** What is said of one new sample. */
function card(app, row) {
  const far =
    row.partNearer === null
      ? ""
      : `, farther than ${Math.round(row.partNearer)} % of the samples of the fit`;
  const facts = [
    ["branch", `${row.branchName}, at ${number(100 * row.branchPosition, 3)} % of it`],
    ["pseudotime", number(row.pseudotime, 6)],
    ["distance from the tree", `${number(row.distance, 6)}${far}`],
    [
      app.state.axes.slice(0, 3).join(", "),
      [...row.projection.slice(0, 3)].map((v) => number(v, 6)).join(", "),
    ],
  ];
  return h(
    "section",
    { class: "card", "aria-label": row.id },
    h("h3", {}, row.id),
    row.isFar ? h("p", { class: "warning" }, `⚠ ${FAR_WORDS}`) : null,
    h(
      "dl",
      {},
      facts.flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]),
    ),
  );
}

/** The columns of `branchwise transform`, but for the embedding; and what to be careful with. */
function placedCsv(app) {
  const rows = app.placesOfAdded();
  const names = [
    "sample",
    ...app.state.axes.map((_, k) => `projection${k}`),
    "edge",
    "source",
    "target",
    "position",
    "distance",
    "branch",
    "branch_position",
    "pseudotime",
    "pseudotime_scaled",
    "warning",
  ];
  const { latest } = app;
  return toCsv(
    names,
    rows.map((row) => [
      row.id,
      ...row.projection,
      row.edge,
      row.source,
      row.target,
      row.position,
      row.distance,
      row.branchName,
      row.branchPosition,
      row.pseudotime,
      latest > 0 ? row.pseudotime / latest : row.pseudotime,
      row.isFar ? FAR_WORDS : "",
    ]),
  );
}
