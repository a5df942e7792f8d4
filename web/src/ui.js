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
import { tooltip } from "./tooltip.js";
import { Plot } from "./view/plot.js";
import { field, fill, h, select, setChosen } from "./view/dom.js";
import { clipped, counted } from "./view/format.js";
import { treeWords } from "./view/summary.js";

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
const NOT_CHOSEN = "Nobody has chosen this root: it is the first end of the longest path.";
// Screens so narrow have panels as sheets, and a legend that is closed at first (style.css).
const NARROW = "(max-width: 780px)";

// Of the first view, where there are more than two components.
const PICTURES = [
  ["flat", "Flat"],
  ["2", "2-D"],
  ["3", "3-D"],
];

/** Build everything into an element. */
export function buildPage(app, root) {
  app.picture = app.state.views?.flat ? "flat" : "2";
  app.tool = "pan";
  addTheme(app);
  app.narrow = window.matchMedia(NARROW);
  const tip = tooltip(app);
  const summary = h("p", { class: "visually-hidden", id: "tree-words" });
  const words = () => fill(summary, treeWords(app));
  app.on("root", words);
  words();
  app.plots = {
    embedding: new Plot({
      ...plotOptions(app, tip, "Embedding with its tree", summary.id),
      legend: () => coversOf(app.plots.embedding, [app.legendElement])[0],
      covers: () =>
        coversOf(app.plots.embedding, [app.legendElement, buttonsOf(app.plots.embedding)]),
    }),
    tree: new Plot({
      ...plotOptions(app, tip, "Tree laid out by pseudotime", summary.id),
      stretch: true,
      covers: () => coversOf(app.plots.tree, [buttonsOf(app.plots.tree)]),
    }),
  };
  app.find = (i, name) => find(app, i, name);
  app.lookAt = (i, name) => lookAt(app, i, name);
  app.showAdded = (k) => showAdded(app, k);
  const live = h("div", { class: "visually-hidden", role: "status", "aria-live": "polite" });
  app.on("words", () => fill(live, app.words));
  const drawer = detailsDrawer(app);
  glossaryDrawer(app);
  const panels = sidebar(app);
  fill(root, bars(app), h("main", {}, views(app), panels), drawer, tip.element, summary, live);
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
  const names = [
    "ground",
    "ink",
    "soft",
    "line",
    "grid",
    "accent",
    "star",
    "lasso",
    "veil",
    "problem",
  ];
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

/** Title and controls; on a phone all but the tools are folded away. */
function bars(app) {
  const fold = h(
    "button",
    {
      type: "button",
      class: "fold",
      "aria-expanded": "false",
      onclick: () => open(!inner.hasAttribute("data-open")),
    },
    "Controls",
  );
  const inner = h("div", { class: "bars-inner" }, header(app, fold), toolbar(app));
  const open = (wanted) => {
    inner.toggleAttribute("data-open", wanted);
    fold.setAttribute("aria-expanded", String(wanted));
  };
  // What was chosen is to be seen.
  document.addEventListener("pointerdown", (event) => {
    if (!inner.contains(event.target)) open(false);
  });
  inner.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !inner.hasAttribute("data-open")) return;
    open(false);
    fold.focus();
  });
  return h("div", { class: "bars" }, inner);
}

function header(app, fold) {
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
    fold,
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
        .map((column) => ({
          value: column.key,
          text: clipped(column.name, 60),
          title: column.name,
        })),
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
    if (control) setChosen(control, app.colorKey);
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
    app.state.views
      ? choice("Picture", PICTURES.slice(app.state.views.flat ? 0 : 1), app.picture, (picture) =>
          setPicture(app, picture),
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
    notes(app),
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
    { class: "notes", title: app.state.notes.join("\n") },
    h("span", { class: "first" }, first),
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

function plotOptions(app, tip, label, describedBy) {
  return {
    label: `${label}. Arrow keys move, plus and minus zoom, 0 shows everything.`,
    describedBy,
    theme: () => app.themeColors(),
    onHover: (found, event) => tip.show(found, event),
    onTarget: ({ kind, k, row }) => (kind === "added" ? app.showAdded(k) : app.lookAt(row)),
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

/** The buttons that lie above a plot. */
function buttonsOf(plot) {
  return plot.element.parentElement.querySelector(".zoom");
}

/** Boxes of elements above a plot, in its own pixels. */
function coversOf(plot, elements) {
  const outer = plot.element.getBoundingClientRect();
  return elements
    .map((element) => element.getBoundingClientRect())
    .filter((box) => box.width && box.bottom > outer.top && box.top < outer.bottom)
    .map((box) => [
      box.left - outer.left,
      box.top - outer.top,
      box.right - outer.left,
      box.bottom - outer.top,
    ]);
}

function views(app) {
  const boxes = Object.entries(app.plots).map(([name, plot]) =>
    h(
      "section",
      { class: "view", "data-view": name },
      name === "embedding" ? (app.legendElement = legend(app)) : null,
      plot.element,
      h(
        "div",
        { class: "zoom" },
        goToNewest(app),
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
  const fold = () => (app.legendElement.open = !app.narrow.matches);
  app.narrow.addEventListener("change", fold);
  fold();
  return element;
}

/** A button for the newest new sample, as the arrow to it is for the pointer only. */
function goToNewest(app) {
  const words = "Show the newest new sample with the whole tree";
  const button = h(
    "button",
    {
      type: "button",
      class: "newest",
      "aria-label": words,
      title: words,
      hidden: true,
      onclick: () => app.showAdded(app.shownAdded),
    },
    "★",
  );
  app.on("added", () => (button.hidden = !app.added.length));
  return button;
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

function setPicture(app, picture) {
  app.picture = picture;
  drawScenes(app);
  app.plots.embedding.fit(picture === "3");
}

function drawScenes(app) {
  const theme = app.themeColors();
  app.plots.embedding.setScene(embeddingScene(app, theme, app.picture, app.tool));
  app.plots.tree.setScene(treeScene(app, theme, app.tool));
}

/** What follows from what. */
function connect(app) {
  const plots = Object.values(app.plots);
  // A pointer that rests has other things under it, or the same with another time.
  const look = () => plots.forEach((plot) => plot.hoverAgain());
  drawScenes(app);
  app.plots.embedding.fit();
  app.plots.tree.fit();
  app.on("root", () => {
    drawScenes(app);
    app.plots.tree.fit();
    look();
  });
  app.on("color theme", () => {
    drawScenes(app);
    app.plots.embedding.refit();
    look();
  });
  app.on("selection", () => {
    // The ring of a row that was looked for goes when the selection is cleared.
    if (!app.selection) app.looked = null;
    const styles = pointStyles(app, app.themeColors());
    for (const plot of plots) plot.setScene(styles);
  });
  app.on("added", () => {
    for (const plot of plots) plot.render();
    look();
  });
}

/** Select a row, by the name of a sample in it, and bring it to the middle of both views. */
function find(app, i, name = app.label(i)) {
  app.select([i], name, { key: `row/${i}` });
  // On a narrow screen a sheet would lie above what was looked for.
  app.openTab("selection", { isQuiet: true });
  lookAt(app, i, name);
}

/** Bring a row to the middle of both views, with a ring that stays. */
function lookAt(app, i, name = app.looked?.row === i ? app.looked.name : app.label(i)) {
  app.looked = { row: i, name };
  for (const plot of Object.values(app.plots)) {
    plot.lookAt(plot.scene.positions.subarray(3 * i, 3 * i + 3));
  }
}

/** Let every view show a new sample together with the whole tree. */
function showAdded(app, k) {
  const sample = app.placesOfAdded()[k];
  if (!sample) return;
  app.chooseAdded(k);
  for (const plot of Object.values(app.plots)) {
    plot.fit(plot.camera.solid, plot.scene.placeOf(sample));
    plot.hoverAgain();
  }
  app.say(`${sample.id} is shown with the whole tree.`);
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
        title: words,
        onclick: () => (isSheet() && chosen === name ? close() : open(name)),
      },
      words,
    ),
  );
  let chosen = null;
  const isSheet = () => app.narrow.matches && aside.hasAttribute("data-open");
  app.openTab = open;
  const list = h("div", { role: "tablist", "aria-label": "Panels" }, buttons);
  const bodies = PANELS.map(([name, , build]) =>
    h(
      "div",
      { role: "tabpanel", id: `panel-${name}`, "aria-labelledby": `tab-${name}`, tabindex: "0" },
      build(app),
    ),
  );
  const shut = h(
    "button",
    { type: "button", class: "shut", "aria-label": "Close the panel", onclick: () => close() },
    "✕",
  );
  const aside = h(
    "aside",
    { "aria-label": "Panels" },
    list,
    h("div", { class: "sheet" }, shut, bodies),
  );
  aside.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && isSheet()) close();
  });
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

  /** Show a panel; quietly: without a sheet that would lie above the views. */
  function open(name, { isQuiet = false } = {}) {
    chosen = name;
    PANELS.forEach(([other], k) => {
      const on = other === name;
      buttons[k].setAttribute("aria-selected", String(on));
      buttons[k].tabIndex = on ? 0 : -1;
      bodies[k].hidden = !on;
    });
    app.emit("tab");
    if (!isQuiet) aside.setAttribute("data-open", "");
    app.emit("tab");
  }

  function close() {
    aside.removeAttribute("data-open");
    buttons.find((button) => button.getAttribute("aria-selected") === "true").focus();
  }

  open("branches", { isQuiet: true });
  return aside;
}
