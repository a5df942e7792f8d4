/** Small graphs for the tests. */

/** A graph as the page holds it, from plain lists. */
export function graphOf({ edges, lengths, named, default_roots: defaults, ...rest }) {
  return {
    ...rest,
    edges: Int32Array.from(edges),
    lengths: Float64Array.from(lengths),
    named: { node: Int32Array.from(named.node), name: named.name },
    default_roots: Int32Array.from(defaults),
  };
}

/** A stem 0–1–2 with arms to 3 and 4, of the lengths 1, 2, 3 and 5. */
export function fork() {
  return graphOf({
    edges: [0, 1, 2, 1, 2, 3, 2, 4],
    lengths: [1, 2, 3, 5],
    named: { node: [0, 4, 3, 2], name: ["T1", "T2", "T3", "F1"] },
    default_roots: [0],
  });
}

/** A ring of four nodes, each edge of length one, and a node by itself. */
export function ringAndPoint() {
  return graphOf({
    edges: [0, 1, 1, 2, 2, 3, 3, 0, 4, 4],
    lengths: [1, 1, 1, 1, 0],
    named: { node: [], name: [] },
    default_roots: [0, 4],
  });
}
