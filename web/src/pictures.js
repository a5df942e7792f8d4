// Pictures of the views as files, with the legend beside them.

import { paintCanvas } from "./paint/canvas.js";
import { paintSvg } from "./paint/svg.js";
import { download } from "./view/dom.js";
import { clipped, fileName } from "./view/format.js";
import { legendShapes } from "./scenes.js";

const LEGEND = 270;
const HIDDEN = [900, 420]; // the size of a view that is not shown
const HEAD = 40;
const SCALE = 2; // pixels of a PNG to one of the page

/** A view with title and legend: shapes and size. */
function compose(app, name) {
  const theme = app.themeColors();
  const size = app.plots[name]?.size;
  const [width, height] = name === "feature" ? [760, 460] : size?.[0] ? size : HIDDEN;
  const shapes =
    name === "feature"
      ? app.featureShapes(width, height, theme)
      : app.plots[name].picture(width, height);
  const legend = name === "feature" ? null : legendShapes(app, theme, width + 16, HEAD);
  const full = [
    width + (legend ? LEGEND : 0),
    Math.max(height + HEAD, (legend?.height ?? 0) + HEAD + 10),
  ];
  return {
    width: full[0],
    height: full[1],
    shapes: [
      { kind: "rect", x: 0, y: 0, width: full[0], height: full[1], fill: theme.ground },
      // What was zoomed beyond the view is not part of the picture.
      { kind: "clip", x: 0, y: HEAD, width, height, shapes: shapes.map((s) => shifted(s, HEAD)) },
      {
        kind: "text",
        x: 14,
        y: 25,
        text: clipped(app.state.title, Math.floor((full[0] - 28) / 9)),
        size: 15,
        bold: true,
        fill: theme.ink,
      },
      ...(legend?.shapes ?? []),
    ],
  };
}

/** The same shape farther down. */
function shifted(shape, dy) {
  if (shape.kind === "clip") {
    const shapes = shape.shapes.map((inner) => shifted(inner, dy));
    return { ...shape, y: shape.y + dy, shapes };
  }
  if (!shape.xy) return { ...shape, y: shape.y + dy };
  const xy = Float32Array.from(shape.xy, (value, k) => (k % 2 ? value + dy : value));
  return { ...shape, xy };
}

function svgOf(app, name) {
  const { shapes, width, height } = compose(app, name);
  return paintSvg(shapes, width, height, app.state.title);
}

async function pngOf(app, name) {
  const { shapes, width, height } = compose(app, name);
  const canvas = document.createElement("canvas");
  canvas.width = Math.round(width * SCALE);
  canvas.height = Math.round(height * SCALE);
  const context = canvas.getContext("2d");
  context.scale(SCALE, SCALE);
  paintCanvas(context, shapes);
  return new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
}

/** Give a picture to the user. */
export async function savePicture(app, name, format) {
  const file = `${fileName(app.state.title)}-${name}.${format}`;
  if (format === "svg") download(file, svgOf(app, name), "image/svg+xml");
  else download(file, await pngOf(app, name), "image/png");
}
