// What is said of whatever the pointer is on.

import { rangeWords } from "./model/messages.js";
import { columnsOf } from "./model/trust.js";
import { fill, h } from "./view/dom.js";
import { clipped, counted, grouped, number, percent } from "./view/format.js";

const MOST_SHOWN = 14;

/** The tooltip: an element, and `show(found, event)` for what a plot has found. */
export function tooltip(app) {
  const element = h("div", { class: "tip", role: "tooltip", hidden: true });
  const tellers = { sample: ofSample, node: ofNode, branch: ofBranch, target: ofTarget };
  const show = (found, event) => {
    element.hidden = !found || !event;
    if (element.hidden) return;
    fill(element, ...tellers[found.kind](app, found.target ?? found.id));
    place(element, event);
  };
  // A finger on anything else puts it away.
  document.addEventListener("pointerdown", (event) => {
    if (!event.target.closest(".plot")) element.hidden = true;
  });
  return { element, show };
}

function place(element, event) {
  const { offsetWidth: width, offsetHeight: height } = element;
  // A finger would lie on what is below it.
  const isFinger = event.pointerType === "touch";
  const isLeft = event.clientX + 16 + width > window.innerWidth;
  const left = isLeft ? event.clientX - 16 - width : event.clientX + 16;
  const top = isFinger ? event.clientY - height - 24 : event.clientY + 12;
  const [right, foot] = [window.innerWidth - width - 4, window.innerHeight - height - 8];
  element.style.left = `${Math.max(Math.min(left, right), 4)}px`;
  element.style.top = `${Math.max(Math.min(top, foot), 4)}px`;
}

/** Names and values, one under the other. */
function listOf(rows) {
  return h(
    "dl",
    {},
    rows.flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]),
  );
}

function ofSample(app, i) {
  // What is looked at comes first, then all columns that are not features.
  const looked = [app.column(app.colorKey), app.chosenFeature?.()];
  const others = app.table.filter((column) => column.group !== "feature");
  const shown = [...new Set([...looked, ...others])].filter((c) => c && c.group !== "tree");
  const rows = [
    ["branch", app.tree.branches[app.placed.branch[i]].name],
    ["pseudotime", number(app.placed.pseudotime[i], 6)],
    ...shown
      .slice(0, MOST_SHOWN)
      .map((column) => [clipped(column.name, 30), clipped(app.valueWithUnit(column, i), 60)]),
  ];
  if (shown.length > MOST_SHOWN)
    rows.push([`${grouped(shown.length - MOST_SHOWN)} more columns`, ""]);
  return [h("strong", {}, clipped(app.label(i), 60)), listOf(rows)];
}

/** A node, and that a click would make it the root. */
function ofNode(app, node) {
  const milestone = app.tree.milestones.find((m) => m.node === node);
  return [
    h("strong", {}, milestone ? milestone.name : `node ${node}`),
    h("div", {}, `pseudotime ${number(app.tree.nodeTime[node], 6)}`),
    h("div", {}, app.tree.roots.includes(node) ? "time starts here" : "click to start time here"),
  ];
}

function ofBranch(app, k) {
  const { name, startTime, endTime } = app.tree.branches[k];
  const sure = app.branchSure?.(k)?.words;
  return [
    h("strong", {}, `branch ${name}`),
    h("div", {}, counted(app.branchSizes[k], "sample")),
    h("div", {}, `pseudotime ${number(startTime, 4)} to ${number(endTime, 4)}`),
    sure ? h("div", {}, sure) : null,
  ].filter(Boolean);
}

/** A new sample, or the one that was looked for; or the arrow to it. */
function ofTarget(app, { kind, k, row, isOutside }) {
  const told = kind === "added" ? ofAdded(app, app.placesOfAdded()[k]) : ofSample(app, row);
  const way = kind === "added" ? "click to see it with the whole tree" : "click to go there";
  return isOutside || kind === "added" ? [...told, h("div", { class: "hint" }, way)] : told;
}

function ofAdded(app, sample) {
  const { sure, told, far, warning } = sample;
  const chance = sure ? ` (${percent(sure.probability)})` : "";
  const from = sure ? ` (${number(sure.lower)} to ${number(sure.upper)})` : "";
  const outside = rangeWords(told, columnsOf(app.state.model));
  return [
    h("strong", {}, `new sample ${clipped(sample.id, 60)}`),
    listOf([
      ["branch", `${sample.branchName}${chance}`],
      ["pseudotime", `${number(sample.pseudotime, 6)}${from}`],
      ["distance", `${number(sample.distance, 4)}${far && `, ${far}`}`],
      ...(outside ? [["out of range", clipped(outside, 120)]] : []),
    ]),
    warning ? h("div", { class: "problem" }, warning) : null,
  ].filter(Boolean);
}
