/**
 * How sure a branch is, for whatever root: what `support` and `p` of Trajectory.branch_table_ say,
 * and in words.
 *
 * @typedef {object} Evidence  state.evidence of the page.
 * @property {boolean} is_tested  Whether gaps were looked at.
 * @property {number} level  A p above it is no evidence of a branch.
 * @property {number} sure  A smaller part of the resamples is not sure.
 * @property {Int32Array} segment  Per edge: the stretch between tips and forks that it is part of.
 * @property {Float64Array} p  Per stretch; NaN: none.
 * @property {Int32Array} piece  Per edge: the piece that resamples tell of.
 * @property {Float64Array | null} support  Per piece.
 * @property {number | null} n_resamples
 * @property {Float64Array} occupied  Per edge: the part of it that has samples.
 * @property {string[]} found  What is said of the whole.
 *
 * @typedef {object} Sure
 * @property {number | null} support  The part of the resamples in which it was found again.
 * @property {number | null} n  The number of resamples; null if there were none.
 * @property {number | null} p  Of a gap as empty as the one beside it where nothing forks.
 * @property {number | null} occupied  The part of its length that has samples.
 * @property {string} words
 */

/**
 * Of every branch of the tree as it is rooted now.
 *
 * @param {Evidence | undefined} evidence
 * @param {{ofEdge: ArrayLike<number>, branches: ArrayLike<unknown>}} tree
 * @param {ArrayLike<number>} lengths  Of the edges.
 * @returns {Sure[]}
 */
export function branchesSure(evidence, tree, lengths) {
  const edges = Array.from(tree.branches, () => []);
  for (let e = 0; e < tree.ofEdge.length; e += 1) edges[tree.ofEdge[e]].push(e);
  return edges.map((ofBranch) => sureOf(evidence, lengths, ofBranch));
}

/** @returns {Sure} */
function sureOf(evidence, lengths, edges) {
  if (!evidence) return { support: null, n: null, p: null, occupied: null, words: "" };
  const p = known(evidence.p[evidence.segment[edges[0]]]);
  // A root that was within a stretch has left two pieces of what is one branch now.
  const pieces = [...new Set(edges.map((e) => evidence.piece[e]))];
  const shares = pieces.map((k) => known(evidence.support?.[k]));
  const support = shares.length === 1 ? shares[0] : null;
  const n = evidence.n_resamples;
  const words = sentences([supportWords(shares, n, evidence), gapWords(p, evidence)]);
  return { support, n, p, occupied: occupiedPart(evidence.occupied, lengths, edges), words };
}

/** A number, or null where there is none. */
function known(value) {
  return value === undefined || Number.isNaN(value) ? null : value;
}

function occupiedPart(occupied, lengths, edges) {
  const length = edges.reduce((sum, e) => sum + lengths[e], 0);
  if (!(length > 0)) return null;
  return edges.reduce((sum, e) => sum + occupied[e] * lengths[e], 0) / length;
}

function supportWords(shares, n, { sure }) {
  if (n === null || shares.includes(null)) return "how often resamples find it again is not known";
  const times = shares.map((share) => Math.round(share * n)).join(" and ");
  const what = shares.length === 1 ? "found again" : "its parts were found again";
  const isSure = shares.every((share) => share >= sure);
  return `${what} in ${times} of ${n} resamples${isSure ? "" : ": resamples disagree about it"}`;
}

function gapWords(p, { is_tested, level }) {
  if (p === null) {
    return is_tested
      ? "there is no fork that samples could leave a gap at"
      : "gaps beside it were not looked at, as the graph has cycles or too many tips";
  }
  return p <= level
    ? `samples leave a gap beside it that is rare where nothing forks (${pWords(p)})`
    : `a gap as empty as the one beside it is not rare where nothing forks (${pWords(p)})`;
}

/**
 * A p-value as sentences have it.
 *
 * @param {number} p
 */
export function pWords(p) {
  return p < 0.001 ? "p < 0.001" : `p = ${Number(p.toPrecision(2))}`;
}

function sentences(parts) {
  return parts.map((part) => `${part[0].toUpperCase()}${part.slice(1)}.`).join(" ");
}
