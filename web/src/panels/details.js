// How the page came about: parameters, versions, the objective, and notes.

import { paintElement } from "../paint/canvas.js";
import { extent } from "../view/colors.js";
import { h } from "../view/dom.js";
import { counted, grouped, number, ticks } from "../view/format.js";

const KEYS = [
  ["drag", "move the picture; in three dimensions turn it (with the right button: move)"],
  ["wheel, + and −", "zoom"],
  ["arrows", "move; with Shift in three dimensions: turn"],
  ["0", "see everything"],
  ["Shift and drag", "lasso; with the lasso tool, Shift adds to the selection"],
  ["click on a node", "make it the root"],
  ["click on a sample", "select it; with Shift: add it"],
  ["finger", "move the picture, two zoom; tap to select, hold to read; with the lasso tool: lasso"],
  ["Esc", "clear the selection, wherever you are"],
];

export function detailsDrawer(app) {
  const canvas = h("canvas", { class: "chart", role: "img", "aria-label": convergenceWords(app) });
  const drawer = h(
    "dialog",
    { class: "drawer", "aria-labelledby": "details-title" },
    h(
      "header",
      {},
      h("h2", { id: "details-title" }, "Run details"),
      h("button", { type: "button", onclick: () => drawer.close(), "aria-label": "Close" }, "✕"),
    ),
    app.state.notes.length
      ? h(
          "section",
          {},
          h("h3", {}, "Notes"),
          h(
            "ul",
            {},
            app.state.notes.map((note) => h("li", {}, note)),
          ),
        )
      : null,
    h(
      "section",
      {},
      h("h3", {}, "Convergence"),
      canvas,
      h("p", { class: "hint" }, convergenceWords(app)),
    ),
    ...Object.entries(app.state.facts).map(([name, value]) => factSection(name, value)),
    h(
      "section",
      {},
      h("h3", {}, "Keys"),
      h(
        "dl",
        {},
        KEYS.flatMap(([key, what]) => [h("dt", {}, key), h("dd", {}, what)]),
      ),
    ),
  );
  app.openDetails = () => {
    drawer.showModal();
    paintElement(canvas, (width, height) => convergenceShapes(app, width, height));
  };
  drawer.addEventListener("click", (event) => {
    if (event.target === drawer) drawer.close();
  });
  return drawer;
}

function factSection(name, value) {
  const isTable = value !== null && typeof value === "object" && !Array.isArray(value);
  const rows = isTable ? Object.entries(value) : [[name, value]];
  if (!rows.length) return null;
  return h(
    "section",
    {},
    isTable ? h("h3", {}, title(name)) : null,
    h(
      "dl",
      {},
      rows.flatMap(([key, fact]) => [h("dt", {}, title(key)), h("dd", {}, words(fact))]),
    ),
  );
}

function title(name) {
  return name.replaceAll("_", " ");
}

/** A fact as text. */
export function words(fact) {
  if (fact === null || fact === undefined) return "none";
  if (typeof fact === "boolean") return fact ? "yes" : "no";
  if (typeof fact === "number") return number(fact, 6);
  if (Array.isArray(fact)) return fact.length ? fact.map(words).join(", ") : "none";
  if (typeof fact === "object") {
    return (
      Object.entries(fact)
        .map(([key, value]) => `${title(key)}: ${words(value)}`)
        .join("; ") || "none"
    );
  }
  return String(fact);
}

function convergenceWords(app) {
  const history = app.state.objective_history;
  if (!history.length) return "The history of the objective was not kept.";
  return (
    `The objective went from ${number(history[0], 6)} to ${number(history.at(-1), 6)} ` +
    `in ${counted(history.length - 1, "step")}.`
  );
}

/** The objective by step. */
function convergenceShapes(app, width, height) {
  const history = app.state.objective_history;
  const theme = app.themeColors();
  const [low, high] = extent(history);
  const last = Math.max(history.length - 1, 1);
  const x = (k) => 64 + ((width - 76) * k) / last;
  const y = (value) => height - 30 - ((height - 42) * (value - low)) / (high - low || 1);
  const label = { kind: "text", size: 11, fill: theme.soft };
  const shapes = ticks(low, high, 4).flatMap((value) => [
    { kind: "lines", xy: [64, y(value), width - 12, y(value)], color: theme.grid, width: 1 },
    { ...label, x: 58, y: y(value) + 4, text: number(value, 5), anchor: "end" },
  ]);
  for (const value of ticks(0, last, 5).filter(Number.isInteger)) {
    shapes.push({ ...label, x: x(value), y: height - 14, text: grouped(value), anchor: "middle" });
  }
  shapes.push({ ...label, x: width / 2, y: height - 1, text: "step", anchor: "middle" });
  const xy = Array.from(history, (value, k) => [x(k), y(value)]).flat();
  shapes.push({ kind: "polyline", xy, stroke: theme.accent, width: 2 });
  return shapes;
}
