// One picture that can be moved, zoomed and lassoed: the embedding, and the tree by pseudotime.

import { paintCanvas } from "../paint/canvas.js";
import { WebglPainter } from "../paint/webgl.js";
import { Camera, boundsOf, project, projectAll } from "./camera.js";
import { withDashes } from "./dashes.js";
import { h } from "./dom.js";
import { css } from "./colors.js";

const STEP = 40; // pixels that an arrow key moves
const REACH = 9; // pixels within which the pointer finds a sample
const CLICK = 4; // pixels that a click may slip
const ON_LINE = 6; // pixels within which the pointer finds a line
// A finger is not as exact as a pointer: it reaches farther and slips more.
const FINGER = { reach: 2.2, click: 10 };
const LONG_PRESS = 500; // milliseconds
// Samples that may lie under the legend at the start, as a part of all.
const MOST_UNDER = 0.002;
const MOST_LOOKED_AT = 3000;
const USUAL = 900 * 280; // pixels of a view in which points have their full size

/**
 * A scene: what is drawn, in coordinates of the data.
 * @typedef {Object} Scene
 * @property {Float32Array} positions (n × 3)
 * @property {number} count n
 * @property {Uint8Array} rgba (n × 4)
 * @property {Uint8Array} shapes (n): 1 for triangles
 * @property {Float32Array} radii (n), in pixels
 * @property {Uint32Array} order in which points are drawn
 * @property {Float32Array} lines (m × 6)
 * @property {Uint8Array} lineRgba (m × 4)
 * @property {boolean} linesFirst whether points lie above the lines
 * @property {{positions: Float32Array, ids: Int32Array, reach: Float32Array, first: Uint8Array}}
 *   nodes that can be clicked: within how many pixels, and which come before the samples there
 * @property {Int32Array} lineBranches (m): the branch of each line
 * @property {Function|null} dashOf of each line, as `withDashes` takes it; null: none has dashes
 * @property {(view: Object) => Object[]} decorate further shapes, in pixels; those with a target and
 *   a box can be pointed at
 *
 * What the pointer is on.
 * @typedef {{kind: "sample"|"node"|"branch"|"target", id?: number, target?: Object}} Found
 */

export class Plot {
  /**
   * @param {{label: string, describedBy?: string, stretch?: boolean, covers?: () => number[][],
   *   legend?: () => number[]|undefined, theme: () => Object, onHover: (found: Found|null, event: Object) => void,
   *   onSample: Function, onNode: Function, onTarget: Function, onLasso: Function,
   *   onClear: Function}} options covers: boxes of what lies above the picture; legend: that
   *   of them for which room is made at the right
   */
  constructor(options) {
    this.options = options;
    this.tool = "pan";
    this.scene = null;
    this.camera = new Camera({ low: [0, 0, 0], high: [1, 1, 1] }, options);
    this.hovered = -1;
    this.lasso = null;
    this.pointer = null; // where it rests
    this.fingers = new Map();
    this.targets = [];
    this.frame = 0;
    this.ground = h("canvas", { "aria-hidden": "true" });
    this.overlay = h("canvas", { "aria-hidden": "true" });
    this.element = h(
      "div",
      {
        class: "plot",
        tabindex: "0",
        role: "application",
        "aria-label": options.label,
        "aria-describedby": options.describedBy,
      },
      this.ground,
      this.overlay,
    );
    this.startPainter();
    this.listen();
    new ResizeObserver(() => this.resize()).observe(this.element);
  }

  startPainter() {
    try {
      this.painter = new WebglPainter(this.ground);
    } catch {
      // Blocked, or too old a card: the canvas draws the same, more slowly.
      this.painter = null;
      this.ground.replaceWith((this.ground = h("canvas", { "aria-hidden": "true" })));
    }
    this.ground.addEventListener("webglcontextlost", (event) => event.preventDefault());
    this.ground.addEventListener("webglcontextrestored", () => {
      this.painter = new WebglPainter(this.ground);
      this.uploadAll();
      this.cut = null;
      this.render();
    });
  }

  /** Take a scene, or what has changed of it. */
  setScene(changed) {
    this.scene = { ...this.scene, ...changed };
    if (this.painter) this.uploadAll(changed);
    if (changed.lines) this.cut = null;
    this.render();
  }

  uploadAll(changed = this.scene) {
    if (!changed) return;
    const names = {
      positions: "position",
      rgba: "color",
      radii: "radius",
      shapes: "shape",
      order: "order",
      lines: "line",
      lineRgba: "lineColor",
    };
    const parts = Object.entries(names).filter(([name]) => changed[name]);
    this.painter.upload(Object.fromEntries(parts.map(([name, key]) => [key, changed[name]])));
  }

  /** Lines as they are drawn: with dashes that look the same however near one is. */
  cutLines(m) {
    const { lines, lineRgba, dashOf } = this.scene;
    if (!dashOf) return { lines, rgba: lineRgba };
    const scales = [0, 4].map((k) => Math.hypot(m[k], m[k + 1], m[k + 2]));
    const key = scales.map((scale) => Math.round(4 * Math.log2(scale))).join(" ");
    if (this.cut?.key !== key) {
      const found = withDashes(lines, dashOf, scales);
      const rgba = new Uint8Array(4 * found.of.length);
      found.of.forEach((line, k) => rgba.set(lineRgba.subarray(4 * line, 4 * line + 4), 4 * k));
      this.cut = { key, lines: found.lines, rgba };
      this.painter?.upload({ line: found.lines, lineColor: rgba });
    }
    return this.cut;
  }

  /** Look at everything, and at a further place if one is given; three dimensions if `solid`. */
  fit(solid = this.camera.solid, place = null) {
    const { positions, count, nodes } = this.scene;
    const boxes = [boundsOf(positions, count)];
    if (nodes.positions.length) boxes.push(boundsOf(nodes.positions, nodes.positions.length / 3));
    if (place) boxes.push({ low: place, high: place });
    const bounds = {
      low: [0, 1, 2].map((k) => Math.min(...boxes.map(({ low }) => low[k]))),
      high: [0, 1, 2].map((k) => Math.max(...boxes.map(({ high }) => high[k]))),
    };
    this.camera = this.cameraFor(bounds, solid, place);
    this.pending = null;
    this.render();
  }

  /** A camera with as little room for the legend as lets it hide nothing. */
  cameraFor(bounds, solid, place) {
    const { stretch } = this.options;
    const [width, height] = this.size ?? [0, 0];
    const legend = width ? this.options.legend?.() : null;
    const most = legend ? Math.max(width - legend[0], 0) : 0;
    let camera = null;
    for (const part of most ? [0, 0.25, 0.5, 0.75, 1] : [0]) {
      camera = new Camera(bounds, { stretch, solid, room: part * most });
      if (!most || !this.hides(camera.matrix(width, height), legend, place)) break;
    }
    return camera;
  }

  /** Whether a box lies above a tip, a fork, a place or more than very few of the samples. */
  hides(m, box, place) {
    const { positions, count, nodes } = this.scene;
    const isUnder = (all, i) => {
      const [x, y] = project(m, all[3 * i], all[3 * i + 1], all[3 * i + 2]);
      return x > box[0] - 6 && x < box[2] + 6 && y > box[1] - 6 && y < box[3] + 6;
    };
    if (place && isUnder(place, 0)) return true;
    for (let k = 0; k < nodes.ids.length; k += 1) if (isUnder(nodes.positions, k)) return true;
    const step = Math.max(1, Math.ceil(count / MOST_LOOKED_AT));
    let n = 0;
    for (let i = 0; i < count; i += step) n += isUnder(positions, i) ? 1 : 0;
    return n > (MOST_UNDER * count) / step;
  }

  /** Look at everything again, unless somebody has moved the picture. */
  refit() {
    if (this.scene && this.camera.isAtStart) this.fit();
  }

  /** Bring a place to the middle; of a view that is hidden, as soon as it is shown. */
  lookAt(position) {
    // Its size may just have changed, and nobody has told it so far.
    const { clientWidth: width, clientHeight: height } = this.element;
    const isSettled = width > 0 && this.size?.[0] === width && this.size[1] === height;
    if (isSettled) this.camera.lookAt(position, width, height);
    else this.pending = position;
    this.render();
  }

  resize() {
    const { clientWidth: width, clientHeight: height } = this.element;
    const ratio = window.devicePixelRatio || 1;
    for (const canvas of [this.ground, this.overlay]) {
      canvas.width = Math.max(1, Math.round(width * ratio));
      canvas.height = Math.max(1, Math.round(height * ratio));
    }
    this.size = [width, height];
    this.ratio = ratio;
    if (!this.scene || !width) return;
    const { pending } = this;
    this.refit();
    if (pending) this.camera.lookAt(pending, width, height);
    this.pending = null;
    this.draw();
  }

  render() {
    if (this.frame || !this.size) return;
    this.frame = requestAnimationFrame(() => {
      this.frame = 0;
      this.draw();
    });
  }

  /** Points grow a little as one comes nearer, and are smaller in a small view. */
  get grow() {
    const [width, height] = this.size;
    const room = Math.min(Math.max(Math.sqrt((width * height) / USUAL), 0.6), 1);
    return room * Math.min(Math.max(this.camera.zoom ** 0.35, 0.7), 4);
  }

  draw() {
    if (!this.scene || !this.size) return;
    const [width, height] = this.size;
    const { ratio, scene } = this;
    const matrix = this.camera.matrix(width, height);
    const theme = this.options.theme();
    const context = this.overlay.getContext("2d");
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    if (this.painter) {
      this.cutLines(matrix);
      this.painter.draw(matrix, {
        width,
        height,
        ratio,
        grow: this.grow,
        lineWidth: scene.lineWidth,
        shade: theme.shade,
        solid: this.camera.solid,
        linesFirst: scene.linesFirst,
      });
      paintCanvas(context, this.decorations(matrix));
    } else {
      const below = this.ground.getContext("2d");
      below.setTransform(ratio, 0, 0, ratio, 0, 0);
      below.clearRect(0, 0, width, height);
      paintCanvas(below, this.shapes(matrix));
      paintCanvas(context, this.decorations(matrix));
    }
  }

  /** Points and lines as shapes in pixels. */
  shapes(matrix) {
    const { scene } = this;
    const { xy, depth } = projectAll(matrix, scene.positions, scene.count);
    let { order } = scene;
    if (this.camera.solid) order = order.slice().sort((a, b) => depth[b] - depth[a]);
    const points = {
      kind: "points",
      xy,
      rgba: scene.rgba,
      shapes: scene.shapes,
      radii: scene.radii.map((r) => r * this.grow),
      order,
      shade: this.options.theme().shade,
    };
    const drawn = this.cutLines(matrix);
    const ends = projectAll(matrix, drawn.lines, drawn.lines.length / 3).xy;
    const colors = Array.from({ length: drawn.lines.length / 6 }, (_, k) =>
      css([...drawn.rgba.slice(4 * k, 4 * k + 3)], drawn.rgba[4 * k + 3] / 255),
    );
    const lines = { kind: "lines", xy: ends, colors, width: scene.lineWidth };
    return scene.linesFirst ? [lines, points] : [points, lines];
  }

  /** Names, markers, the lasso and what the pointer is on. */
  decorations(matrix) {
    const { scene } = this;
    const theme = this.options.theme();
    const shapes = scene.decorate(this.view(matrix, this.options.covers?.() ?? []));
    this.targets = shapes.filter((shape) => shape.target);
    if (this.hovered >= 0) {
      const i = this.hovered;
      const [x, y] = project(matrix, ...scene.positions.subarray(3 * i, 3 * i + 3));
      const r = scene.radii[i] * this.grow + 3;
      shapes.push({ kind: "disc", x, y, r, stroke: theme.ink, width: 2 });
    }
    if (this.lasso) {
      const fill = theme.lasso;
      const xy = this.lasso.flat();
      shapes.push({ kind: "polyline", xy, closed: true, fill, stroke: theme.ink, width: 1.5 });
    }
    return shapes;
  }

  /** What a scene needs to know to put names and marks above the points. */
  view(matrix, covers) {
    const { size, grow } = this;
    return { project: (x, y, z) => project(matrix, x, y, z), size, matrix, grow, covers };
  }

  /** Everything as shapes, for a picture of the given size. */
  picture(width, height) {
    const before = this.size;
    const shown = before?.[0] ? before : [width, height]; // a view may be hidden
    this.size = [width, height];
    const camera = this.camera;
    // The same part of the data, whatever the shape of the picture.
    const zoomed = Object.assign(new Camera(camera.bounds, camera), {
      zoom: camera.zoom,
      yaw: camera.yaw,
      pitch: camera.pitch,
      pan: [(camera.pan[0] * width) / shown[0], (camera.pan[1] * height) / shown[1]],
    });
    this.camera = zoomed;
    const matrix = zoomed.matrix(width, height);
    const shapes = [...this.shapes(matrix), ...this.scene.decorate(this.view(matrix, []))];
    this.camera = camera;
    this.size = before;
    return shapes;
  }

  // What the pointer and the keys do

  listen() {
    const { element } = this;
    element.addEventListener("pointerdown", (event) => this.press(event));
    element.addEventListener("pointermove", (event) => this.move(event));
    element.addEventListener("pointerup", (event) => this.release(event));
    element.addEventListener("pointercancel", (event) => this.cancel(event));
    element.addEventListener("pointerleave", (event) => this.leave(event));
    element.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    element.addEventListener("keydown", (event) => this.key(event));
    element.addEventListener("contextmenu", (event) => event.preventDefault());
  }

  where(event) {
    const box = this.element.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }

  press(event) {
    if (!this.scene) return;
    const [x, y] = this.where(event);
    const isFinger = event.pointerType === "touch";
    this.element.setPointerCapture(event.pointerId);
    this.fingers.set(event.pointerId, [x, y]);
    if (isFinger) this.setFound(null, event);
    if (this.fingers.size > 1) {
      this.startPinch();
      return;
    }
    const lassoes = this.tool === "lasso" || (event.shiftKey && event.button === 0);
    const { button, shiftKey: shift } = event;
    this.dragged = { x, y, from: [x, y], slipped: 0, button, shift, lassoes, isFinger };
    if (lassoes) this.lasso = [[x, y]];
    if (isFinger) this.awaitLongPress(event);
  }

  /** A finger that rests asks what is there. */
  awaitLongPress(event) {
    const drag = this.dragged;
    drag.timer = setTimeout(() => {
      if (this.dragged !== drag || drag.slipped > FINGER.click) return;
      drag.isLong = true;
      this.lasso = null;
      this.hover(drag.x, drag.y, event);
    }, LONG_PRESS);
  }

  startPinch() {
    clearTimeout(this.dragged?.timer);
    this.dragged = null;
    this.lasso = null;
    this.pinch = this.betweenFingers();
    this.render();
  }

  /** The middle between the first two fingers, and how far they are apart. */
  betweenFingers() {
    const [a, b] = [...this.fingers.values()];
    const gap = Math.max(Math.hypot(a[0] - b[0], a[1] - b[1]), 1);
    return { x: (a[0] + b[0]) / 2, y: (a[1] + b[1]) / 2, gap };
  }

  movePinch() {
    const before = this.pinch;
    this.pinch = this.betweenFingers();
    const { x, y, gap } = this.pinch;
    this.camera.move(x - before.x, y - before.y);
    this.camera.zoomAt(gap / before.gap, x, y, ...this.size);
    this.render();
  }

  move(event) {
    if (!this.scene) return;
    const [x, y] = this.where(event);
    if (this.fingers.has(event.pointerId)) this.fingers.set(event.pointerId, [x, y]);
    if (this.pinch) {
      this.movePinch();
      return;
    }
    const drag = this.dragged;
    if (!drag || drag.isLong) {
      this.hover(x, y, event);
      return;
    }
    drag.slipped = Math.max(drag.slipped, Math.hypot(x - drag.from[0], y - drag.from[1]));
    if (drag.lassoes) {
      this.lasso.push([x, y]);
    } else if (drag.isFinger && drag.slipped <= FINGER.click) {
      return; // it may still become a tap
    } else if (this.camera.solid && drag.button === 0 && this.tool !== "root") {
      this.camera.turn(x - drag.x, y - drag.y);
    } else {
      this.camera.move(x - drag.x, y - drag.y);
    }
    [drag.x, drag.y] = [x, y];
    this.setFound(null, event);
    this.render();
  }

  release(event) {
    this.fingers.delete(event.pointerId);
    if (this.pinch) {
      this.endPinch();
      return;
    }
    const drag = this.dragged;
    if (!drag) return;
    this.dragged = null;
    clearTimeout(drag.timer);
    const [x, y] = this.where(event);
    const corners = this.lasso;
    this.lasso = null;
    if (drag.isLong) return;
    if (drag.slipped <= (drag.isFinger ? FINGER.click : CLICK)) {
      if (drag.button === 0) this.click(x, y, drag);
    } else if (corners) {
      this.options.onLasso(this.inside(corners), drag.shift && this.tool === "lasso");
    }
    this.render();
  }

  /** The finger that is left goes on moving the picture. */
  endPinch() {
    if (this.fingers.size > 1) {
      this.pinch = this.betweenFingers();
      return;
    }
    this.pinch = null;
    const [at] = this.fingers.values();
    if (at) {
      const [x, y] = at;
      this.dragged = { x, y, from: at, slipped: Infinity, button: 2, isFinger: true };
    }
  }

  cancel(event = null) {
    if (event) this.fingers.delete(event.pointerId);
    else this.fingers.clear();
    clearTimeout(this.dragged?.timer);
    this.dragged = null;
    this.pinch = null;
    this.lasso = null;
    this.render();
  }

  leave(event) {
    // What a long press has told stays until the next touch.
    if (!this.dragged && event.pointerType !== "touch") this.setFound(null, null);
  }

  wheel(event) {
    if (!this.scene) return;
    event.preventDefault();
    const [x, y] = this.where(event);
    const amount = event.deltaMode === 1 ? 16 * event.deltaY : event.deltaY;
    this.camera.zoomAt(Math.exp(-Math.min(Math.max(amount, -120), 120) / 250), x, y, ...this.size);
    this.hoverAgain();
    this.render();
  }

  zoom(factor) {
    this.camera.zoomAt(factor, this.size[0] / 2, this.size[1] / 2, ...this.size);
    this.render();
  }

  key(event) {
    if (!this.scene || event.ctrlKey || event.metaKey || event.altKey) return;
    const moves = {
      ArrowLeft: [STEP, 0],
      ArrowRight: [-STEP, 0],
      ArrowUp: [0, STEP],
      ArrowDown: [0, -STEP],
    };
    if (moves[event.key]) {
      const [dx, dy] = moves[event.key];
      if (this.camera.solid && event.shiftKey) this.camera.turn(-dx / 3, -dy / 3);
      else this.camera.move(dx, dy);
    } else if (event.key === "+" || event.key === "=") {
      this.zoom(1.25);
    } else if (event.key === "-" || event.key === "_") {
      this.zoom(0.8);
    } else if (event.key === "0") {
      this.fit();
    } else if (event.key === "Escape") {
      this.cancel();
      this.options.onClear();
    } else {
      return;
    }
    event.preventDefault();
    this.hoverAgain();
    this.render();
  }

  // What lies where

  /** What is nearest to a pixel, of what is near enough, and how far it is. */
  nearest(x, y, positions, count, reachOf) {
    const m = this.camera.matrix(...this.size);
    let [best, least, front] = [-1, Infinity, Infinity];
    for (let i = 0; i < count; i += 1) {
      const [px, py, depth] = project(
        m,
        positions[3 * i],
        positions[3 * i + 1],
        positions[3 * i + 2],
      );
      const gap = Math.hypot(px - x, py - y);
      if (gap > reachOf(i)) continue;
      // Of points on one pixel, the one in front.
      if (gap < least - 0.5 || (gap < least + 0.5 && depth < front)) {
        [best, least, front] = [i, gap, depth];
      }
    }
    return { index: best, gap: least };
  }

  /** The sample or the node that the pointer means; −1 for none. A finger reaches farther. */
  under(x, y, factor = 1) {
    const { positions, count, radii, nodes } = this.scene;
    const reach = (i) => Math.max(factor * REACH, radii[i] * this.grow);
    const sample = this.nearest(x, y, positions, count, reach);
    const reachOf = (k) => factor * nodes.reach[k];
    const node = this.nearest(x, y, nodes.positions, nodes.ids.length, reachOf);
    // Samples gather at nodes: but for tips and forks, the nearer one is meant.
    const isNode = node.index >= 0 && (nodes.first[node.index] || node.gap < sample.gap);
    return isNode
      ? { node: nodes.ids[node.index], sample: -1, gap: node.gap }
      : { node: -1, sample: sample.index, gap: sample.gap };
  }

  /** The branch whose line is nearest to a pixel, and how far it is. */
  lineAt(x, y) {
    const { lines, lineBranches } = this.scene;
    const m = this.camera.matrix(...this.size);
    let [branch, least] = [-1, ON_LINE];
    for (let k = 0; k < lineBranches.length; k += 1) {
      const [ax, ay] = project(m, lines[6 * k], lines[6 * k + 1], lines[6 * k + 2]);
      const [bx, by] = project(m, lines[6 * k + 3], lines[6 * k + 4], lines[6 * k + 5]);
      const gap = distanceToLine(x, y, ax, ay, bx, by);
      if (gap < least) [branch, least] = [lineBranches[k], gap];
    }
    return { branch, gap: least };
  }

  /**
   * What is at a pixel.
   * @returns {Found|null}
   */
  find(x, y, factor = 1) {
    const margin = factor > 1 ? 8 : 0;
    const hit = this.targets.findLast(
      ({ box: [left, top, right, bottom] }) =>
        x >= left - margin && x <= right + margin && y >= top - margin && y <= bottom + margin,
    );
    if (hit) return { kind: "target", target: hit.target };
    const { node, sample, gap } = this.under(x, y, factor);
    if (node >= 0) return { kind: "node", id: node };
    const line = this.lineAt(x, y);
    // On the line itself, between samples, the branch is meant.
    const isBeside = sample < 0 || (line.gap < 2 && gap > this.scene.radii[sample] * this.grow + 1);
    if (line.branch >= 0 && isBeside) return { kind: "branch", id: line.branch, sample };
    return sample >= 0 ? { kind: "sample", id: sample } : null;
  }

  hover(x, y, event) {
    this.pointer = { x, y, event };
    const found = this.find(x, y, event.pointerType === "touch" ? FINGER.reach : 1);
    this.setFound(found, event);
  }

  /** What lies under a resting pointer may have changed. */
  hoverAgain() {
    if (!this.pointer || !this.size?.[0]) return;
    this.targets = this.scene
      .decorate(this.view(this.camera.matrix(...this.size), this.options.covers?.() ?? []))
      .filter((shape) => shape.target);
    const { x, y, event } = this.pointer;
    this.hover(x, y, event);
  }

  setFound(found, event) {
    if (!found) this.pointer = event && !this.dragged && !this.pinch ? this.pointer : null;
    this.element.classList.toggle("on-node", found?.kind === "node" || found?.kind === "target");
    const row = found?.kind === "sample" ? found.id : -1;
    if (row !== this.hovered) this.render();
    this.hovered = row;
    this.options.onHover(found, event);
  }

  click(x, y, { shift, isFinger }) {
    const found = this.find(x, y, isFinger ? FINGER.reach : 1);
    const sample = found?.kind === "sample" ? found.id : (found?.sample ?? -1);
    if (found?.kind === "target") this.options.onTarget(found.target);
    else if (found?.kind === "node") this.options.onNode(found.id);
    else if (sample >= 0) this.options.onSample(sample, shift);
    else this.options.onClear();
  }

  /** The points within a polygon. */
  inside(corners) {
    const { positions, count } = this.scene;
    const { xy } = projectAll(this.camera.matrix(...this.size), positions, count);
    const found = [];
    for (let i = 0; i < count; i += 1) {
      if (isInside(xy[2 * i], xy[2 * i + 1], corners)) found.push(i);
    }
    return found;
  }
}

/** From a place to the nearest one on a line between two others. */
export function distanceToLine(x, y, ax, ay, bx, by) {
  const [dx, dy] = [bx - ax, by - ay];
  const square = dx * dx + dy * dy;
  const part = square ? Math.min(Math.max(((x - ax) * dx + (y - ay) * dy) / square, 0), 1) : 0;
  return Math.hypot(ax + part * dx - x, ay + part * dy - y);
}

/** Whether a polygon winds around a place an odd number of times. */
export function isInside(x, y, corners) {
  let inside = false;
  for (let a = 0, b = corners.length - 1; a < corners.length; b = a, a += 1) {
    const [[xa, ya], [xb, yb]] = [corners[a], corners[b]];
    if (ya > y !== yb > y && x < ((xb - xa) * (y - ya)) / (yb - ya) + xa) inside = !inside;
  }
  return inside;
}
