// The page: bars above, two views, panels beside them.

import { branchPanel } from "./panels/branches.js";
import { detailsDrawer } from "./panels/details.js";
import { featurePanel } from "./panels/features.js";
import { glossaryDrawer } from "./panels/glossary.js";
import { legend } from "./panels/legend.js";
import { placingPanel } from "./panels/placing.js";
import { searchBox } from "./panels/search.js";
import { selectionPanel } from "./panels/selection.js";
import { savePicture } from "./pictures.js";
import { embeddingScene, pointStyles, treeScene } from "./scenes.js";
import { Plot } from "./view/plot.js";
import { field, fill, h, select } from "./view/dom.js";
import { clipped, counted, grouped, number } from "./view/format.js";

const GROUPS = [
  ["tree", "Tree"],
  ["annotation", "Columns"],
  ["computed", "Computed"],
  ["feature", "Features"],
];
// Tabs beside the views: a new one is a file in panels/ and a line here.
const PANELS = [
  ["branches", "Branches", branchPanel],
  ["feature", "Feature", featurePanel],
  ["new", "New sample", placingPanel],
  ["selection", "Selection", selectionPanel],
];
const MOST_SHOWN = 14;
const NOT_CHOSEN = "Nobody has chosen this root: it is the first end of the longest path.";
// The part of the embedding's width that is left to the legend at most.
const MOST_LEGEND = 0.35;

/** Build everything into an element. */
export function buildPage(app, root) {
  app.dims = Math.min(app.state.dims, 2);
  app.tool = "pan";
  addTheme(app);
  const tip = h("div", { class: "tip", hidden: true });
  app.plots = {
    embedding: new Plot({
      ...plotOptions(app, tip, "Embedding with its tree", false),
      room: (width) => Math.min(app.legendElement.offsetWidth, MOST_LEGEND * width),
    }),
    tree: new Plot(plotOptions(app, tip, "Tree laid out by pseudotime", true)),
  };
  app.find = (i, name) => find(app, i, name);
  app.lookAt = (i) => lookAt(app, i);
  const live = h("div", { class: "visually-hidden", role: "status", "aria-live": "polite" });
  app.on("words", () => fill(live, app.words));
  const drawer = detailsDrawer(app);
  glossaryDrawer(app);
  const panels = sidebar(app);
  fill(
    root,
    header(app),
    toolbar(app),
    notes(app),
    h("main", {}, views(app), panels),
    drawer,
    tip,
    live,
  );
  connect(app);
  document.addEventListener("keydown", (event) => {
    const isElsewhere = event.target.closest("input, textarea, select, dialog, .menu");
    if (event.key === "Escape" && !isElsewhere) app.clearSelection();
  });
}

// Themes

function addTheme(app) {
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  let colors = null;
  const names = ["ground", "ink", "soft", "line", "grid", "accent", "star", "lasso", "veil"];
  app.themeColors = () => {
    if (!colors) {
      const style = getComputedStyle(document.documentElement);
      colors = Object.fromEntries(names.map((n) => [n, style.getPropertyValue(`--${n}`).trim()]));
      colors.shade = app.theme === "dark" ? 1.25 : 0.72;
    }
    return colors;
  };
  const use = (theme) => {
    document.documentElement.dataset.theme = theme;
    colors = null;
    app.setTheme(theme);
  };
  app.toggleTheme = () => use(app.theme === "dark" ? "light" : "dark");
  dark.addEventListener("change", (event) => use(event.matches ? "dark" : "light"));
  use(dark.matches ? "dark" : "light");
}

// Bars

function header(app) {
  const { state } = app;
  const theme = h("button", { type: "button", onclick: () => app.toggleTheme() });
  const name = () => fill(theme, app.theme === "dark" ? "Light" : "Dark");
  app.on("theme", name);
  name();
  return h(
    "header",
    { class: "top" },
    h(
      "div",
      { class: "title" },
      h("h1", { title: state.title }, state.title),
      h(
        "p",
        {},
        `${state.method}, ${counted(state.n_samples, "sample")}, ${counted(app.graph.edges.length / 2, "edge")}`,
      ),
    ),
    searchBox(app),
    exportMenu(app),
    h("button", { type: "button", onclick: () => app.openDetails() }, "Run details"),
    h("button", { type: "button", onclick: () => app.openGlossary() }, "Glossary"),
    theme,
  );
}

function exportMenu(app) {
  const views = [
    ["embedding", "Embedding"],
    ["tree", "Tree"],
  ];
  if (app.features.length) views.push(["feature", "Feature chart"]);
  const menu = h(
    "details",
    { class: "menu" },
    h("summary", {}, "Export"),
    h(
      "div",
      { class: "items" },
      views.flatMap(([name, words]) =>
        ["png", "svg"].map((format) =>
          h(
            "button",
            {
              type: "button",
              onclick: () => {
                menu.open = false;
                savePicture(app, name, format);
              },
            },
            `${words} as ${format.toUpperCase()}`,
          ),
        ),
      ),
      h(
        "button",
        {
          type: "button",
          onclick: () => {
            menu.open = false;
            app.openTab("selection");
          },
        },
        "Samples as CSV …",
      ),
    ),
  );
  document.addEventListener("click", (event) => {
    if (!menu.contains(event.target)) menu.open = false;
  });
  menu.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !menu.open) return;
    menu.open = false;
    menu.querySelector("summary").focus();
    event.stopPropagation();
  });
  return menu;
}

function toolbar(app) {
  const bar = h("div", { class: "bar-row", role: "group", "aria-label": "Colour, root and tools" });
  const colors = h("span", {});
  const roots = h("span", {});
  const reset = h("button", { type: "button", onclick: () => app.resetRoot() }, "Reset root");
  const drawColors = () => {
    const groups = GROUPS.map(([group, label]) => ({
      label,
      options: app.columns
        .filter((column) => column.group === group)
        .map((column) => ({ value: column.key, text: clipped(column.name, 60) })),
    }));
    fill(
      colors,
      field(
        "Colour by",
        select(groups, app.colorKey, (key) => app.setColor(key)),
      ),
    );
  };
  const drawRoots = () => {
    const isDefault = !app.state.is_rooted && app.isStartRoot;
    fill(
      roots,
      field("Root", rootSelect(app)),
      isDefault ? h("span", { class: "hint", title: NOT_CHOSEN }, " by default") : null,
    );
    reset.disabled = app.isStartRoot;
  };
  app.on("color", () => {
    const control = colors.querySelector("select");
    if (control) control.value = app.colorKey;
  });
  app.on("root", drawRoots);
  drawColors();
  drawRoots();
  fill(
    bar,
    colors,
    roots,
    reset,
    choice(
      "Tool",
      [
        ["pan", "Move"],
        ["lasso", "Lasso"],
        ["root", "Set root"],
      ],
      "pan",
      (tool) => setTool(app, tool),
    ),
    app.state.dims >= 3
      ? choice(
          "Dimensions",
          [
            ["2", "2-D"],
            ["3", "3-D"],
          ],
          "2",
          (dims) => setDims(app, Number(dims)),
        )
      : null,
    choice(
      "Views",
      [
        ["both", "Both"],
        ["embedding", "Embedding"],
        ["tree", "Tree"],
      ],
      app.state.dims === 1 ? "tree" : "both",
      (view) => showViews(app, view),
    ),
  );
  return bar;
}

/** Milestones by name, and the root also where it is not one. */
function rootSelect(app) {
  const nodes = app.tree.milestones.map((milestone) => ({
    value: String(milestone.node),
    text: `${milestone.name}${milestone.kind === "fork" ? " (fork)" : milestone.kind === "tip" ? " (tip)" : ` (node ${milestone.node})`}`,
  }));
  const chosen = app.wanted.length ? app.wanted.at(-1) : app.tree.roots[0];
  return select([{ options: nodes }], String(chosen), (node) => app.setRoot(Number(node)), "root");
}

/** A group of buttons of which one is on. */
function choice(label, options, chosen, onchange) {
  const group = h("div", { class: "choice", role: "radiogroup", "aria-label": label });
  const buttons = options.map(([value, words]) =>
    h(
      "button",
      {
        type: "button",
        role: "radio",
        "aria-checked": String(value === chosen),
        tabindex: value === chosen ? "0" : "-1",
        "data-value": value,
        onclick: () => pick(value),
        onkeydown: (event) => {
          const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
          if (!step) return;
          event.preventDefault();
          const k = options.findIndex(([other]) => other === value);
          const next = (k + step + options.length) % options.length;
          pick(options[next][0]);
          buttons[next].focus();
        },
      },
      words,
    ),
  );
  const pick = (value) => {
    for (const button of buttons) {
      const on = button.dataset.value === value;
      button.setAttribute("aria-checked", String(on));
      button.tabIndex = on ? 0 : -1;
    }
    onchange(value);
  };
  group.append(...buttons);
  return group;
}

function notes(app) {
  if (!app.state.notes.length) return null;
  const [first, ...more] = app.state.notes;
  return h(
    "p",
    { class: "notes" },
    first,
    more.length
      ? h(
          "button",
          { type: "button", class: "link", onclick: () => app.openDetails() },
          ` and ${counted(more.length, "more note")}`,
        )
      : null,
  );
}

// Views

function plotOptions(app, tip, label, stretch) {
  return {
    label: `${label}. Arrow keys move, plus and minus zoom, 0 shows everything.`,
    stretch,
    theme: () => app.themeColors(),
    onHover: (i, event) => showTip(app, tip, i, event),
    onNodeHover: (node, event) => showNodeTip(app, tip, node, event),
    onNode: (node) => app.setRoot(node),
    onSample: (i, isAdded) => {
      app.select([i], app.label(i), { key: `row/${i}`, isAdded });
    },
    onLasso: (rows, isAdded) => {
      app.select(rows, "lasso", { key: "lasso", isAdded });
      if (app.selection) app.openTab("selection");
    },
    onClear: () => app.clearSelection(),
  };
}

function views(app) {
  const boxes = Object.entries(app.plots).map(([name, plot]) =>
    h(
      "section",
      { class: "view", "data-view": name },
      plot.element,
      name === "embedding" ? (app.legendElement = legend(app)) : null,
      h(
        "div",
        { class: "zoom" },
        h(
          "button",
          { type: "button", "aria-label": "Zoom in", onclick: () => plot.zoom(1.4) },
          "+",
        ),
        h(
          "button",
          { type: "button", "aria-label": "Zoom out", onclick: () => plot.zoom(1 / 1.4) },
          "−",
        ),
        h(
          "button",
          { type: "button", "aria-label": "See everything", onclick: () => plot.fit() },
          "⤢",
        ),
      ),
    ),
  );
  const element = h("div", { class: "views" }, boxes);
  element.dataset.show = app.state.dims === 1 ? "tree" : "both";
  app.viewsElement = element;
  return element;
}

function showViews(app, view) {
  app.viewsElement.dataset.show = view;
}

function setTool(app, tool) {
  app.tool = tool;
  for (const plot of Object.values(app.plots)) {
    plot.tool = tool;
    plot.element.dataset.tool = tool;
  }
  drawScenes(app);
}

function setDims(app, dims) {
  app.dims = dims;
  drawScenes(app);
  app.plots.embedding.fit(dims === 3);
}

function drawScenes(app) {
  const theme = app.themeColors();
  app.plots.embedding.setScene(embeddingScene(app, theme, app.dims, app.tool));
  app.plots.tree.setScene(treeScene(app, theme, app.tool));
}

/** What follows from what. */
function connect(app) {
  drawScenes(app);
  app.plots.embedding.fit();
  app.plots.tree.fit();
  app.on("root", () => {
    forgetHovered(app);
    drawScenes(app);
    app.plots.tree.fit();
  });
  app.on("color theme", () => drawScenes(app));
  app.on("selection", () => {
    if (!app.selection) forgetHovered(app);
    const styles = pointStyles(app, app.themeColors());
    for (const plot of Object.values(app.plots)) plot.setScene(styles);
  });
  app.on("added", () => {
    for (const plot of Object.values(app.plots)) plot.render();
  });
}

/** The ring of a row that was looked for goes with its selection. */
function forgetHovered(app) {
  for (const plot of Object.values(app.plots)) plot.hovered = -1;
}

/** Select a row, by the name of a sample in it, and bring it to the middle of both views. */
function find(app, i, name = app.label(i)) {
  app.select([i], name, { key: `row/${i}` });
  app.openTab("selection");
  lookAt(app, i);
}

function lookAt(app, i) {
  for (const plot of Object.values(app.plots)) {
    if (!plot.size || !plot.size[0]) continue;
    plot.camera.lookAt(plot.scene.positions.subarray(3 * i, 3 * i + 3), ...plot.size);
    plot.hovered = i;
    plot.render();
  }
}

// What the pointer is on

function placeTip(tip, event) {
  tip.hidden = false;
  const { offsetWidth: width, offsetHeight: height } = tip;
  const left =
    event.clientX + 16 + width > window.innerWidth
      ? event.clientX - 16 - width
      : event.clientX + 16;
  const top = Math.min(event.clientY + 12, window.innerHeight - height - 8);
  tip.style.left = `${Math.max(left, 4)}px`;
  tip.style.top = `${Math.max(top, 4)}px`;
}

function showTip(app, tip, i, event) {
  if (i < 0 || !event) {
    tip.hidden = true;
    return;
  }
  // What is looked at comes first, then all columns that are not features.
  const looked = [app.column(app.colorKey), app.chosenFeature?.()];
  const others = app.table.filter((column) => column.group !== "feature");
  const shown = [...new Set([...looked, ...others])].filter((c) => c && c.group !== "tree");
  const branch = app.tree.branches[app.placed.branch[i]];
  const rows = [
    ["branch", branch.name],
    ["pseudotime", number(app.placed.pseudotime[i], 6)],
    ...shown
      .slice(0, MOST_SHOWN)
      .map((column) => [clipped(column.name, 30), clipped(app.valueWithUnit(column, i), 60)]),
  ];
  if (shown.length > MOST_SHOWN)
    rows.push([`${grouped(shown.length - MOST_SHOWN)} more columns`, ""]);
  fill(
    tip,
    h("strong", {}, clipped(app.label(i), 60)),
    h(
      "dl",
      {},
      rows.flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]),
    ),
  );
  placeTip(tip, event);
}

/** Tell of a node that a click would make the root. */
function showNodeTip(app, tip, node, event) {
  const milestone = app.tree.milestones.find((m) => m.node === node);
  const name = milestone ? milestone.name : `node ${node}`;
  fill(
    tip,
    h("strong", {}, name),
    h("div", {}, `pseudotime ${number(app.tree.nodeTime[node], 6)}`),
    h("div", {}, app.tree.roots.includes(node) ? "time starts here" : "click to start time here"),
  );
  placeTip(tip, event);
}

// Panels

function sidebar(app) {
  const buttons = PANELS.map(([name, words]) =>
    h(
      "button",
      {
        type: "button",
        role: "tab",
        id: `tab-${name}`,
        "aria-controls": `panel-${name}`,
        onclick: () => open(name),
      },
      words,
    ),
  );
  app.openTab = open;
  const list = h("div", { role: "tablist", "aria-label": "Panels" }, buttons);
  const bodies = PANELS.map(([name, , build]) =>
    h(
      "div",
      { role: "tabpanel", id: `panel-${name}`, "aria-labelledby": `tab-${name}`, tabindex: "0" },
      build(app),
    ),
  );
  list.addEventListener("keydown", (event) => {
    const k = buttons.findIndex((button) => button.getAttribute("aria-selected") === "true");
    const wanted = { ArrowRight: k + 1, ArrowLeft: k - 1, Home: 0, End: PANELS.length - 1 }[
      event.key
    ];
    if (wanted === undefined) return;
    const next = (wanted + PANELS.length) % PANELS.length;
    open(PANELS[next][0]);
    buttons[next].focus();
    event.preventDefault();
  });

  function open(name) {
    PANELS.forEach(([other], k) => {
      const on = other === name;
      buttons[k].setAttribute("aria-selected", String(on));
      buttons[k].tabIndex = on ? 0 : -1;
      bodies[k].hidden = !on;
    });
    app.emit("tab");
  }

  open("branches");
  return h("aside", { "aria-label": "Panels" }, list, bodies);
}
