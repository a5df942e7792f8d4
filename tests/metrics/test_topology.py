"""Scores of shapes: against exhaustive searches, integrals and networkx, and by hand."""

import itertools

import networkx as nx
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.integrate import quad

from branchwise.metrics import edge_flip, him, isomorphic
from branchwise.metrics.topology import GAMMA, _ipsen_mikhailov, _shared_weight, _weights, topology

from .graphs import (
    DOUBLE_FORK,
    FOREST,
    FORK,
    LINE,
    LOLLIPOP,
    NAMES,
    POINT,
    RING,
    SHAPES,
    THETA,
    graph,
    random_graph,
    relabelled,
    subdivided,
)

seeds = st.integers(0, 2**32 - 1)
graphs = st.builds(
    random_graph,
    seeds,
    n_nodes=st.integers(2, 6),
    extra=st.integers(0, 2),
    n_cut=st.integers(0, 2),
)
# Three neighbours at every node: colours alone tell neither these two apart nor their nodes.
PRISM = graph([[0, 1], [1, 2], [2, 0], [3, 4], [4, 5], [5, 3], [0, 3], [1, 4], [2, 5]])
UTILITIES = graph([[a, b] for a in (0, 1, 2) for b in (3, 4, 5)])


def as_networkx(shape):
    G = nx.Graph()
    G.add_nodes_from(range(shape.n_nodes))
    for (a, b), length in zip(shape.edges.tolist(), shape.lengths, strict=True):
        G.add_edge(a, b, length=length)
    return G


def simplified(placement):
    """The definition, one node and one edge at a time."""
    G = nx.MultiGraph()
    G.add_nodes_from(range(placement.n_nodes))
    for (a, b), length in zip(placement.edges.tolist(), placement.lengths, strict=True):
        if a != b or length > 0:
            G.add_edge(a, b, length=length)
    for v in list(G):
        around = list(G.edges(v, data="length"))
        if G.degree(v) == 2 and len(around) == 2:
            (_, a, x), (_, b, y) = around
            G.remove_node(v)
            G.add_edge(a, b, length=x + y)
    simple, new = nx.Graph(), itertools.count(placement.n_nodes)
    simple.add_nodes_from(G)
    for a, b, length in list(G.edges(data="length")):
        n_parts = 3 if a == b else 2 if G.number_of_edges(a, b) > 1 or len(G.edges) == 1 else 1
        stops = [a, *itertools.islice(new, n_parts - 1), b]
        nx.add_path(simple, stops, length=length / n_parts)
    return simple


def most_common_edges(a, b):
    """Over all ways to take the nodes of one for those of the other."""
    A, B = (np.zeros((max(a.n_nodes, b.n_nodes),) * 2, dtype=bool) for _ in range(2))
    A[tuple(a.edges.T)] = A[tuple(a.edges[:, ::-1].T)] = True
    B[tuple(b.edges.T)] = B[tuple(b.edges[:, ::-1].T)] = True
    ways = (np.array(way) for way in itertools.permutations(range(len(A))))
    return max(int((A & B[np.ix_(way, way)]).sum()) // 2 for way in ways)


def him_by_definition(a, b):
    """Its parts: the least Hamming distance of all correspondences, and the integral."""
    n = max(a.n_nodes, b.n_nodes)
    A, B = np.zeros((2, n, n))
    spectra = []
    for M, shape in ((A, a), (B, b)):
        for (i, j), length in zip(shape.edges, shape.lengths, strict=True):
            M[i, j] = M[j, i] = length
        M /= M.sum()
        spectra.append(np.sqrt(np.abs(np.linalg.eigvalsh(np.diag(M.sum(axis=0)) - M))[1:]))
    ways = (np.array(way) for way in itertools.permutations(range(n)))
    hamming = min(np.abs(A - B[np.ix_(way, way)]).sum() for way in ways) / (n * (n - 1))
    return hamming, im_by_definition(*spectra, GAMMA)


def im_by_definition(a, b, gamma):
    def peaks(omega, centres):
        return np.sum(gamma / ((omega - centres) ** 2 + gamma**2))

    def integral(f):
        return sum(
            quad(f, *bounds, epsabs=1e-13, epsrel=1e-12, limit=1000)[0]
            for bounds in ((0, 1), (1, 3), (3, np.inf))
        )

    mass_a, mass_b = (integral(lambda w, c=c: peaks(w, c)) for c in (a, b))
    return np.sqrt(integral(lambda w: (peaks(w, a) / mass_a - peaks(w, b) / mass_b) ** 2))


@given(graphs)
def test_topology_is_what_dissolving_and_breaking_up_leaves(placement):
    found, expected = as_networkx(topology(placement)), simplified(placement)
    same_length = nx.algorithms.isomorphism.numerical_edge_match("length", 0.0, rtol=1e-9)
    assert nx.is_isomorphic(found, expected, edge_match=same_length)


@pytest.mark.parametrize(
    ("shape", "n_nodes", "n_edges"),
    [
        (LINE, 3, 2),
        (FORK, 4, 3),
        (RING, 3, 3),
        (LOLLIPOP, 4, 4),
        (THETA, 5, 6),
        (FOREST, 7, 4),
        (POINT, 1, 0),
    ],
)
def test_topology_of_shapes(shape, n_nodes, n_edges):
    found = topology(shape)
    assert (found.n_nodes, len(found.edges)) == (n_nodes, n_edges)
    assert np.isclose(found.lengths.sum(), shape.lengths.sum())


@given(graphs, graphs)
def test_edge_flip_is_that_of_all_correspondences(a, b):
    x, y = topology(a), topology(b)
    assume(max(x.n_nodes, y.n_nodes) <= 7 and len(x.edges) and len(y.edges))
    n_edges = len(x.edges) + len(y.edges)
    flips = n_edges - 2 * most_common_edges(x, y)
    assert np.isclose(edge_flip(a, b), 1 - flips / n_edges, atol=1e-12)


@given(st.tuples(seeds, seeds), st.integers(8, 16))
def test_edge_flip_of_a_tree_and_its_part_is_the_part_s_size(seeds, n_nodes):
    """A tree lies in any tree that grew from it at its tips and forks."""
    part = random_graph(seeds[0], n_nodes=n_nodes)
    rng = np.random.default_rng(seeds[1])
    shape = topology(part)
    assume(len(shape.edges) > 2)
    grown, n = shape.edges.tolist(), shape.n_nodes
    degree = np.bincount(shape.edges.ravel())
    for node in rng.choice(np.flatnonzero(degree > 2), 3):
        grown.append([int(node), n])
        n += 1
    m = len(shape.edges)
    assert np.isclose(edge_flip(part, relabelled(graph(grown), rng)), 1 - 3 / (2 * m + 3))


@given(graphs, graphs)
def test_isomorphic_agrees_with_networkx(a, b):
    assert isomorphic(a, b) == nx.is_isomorphic(simplified(a), simplified(b))


@given(seeds, st.integers(2, 40), st.integers(0, 4), st.integers(0, 3))
def test_isomorphic_sees_a_shape_under_other_names(seed, n_nodes, extra, n_cut):
    rng = np.random.default_rng(seed)
    a = random_graph(seed, n_nodes=n_nodes, extra=extra, n_cut=n_cut)
    assert isomorphic(a, subdivided(relabelled(a, rng), rng))
    grown = a._replace(
        n_nodes=a.n_nodes + 2,
        edges=np.vstack([a.edges, [[0, n_nodes], [0, n_nodes + 1]]]),
        lengths=np.append(a.lengths, [1.0, 1.0]),
    )
    assert not isomorphic(a, grown)


def test_isomorphic_tells_regular_graphs_apart():
    rng = np.random.default_rng(0)
    assert isomorphic(PRISM, relabelled(PRISM, rng))
    assert isomorphic(UTILITIES, relabelled(UTILITIES, rng))
    assert not isomorphic(PRISM, UTILITIES)


def test_isomorphic_tells_shapes_apart():
    for a, b in itertools.product(range(len(SHAPES)), repeat=2):
        assert isomorphic(SHAPES[a], SHAPES[b]) == (a == b)


@given(graphs, graphs)
def test_him_is_its_definition(a, b):
    x, y = topology(a), topology(b)
    assume(max(x.n_nodes, y.n_nodes) <= 6 and len(x.edges) and len(y.edges))
    hamming, spectral = him_by_definition(x, y)
    value = him(a, b)
    found = np.sqrt(max(0.0, 2 * (1 - value) ** 2 - spectral**2))
    # What is left for the Hamming distance is at most the least of all correspondences.
    assert value >= 1 - np.sqrt((hamming**2 + spectral**2) / 2) - 1e-8
    assert found <= hamming + 1e-6
    # And it is that of the best assignment of the nodes by themselves, of all that there are.
    n = max(x.n_nodes, y.n_nodes)
    A, B = _weights(x, n), _weights(y, n)
    rows = [np.sort(M, axis=1) for M in (A, B)]
    gain = np.minimum(rows[0][:, None], rows[1]).sum(axis=2)
    best = max(gain[range(n), way].sum() for way in itertools.permutations(range(n)))
    assert np.isclose(_shared_weight(A, B), best, atol=1e-12)
    expected = 1 - np.sqrt(((2 - 2 * best) ** 2 / (n * (n - 1)) ** 2 + spectral**2) / 2)
    assert np.isclose(value, max(0.0, expected), atol=1e-8)


@given(
    st.lists(st.floats(0, 2), min_size=1, max_size=6),
    st.lists(st.floats(0, 2), min_size=1, max_size=6),
    st.floats(0.05, 0.5),
)
def test_ipsen_mikhailov_is_its_integral(a, b, gamma):
    a, b = np.array(a), np.array(b)
    expected = im_by_definition(a, b, gamma)
    assert np.isclose(_ipsen_mikhailov(a, b, gamma) ** 2, expected**2, atol=1e-9)


def test_him_by_hand():
    """A line of two halves against a fork of three thirds, on four nodes."""
    spectral = im_by_definition(np.sqrt([0, 1 / 4, 3 / 4]), np.sqrt([1 / 6, 1 / 6, 4 / 6]), GAMMA)
    # Two edges have 1/4 and 1/6, the third 0 and 1/6; both directions count.
    hamming = 2 * (2 * (1 / 4 - 1 / 6) + 1 / 6) / 12
    expected = 1 - np.sqrt((hamming**2 + spectral**2) / 2)
    assert np.isclose(him(LINE, FORK), expected, atol=1e-9)


@pytest.mark.parametrize("score", [him, edge_flip])
@given(graphs, graphs, seeds)
def test_scores_are_symmetric_bounded_and_see_only_the_shape(score, a, b, seed):
    rng = np.random.default_rng(seed)
    value = score(a, b)
    assert 0 <= value <= 1
    assert np.isclose(score(b, a), value, atol=1e-8)
    assert np.isclose(score(a, subdivided(relabelled(b, rng), rng)), value, atol=1e-7)
    assert np.isclose(score(a, b._replace(lengths=3 * b.lengths)), value, atol=1e-8)
    assert np.isclose(score(a, subdivided(relabelled(a, rng), rng)), 1.0, atol=1e-7)


@pytest.mark.parametrize("shape", SHAPES, ids=NAMES)
def test_the_same_shape_scores_one(shape):
    assert him(shape, shape) == edge_flip(shape, shape) == 1.0
    assert isomorphic(shape, shape) is True


@pytest.mark.parametrize(
    ("a", "b", "n_flips", "n_edges"),
    [
        (LINE, FORK, 1, 5),
        (LINE, RING, 1, 5),
        (FORK, RING, 2, 6),
        (FORK, LOLLIPOP, 1, 7),
        (FORK, DOUBLE_FORK, 2, 8),
        (RING, LOLLIPOP, 1, 7),
        (LINE, THETA, 4, 8),
        (POINT, LINE, 2, 2),
    ],
)
def test_edge_flip_by_hand(a, b, n_flips, n_edges):
    assert np.isclose(edge_flip(a, b), 1 - n_flips / n_edges)


def test_him_sees_lengths_and_edge_flip_does_not():
    longer = FORK._replace(lengths=np.array([1.0, 1.0, 5.0]))
    assert him(FORK, longer) < 0.95
    assert edge_flip(FORK, longer) == 1.0


def test_points_by_themselves_are_seen_by_isomorphic_alone():
    with_point = graph([*FORK.edges, [4, 4]], [1, 1, 1, 0])
    assert him(FORK, with_point) == edge_flip(FORK, with_point) == 1.0
    assert not isomorphic(FORK, with_point)


def test_nothing_scores_like_nothing_only():
    two_points = graph([[0, 0], [1, 1]], [0, 0])
    no_nodes = graph([], [], n_nodes=0)
    for score in (him, edge_flip):
        assert score(POINT, two_points) == 1.0
        assert score(POINT, FORK) == score(no_nodes, FORK) == 0.0


def test_what_is_too_much_is_told():
    star = graph([[0, k] for k in range(1, 2001)])
    with pytest.raises(ValueError, match="found has 2001 tips and forks, but him compares at most"):
        him(FORK, star)
    assert np.isnan(edge_flip(FORK, star))
    assert np.isnan(edge_flip(DOUBLE_FORK, FOREST, max_steps=3))
    assert not isomorphic(FORK, star)


@pytest.mark.parametrize("score", [him, edge_flip, isomorphic])
def test_bad_input_is_told(score):
    with pytest.raises(TypeError, match="truth is of type list, but must be a Placement"):
        score([[0, 1]], FORK)
    with pytest.raises(ValueError, match="lengths of found must be finite, not negative"):
        score(FORK, FORK._replace(lengths=-FORK.lengths))


def test_bad_steps_are_told():
    with pytest.raises(ValueError, match="max_steps=0 must be a positive integer"):
        edge_flip(FORK, RING, max_steps=0)
