// What the colours mean; a click on an entry selects its samples.

import { dashWords } from "../scenes.js";
import { fill, h, swatch } from "../view/dom.js";
import { clipped, grouped, number } from "../view/format.js";

export function legend(app) {
  const element = h("details", { class: "legend", open: true });

  function draw() {
    const { coloring } = app;
    fill(
      element,
      h(
        "summary",
        { class: "legend-title", title: coloring.name, "data-key": "legend" },
        h("span", { class: "name" }, clipped(coloring.name, 60)),
      ),
      coloring.kind === "number" ? scale(coloring) : categories(coloring),
      coloring.nMissing ? plain(coloring.missing, "missing", coloring.nMissing) : null,
      h("div", { class: "hint dashes" }, dashWords(app)),
    );
  }

  function scale(coloring) {
    const bar = h("div", { class: "scale", "aria-hidden": "true" });
    const stops = Array.from({ length: 9 }, (_, k) => coloring.scale(k / 8));
    bar.style.backgroundImage = `linear-gradient(to right, ${stops.join(", ")})`;
    return h(
      "div",
      {},
      bar,
      h(
        "div",
        { class: "ends" },
        h("span", {}, number(coloring.low)),
        h("span", {}, number(coloring.high)),
      ),
      coloring.unit ? h("div", { class: "hint" }, coloring.unit) : null,
    );
  }

  function categories(coloring) {
    const column = app.column(app.colorKey);
    return h(
      "ul",
      {},
      coloring.entries.map((entry) =>
        h(
          "li",
          {},
          h(
            "button",
            {
              type: "button",
              class: "link",
              title: app.weights
                ? `${entry.label}: select the bins in which it is the most frequent`
                : entry.label,
              "aria-pressed": String(app.selectionKey === `${column.key}/${entry.code}`),
              "data-key": `${column.key}/${entry.code}`,
              onclick: () => app.toggleCategory(column, entry.code),
            },
            swatch(entry.color, entry.shape),
            h("span", { class: "name" }, entry.label === "" ? "(empty)" : clipped(entry.label, 60)),
            h("span", { class: "count" }, grouped(entry.count)),
          ),
        ),
      ),
      coloring.nOthers
        ? h("li", {}, plain(coloring.other, `${coloring.nOthers} others`, coloring.otherCount))
        : null,
    );
  }

  function plain(color, words, count) {
    return h(
      "div",
      { class: "plain" },
      swatch(color),
      words,
      h("span", { class: "count" }, grouped(count)),
    );
  }

  app.on("root color selection", draw);
  draw();
  return element;
}
