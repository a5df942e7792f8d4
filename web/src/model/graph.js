/**
 * Graphs with lengths, and points on their edges: the twin of branchwise.graph.placement.
 *
 * Edges are a flat Int32Array, two nodes each. Two nodes may have several edges between them, and
 * an edge may lead from a node back to itself; a node without neighbours has such a loop, of
 * length zero, for points to lie on.
 *
 * @typedef {object} Segments  A graph whose nodes of degree two were dissolved.
 * @property {Int32Array} milestones  The nodes that are left, ascending.
 * @property {Int32Array} ends  Two nodes per segment.
 * @property {Float64Array} lengths  Of the segments.
 * @property {Int32Array} ofEdge  The segment that each edge is part of.
 * @property {Float64Array} start  Per edge: from the segment's first end to the edge's first end.
 * @property {Int8Array} sign  Per edge: −1 where it runs against its segment.
 */

import { Queue } from "./heap.js";

/** The least positive number with all its digits, which stands for a length of zero. */
const TINY = 2 ** -1022;

/**
 * One more than the largest node of any edge.
 *
 * @param {Int32Array} edges
 */
export function countNodes(edges) {
  let largest = -1;
  for (let i = 0; i < edges.length; i += 1) {
    largest = Math.max(largest, edges[i]);
  }
  return largest + 1;
}

/**
 * Number of edge ends at each node; a loop has two.
 *
 * @param {Int32Array} edges
 * @param {number} nNodes
 */
export function degrees(edges, nNodes) {
  const count = new Int32Array(nNodes);
  for (let i = 0; i < edges.length; i += 1) {
    count[edges[i]] += 1;
  }
  return count;
}

/**
 * The edges at each node, as bounds and a list.
 *
 * @param {Int32Array} edges
 * @param {number} nNodes
 */
function halfEdges(edges, nNodes) {
  const bounds = new Int32Array(nNodes + 1);
  for (let i = 0; i < edges.length; i += 1) {
    bounds[edges[i] + 1] += 1;
  }
  for (let node = 0; node < nNodes; node += 1) {
    bounds[node + 1] += bounds[node];
  }
  const next = bounds.slice(0, nNodes);
  const half = new Int32Array(edges.length);
  for (let i = 0; i < edges.length; i += 1) {
    half[next[edges[i]]] = i >> 1;
    next[edges[i]] += 1;
  }
  return { bounds, half };
}

/**
 * The segments between tips and forks, and between them and the nodes to keep.
 *
 * A ring without any of these gets its first node as a milestone, and is one segment from there
 * to there. Segments come in the order of their first edges, and run as these do.
 *
 * @param {Int32Array} edges
 * @param {Float64Array} lengths
 * @param {number} nNodes
 * @param {Iterable<number>} [keep]
 * @returns {Segments}
 */
export function segments(edges, lengths, nNodes, keep = []) {
  const nEdges = lengths.length;
  const isMilestone = Uint8Array.from(degrees(edges, nNodes), (degree) => (degree !== 2 ? 1 : 0));
  for (const node of keep) {
    isMilestone[node] = 1;
  }
  const traced = trace(edges, lengths, isMilestone);
  const { ofEdge, sign } = traced;
  const n = traced.ends.length / 2;
  const first = new Int32Array(n).fill(-1);
  const total = new Float64Array(n);
  for (let edge = 0; edge < nEdges; edge += 1) {
    const segment = ofEdge[edge];
    first[segment] = first[segment] < 0 ? edge : first[segment];
    total[segment] += lengths[edge];
  }
  const milestones = Int32Array.from(isMilestone.keys()).filter((node) => isMilestone[node]);
  const order = Int32Array.from(first.keys()).sort((a, b) => first[a] - first[b]);
  const turned = Uint8Array.from(first, (edge) => (sign[edge] < 0 ? 1 : 0));
  return rearranged({ milestones, lengths: total, ...traced }, order, turned);
}

/**
 * Walk along every segment from one of its ends; first those with ends, then the rings.
 *
 * @param {Int32Array} edges
 * @param {Float64Array} lengths
 * @param {Uint8Array} isMilestone  Gets the first node of every ring.
 */
function trace(edges, lengths, isMilestone) {
  const { bounds, half } = halfEdges(edges, isMilestone.length);
  const ofEdge = new Int32Array(lengths.length).fill(-1);
  const start = new Float64Array(lengths.length);
  const sign = new Int8Array(lengths.length);
  const ends = [];
  const walk = (node, firstEdge) => {
    let [edge, here, walked] = [firstEdge, node, 0];
    while (ofEdge[edge] < 0) {
      ofEdge[edge] = ends.length / 2;
      const forward = edges[2 * edge] === here;
      sign[edge] = forward ? 1 : -1;
      start[edge] = forward ? walked : walked + lengths[edge];
      walked += lengths[edge];
      here = forward ? edges[2 * edge + 1] : edges[2 * edge];
      if (isMilestone[here]) {
        break;
      }
      edge = half[bounds[here]] !== edge ? half[bounds[here]] : half[bounds[here] + 1];
    }
    ends.push(node, here);
  };
  for (const rings of [false, true]) {
    for (let node = 0; node < isMilestone.length; node += 1) {
      if (Boolean(isMilestone[node]) === rings) {
        continue;
      }
      for (let p = bounds[node]; p < bounds[node + 1]; p += 1) {
        if (ofEdge[half[p]] < 0) {
          isMilestone[node] = 1;
          walk(node, half[p]);
        }
      }
    }
  }
  return { ofEdge, start, sign, ends: Int32Array.from(ends) };
}

/**
 * The segments in another order, and some of them in the other direction.
 *
 * @param {Segments} found
 * @param {ArrayLike<number>} order  The segment that comes at each place.
 * @param {ArrayLike<number>} turned  Which of them, in their old order, get the other direction.
 * @returns {Segments}
 */
export function rearranged(found, order, turned) {
  const n = order.length;
  const ends = new Int32Array(2 * n);
  const lengths = new Float64Array(n);
  const rank = new Int32Array(n);
  for (let place = 0; place < n; place += 1) {
    const old = order[place];
    rank[old] = place;
    lengths[place] = found.lengths[old];
    ends[2 * place] = found.ends[2 * old + (turned[old] ? 1 : 0)];
    ends[2 * place + 1] = found.ends[2 * old + (turned[old] ? 0 : 1)];
  }
  const start = found.start.slice();
  const sign = found.sign.slice();
  for (let edge = 0; edge < start.length; edge += 1) {
    const old = found.ofEdge[edge];
    if (turned[old]) {
      start[edge] = found.lengths[old] - start[edge];
      sign[edge] = -sign[edge];
    }
  }
  const ofEdge = found.ofEdge.map((old) => rank[old]);
  return { milestones: found.milestones, ends, lengths, ofEdge, start, sign };
}

/**
 * Points on edges as points on segments.
 *
 * @param {Segments} found
 * @param {Float64Array} lengths  Of the edges.
 * @param {Int32Array} edge
 * @param {Float64Array} position
 */
export function onSegments(found, lengths, edge, position) {
  const segment = new Int32Array(edge.length);
  const along = new Float64Array(edge.length);
  for (let i = 0; i < edge.length; i += 1) {
    segment[i] = found.ofEdge[edge[i]];
    const length = found.lengths[segment[i]];
    const walked = found.start[edge[i]] + found.sign[edge[i]] * (position[i] * lengths[edge[i]]);
    along[i] = clip(walked / (length > 0 ? length : 1), 0, 1);
  }
  return { segment, position: along };
}

/**
 * Shortest ways from the nearest of some nodes.
 *
 * Of several edges between two nodes the shortest counts. Where no path leads, the distance is
 * Infinity, and the source and the node before are −1; at a source the node before is −1.
 *
 * @param {Int32Array} edges
 * @param {Float64Array} lengths
 * @param {number} nNodes
 * @param {Iterable<number>} sources
 * @returns {{distance: Float64Array, source: Int32Array, before: Int32Array}}
 */
export function dijkstra(edges, lengths, nNodes, sources) {
  const { bounds, half } = halfEdges(edges, nNodes);
  const distance = new Float64Array(nNodes).fill(Infinity);
  const source = new Int32Array(nNodes).fill(-1);
  const before = new Int32Array(nNodes).fill(-1);
  const queue = new Queue(nNodes);
  for (const node of sources) {
    distance[node] = 0;
    source[node] = node;
    queue.push(node, 0);
  }
  while (queue.size > 0) {
    const node = queue.pop();
    for (let p = bounds[node]; p < bounds[node + 1]; p += 1) {
      const edge = half[p];
      const other = edges[2 * edge] === node ? edges[2 * edge + 1] : edges[2 * edge];
      // More than nothing, as in Python: of ways without length, those of fewer edges are shorter.
      const reached = distance[node] + Math.max(lengths[edge], TINY);
      if (reached < distance[other]) {
        distance[other] = reached;
        source[other] = source[node];
        before[other] = node;
        queue.push(other, reached);
      }
    }
  }
  for (let node = 0; node < nNodes; node += 1) {
    if (distance[node] <= nNodes * TINY) {
      distance[node] = 0;
    }
  }
  return { distance, source, before };
}

/**
 * Distance of each point, given that of each node: by the shorter way.
 *
 * @param {Int32Array} edges
 * @param {Float64Array} lengths
 * @param {Int32Array} edge
 * @param {Float64Array} position
 * @param {Float64Array} fromNodes
 */
export function toPoints(edges, lengths, edge, position, fromNodes) {
  const distance = new Float64Array(edge.length);
  for (let i = 0; i < edge.length; i += 1) {
    const length = lengths[edge[i]];
    const byFirst = fromNodes[edges[2 * edge[i]]] + position[i] * length;
    const bySecond = fromNodes[edges[2 * edge[i] + 1]] + (1 - position[i]) * length;
    distance[i] = Math.min(byFirst, bySecond);
  }
  return distance;
}

/**
 * The connected part of each node; parts are numbered in the order of their first nodes.
 *
 * @param {Int32Array} edges
 * @param {number} nNodes
 */
export function connectedParts(edges, nNodes) {
  const { bounds, half } = halfEdges(edges, nNodes);
  const part = new Int32Array(nNodes).fill(-1);
  const waiting = [];
  let nParts = 0;
  for (let first = 0; first < nNodes; first += 1) {
    if (part[first] >= 0) {
      continue;
    }
    part[first] = nParts;
    waiting.push(first);
    while (waiting.length > 0) {
      const node = waiting.pop();
      for (let p = bounds[node]; p < bounds[node + 1]; p += 1) {
        for (const other of [edges[2 * half[p]], edges[2 * half[p] + 1]]) {
          if (part[other] < 0) {
            part[other] = nParts;
            waiting.push(other);
          }
        }
      }
    }
    nParts += 1;
  }
  return part;
}

/**
 * The nearest place on any edge: the twin of branchwise.graph.nearest_edge.
 *
 * For the edge from a to b and a point p it is a + t·(b − a) with t = (p − a)ᵀ(b − a)/‖b − a‖², at
 * least 0 and at most 1. Of several edges at the same distance it is the first, by `rank` if
 * that is given (see `tieRanks`).
 *
 * @param {Float64Array} point
 * @param {Float64Array} nodes  Row after row, d numbers each.
 * @param {Int32Array} edges
 * @param {number} d
 * @param {Int32Array | null} [rank]  One number per edge.
 * @returns {{edge: number, position: number, distance: number}}
 */
export function nearestOnEdges(point, nodes, edges, d, rank = null) {
  let [best, where, least] = [-1, 0, Infinity];
  for (let edge = 0; edge < edges.length / 2; edge += 1) {
    const a = edges[2 * edge] * d;
    const b = edges[2 * edge + 1] * d;
    let along = 0;
    let length = 0;
    for (let k = 0; k < d; k += 1) {
      const step = nodes[b + k] - nodes[a + k];
      along += (point[k] - nodes[a + k]) * step;
      length += step * step;
    }
    const t = length > 0 ? clip(along / length, 0, 1) : 0;
    let squared = 0;
    for (let k = 0; k < d; k += 1) {
      // From the nearer end, so that the end itself is met exactly.
      const step = nodes[b + k] - nodes[a + k];
      const foot = t < 0.5 ? nodes[a + k] + t * step : nodes[b + k] - (1 - t) * step;
      squared += (point[k] - foot) * (point[k] - foot);
    }
    const isFirst = squared === least && rank !== null && rank[edge] < rank[best];
    if (best < 0 || squared < least || isFirst) {
      [best, where, least] = [edge, t, squared];
    }
  }
  return { edge: best, position: where, distance: Math.sqrt(least) };
}

/**
 * The order of the edges in ties: their own, but the halves of an edge follow one another.
 *
 * Python places samples before it puts roots between nodes (insert_node): the second half of
 * a divided edge is the last edge then, but ties as if it still were part of the first. Such a
 * root is the last node, has one edge that ends there, and begins the last edge.
 *
 * @param {Int32Array} edges
 * @param {Iterable<number>} wanted  The roots that were given.
 * @returns {Int32Array}
 */
export function tieRanks(edges, wanted) {
  const nEdges = edges.length / 2;
  const ends = Int32Array.from(edges);
  const given = new Set(wanted);
  const divided = [];
  let node = countNodes(edges) - 1;
  let last = nEdges - 1;
  for (; last > 0 && given.has(node) && ends[2 * last] === node; node -= 1, last -= 1) {
    const others = [];
    for (let i = 0; i < 2 * last; i += 1) {
      if (ends[i] === node) {
        others.push(i);
      }
    }
    if (others.length !== 1 || others[0] % 2 === 0 || ends[2 * last + 1] === node) {
      break;
    }
    ends[others[0]] = ends[2 * last + 1];
    divided.push(others[0] >> 1);
  }
  const order = Array.from({ length: last + 1 }, (_, edge) => edge);
  for (const edge of divided.reverse()) {
    last += 1;
    order.splice(order.indexOf(edge) + 1, 0, last);
  }
  const rank = new Int32Array(nEdges);
  order.forEach((edge, place) => {
    rank[edge] = place;
  });
  return rank;
}

/**
 * @param {number} value
 * @param {number} low
 * @param {number} high
 */
function clip(value, low, high) {
  return Math.min(Math.max(value, low), high);
}
