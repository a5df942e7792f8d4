// One picture that can be moved, zoomed and lassoed: the embedding, and the tree laid out flat.

import { paintCanvas } from "../paint/canvas.js";
import { WebglPainter } from "../paint/webgl.js";
import { Camera, boundsOf, project, projectAll } from "./camera.js";
import { h } from "./dom.js";
import { css } from "./colors.js";

const STEP = 40; // pixels that an arrow key moves
const REACH = 9; // pixels within which the pointer finds a sample
const CLICK = 4; // pixels that a click may slip

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
 * @property {(at: Function, size: number[]) => Object[]} decorate further shapes, in pixels
 */

export class Plot {
  /**
   * @param {{label: string, stretch?: boolean, room?: (width: number) => number,
   *   theme: () => Object, onHover: Function, onNodeHover: Function, onSample: Function,
   *   onNode: Function, onLasso: Function, onClear: Function}} options
   */
  constructor(options) {
    this.options = options;
    this.tool = "pan";
    this.scene = null;
    this.camera = new Camera({ low: [0, 0, 0], high: [1, 1, 1] }, options);
    this.hovered = -1;
    this.lasso = null;
    this.frame = 0;
    this.ground = h("canvas", { "aria-hidden": "true" });
    this.overlay = h("canvas", { "aria-hidden": "true" });
    this.element = h(
      "div",
      { class: "plot", tabindex: "0", role: "application", "aria-label": options.label },
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
      this.render();
    });
  }

  /** Take a scene, or what has changed of it. */
  setScene(changed) {
    this.scene = { ...this.scene, ...changed };
    if (this.painter) this.uploadAll(changed);
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

  /** Look at everything; three dimensions if `solid`. */
  fit(solid = this.camera.solid) {
    const { positions, count, nodes } = this.scene;
    const all = boundsOf(positions, count);
    const graph = boundsOf(nodes.positions, nodes.positions.length / 3);
    const bounds = nodes.positions.length
      ? {
          low: all.low.map((v, k) => Math.min(v, graph.low[k])),
          high: all.high.map((v, k) => Math.max(v, graph.high[k])),
        }
      : all;
    // What lies above the picture at its right, such as a legend, should hide nothing at first.
    const room = this.options.room?.(this.element.clientWidth) ?? 0;
    this.camera = new Camera(bounds, { stretch: this.options.stretch, solid, room });
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
    if (this.scene) this.draw();
  }

  render() {
    if (this.frame || !this.size) return;
    this.frame = requestAnimationFrame(() => {
      this.frame = 0;
      this.draw();
    });
  }

  /** Points grow a little as one comes nearer. */
  get grow() {
    return Math.min(Math.max(this.camera.zoom ** 0.35, 0.7), 4);
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
    const ends = projectAll(matrix, scene.lines, scene.lines.length / 3).xy;
    const colors = Array.from({ length: scene.lines.length / 6 }, (_, k) =>
      css([...scene.lineRgba.slice(4 * k, 4 * k + 3)], scene.lineRgba[4 * k + 3] / 255),
    );
    const lines = { kind: "lines", xy: ends, colors, width: scene.lineWidth };
    return scene.linesFirst ? [lines, points] : [points, lines];
  }

  /** Names, markers, the lasso and what the pointer is on. */
  decorations(matrix) {
    const { scene } = this;
    const theme = this.options.theme();
    const at = (x, y, z) => project(matrix, x, y, z);
    const shapes = scene.decorate(at, this.size, this.camera.matrix(...this.size));
    if (this.hovered >= 0) {
      const i = this.hovered;
      const [x, y] = at(...scene.positions.subarray(3 * i, 3 * i + 3));
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
    const shapes = [
      ...this.shapes(matrix),
      ...this.scene.decorate((x, y, z) => project(matrix, x, y, z), this.size, matrix),
    ];
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
    element.addEventListener("pointercancel", () => this.cancel());
    element.addEventListener("pointerleave", () => this.leave());
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
    this.element.setPointerCapture(event.pointerId);
    const lassoes = this.tool === "lasso" || (event.shiftKey && event.button === 0);
    const { button, shiftKey: shift } = event;
    this.dragged = { x, y, from: [x, y], slipped: 0, button, shift, lassoes };
    if (lassoes) this.lasso = [[x, y]];
  }

  move(event) {
    if (!this.scene) return;
    const [x, y] = this.where(event);
    const drag = this.dragged;
    if (!drag) {
      this.hover(x, y, event);
      return;
    }
    drag.slipped = Math.max(drag.slipped, Math.hypot(x - drag.from[0], y - drag.from[1]));
    if (drag.lassoes) {
      this.lasso.push([x, y]);
    } else if (this.camera.solid && drag.button === 0 && this.tool !== "root") {
      this.camera.turn(x - drag.x, y - drag.y);
    } else {
      this.camera.move(x - drag.x, y - drag.y);
    }
    [drag.x, drag.y] = [x, y];
    this.setHovered(-1, event);
    this.render();
  }

  release(event) {
    const drag = this.dragged;
    if (!drag) return;
    this.dragged = null;
    const [x, y] = this.where(event);
    const corners = this.lasso;
    this.lasso = null;
    if (drag.slipped <= CLICK) {
      if (drag.button === 0) this.click(x, y, drag.shift);
    } else if (corners) {
      this.options.onLasso(this.inside(corners), drag.shift && this.tool === "lasso");
    }
    this.render();
  }

  cancel() {
    this.dragged = null;
    this.lasso = null;
    this.render();
  }

  leave() {
    if (!this.dragged) this.setHovered(-1, null);
  }

  wheel(event) {
    if (!this.scene) return;
    event.preventDefault();
    const [x, y] = this.where(event);
    const amount = event.deltaMode === 1 ? 16 * event.deltaY : event.deltaY;
    this.camera.zoomAt(Math.exp(-Math.min(Math.max(amount, -120), 120) / 250), x, y, ...this.size);
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
      this.camera.reset();
    } else if (event.key === "Escape") {
      this.cancel();
      this.options.onClear();
    } else {
      return;
    }
    event.preventDefault();
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

  /** The sample or the node that the pointer means; −1 for none. */
  under(x, y) {
    const { positions, count, radii, nodes } = this.scene;
    const reach = (i) => Math.max(REACH, radii[i] * this.grow);
    const sample = this.nearest(x, y, positions, count, reach);
    const node = this.nearest(x, y, nodes.positions, nodes.ids.length, (k) => nodes.reach[k]);
    // Samples gather at nodes: but for tips and forks, the nearer one is meant.
    const isNode = node.index >= 0 && (nodes.first[node.index] || node.gap < sample.gap);
    return isNode
      ? { node: nodes.ids[node.index], sample: -1 }
      : { node: -1, sample: sample.index };
  }

  hover(x, y, event) {
    const { node, sample } = this.under(x, y);
    this.element.classList.toggle("on-node", node >= 0);
    this.setHovered(sample, event);
    if (node >= 0) this.options.onNodeHover(node, event);
  }

  setHovered(i, event) {
    if (i !== this.hovered) this.render();
    this.hovered = i;
    this.options.onHover(i, event);
  }

  click(x, y, isAdded) {
    const { node, sample } = this.under(x, y);
    if (node >= 0) this.options.onNode(node);
    else if (sample >= 0) this.options.onSample(sample, isAdded);
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

/** Whether a polygon winds around a place an odd number of times. */
export function isInside(x, y, corners) {
  let inside = false;
  for (let a = 0, b = corners.length - 1; a < corners.length; b = a, a += 1) {
    const [[xa, ya], [xb, yb]] = [corners[a], corners[b]];
    if (ya > y !== yb > y && x < ((xb - xa) * (y - ya)) / (yb - ya) + xa) inside = !inside;
  }
  return inside;
}
