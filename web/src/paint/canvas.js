// Shapes on a canvas: labels and markers above the points, exported pictures, and everything where
// WebGL is not to be had. Shapes are plain objects in pixels; paint/svg.js draws the same ones.

const FULL = 2 * Math.PI;

/** Draw shapes again on a canvas of the page, sharp on any screen: `shapesOf(width, height)`. */
export function paintElement(canvas, shapesOf) {
  const { clientWidth: width, clientHeight: height } = canvas;
  const ratio = window.devicePixelRatio || 1;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  const context = canvas.getContext("2d");
  context.scale(ratio, ratio);
  paintCanvas(context, shapesOf(width, height));
}

/** Draw shapes in their order. */
export function paintCanvas(context, shapes) {
  for (const shape of shapes) {
    context.save();
    PAINTERS[shape.kind](context, shape);
    context.restore();
  }
}

const PAINTERS = { clip, rect, lines, polyline, curve, points, disc, star, text };

/** Shapes of which only what lies in a rectangle is seen. */
function clip(context, { x, y, width, height, shapes }) {
  context.beginPath();
  context.rect(x, y, width, height);
  context.clip();
  paintCanvas(context, shapes);
}

function rect(context, { x, y, width, height, fill, stroke }) {
  if (fill) {
    context.fillStyle = fill;
    context.fillRect(x, y, width, height);
  }
  if (stroke) {
    context.strokeStyle = stroke;
    context.strokeRect(x, y, width, height);
  }
}

/** Many straight lines: xy holds x0, y0, x1, y1 of each; colors one CSS colour each, or one. */
function lines(context, { xy, color, colors, width, dash }) {
  context.lineWidth = width;
  context.lineCap = "round";
  if (dash) context.setLineDash(dash);
  let current = null;
  for (let k = 0; k < xy.length / 4; k += 1) {
    const wanted = colors ? colors[k] : color;
    if (wanted !== current) {
      if (current !== null) context.stroke();
      context.beginPath();
      context.strokeStyle = wanted;
      current = wanted;
    }
    context.moveTo(xy[4 * k], xy[4 * k + 1]);
    context.lineTo(xy[4 * k + 2], xy[4 * k + 3]);
  }
  if (current !== null) context.stroke();
}

function polyline(context, { xy, stroke, width, fill, closed, dash }) {
  context.beginPath();
  for (let k = 0; k < xy.length / 2; k += 1) {
    if (k) context.lineTo(xy[2 * k], xy[2 * k + 1]);
    else context.moveTo(xy[0], xy[1]);
  }
  if (closed) context.closePath();
  if (fill) {
    context.fillStyle = fill;
    context.fill();
  }
  if (stroke) {
    if (dash) context.setLineDash(dash);
    context.strokeStyle = stroke;
    context.lineWidth = width;
    context.lineJoin = "round";
    context.stroke();
  }
}

/** A smooth line: xy holds a start, then two controls and an end for each piece. */
function curve(context, { xy, stroke, width, fill, closed }) {
  context.beginPath();
  context.moveTo(xy[0], xy[1]);
  for (let k = 2; k + 5 < xy.length; k += 6) context.bezierCurveTo(...xy.slice(k, k + 6));
  if (closed) context.closePath();
  if (fill) {
    context.fillStyle = fill;
    context.fill();
  }
  if (stroke) {
    context.strokeStyle = stroke;
    context.lineWidth = width;
    context.lineJoin = "round";
    context.stroke();
  }
}

// Smaller points would be all rim.
export const LEAST_RIMMED = 2.6;

/** The colour of the rim that keeps a pale point apart from the ground: darker, or lighter. */
export function rimColor(rgba, i, shade) {
  const lift = shade > 1 ? 30 : 0;
  const parts = [0, 1, 2].map((c) => Math.min(Math.round(rgba[4 * i + c] * shade + lift), 255));
  return `rgba(${parts.join(", ")}, ${rgba[4 * i + 3] / 255})`;
}

/** Many points: xy, rgba, shapes (1: triangle), radius (one, or one each), order, shade of rims. */
function points(context, { xy, rgba, shapes, radius, radii, order, shade }) {
  let current = -1;
  for (const i of order) {
    const color = ((rgba[4 * i] << 24) | (rgba[4 * i + 1] << 16) | (rgba[4 * i + 2] << 8)) >>> 0;
    const key = color + rgba[4 * i + 3];
    if (key !== current) {
      const alpha = rgba[4 * i + 3] / 255;
      context.fillStyle = `rgba(${rgba[4 * i]}, ${rgba[4 * i + 1]}, ${rgba[4 * i + 2]}, ${alpha})`;
      if (shade) context.strokeStyle = rimColor(rgba, i, shade);
      current = key;
    }
    const isRimmed = Boolean(shade) && (radii ? radii[i] : radius) >= LEAST_RIMMED;
    // Half of the rim lies outside of its line.
    const r = (radii ? radii[i] : radius) - (isRimmed ? 0.5 : 0);
    context.beginPath();
    if (shapes[i]) triangle(context, xy[2 * i], xy[2 * i + 1], 1.2 * r);
    else context.arc(xy[2 * i], xy[2 * i + 1], r, 0, FULL);
    context.fill();
    if (isRimmed) context.stroke();
  }
}

function triangle(context, x, y, r) {
  context.moveTo(x, y - r);
  context.lineTo(x + 0.87 * r, y + 0.5 * r);
  context.lineTo(x - 0.87 * r, y + 0.5 * r);
  context.closePath();
}

function disc(context, { x, y, r, fill, stroke, width, dash }) {
  context.beginPath();
  context.arc(x, y, r, 0, FULL);
  if (fill) {
    context.fillStyle = fill;
    context.fill();
  }
  if (stroke) {
    context.strokeStyle = stroke;
    context.lineWidth = width;
    if (dash) context.setLineDash(dash);
    context.stroke();
  }
}

/** The corners of a five-pointed star. */
export function starCorners(x, y, r) {
  return Array.from({ length: 10 }, (_, k) => {
    const angle = (k * Math.PI) / 5 - Math.PI / 2;
    const reach = k % 2 ? 0.45 * r : r;
    return [x + reach * Math.cos(angle), y + reach * Math.sin(angle)];
  });
}

function star(context, { x, y, r, fill, stroke }) {
  context.beginPath();
  starCorners(x, y, r).forEach(([a, b], k) => (k ? context.lineTo(a, b) : context.moveTo(a, b)));
  context.closePath();
  context.lineWidth = 3;
  context.lineJoin = "round";
  context.strokeStyle = stroke;
  context.stroke();
  context.fillStyle = fill;
  context.fill();
}

function text(context, { x, y, text: words, size, fill, anchor, halo, bold, turned }) {
  context.font = `${bold ? "600 " : ""}${size}px system-ui, sans-serif`;
  context.textAlign = { start: "left", middle: "center", end: "right" }[anchor ?? "start"];
  context.textBaseline = "alphabetic";
  if (turned) {
    context.translate(x, y);
    context.rotate(-Math.PI / 2);
    context.translate(-x, -y);
  }
  if (halo) {
    context.strokeStyle = halo;
    context.lineWidth = 3;
    context.lineJoin = "round";
    context.strokeText(words, x, y);
  }
  context.fillStyle = fill;
  context.fillText(words, x, y);
}
