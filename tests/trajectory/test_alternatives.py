"""Tree, curve, plane and cloud: the likelihood by slow formulas, and who wins where."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import multivariate_normal

from branchwise.datasets import make_tree
from branchwise.trajectory import Trajectory, learn_trajectory
from branchwise.trajectory import alternatives as module
from branchwise.trajectory.alternatives import (
    common_form,
    evidence_sentence,
    evidence_table,
    grid,
    log_likelihood,
    longest_path,
)
from branchwise.trajectory.learning import learn

from .drawn import trajectory

pd = pytest.importorskip("pandas")
seeds = st.integers(0, 2**32 - 1)


def slow_likelihood(known, new, nodes):
    """Expectation and maximisation, sample by sample and node by node."""
    n, d = known.shape
    m = len(nodes)

    def flat(covariance):
        return covariance + 1e-6 * np.trace(covariance) / d * np.eye(d)

    def density(x, weights, covariance):
        return [
            w * multivariate_normal.pdf(x, c, covariance)
            for w, c in zip(weights, nodes, strict=True)
        ]

    covariance = np.zeros((d, d))
    for x in known:
        apart = x - min(nodes, key=lambda c: np.sum((x - c) ** 2))
        covariance += np.outer(apart, apart) / n
    weights, covariance = [1 / m] * m, flat(covariance)
    for _ in range(5 if m > 1 else 0):
        parts = [np.array(density(x, weights, covariance)) for x in known]
        parts = [part / part.sum() for part in parts]
        weights = [(sum(part[k] for part in parts) + 0.5) / (n + 0.5 * m) for k in range(m)]
        covariance = np.zeros((d, d))
        for x, part in zip(known, parts, strict=True):
            for k, c in enumerate(nodes):
                covariance += part[k] * np.outer(x - c, x - c) / n
        covariance = flat(covariance)
    return [np.log(sum(density(x, weights, covariance))) for x in new]


@pytest.mark.parametrize(("m", "d"), [(1, 1), (1, 3), (2, 1), (4, 2), (6, 3)])
def test_the_likelihood_by_the_slow_formula(m, d):
    rng = np.random.default_rng(10 * m + d)
    nodes = rng.normal(size=(m, d))
    known, new = (nodes[rng.integers(m, size=k)] + 0.5 * rng.normal(size=(k, d)) for k in (30, 9))
    np.testing.assert_allclose(
        log_likelihood(known, new, nodes), slow_likelihood(known, new, nodes), atol=1e-8, rtol=1e-8
    )


@given(seeds, st.integers(2, 12), st.integers(0, 3))
def test_the_longest_path(seed, n_nodes, n_cut):
    found = trajectory(seed, n_nodes=n_nodes, n_cut=n_cut)
    path = longest_path(found.view).tolist()
    base = found.view.base
    G = nx.Graph()
    G.add_nodes_from(range(n_nodes))
    for (a, b), length in zip(base.edges.tolist(), base.lengths, strict=True):
        G.add_edge(a, b, weight=length)
    names = {name: node for node, name in found.view.milestone_names.items()}
    if "T2" not in names:
        assert path == list(range(n_nodes))
    elif nx.has_path(G, names["T1"], names["T2"]):
        assert path[::-1] == nx.shortest_path(G, names["T1"], names["T2"], weight="weight")
        longest = max(max(row.values()) for _, row in nx.all_pairs_dijkstra_path_length(G))
        assert abs(nx.path_weight(G, path, "weight") - longest) < 1e-8


def test_the_grid_covers_the_plane():
    rng = np.random.default_rng(0)
    points = rng.uniform(-1, 1, size=(500, 3)) * [3.0, 2.0, 0.1]
    nodes = grid(points)
    assert nodes.shape == (100, 3)
    assert not nodes[:, 2].any()
    for k in (0, 1):
        values = np.unique(nodes[:, k])
        np.testing.assert_allclose(values[[0, -1]], np.quantile(points[:, k], [0.02, 0.98]))
        np.testing.assert_allclose(np.diff(values), (values[-1] - values[0]) / 9)
    assert len(grid(points[:20])) == 4


def disk(seed=0, n=400):
    rng = np.random.default_rng(seed)
    angle, radius = 2 * np.pi * rng.uniform(size=n), np.sqrt(rng.uniform(size=n))
    flat = np.column_stack([radius * np.cos(angle), radius * np.sin(angle), np.zeros((n, 2))])
    return flat + 0.03 * rng.normal(size=(n, 4))


@pytest.fixture(scope="module")
def fork():
    return learn(make_tree(300, 6, topology="bifurcation", noise=0.08, random_state=0).X)


@pytest.mark.parametrize("seed", range(3))
def test_a_disk_is_a_plane_or_a_cloud_as_well(seed):
    found = learn_trajectory(disk(seed), support=0)
    assert "A tree explains" not in found.describe()
    assert "A plane explains" in found.describe() or "A cloud explains" in found.describe()


def test_a_tree_is_best_explained_by_a_tree(fork):
    table = fork.evidence_
    assert table.index.tolist() == ["tree", "curve", "plane", "cloud"]
    assert table["log_likelihood"].idxmax() == "tree"
    best = table["log_likelihood"]["tree"]
    np.testing.assert_allclose(table["difference"], best - table["log_likelihood"], atol=1e-12)
    assert (table["difference"][1:] > 2 * table["std_error"][1:]).all()
    assert table["std_error"]["tree"] == 0
    assert table["n_samples"].unique().tolist() == [300]
    assert "A tree explains the samples better than a" in fork.describe()


def test_a_cloud_is_not_a_tree():
    X = np.random.default_rng(0).normal(size=(300, 4))
    found = learn_trajectory(X, support=0)
    assert "There is no evidence of a fork." in found.describe()
    assert "A tree" not in found.describe()
    values = found.evidence_["log_likelihood"]
    assert values["cloud"] > values["curve"] - module.NO_DIFFERENCE


def test_one_dimension_has_no_plane():
    found = learn_trajectory(np.random.default_rng(0).normal(size=(50, 1)), support=0)
    assert found.evidence_.index.tolist() == ["tree", "curve", "cloud"]


@pytest.mark.parametrize("seed", range(3))
def test_the_order_of_the_samples_and_their_unit_change_nothing(fork, seed):
    view = fork.view
    order = np.random.default_rng(seed).permutation(len(view.points))
    other = Trajectory(view.base.edges, 30 * view.base.nodes, 30 * view.points[order])
    columns = ["log_likelihood", "difference", "std_error"]
    np.testing.assert_allclose(
        evidence_table(other.view)[columns], fork.evidence_[columns], atol=1e-6
    )


def test_of_many_samples_some_are_looked_at(fork, monkeypatch):
    monkeypatch.setattr(module, "MOST_ROWS", 200)
    points, _ = common_form(fork.view)
    assert len(points) == 200
    assert evidence_table(fork.view)["n_samples"].unique().tolist() == [200]


def table(curve, plane, cloud, error=0.1, tree=0.0):
    values = np.array([tree, curve, plane, cloud])
    return pd.DataFrame(
        {"log_likelihood": values, "difference": tree - values, "std_error": error},
        index=["tree", "curve", "plane", "cloud"],
    )


@pytest.mark.parametrize(
    ("given", "n_forks", "start"),
    [
        (
            (-1, -2, -3),
            1,
            "A tree explains the samples better than a curve, the next best: by 1.00",
        ),
        ((-2, -1, -3), 2, "A tree explains the samples better than a plane, the next best"),
        ((-2, 1, -3), 1, "A plane explains the samples better than a tree: by 1.00 ± 0.10"),
        ((-2, -3, 0.1), 1, "A cloud explains the samples as well as a tree does"),
        ((0, -1, -3), 0, "There is no evidence of a fork. A curve explains the samples better"),
        ((0, 1, -3), 0, "There is no evidence of a fork. A plane explains the samples better than"),
        ((0, -1, -0.1), 0, "There is no evidence of a fork. A cloud explains the samples as well"),
    ],
)
def test_the_sentence_names_the_best(given, n_forks, start):
    assert evidence_sentence(table(*given), n_forks).startswith(start)


def test_a_tiny_difference_is_none_however_sure():
    told = evidence_sentence(table(-0.009, -1, -1, error=1e-4), 1)
    assert told.startswith("A curve explains the samples as well as a tree does")
