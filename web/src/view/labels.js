// Where names go: none on another, away from the points and the lines where there is room.

const CELL = 4; // pixels of a cell in which points and lines are counted
const LINE = 2; // a line counts as so many points
const GAP = 2; // pixels between two names
// Rings around a place: pixels from it to the name, and whether a line leads there.
const RINGS = [
  { gap: 4, leads: false },
  { gap: 18, leads: true },
  { gap: 34, leads: true },
  { gap: 54, leads: true },
  { gap: 80, leads: true },
];
// Directions in which a name may lie, the usual one first.
const SIDES = [
  [1, -1],
  [1, 0],
  [-1, -1],
  [1, 1],
  [-1, 1],
  [-1, 0],
  [0, -1],
  [0, 1],
];

let ruler = null;
const widths = new Map();

/** The width of words in pixels; where nothing can be drawn, an estimate. */
export function textWidth(text, size, bold = false) {
  const key = `${size}${bold}${text}`;
  if (!widths.has(key)) {
    if (widths.size > 5000) widths.clear();
    if (typeof document !== "undefined")
      ruler ??= document.createElement("canvas").getContext("2d");
    if (ruler) ruler.font = `${bold ? "600 " : ""}${size}px system-ui, sans-serif`;
    widths.set(key, ruler ? ruler.measureText(text).width : 0.62 * size * text.length);
  }
  return widths.get(key);
}

/** Whether two boxes [left, top, right, bottom] share a place. */
export function overlap(a, b, gap = 0) {
  return a[0] < b[2] + gap && b[0] < a[2] + gap && a[1] < b[3] + gap && b[1] < a[3] + gap;
}

/**
 * What lies in the picture: points and lines, counted in cells, so that a box is asked at once.
 *
 * Cells move with the picture, or names would jump while it is moved.
 *
 * @param {{width: number, height: number, shift?: number[], points: ArrayLike<number>,
 *   lines?: ArrayLike<number>}} given x and y of each point; x0, y0, x1, y1 of each line
 * @returns {(box: number[]) => number} how much a box covers
 */
export function coverage({ width, height, shift = [0, 0], points, lines = [] }) {
  const [ox, oy] = shift.map((value) => ((value % CELL) + CELL) % CELL);
  const nx = Math.ceil(width / CELL) + 2;
  const ny = Math.ceil(height / CELL) + 2;
  const sums = new Int32Array((nx + 1) * (ny + 1));
  const column = (x) => Math.floor((x - ox) / CELL) + 1;
  const row = (y) => Math.floor((y - oy) / CELL) + 1;
  const add = (x, y, amount) => {
    const [i, j] = [column(x), row(y)];
    if (i >= 0 && i < nx && j >= 0 && j < ny) sums[(j + 1) * (nx + 1) + i + 1] += amount;
  };
  for (let k = 0; k + 1 < points.length; k += 2) add(points[k], points[k + 1], 1);
  for (let k = 0; k + 3 < lines.length; k += 4) {
    const [dx, dy] = [lines[k + 2] - lines[k], lines[k + 3] - lines[k + 1]];
    const n = Math.min(Math.ceil(Math.hypot(dx, dy) / CELL) + 1, 2 * (nx + ny));
    for (let i = 0; i < n; i += 1) {
      const part = n > 1 ? i / (n - 1) : 0;
      add(lines[k] + part * dx, lines[k + 1] + part * dy, LINE);
    }
  }
  for (let j = 1; j <= ny; j += 1) {
    for (let i = 1; i <= nx; i += 1) {
      const at = j * (nx + 1) + i;
      sums[at] += sums[at - 1] + sums[at - nx - 1] - sums[at - nx - 2];
    }
  }
  const clamp = (value, most) => Math.min(Math.max(value, 0), most);
  return ([left, top, right, bottom]) => {
    const [a, b] = [clamp(column(left), nx), clamp(column(right) + 1, nx)];
    const [c, d] = [clamp(row(top), ny), clamp(row(bottom) + 1, ny)];
    const at = (i, j) => sums[j * (nx + 1) + i];
    return at(b, d) - at(a, d) - at(b, c) + at(a, c);
  };
}

/** Places around a mark of radius r: boxes with what leads there, the nearest first. */
function around({ x, y, r }, width, height) {
  return RINGS.flatMap(({ gap, leads }) =>
    SIDES.map(([sx, sy]) => {
      // On a slant the corner of the name comes as near as its side does elsewhere.
      const reach = (r + gap) * (sx && sy ? 0.75 : 1);
      const [cx, cy] = [x + sx * (reach + width / 2), y + sy * (reach + height / 2)];
      return { box: [cx - width / 2, cy - height / 2, cx + width / 2, cy + height / 2], leads };
    }),
  );
}

/**
 * Places for names, in the order of their importance; a name without a place is left out.
 *
 * @param {{x: number, y: number, r: number, text: string, size: number, bold?: boolean,
 *   spots?: number[][]}[]} labels marks and what they are called; spots: the only places that the
 *   middle of the name may have
 * @param {{bounds: number[], covered?: (box: number[]) => number, taken?: number[][]}} room where
 *   names may be, what a box would cover, and boxes that are taken
 * @returns {({box: number[], leads: boolean}|null)[]} a place each
 */
export function placeLabels(labels, { bounds, covered = () => 0, taken = [] }) {
  const boxes = [...taken];
  const inside = (box) =>
    box[0] >= bounds[0] && box[1] >= bounds[1] && box[2] <= bounds[2] && box[3] <= bounds[3];
  return labels.map((label) => {
    const { x, y, text, size, bold, spots } = label;
    if (!spots && !inside([x, y, x, y])) return null;
    const [width, height] = [textWidth(text, size, bold), 1.1 * size];
    const places = spots
      ? spots.map(([cx, cy]) => ({
          box: [cx - width / 2, cy - height / 2, cx + width / 2, cy + height / 2],
          leads: false,
        }))
      : around(label, width, height);
    const found = best(
      places.filter(({ box }) => inside(box) && !boxes.some((other) => overlap(box, other, GAP))),
      covered,
    );
    if (found) boxes.push(found.box);
    return found;
  });
}

/** The first place that covers nothing; else that which covers least, near ones before far ones. */
function best(places, covered) {
  let [found, least] = [null, Infinity];
  for (const place of places) {
    const cost = covered(place.box) + (place.leads ? 6 : 0);
    if (!covered(place.box)) return place;
    if (cost < least) [found, least] = [place, cost];
  }
  return found;
}

/** The line from a mark of radius r to a name that is not beside it: x0, y0, x1, y1. */
export function leader({ x, y, r }, [left, top, right, bottom]) {
  const [tx, ty] = [Math.min(Math.max(x, left), right), Math.min(Math.max(y, top), bottom)];
  const length = Math.hypot(tx - x, ty - y) || 1;
  const [ux, uy] = [(tx - x) / length, (ty - y) / length];
  return [x + r * ux, y + r * uy, tx - GAP * ux, ty - GAP * uy];
}
