// Smooth curves through points, which never leave the range of two neighbours.

/**
 * A curve through points as cubic Bézier pieces: x0, y0, then two controls and an end for each.
 *
 * Between two points it rises or falls only (Fritsch and Carlson 1980). Where x turns back, as on a
 * branch that closes a cycle, a new curve begins at that point.
 *
 * @param {ArrayLike<number>} x
 * @param {ArrayLike<number>} y
 */
export function smooth(x, y) {
  const found = [x[0], y[0]];
  const n = x.length;
  let first = 0;
  while (first < n - 1) {
    const way = Math.sign(x[first + 1] - x[first]);
    let last = first + 1;
    while (last < n - 1 && Math.sign(x[last + 1] - x[last]) === way) last += 1;
    append(found, x, y, { first, last, isStraight: way === 0 });
    first = last;
  }
  return found;
}

/** One run of points with x in one direction. */
function append(found, x, y, { first, last, isStraight }) {
  const tangent = isStraight ? null : tangents(x, y, first, last);
  for (let k = first; k < last; k += 1) {
    const third = (x[k + 1] - x[k]) / 3;
    const rise = (y[k + 1] - y[k]) / 3;
    found.push(
      x[k] + third,
      y[k] + (tangent ? third * tangent[k - first] : rise),
      x[k + 1] - third,
      y[k + 1] - (tangent ? third * tangent[k + 1 - first] : rise),
      x[k + 1],
      y[k + 1],
    );
  }
}

/** Slopes at the points that let no piece overshoot. */
function tangents(x, y, first, last) {
  const slope = [];
  for (let k = first; k < last; k += 1) slope.push((y[k + 1] - y[k]) / (x[k + 1] - x[k]));
  const tangent = [slope[0]];
  for (let k = 1; k < slope.length; k += 1) {
    const [a, b] = [slope[k - 1], slope[k]];
    // The harmonic mean is at most twice the smaller slope, which is steep enough to be safe.
    tangent.push(a * b > 0 ? (2 * a * b) / (a + b) : 0);
  }
  tangent.push(slope.at(-1));
  return tangent;
}

/** The same curve from its end to its start. */
export function backwards(curve) {
  const found = [];
  for (let k = curve.length - 2; k >= 0; k -= 2) found.push(curve[k], curve[k + 1]);
  return found;
}

/** Two curves as one outline: there, straight across, and back. */
export function outline(there, back) {
  const [x0, y0, x1, y1] = [there.at(-2), there.at(-1), back[0], back[1]];
  return [...there, x0, y0, x1, y1, x1, y1, ...back.slice(2)];
}
