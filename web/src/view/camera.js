// From coordinates of the data to pixels: an affine map, the same for every painter.
//
// matrix() gives twelve numbers: pixel x, pixel y and depth are rows of m·(x, y, z, 1). Depth runs
// from −1 (near) to 1 (far). In two dimensions depth is 0.

// Left, right, top and bottom, in pixels; at the left are the buttons to zoom, at the foot of the tree
// by pseudotime its axis. Names find their own places.
const MARGINS = { free: [48, 24, 24, 24], stretch: [56, 34, 22, 44] };
const MOST_ZOOM = 1e4;
const LEAST_ZOOM = 0.05;
// How a solid is turned at the start.
const YAW = 0.6;
const PITCH = 0.45;

/** The box around points: {low: [x, y, z], high: […]}. */
export function boundsOf(positions, count) {
  const low = [Infinity, Infinity, Infinity];
  const high = [-Infinity, -Infinity, -Infinity];
  for (let i = 0; i < count; i += 1) {
    for (let k = 0; k < 3; k += 1) {
      const value = positions[3 * i + k];
      if (value < low[k]) low[k] = value;
      if (value > high[k]) high[k] = value;
    }
  }
  if (!count) return { low: [0, 0, 0], high: [1, 1, 1] };
  return { low, high };
}

/** The axes to the right, upwards and away, turned about the vertical one, then to the reader. */
function axes(yaw, pitch) {
  const [cosYaw, sinYaw] = [Math.cos(yaw), Math.sin(yaw)];
  const [cosPitch, sinPitch] = [Math.cos(pitch), Math.sin(pitch)];
  return [
    [cosYaw, 0, sinYaw],
    [sinYaw * sinPitch, cosPitch, -cosYaw * sinPitch],
    [-sinYaw * cosPitch, sinPitch, cosYaw * cosPitch],
  ];
}

export class Camera {
  /**
   * @param {{low: number[], high: number[]}} bounds
   * @param {{stretch?: boolean, solid?: boolean, room?: number}} [options] stretch: x and y have
   *   scales of their own; solid: three dimensions; room: pixels at the right for something else
   */
  constructor(bounds, options = {}) {
    this.bounds = bounds;
    this.stretch = Boolean(options.stretch);
    this.solid = Boolean(options.solid);
    this.room = options.room ?? 0;
    this.reset();
  }

  reset() {
    this.zoom = 1;
    this.pan = [0, 0];
    this.yaw = this.solid ? YAW : 0;
    this.pitch = this.solid ? PITCH : 0;
  }

  /** Whether nobody has moved, zoomed or turned it. */
  get isAtStart() {
    const start = new Camera(this.bounds, this);
    return (
      this.zoom === 1 &&
      !this.pan[0] &&
      !this.pan[1] &&
      this.yaw === start.yaw &&
      this.pitch === start.pitch
    );
  }

  get margins() {
    const [left, right, top, bottom] = this.stretch ? MARGINS.stretch : MARGINS.free;
    return [left, right + this.room, top, bottom];
  }

  /** The middle of what the margins leave. */
  middle(width, height) {
    const [left, right, top, bottom] = this.margins;
    return [(width + left - right) / 2, (height + top - bottom) / 2];
  }

  /** Pixels per unit before zooming, along x and y. */
  baseScale(width, height) {
    const { low, high } = this.bounds;
    const [left, right, top, bottom] = this.margins;
    const room = [Math.max(width - left - right, 10), Math.max(height - top - bottom, 10)];
    const span = high.map((value, k) => value - low[k]);
    // Of a box that is turned, what is seen of it at the start.
    const turned = axes(this.solid ? YAW : 0, this.solid ? PITCH : 0).slice(0, 2);
    const seen = turned.map((axis) =>
      axis.reduce((sum, part, k) => sum + Math.abs(part) * span[k], 0),
    );
    const scales = [0, 1].map((k) => room[k] / (seen[k] || 1));
    return this.stretch ? scales : [Math.min(...scales), Math.min(...scales)];
  }

  matrix(width, height) {
    const { low, high } = this.bounds;
    const center = [0, 1, 2].map((k) => (low[k] + high[k]) / 2);
    const [sx, sy] = this.baseScale(width, height).map((s) => s * this.zoom);
    const [right, up, away] = axes(this.yaw, this.pitch);
    const size = Math.hypot(...high.map((value, k) => value - low[k])) || 1;
    const rows = [
      right.map((v) => v * sx),
      up.map((v) => -v * sy),
      this.solid ? away.map((v) => v / size) : [0, 0, 0],
    ];
    const middle = this.middle(width, height);
    const shift = [middle[0] + this.pan[0], middle[1] + this.pan[1], 0];
    return rows.flatMap((row, k) => {
      const moved = row[0] * center[0] + row[1] * center[1] + row[2] * center[2];
      return [...row, shift[k] - moved];
    });
  }

  /** Zoom by a factor so that what is under a pixel stays there. */
  zoomAt(factor, x, y, width, height) {
    const zoom = Math.min(Math.max(this.zoom * factor, LEAST_ZOOM), MOST_ZOOM);
    const real = zoom / this.zoom;
    const middle = this.middle(width, height);
    const [px, py] = [x - middle[0], y - middle[1]];
    this.pan = [px - (px - this.pan[0]) * real, py - (py - this.pan[1]) * real];
    this.zoom = zoom;
  }

  move(dx, dy) {
    this.pan = [this.pan[0] + dx, this.pan[1] + dy];
  }

  turn(dx, dy) {
    this.yaw += dx * 0.01;
    this.pitch = Math.min(Math.max(this.pitch + dy * 0.01, -Math.PI / 2), Math.PI / 2);
  }

  /** Bring a place to the middle, near enough to be seen. */
  lookAt(position, width, height, zoom = 3) {
    this.zoom = Math.max(this.zoom, zoom);
    const m = this.matrix(width, height);
    const [x, y] = project(m, ...position);
    this.move(width / 2 - x, height / 2 - y);
  }
}

/** Pixel x, pixel y and depth of one place. */
export function project(m, x, y, z) {
  return [
    m[0] * x + m[1] * y + m[2] * z + m[3],
    m[4] * x + m[5] * y + m[6] * z + m[7],
    m[8] * x + m[9] * y + m[10] * z + m[11],
  ];
}

/** Pixels of many places, (n × 2), and their depths. */
export function projectAll(m, positions, count) {
  const xy = new Float32Array(2 * count);
  const depth = new Float32Array(count);
  for (let i = 0; i < count; i += 1) {
    const [x, y, z] = [positions[3 * i], positions[3 * i + 1], positions[3 * i + 2]];
    xy[2 * i] = m[0] * x + m[1] * y + m[2] * z + m[3];
    xy[2 * i + 1] = m[4] * x + m[5] * y + m[6] * z + m[7];
    depth[i] = m[8] * x + m[9] * y + m[10] * z + m[11];
  }
  return { xy, depth };
}
