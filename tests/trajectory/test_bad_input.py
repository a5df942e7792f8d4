"""What a trajectory is made from and asked for, and the sentence that a mistake gets."""

import re

import networkx as nx
import numpy as np
import pytest
from scipy import sparse
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError

from branchwise import SPL, DDRTree, DRTree
from branchwise.trajectory import Trajectory, learn_trajectory

from ..conftest import branching

NODES = np.array([[0.0, 0.0], [2.0, 0.0], [4.0, 2.0], [3.0, -1.0]])
FORK = [[0, 1], [1, 2], [1, 3]]


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        (np.triu(np.ones((4, 4)), 1), "The graph is not symmetric but must be"),
        (sparse.csr_array(np.triu(np.ones((4, 4)), 1)), "The graph is not symmetric but must be"),
        (-np.ones((4, 4)), "The graph has an edge of weight -1.0 but weights must be finite"),
        (np.full((4, 4), np.nan), "The graph has an edge of weight nan but weights must be"),
        (np.ones((3, 3)), "The graph has shape (3, 3) but must have shape (4, 4); give one row"),
        (np.ones((4, 3)), "The graph has shape (4, 3) but must have shape (4, 4); give one row"),
        (np.ones((4, 4), complex), "type complex128 but must be a square matrix of numbers"),
        ([[0, 9]], "tree names node 9, but the nodes are 0 to 3; number them as the rows of nodes"),
        ([[0, -1]], "tree names node -1, but the nodes are 0 to 3; number them as"),
        ([[0, 1.5]], "tree has type float64 but a list of edges must hold node numbers; pass"),
        ([["a", "b"]], "tree has type <U1 but a list of edges must hold node numbers; pass"),
        ([0, 1], "tree has 1 dimension(s) and type int64 but must be a matrix with one row"),
        ([[0, 1], [1]], "tree has 1 dimension(s) and type object but must be a matrix"),
        (None, "tree has 0 dimension(s) and type object but must be a matrix"),
        (nx.path_graph(4), "of a networkx graph, pass networkx.to_scipy_sparse_array(G)"),
        (np.ones((4, 4, 4)), "tree has 3 dimension(s) and type float64 but must be a matrix"),
    ],
)
def test_the_graph(tree, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        Trajectory(tree, NODES)


@pytest.mark.parametrize("name", ["nodes", "points"])
@pytest.mark.parametrize(
    ("value", "message"),
    [
        (np.where(NODES == 4, np.nan, NODES), "[2, 0] is NaN, but every value must be finite"),
        (np.where(NODES == 4, -np.inf, NODES), "[2, 0] is -inf, but every value must be finite"),
        (NODES * 1e200, " holds a value of size 4e+200, but values must be at most"),
        (NODES[:, 0], " must be an array of numbers with one row per point: Expected 2D array"),
        (NODES * 1j, " must be an array of numbers with one row per point: Complex data not"),
        ([["0m"], ["1m"], ["2m"], ["3m"]], " must be an array of numbers with one row per point"),
        (np.empty((0, 2)), " must be an array of numbers with one row per point: Found array with"),
        (np.empty((4, 0)), " must be an array of numbers with one row per point: Found array with"),
        (sparse.csr_array(NODES), " must be an array of numbers with one row per point: Sparse"),
        (NODES[np.newaxis], " must be an array of numbers with one row per point: Found array"),
    ],
)
def test_positions(name, value, message):
    with pytest.raises(ValueError, match=re.escape(name + message)) as caught:
        Trajectory(FORK, value) if name == "nodes" else Trajectory(FORK, NODES, value)
    assert "\n" not in str(caught.value)


def test_points_in_another_number_of_dimensions():
    with pytest.raises(ValueError, match=r"points has 1 column\(s\), but the nodes lie in 2 dimen"):
        Trajectory(FORK, NODES, NODES[:, :1])


@pytest.mark.parametrize("names", [["a"], "abcd", 5, NODES, [["a"], ["b", "c"], [], []][:3]])
def test_names(names):
    with pytest.raises(ValueError, match=r"names has shape \(.*\), but there are 4 samples; give"):
        Trajectory(FORK, NODES, names=names)


@pytest.mark.parametrize("sigma", [-1, np.nan, np.inf, "wide", None])
def test_sigma(sigma):
    with pytest.raises(ValueError, match=r"sigma=.* must be a finite number of at least 0; pass 0"):
        Trajectory(FORK, NODES, sigma=sigma)


@pytest.mark.parametrize("n_jobs", [0, 1.5, "all"])
def test_n_jobs(n_jobs):
    with pytest.raises(ValueError, match=r"n_jobs=.* must be an integer other than 0; -1 takes"):
        Trajectory(FORK, NODES, n_jobs=n_jobs)


VALID = "valid are the numbers 0 to 3 and the milestones T1, T2, T3, F1."


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"node": "T9"}, f"node='T9' is not a node of the graph; {VALID}"),
        ({"node": 4}, f"node=4 is not a node of the graph; {VALID}"),
        ({"node": np.int64(-1)}, f"node=-1 is not a node of the graph; {VALID}"),
        ({"node": [0, 1.5]}, f"node=1.5 is not a node of the graph; {VALID}"),
        ({"node": True}, f"node=True is not a node of the graph; {VALID}"),
        ({"node": []}, "node is empty; name at least one, or leave node out."),
        ({"end": "X"}, f"end='X' is not a node of the graph; {VALID}"),
        ({"end": []}, "end is empty; name at least one, or leave end out."),
        ({"end": ["T2", "T3"]}, "end=['T2', 'T3'] must be one node or milestone, not 2."),
        ({"end": "T1"}, "end='T1' is the root itself; choose another end or root."),
        ({"sample": "x"}, "sample='x' is not a sample; the names are 'a', 'b', 'c', 'd'."),
        ({"sample": ["a", "x"]}, "sample='x' is not a sample; the names are 'a', 'b', 'c', 'd'."),
        ({"sample": 4}, "sample=4 is not a sample; row numbers go from 0 to 3."),
        ({"sample": -1}, "sample=-1 is not a sample; row numbers go from 0 to 3."),
        (
            {"sample": [True] * 4},
            "sample must be row numbers or names of samples, not a mask; pass",
        ),
        ({"sample": []}, "sample is empty; name at least one, or leave sample out."),
        (
            {"node": 1, "sample": 1},
            "rooted takes one of node=…, sample=…, or labels=… with value=…",
        ),
        ({"node": 1, "labels": [1] * 4, "value": 1}, "rooted takes one of node=…, sample=…, or"),
        ({"labels": [1] * 4}, "labels and value go together; pass a label for each sample as"),
        ({"value": 1}, "labels and value go together; pass a label for each sample as labels=…"),
        (
            {"labels": [1] * 3, "value": 1},
            "labels has shape (3,), but there are 4 samples; give one",
        ),
        (
            {"labels": "abcd", "value": "a"},
            "labels has shape (), but there are 4 samples; give one",
        ),
        (
            {"labels": ["a", "b", "b", None], "value": np.str_("c")},
            "value='c' is none of the labels; they are 'a', 'b', None.",
        ),
        (
            {"labels": np.array([1.0, 2.0, np.nan, np.nan]), "value": 3},
            "value=3 is none of the labels; they are 1.0, 2.0, nan.",
        ),
        (
            {"labels": [1, 2, 3, 4], "value": np.array([1, 2])},
            "value=array([1, 2]) is none of the labels; they are 1, 2, 3, 4.",
        ),
        (
            {"labels": [1] * 4, "value": 1, "at": "fork"},
            "at='fork' must be 'auto', 'tip' or 'node'.",
        ),
        ({"at": "fork"}, "at='fork' must be 'auto', 'tip' or 'node'."),
    ],
)
def test_roots(arguments, message):
    found = Trajectory(FORK, NODES, names=["a", "b", "c", "d"])
    with pytest.raises(ValueError, match=re.escape(message)):
        found.rooted(**arguments)


def test_a_ring_has_no_milestones_to_list():
    ring = Trajectory([[0, 1], [1, 2], [2, 0]], NODES[:3])
    with pytest.raises(ValueError, match=r"valid are the numbers 0 to 2\.$"):
        ring.rooted(node="T1")
    with pytest.raises(ValueError, match="tips='T1' is not a tip; tips are missing"):
        ring.prune(tips="T1")
    with pytest.raises(ValueError, match="No tip has a sample labelled 1 among its first samples"):
        ring.rooted(labels=[1, 2, 3], value=1, at="tip")


@pytest.mark.parametrize(
    ("pair", "message"),
    [
        ((0, 9), "j=9 is not a sample; row numbers go from 0 to 3."),
        (("x", 0), "i='x' is not a sample; the names are 0, 1, 2, 3."),
        ((0, [True] * 4), "j must be row numbers or names of samples, not a mask; pass"),
        (([0, 1], [0, 1, 2]), "i has shape (2,) and j has shape (3,), but they must broadcast"),
        (([[0], [1, 2]], 0), "i=[0] is not a sample; the names are 0, 1, 2, 3."),
    ],
)
def test_pairs_of_samples(pair, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        Trajectory(FORK, NODES).geodesic(*pair)


def test_a_name_of_several_samples_is_none():
    found = Trajectory(FORK, NODES, names=["a", "b", "b", "c"])
    assert found.geodesic("a", "c") == found.geodesic(0, 3)
    with pytest.raises(ValueError, match="sample='b' is the name of 2 samples; pass a row number"):
        found.rooted(sample="b")


@pytest.mark.parametrize("model", [PCA(), DDRTree, None, "DDRTree", [[0, 1]]])
def test_only_what_learns_a_structure_has_a_trajectory(model):
    with pytest.raises(TypeError, match="estimator must be an SPL, DRTree or DDRTree object, got"):
        Trajectory.from_estimator(model)


@pytest.mark.parametrize("model", [SPL(), DRTree(), DDRTree(2)])
def test_an_estimator_is_fitted_first(model):
    with pytest.raises(NotFittedError, match="is not fitted yet"):
        Trajectory.from_estimator(model)


def test_a_learned_tree_has_its_structure():
    model = DDRTree(2, n_centers=9, random_state=0).fit(branching(30, 3))
    with pytest.raises(ValueError, match="structure='ring' is for SPL; DDRTree has learned its"):
        Trajectory.from_estimator(model, structure="ring")
    with pytest.raises(ValueError, match=r"points has 3 column\(s\), but the nodes lie in 2"):
        Trajectory.from_estimator(model, points=branching(30, 3))


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.where(np.eye(9), np.nan, 1.0), r"X\[0, 0\] is NaN, but every value must be finite"),
        (np.ones(9), "Expected 2D array, got 1D array instead"),
        ([1.0, 2.0], "Expected 2D array, got 1D array instead"),
        ([], "Expected 2D array, got 1D array instead"),
        (None, "Expected 2D array, got scalar array instead"),
        (np.ones((1, 3)), r"Found array with 1 sample\(s\) .* add samples"),
        (np.ones((5, 0)), r"Found array with 0 feature\(s\) .* add features"),
        ([["a", "b"], ["c", "d"]], "X must hold numbers: drop columns of text or encode them"),
        (np.ones((2, 3, 4)), "Found array with dim 3.* pass one row per sample and one column"),
    ],
)
def test_samples_to_learn_from(X, message):
    with pytest.raises(ValueError, match=message):
        learn_trajectory(X)


@pytest.mark.parametrize(
    "n_components", [0, -1, None, "all", True, 2.5, 0.0, 1.0, -0.1, float("nan"), [2]]
)
def test_the_number_of_components(n_components):
    with pytest.raises(ValueError, match=r'^n_components=.* must be a positive .*, or "auto"\.$'):
        learn_trajectory(branching(30, 3), n_components=n_components)


@pytest.mark.parametrize("level", [-0.1, 1.5, float("nan"), "high", None, True])
def test_the_level_of_the_evidence(level):
    with pytest.raises(ValueError, match=r"^level=.* must be a probability from 0 to 1; 0\.05 is"):
        learn_trajectory(branching(30, 3), level=level)


@pytest.mark.parametrize("support", [-1, 1, 2.5, "all", None, True])
def test_the_number_of_resamples(support):
    with pytest.raises(ValueError, match=r"^support=.* 0 for none"):
        learn_trajectory(branching(30, 3), support=support)
