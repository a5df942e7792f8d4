// The same shapes as paint/canvas.js, as the text of an SVG file.

import { LEAST_RIMMED, rimColor, starCorners } from "./canvas.js";

const SIGNS = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };

/** Text that stays text in XML; characters that XML does not know become the replacement sign. */
export function escapeXml(words) {
  return (
    String(words)
      .replace(/\p{Surrogate}/gu, "\uFFFD")
      // eslint-disable-next-line no-control-regex -- these are what XML 1.0 forbids
      .replace(/[\u0000-\u0008\u000B\u000C\u000E-\u001F\uFFFE\uFFFF]/g, "\uFFFD")
      .replace(/[&<>"']/g, (sign) => SIGNS[sign])
  );
}

/** An SVG file with the shapes in their order. */
export function paintSvg(shapes, width, height, title) {
  const parts = shapes.map((shape) => PAINTERS[shape.kind](shape));
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${round(width)}" height="${round(height)}"`,
    ` viewBox="0 0 ${round(width)} ${round(height)}" font-family="system-ui, sans-serif">`,
    `<title>${escapeXml(title)}</title>\n`,
    parts.join("\n"),
    "\n</svg>\n",
  ].join("");
}

const PAINTERS = { clip, rect, lines, polyline, curve, points, disc, star, text };

/** An inner picture shows nothing beyond its own size. */
function clip({ x, y, width, height, shapes }) {
  const size = { x: round(x), y: round(y), width: round(width), height: round(height) };
  const viewBox = [x, y, width, height].map(round).join(" ");
  const inner = shapes.map((shape) => PAINTERS[shape.kind](shape)).join("\n");
  return `<svg${attributes({ ...size, viewBox })}>\n${inner}\n</svg>`;
}

function round(value) {
  return Math.round(100 * value) / 100;
}

function attributes(given) {
  return Object.entries(given)
    .filter(([, value]) => value !== undefined && value !== null)
    .map(([name, value]) => ` ${name}="${escapeXml(value)}"`)
    .join("");
}

function rect({ x, y, width, height, fill, stroke }) {
  const at = { x: round(x), y: round(y), width: round(width), height: round(height) };
  return `<rect${attributes({ ...at, fill: fill ?? "none", stroke })}/>`;
}

function lines({ xy, color, colors, width, dash }) {
  const parts = new Map();
  for (let k = 0; k < xy.length / 4; k += 1) {
    const [x0, y0, x1, y1] = xy.slice(4 * k, 4 * k + 4);
    const stroke = colors ? colors[k] : color;
    if (!parts.has(stroke)) parts.set(stroke, []);
    parts.get(stroke).push(`M${round(x0)} ${round(y0)}L${round(x1)} ${round(y1)}`);
  }
  return [...parts]
    .map(([stroke, path]) => {
      const how = { "stroke-width": width, "stroke-linecap": "round" };
      const dashes = dash ? dash.join(" ") : undefined;
      const given = { d: path.join(""), stroke, ...how, "stroke-dasharray": dashes };
      return `<path${attributes(given)}/>`;
    })
    .join("\n");
}

function polyline({ xy, stroke, width, fill, closed, dash }) {
  const path = [];
  for (let k = 0; k < xy.length / 2; k += 1) {
    path.push(`${k ? "L" : "M"}${round(xy[2 * k])} ${round(xy[2 * k + 1])}`);
  }
  const how = { fill: fill ?? "none", stroke, "stroke-width": stroke ? width : undefined };
  const dashes = dash ? dash.join(" ") : undefined;
  const d = path.join("") + (closed ? "Z" : "");
  return `<path${attributes({ d, ...how, "stroke-dasharray": dashes })}/>`;
}

function curve({ xy, stroke, width, fill, closed }) {
  const path = [`M${round(xy[0])} ${round(xy[1])}`];
  for (let k = 2; k + 5 < xy.length; k += 6) {
    path.push(`C${Array.from(xy.slice(k, k + 6), round).join(" ")}`);
  }
  const d = path.join("") + (closed ? "Z" : "");
  const how = { fill: fill ?? "none", stroke, "stroke-width": stroke ? width : undefined };
  return `<path${attributes({ d, ...how })}/>`;
}

/** Discs and triangles of one colour are one group. */
function points({ xy, rgba, shapes, radius, radii, order, shade }) {
  const parts = [];
  let current = null;
  for (const i of order) {
    const [r, g, b, a] = rgba.slice(4 * i, 4 * i + 4);
    const opacity = a < 255 ? ` fill-opacity="${round(a / 255)}"` : "";
    const isRimmed = Boolean(shade) && (radii ? radii[i] : radius) >= LEAST_RIMMED;
    const rim = isRimmed ? attributes({ stroke: rimColor(rgba, i, shade) }) : "";
    const style = `<g fill="rgb(${r},${g},${b})"${opacity}${rim}>`;
    if (style !== current) {
      if (current !== null) parts.push("</g>");
      parts.push(style);
      current = style;
    }
    const [x, y, size] = [xy[2 * i], xy[2 * i + 1], radii ? radii[i] : radius];
    if (shapes[i]) {
      const side = 1.2 * size;
      const [left, right] = [round(x - 0.87 * side), round(x + 0.87 * side)];
      const foot = round(y + 0.5 * side);
      parts.push(`<path d="M${round(x)} ${round(y - side)}L${right} ${foot}H${left}Z"/>`);
    } else {
      parts.push(`<circle cx="${round(x)}" cy="${round(y)}" r="${round(size)}"/>`);
    }
  }
  if (current !== null) parts.push("</g>");
  return parts.join("\n");
}

function disc({ x, y, r, fill, stroke, width, dash }) {
  const at = { cx: round(x), cy: round(y), r: round(r) };
  const how = { fill: fill ?? "none", stroke, "stroke-width": width };
  const dashes = dash ? dash.join(" ") : undefined;
  return `<circle${attributes({ ...at, ...how, "stroke-dasharray": dashes })}/>`;
}

function star({ x, y, r, fill, stroke }) {
  const corners = starCorners(x, y, r).map(([a, b]) => `${round(a)},${round(b)}`);
  const how = { fill, stroke, "stroke-width": 1.5, "stroke-linejoin": "round" };
  return `<polygon${attributes({ points: corners.join(" "), ...how })}/>`;
}

function text({ x, y, text: words, size, fill, anchor, halo, bold, turned }) {
  const given = {
    x: round(x),
    y: round(y),
    "font-size": size,
    "font-weight": bold ? 600 : undefined,
    "text-anchor": anchor,
    fill,
    stroke: halo,
    "stroke-width": halo ? 3 : undefined,
    "paint-order": halo ? "stroke" : undefined,
    transform: turned ? `rotate(-90 ${round(x)} ${round(y)})` : undefined,
  };
  return `<text${attributes(given)}>${escapeXml(words)}</text>`;
}
