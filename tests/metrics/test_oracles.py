"""Agreement with independent libraries: zadu for embeddings, pydyneval for trajectories.

pydyneval departs from the published definitions: its edge flip and its HIM go by the names of the
nodes and simplify nothing, its edge flip is a Jaccard similarity, and its HIM leaves out part of
the Ipsen-Mikhailov integral and weighs the two distances differently (and calls a function that
NumPy 2.4 removed). What can be compared in spite of that is.
"""

import itertools

import numpy as np
import pytest

from branchwise.metrics import (
    continuity,
    coranking,
    edge_flip,
    f1_branches,
    f1_milestones,
    isomorphic,
    loo_1nn,
    tree_correlation,
    trustworthiness,
)
from branchwise.metrics.topology import _shared_weight, _weights, topology

from .graphs import DOUBLE_FORK, FOREST, FORK, LINE, LOLLIPOP, RING, THETA, with_points
from .test_embedding import noisy

ONLY = "an independent implementation, only in the developers' environment"
SHAPES = [LINE, FORK, RING, LOLLIPOP, THETA, DOUBLE_FORK]


def zadu(name, *args):
    """One of their measures."""
    return pytest.importorskip(f"zadu.measures.{name}", reason=ONLY).measure(*args)


@pytest.fixture
def pydyneval():
    return pytest.importorskip("pydyneval", reason=ONLY)


@pytest.mark.parametrize("k", [1, 5, 20])
def test_embeddings_score_as_in_zadu(k):
    X, Z = noisy(0, n=120)
    theirs = zadu("trustworthiness_continuity", X, Z, k)
    assert np.isclose(trustworthiness(X, Z, k), theirs["trustworthiness"], atol=1e-12)
    assert np.isclose(continuity(X, Z, k), theirs["continuity"], atol=1e-12)
    lcmc = zadu("local_continuity_meta_criteria", X, Z, k)["lcmc"]
    assert np.isclose(coranking(X, Z, k).lcmc[k - 1], lcmc, atol=1e-12)


def test_1nn_is_zadu_s_neighbourhood_hit():
    _, Z = noisy(0, n=120)
    labels = (Z[:, 0] > 0.3).astype(int)
    theirs = zadu("neighborhood_hit", Z, labels, 1)["neighborhood_hit"]
    assert np.isclose(loo_1nn(Z, labels), theirs, atol=1e-12)


def network(shape):
    """Milestone network of a graph as they take it."""
    pd = pytest.importorskip("pandas")
    names = [f"m{node}" for node in range(shape.n_nodes)]
    start, end = ([names[node] for node in column] for column in shape.edges.T)
    return names, pd.DataFrame({"from": start, "to": end, "length": shape.lengths})


def wrapped(placement):
    """A trajectory of theirs; no nodes with two neighbours, loops or double edges."""
    pd, dw = pytest.importorskip("pandas"), pytest.importorskip("pydynwrap", reason=ONLY)
    names, table = network(placement)
    cells = [f"c{i}" for i in range(len(placement.edge))]
    on = table.iloc[placement.edge]
    progressions = pd.DataFrame(
        {
            "cell_id": cells,
            "from": on["from"].to_numpy(),
            "to": on["to"].to_numpy(),
            "percentage": placement.position,
        }
    )
    return dw.add_trajectory(dw.wrap_data(cells), names, table, progressions=progressions)


PAIRS = [(FORK, DOUBLE_FORK), (LINE, FORK), (DOUBLE_FORK, DOUBLE_FORK), (FORK, LINE)]


@pytest.mark.parametrize(("truth", "found"), PAIRS)
def test_places_score_as_in_pydyneval(pydyneval, truth, found):
    dw = pytest.importorskip("pydynwrap", reason=ONLY)
    rng = np.random.default_rng(0)
    a, b = with_points(truth, rng, 40), with_points(found, rng, 40)
    ours, theirs = f1_branches(a, b), (wrapped(a), wrapped(b))
    by_branch = pydyneval.calculate_mapping_branches(*theirs)
    assert np.isclose(ours, by_branch["F1_branches"], atol=1e-12)
    by_milestone = pydyneval.calculate_mapping_milestones(*theirs)
    assert np.isclose(f1_milestones(a, b), by_milestone["F1_milestones"], atol=1e-12)
    # Without the distances of points to themselves, and no less than zero.
    apart = ~np.eye(40, dtype=bool)
    tables = [dw.calculate_geodesic_distances(t) for t in theirs]
    distances = [table.loc[table.columns].to_numpy()[apart] for table in tables]
    correlation = pydyneval.calculate_correlation(*distances)
    assert np.isclose(max(0.0, tree_correlation(a, b)), correlation, atol=1e-8)


@pytest.mark.parametrize(("truth", "found"), list(itertools.product(SHAPES, repeat=2)))
def test_shapes_are_isomorphic_as_in_pydyneval(pydyneval, truth, found):
    networks = [network(topology(shape))[1] for shape in (truth, found)]
    assert isomorphic(truth, found) == pydyneval.calculate_isomorphic(*networks)


@pytest.mark.parametrize(
    ("truth", "found"), [*itertools.combinations(SHAPES[:4], 2), (FORK, THETA), (LINE, FOREST)]
)
def test_edge_flip_is_pydyneval_s_under_the_best_names(pydyneval, truth, found):
    """Their Jaccard similarity J of named edges is 2J/(1 + J) as a part of all edges."""
    one, other = sorted((topology(truth), topology(found)), key=lambda shape: shape.n_nodes)
    fixed = network(other)[1]
    best = 0.0
    # Renaming the few nodes of the smaller graph tries all correspondences.
    for nodes in itertools.permutations(range(other.n_nodes), one.n_nodes):
        renamed = one._replace(n_nodes=other.n_nodes, edges=np.array(nodes)[one.edges])
        best = max(best, pydyneval.calculate_edge_flip(network(renamed)[1], fixed))
    assert np.isclose(edge_flip(truth, found), 2 * best / (1 + best), atol=1e-12)


@pytest.mark.parametrize(("truth", "found"), [(LINE, FORK), (LINE, RING), (FORK, LOLLIPOP)])
def test_hamming_distance_is_pydyneval_s_under_the_best_names(pydyneval, truth, found):
    """For these shapes the bound by assignment is attained by a correspondence."""
    from pydyneval.metric_him import _hamming

    one, other = topology(truth), topology(found)
    n = max(one.n_nodes, other.n_nodes)
    A, B = _weights(one, n), _weights(other, n)
    ways = (np.array(way) for way in itertools.permutations(range(n)))
    theirs = min(_hamming(A, B[np.ix_(way, way)]) for way in ways)
    assert np.isclose(1 - _shared_weight(A, B), theirs, atol=1e-12)
