// Places in the pictures of more than two components: the twins of `beside` in
// branchwise.trajectory.flat and of branchwise.trajectory.axes.

// A sample this near to the end of its edge, as a part of it, lies at its end.
const AT_END = 1e-9;

/** Where nodes are in the flat drawing, (n × 2): the ends of the edges. */
export function flatNodes({ ends }, edges, nNodes) {
  const places = new Float64Array(2 * nNodes);
  edges.forEach((node, k) => places.set(ends.subarray(2 * k, 2 * k + 2), 2 * node));
  return places;
}

/**
 * Where a new sample is in the flat drawing: at its place along the tree, and at its distance from
 * it; beyond a tip also at its angle to the branch.
 *
 * @param {{ends: Float32Array, sides: Int32Array}} flat
 * @param {any} graph  state.graph of the page, with nodes in all components.
 * @param {{projection: Float64Array, edge: number, position: number, distance: number}} sample
 * @returns {[number, number]}
 */
export function flatPlace(flat, graph, { projection, edge, position, distance }) {
  const [x0, y0, x1, y1] = flat.ends.subarray(4 * edge, 4 * edge + 4);
  const length = Math.hypot(x1 - x0, y1 - y0);
  // An edge without length has no direction: any will do.
  const along = length > 0 ? [(x1 - x0) / length, (y1 - y0) / length] : [1, 0];
  const end = position >= 1 - AT_END ? 1 : 0;
  const outward = end ? 1 : -1;
  let cosine = 0;
  if (isAtTip(graph, edge, position, end) && distance > 0) {
    const away = outward * residualAlong(graph, projection, edge, position);
    cosine = Math.min(Math.max(away / distance, 0), 1);
  }
  const sine = flat.sides[edge] * Math.sqrt(1 - cosine * cosine);
  const shift = [
    outward * cosine * along[0] - sine * along[1],
    outward * cosine * along[1] + sine * along[0],
  ];
  return [
    x0 + position * (x1 - x0) + distance * shift[0],
    y0 + position * (y1 - y0) + distance * shift[1],
  ];
}

/** Whether a place is the end of an edge at which nothing else is joined. */
function isAtTip({ edges }, edge, position, end) {
  if (position > AT_END && position < 1 - AT_END) return false;
  const node = edges[2 * edge + end];
  let degree = 0;
  for (const other of edges) if (other === node) degree += 1;
  return degree === 1;
}

/** How far a sample lies beyond its place on an edge, in the direction of the edge. */
function residualAlong({ nodes, node_dims: d, edges }, projection, edge, position) {
  const [a, b] = [edges[2 * edge] * d, edges[2 * edge + 1] * d];
  let [product, squares] = [0, 0];
  for (let k = 0; k < d; k += 1) {
    const course = nodes[b + k] - nodes[a + k];
    product += (projection[k] - nodes[a + k] - position * course) * course;
    squares += course * course;
  }
  return squares > 0 ? product / Math.sqrt(squares) : 0;
}

/** Coordinates in the axes that show the tree best, of a sample in all components. */
export function onAxes({ matrix, names }, projection) {
  return names.map((_, k) =>
    projection.reduce((sum, value, j) => sum + value * matrix[names.length * j + k], 0),
  );
}
