// What is shown: the root, the colour, the selection, the theme; and who wants to know of changes.

import { placeSamples, rootedTree } from "./model/branches.js";
import { branchesSure } from "./model/evidence.js";
import { tieRanks } from "./model/graph.js";
import { treeLayout } from "./model/layout.js";
import { placeSample } from "./model/place.js";
import { readSamples } from "./model/newSamples.js";
import { colorize } from "./view/colors.js";
import { counted, grouped, number } from "./view/format.js";
import { farWords, warningOf } from "./model/messages.js";
import { percentileOf } from "./model/stats.js";
import { alongTree, rootedPlaces, trustModel } from "./model/trust.js";
import { compareFeatures, radiiOf, shuffled, tableColumns } from "./data.js";

const MOST_FOUND = 20;

export class App {
  constructor(state) {
    this.state = state;
    this.graph = state.graph;
    this.weights = state.bins ? state.bins.count : null;
    this.nRows = state.samples.edge.length;
    this.table = tableColumns(state);
    this.features = this.table.filter((column) => column.group === "feature");
    this.radii = radiiOf(this.nRows, this.weights);
    this.shuffle = shuffled(this.nRows);
    this.theme = "light";
    this.selection = null; // mask of rows, or null: none is singled out
    this.selectionName = ""; // in words
    this.selectionKey = ""; // what was chosen: "lasso", or a column's key and the code of a label
    this.kept = { A: null, B: null }; // selections to compare: {mask, name, size}
    this.added = []; // new samples
    this.chosenAdded = null; // the one whose interval is drawn; null: the newest
    this.listeners = new Map();
    this.startTree = rootedTree(this.graph, this.graph.wanted);
    this.settle([...this.graph.wanted]);
    this.colorKey = this.keyOf(state.color);
    this.recolor();
  }

  // Who wants to know

  on(topics, listener) {
    for (const topic of topics.split(" ")) {
      if (!this.listeners.has(topic)) this.listeners.set(topic, []);
      this.listeners.get(topic).push(listener);
    }
  }

  emit(topic) {
    for (const listener of this.listeners.get(topic) ?? []) listener();
  }

  /** Words for those who do not see what has changed. */
  say(words) {
    this.words = words;
    this.emit("words");
  }

  // The root

  settle(wanted) {
    const { edge, position } = this.state.samples;
    this.wanted = wanted;
    this.tree = rootedTree(this.graph, wanted);
    this.placed = placeSamples(this.tree, this.graph, edge, position);
    this.layout = treeLayout(this.tree, this.placed);
    this.branchSizes = this.tree.branches.map(() => 0);
    for (let i = 0; i < this.nRows; i += 1) {
      this.branchSizes[this.placed.branch[i]] += this.weightOf(i);
    }
    this.latest = this.placed.pseudotime.reduce((most, t) => (t > most ? t : most), 0);
    // Bins end before their last sample; of the first root the model knows when that is.
    if (this.isStartRoot) this.latest = this.state.model.latest ?? this.latest;
    this.computed = [
      {
        key: "branch",
        name: "branch",
        group: "tree",
        kind: "category",
        unit: "",
        labels: this.tree.branches.map((branch) => branch.name),
        codes: this.placed.branch,
      },
      {
        key: "pseudotime",
        name: "pseudotime",
        group: "tree",
        kind: "number",
        unit: "way along the tree from the root, in units of the data",
        values: this.placed.pseudotime,
      },
    ];
  }

  /** Let time run from a node, in its part of the graph; nothing is fitted again. */
  setRoot(node) {
    const { parts } = this.tree;
    this.moveRoots([...this.wanted.filter((other) => parts[other] !== parts[node]), node]);
  }

  resetRoot() {
    this.moveRoots([...this.graph.wanted]);
  }

  moveRoots(wanted) {
    // Rows stay what they are; but branches may have other names and numbers then.
    this.selectionName = this.lastingName;
    if (this.selectionKey.startsWith("branch/")) this.selectionKey = "";
    this.settle(wanted);
    this.recolor();
    this.emit("root");
    const kept = this.selection ? " The selection is kept." : "";
    this.say(`Root at ${this.rootName}; ${counted(this.tree.branches.length, "branch")}.${kept}`);
  }

  get isStartRoot() {
    return String(this.wanted) === String([...this.graph.wanted]);
  }

  /**
   * How sure a branch of the tree as it is rooted now is.
   * @returns {import("./model/evidence.js").Sure}
   */
  branchSure(k) {
    if (this.sure?.tree !== this.tree) {
      const branches = branchesSure(this.state.evidence, this.tree, this.graph.lengths);
      this.sure = { tree: this.tree, branches };
    }
    return this.sure.branches[k];
  }

  /** Names of the milestones that time starts at. */
  get rootName() {
    const roots = this.tree.milestones.filter((milestone) => milestone.isRoot);
    const given = roots.filter((milestone) => this.wanted.includes(milestone.node));
    return (given.length ? given : roots).map((milestone) => milestone.name).join(", ");
  }

  // Columns and colours

  get columns() {
    return [...this.computed, ...this.table];
  }

  column(key) {
    return this.columns.find((column) => column.key === key);
  }

  /** The key of a column that the file names; a column of the user's comes first. */
  keyOf(name) {
    const named = this.columns.filter((column) => column.name === name);
    const own = named.find((column) => column.group === "annotation");
    const isComputed = name === "pseudotime" || name === "branch";
    return (isComputed ? name : (own ?? named[0])?.key) ?? "branch";
  }

  setColor(key) {
    this.colorKey = key;
    this.recolor();
    this.emit("color");
    this.say(`Coloured by ${this.coloring.name}.`);
  }

  recolor() {
    this.coloring = colorize(this.column(this.colorKey), this.theme, this.weights);
    this.branchColoring = colorize(this.computed[0], this.theme, this.weights);
  }

  setTheme(theme) {
    this.theme = theme;
    this.recolor();
    this.emit("theme");
    this.emit("color");
  }

  // Rows

  weightOf(i) {
    return this.weights ? this.weights[i] : 1;
  }

  /** What a row is called. */
  label(i) {
    const { ids } = this.state.samples;
    return ids ? ids[i] : counted(this.weights[i], "sample");
  }

  /** The value of a column in a row, in words. */
  value(column, i) {
    if (column.kind === "number") return number(column.values[i], 6);
    if (column.codes[i] < 0) return "–";
    const label = column.labels[column.codes[i]];
    if (!column.share) return label;
    return `${label} (${Math.round(100 * column.share[i])} % of them)`;
  }

  /** The same with what it is measured in. */
  valueWithUnit(column, i) {
    const text = this.value(column, i);
    return column.unit && text !== "–" ? `${text} (${column.unit})` : text;
  }

  /** Rows that samples of these names are, or are in. */
  rowsNamed(text) {
    const { bins, samples } = this.state;
    const ids = samples.ids ?? bins?.ids;
    if (!ids) return [];
    const wanted = text.toLowerCase();
    // The very name first, then names that begin so, then those that have it somewhere.
    const found = [[], [], []];
    for (let k = 0; k < ids.length; k += 1) {
      const at = ids[k].toLowerCase().indexOf(wanted);
      if (at < 0) continue;
      const rank = at > 0 ? 2 : Number(ids[k].length > wanted.length);
      if (found[rank].length < MOST_FOUND) {
        found[rank].push({ id: ids[k], row: samples.ids ? k : bins.of[k] });
      }
    }
    return found.flat().slice(0, MOST_FOUND);
  }

  get canSearch() {
    return Boolean(this.state.samples.ids ?? this.state.bins?.ids);
  }

  // The selection

  /**
   * Single out rows.
   * @param {Iterable<number>} rows
   * @param {string} name in words
   * @param {{key?: string, isAdded?: boolean}} [how] what was chosen; whether what is singled out
   *   already stays so
   */
  select(rows, name, { key = "", isAdded = false } = {}) {
    const adds = isAdded && this.selection !== null;
    const mask = adds ? this.selection.slice() : new Uint8Array(this.nRows);
    for (const i of rows) mask[i] = 1;
    const some = mask.some((on) => on);
    this.selection = some ? mask : null;
    this.selectionName = some ? (adds ? "several choices" : name) : "";
    this.selectionKey = some && !adds ? key : "";
    this.emit("selection");
    this.say(some ? `${counted(this.selectedSize, "sample")} selected.` : "Nothing selected.");
  }

  /** Single out a category of a column, or no longer if it is so already. */
  toggleCategory(column, code) {
    const key = `${column.key}/${code}`;
    if (this.selectionKey === key) {
      this.clearSelection();
      return;
    }
    const rows = [];
    for (let i = 0; i < this.nRows; i += 1) if (column.codes[i] === code) rows.push(i);
    // Of a bin only the most frequent category is seen.
    const name = column.share ? `mostly ${column.labels[code]}` : column.labels[code];
    this.select(rows, name, { key });
  }

  clearSelection() {
    if (!this.selection) return;
    this.select([], "");
  }

  get selectedRows() {
    const rows = [];
    if (this.selection) {
      for (let i = 0; i < this.nRows; i += 1) if (this.selection[i]) rows.push(i);
    }
    return rows;
  }

  get selectedSize() {
    return this.selectedRows.reduce((sum, i) => sum + this.weightOf(i), 0);
  }

  /** The selection in words that stay true when the root moves. */
  get lastingName() {
    const isBranch = this.selectionKey.startsWith("branch/");
    return isBranch ? `${this.selectionName} (root ${this.rootName})` : this.selectionName;
  }

  // Two selections

  /** Keep the selection as "A" or "B", to compare them. */
  keep(letter) {
    if (!this.selection) return;
    const [mask, size] = [this.selection.slice(), this.selectedSize];
    this.kept = { ...this.kept, [letter]: { mask, size, name: this.lastingName } };
    this.emit("kept");
    this.say(`${counted(size, "sample")} kept as ${letter}.`);
  }

  forgetKept() {
    this.kept = { A: null, B: null };
    this.emit("kept");
    this.say("A and B are forgotten.");
  }

  /**
   * What is compared: A with B, A with all others, or the selection with all others; null: nothing.
   * Rows in both A and B are in neither side.
   */
  get groups() {
    const { A, B } = this.kept;
    const first = A?.mask ?? this.selection;
    if (!first) return null;
    const second = A && B ? B.mask : null;
    const side = new Uint8Array(this.nRows);
    const sizes = [0, 0, 0];
    let nBoth = 0;
    for (let i = 0; i < this.nRows; i += 1) {
      const isIn = [first[i], second ? second[i] : !first[i]];
      if (isIn[0] && isIn[1]) nBoth += this.weightOf(i);
      else side[i] = isIn[0] ? 1 : isIn[1] ? 2 : 0;
      sizes[side[i]] += this.weightOf(i);
    }
    const names = [A ? "A" : "selection", second ? "B" : "others"];
    return { side, nBoth, names, sizes: sizes.slice(1) };
  }

  /** Every feature in both groups, those that differ most first. */
  compareFeatures({ side }) {
    return compareFeatures(this.features, side, this.weights);
  }

  // New samples

  /**
   * Place the rows of a table on the tree; what is wrong is thrown.
   * @param {string} text
   * @param {{usual?: string}} [hints] the separator that the name of a file tells
   */
  addSamples(text, hints = {}) {
    const { model } = this.state;
    const given = readSamples(text, model, hints);
    const known = {
      ranks: tieRanks(this.graph.edges, this.graph.wanted),
      trust: this.trust,
      absent: given.absent,
    };
    const found = given.rows.map((row, k) => {
      const place = placeSample(model, this.graph, row, given.covariates[k], known);
      return { id: given.ids[k], ...place };
    });
    found.forEach((sample, k) => {
      // Rows without a name are counted on, so that no two have the same.
      if (sample.id === `new ${k + 1}`) sample.id = `new ${this.added.length + k + 1}`;
    });
    const nBefore = this.added.length;
    this.added = [...this.added, ...found];
    this.chosenAdded = null;
    this.emit("added");
    const nFar = this.placesOfAdded().filter((sample, k) => k >= nBefore && sample.isFar).length;
    const far = nFar ? ` ${grouped(nFar)} of them far from the tree, or beyond the fit.` : "";
    this.say(`${counted(found.length, "sample")} placed.${far}`);
    return given;
  }

  clearAdded() {
    this.added = [];
    this.chosenAdded = null;
    this.emit("added");
  }

  /** How much to trust a place is known by this; null if the model does not know. */
  get trust() {
    this.trusted ??= { model: trustModel(this.state.model, this.graph) };
    return this.trusted.model;
  }

  /** The new sample whose ring and interval are drawn: the newest, or one that was chosen. */
  get shownAdded() {
    return this.chosenAdded ?? this.added.length - 1;
  }

  chooseAdded(k) {
    this.chosenAdded = k;
    this.emit("added");
  }

  /** Where new samples are on the tree as it is rooted now; kept until either changes. */
  placesOfAdded() {
    if (this.addedPlaces?.added !== this.added || this.addedPlaces.tree !== this.tree) {
      this.addedPlaces = { added: this.added, tree: this.tree, places: this.placeAdded() };
    }
    return this.addedPlaces.places;
  }

  placeAdded() {
    const distances = this.state.model?.distances ?? [0];
    // Where every sample of the fit is a node, all are on the tree, and there is nothing to compare.
    const isComparable = distances.at(-1) > 0;
    const edge = Int32Array.from(this.added, (sample) => sample.edge);
    const position = Float64Array.from(this.added, (sample) => sample.position);
    const { branch, branchPosition, pseudotime } = placeSamples(
      this.tree,
      this.graph,
      edge,
      position,
    );
    const places = this.trust ? rootedPlaces(this.trust, this.tree, this.graph) : null;
    return this.added.map((sample, k) => {
      const partNearer = isComparable ? percentileOf(sample.distance, distances) : null;
      const told = { told: sample.told, partNearer };
      const warning = warningOf(told);
      return {
        ...sample,
        far: farWords(told),
        warning,
        isFar: warning !== "",
        source: this.graph.edges[2 * sample.edge],
        target: this.graph.edges[2 * sample.edge + 1],
        branch: branch[k],
        branchName: this.tree.branches[branch[k]].name,
        branchPosition: branchPosition[k],
        pseudotime: pseudotime[k],
        sure: places ? this.sureOf(sample, places, branch[k], pseudotime[k]) : null,
      };
    });
  }

  /** Interval and branches of a new sample; its own place is always among those that are likely. */
  sureOf(sample, places, branch, time) {
    const found = alongTree(this.trust, places, sample.told.shares);
    const { lower, upper, branches } = found;
    const spans = found.spans.map((span, k) =>
      span && k === branch ? [Math.min(span[0], time), Math.max(span[1], time)] : span,
    );
    return {
      lower: Math.min(lower, time),
      upper: Math.max(upper, time),
      branches,
      spans,
      probability: branches[branch],
    };
  }
}
