"""A model that was saved and loaded is the same model."""

import dataclasses

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.neighbors import NearestNeighbors

import branchwise
from branchwise import SPL, DDRTree, DRTree
from branchwise.estimators import TrainingRecord
from branchwise.persistence.format import read_state
from branchwise.structures import Curve, FixedGraph, Forest, SparseGraph
from branchwise.trajectory import Trajectory

from ..conftest import branching

N, D = 60, 6
PATH = np.eye(N, k=1) + np.eye(N, k=-1)
START = np.random.default_rng(3).normal(size=(5, 2))

ESTIMATORS = {
    "DDRTree": DDRTree(2, random_state=0),
    "DDRTree centers": DDRTree(2, n_centers=12, lam=2.0, gamma=3, sigma=0.1, random_state=0),
    "DDRTree K=N": DDRTree(2, n_centers=None),
    "DDRTree hard": DDRTree(2, n_centers=12, assignment="hard", random_state=0),
    "DDRTree one center": DDRTree(2, n_centers=1, random_state=0),
    "DDRTree energy": DDRTree(0.9, n_centers=12, random_state=0),
    "DDRTree features": DDRTree(None, n_centers=12, random_state=0),
    "DDRTree init": DDRTree(2, init=START),
    "DDRTree init list": DDRTree(init=START.tolist(), n_centers=5),
    "DDRTree forest": DDRTree(n_centers=12, structure=Forest(3), random_state=0),
    "DDRTree rbf": DDRTree(2, n_centers=12, kernel="rbf", random_state=0),
    "DDRTree rbf features": DDRTree(None, n_centers=12, kernel="rbf", random_state=0),
    "DRTree": DRTree(),
    "DRTree lam=0": DRTree(lam=0.0),
    "DRTree ring": DRTree(structure="ring"),
    "DRTree curve": DRTree(structure=Curve()),
    "DRTree graph": DRTree(structure=SparseGraph(n_neighbors=5, scale=6.0)),
    "DRTree matrix": DRTree(structure=PATH),
    "DRTree sparse matrix": DRTree(structure=sparse.csr_array(2 * PATH)),
    "DRTree fixed": DRTree(structure=FixedGraph(PATH)),
    "DRTree forest of singles": DRTree(structure=Forest(N)),
    "DRTree features": DRTree(None),
    "DRTree linear": DRTree(kernel="linear"),
    "SPL": SPL(),
    "SPL gamma=0": SPL(gamma=0.0),
    "SPL hard": SPL(C=np.inf, n_neighbors=4),
    "SPL absolute": SPL(loss="absolute", C=5.0, scale=None),
    "SPL equality": SPL(loss="equality", n_neighbors=1),
    "SPL sparse": SPL(solver="sparse", scale=0.5),
    "SPL sketch": SPL(solver="sketch", tol=1e-4, random_state=0),
    "SPL features": SPL(None, gamma=0.1),
    "SPL rbf": SPL(kernel="rbf", kernel_params={"gamma": 0.1}),
    "SPL linear": SPL(kernel="linear"),
}
SMALL = ["DDRTree", "DRTree", "SPL", "SPL rbf", "DDRTree rbf", "DDRTree features"]


@pytest.fixture
def X():
    return branching(N, D)


@pytest.fixture
def fresh():
    return branching(20, D, seed=1)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.branchwise"


def saved_and_loaded(model, path, **options):
    model.save(path, **options)
    return branchwise.load(path)


def assert_equal(name, a, b):
    """Equal to the last digit, of the same type where it matters."""
    if sparse.issparse(a):
        for part in ("data", "indices", "indptr"):
            np.testing.assert_array_equal(getattr(a, part), getattr(b, part), err_msg=name)
        assert a.shape == b.shape, name
    elif isinstance(a, np.ndarray):
        np.testing.assert_array_equal(a, b, err_msg=name, strict=True)
        assert a.flags.c_contiguous == b.flags.c_contiguous, name
    elif isinstance(a, NearestNeighbors):
        assert a.get_params() == b.get_params()
    elif isinstance(a, TrainingRecord):
        for field in dataclasses.fields(a):
            assert_equal(field.name, getattr(a, field.name), getattr(b, field.name))
    elif hasattr(a, "adjacency"):
        assert_equal(name, a.adjacency, b.adjacency)
    else:
        np.testing.assert_array_equal(a, b, err_msg=name)


def assert_same(model, again, *samples):
    assert type(model) is type(again)
    assert repr(model) == repr(again)
    assert set(vars(model)) == set(vars(again))
    for name, value in vars(model).items():
        assert_equal(name, value, vars(again)[name])
    for X in samples:
        placed = model.transform(X)
        np.testing.assert_array_equal(placed, again.transform(X), strict=True)
        np.testing.assert_array_equal(
            model.inverse_transform(placed), again.inverse_transform(placed), strict=True
        )
    np.testing.assert_array_equal(model.get_feature_names_out(), again.get_feature_names_out())


@pytest.mark.parametrize("name", ESTIMATORS)
def test_every_attribute_and_every_digit_comes_back(X, fresh, path, name):
    model = clone(ESTIMATORS[name]).fit(X)
    again = saved_and_loaded(model, path)
    assert_same(model, again, X, fresh)
    paths = [Trajectory.from_estimator(m) for m in (model, again)]
    np.testing.assert_array_equal(paths[0].pseudotime_, paths[1].pseudotime_)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_a_loaded_model_is_cloned_and_fitted_alike(X, fresh, path, name):
    model = clone(ESTIMATORS[name]).fit(X)
    again = saved_and_loaded(model, path)
    assert_same(model, clone(again).fit(X), X, fresh)


@pytest.mark.parametrize("form", ["float32", "csr matrix", "csr array", "by columns", "32 columns"])
@pytest.mark.parametrize("name", SMALL)
def test_every_kind_of_input_comes_back(X, fresh, path, name, form):
    forms = {
        "float32": lambda X: X.astype(np.float32),
        "csr matrix": lambda X: sparse.csr_matrix(X.round()),
        "csr array": lambda X: sparse.csr_array(X.round()),
        "by columns": np.asfortranarray,
        # Too many for a k-d tree: SPL searches by products, whose digits depend on the layout.
        "32 columns": lambda X: np.asfortranarray(np.hstack([X] * 6)[:, :32]),
    }
    X, fresh = forms[form](X), forms[form](fresh)
    model = clone(ESTIMATORS[name]).fit(X)
    again = saved_and_loaded(model, path)
    assert_same(model, again, X, fresh)


@pytest.mark.parametrize("name", ["DDRTree", "DRTree", "SPL"])
@pytest.mark.parametrize("as_sparse", [False, True], ids=["dense", "sparse"])
def test_a_precomputed_kernel_comes_back(X, fresh, path, name, as_sparse):
    K, new = X @ X.T, fresh @ X.T
    if as_sparse:
        K, new = sparse.csr_array(K), sparse.csr_array(new)
    model = clone(ESTIMATORS[name]).set_params(kernel="precomputed").fit(K)
    assert_same(model, saved_and_loaded(model, path), K, new)


def test_the_posterior_comes_back(X, path):
    for name in ("SPL", "SPL sparse", "SPL sketch", "SPL equality"):
        model = clone(ESTIMATORS[name]).fit(X)
        again = saved_and_loaded(model, path)
        for m in (model, again):
            m.answers = (
                m.posterior_covariance(0, [1, 2]),
                m.expected_squared_distances([0, 1], 2),
                m.sample_posterior(2, random_state=0),
            )
        for a, b in zip(model.answers, again.answers, strict=True):
            np.testing.assert_array_equal(a, b)


def test_given_neighbors_come_back(X, fresh, path):
    graph = sparse.csr_array(PATH)
    model = SPL(n_neighbors=100).fit(X, neighbors=graph)
    assert_same(model, saved_and_loaded(model, path), X, fresh)


@pytest.mark.parametrize("name", SMALL)
def test_names_of_features_and_the_output_container_come_back(X, fresh, path, name):
    columns = ["größe", "a b", "[x]", "d", "e", "f"]
    model = clone(ESTIMATORS[name]).fit(pd.DataFrame(X, columns=columns))
    again = saved_and_loaded(model.set_output(transform="pandas"), path)
    np.testing.assert_array_equal(model.feature_names_in_, again.feature_names_in_, strict=True)
    table = pd.DataFrame(fresh, columns=columns, index=[f"s{i}" for i in range(len(fresh))])
    pd.testing.assert_frame_equal(model.transform(table), again.transform(table))
    with pytest.raises(ValueError, match="feature names should match"):
        again.transform(table[columns[::-1]])


def test_the_training_data_are_in_the_file_on_request_only(X, path):
    model = DDRTree(2, random_state=0).fit(X)
    model.save(path)
    small = path.stat().st_size
    assert not hasattr(branchwise.load(path), "training_data_")
    again = saved_and_loaded(model, path, include_training=X)
    np.testing.assert_array_equal(again.training_data_, X)
    assert path.stat().st_size >= small + X.nbytes
    assert not hasattr(again.fit(X[:50]), "training_data_")
    table = sparse.csr_matrix(X)
    again = saved_and_loaded(model, path, include_training=table)
    np.testing.assert_array_equal(again.training_data_.toarray(), X)


def test_a_file_holds_the_training_data_only_where_transform_needs_them(X, path):
    """By number of values in all arrays: keys, embedding, projection, graph, and no more."""

    def n_values(model):
        model.save(path)
        arrays = read_state(path)["fitted"].values()
        return sum(a.size for a in arrays if isinstance(a, np.ndarray))

    ddrtree = DDRTree(2, n_centers=12, random_state=0).fit(X)
    history = len(ddrtree.objective_history_)
    assert n_values(ddrtree) == N * 4 + N + D + 2 * D + 12 * 2 + 11 * 3 + history
    drtree = DRTree().fit(X)
    history = len(drtree.objective_history_)
    assert n_values(drtree) == N * 4 + N + D + 2 * D + (N - 1) * 3 + history
    # Of a kernel matrix nothing is kept but its mean, along N columns.
    K = X @ X.T
    with_matrix = DRTree(kernel="precomputed").fit(K)
    history = len(with_matrix.objective_history_)
    assert n_values(with_matrix) == N * 4 + N + N + 2 * N + (N - 1) * 3 + history
    spl = SPL(kernel="rbf").fit(X)
    n_edges, history = len(spl.edges_), len(spl.objective_history_)
    per_sample = 2 + 2 + 2 + 3 + 1
    assert n_values(spl) == N * per_sample + N + 2 * N + N * D + n_edges * 3 + history


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"include_training": True}, "include_training=True must be False or the training data"),
        ({"include_training": None}, "include_training=None must be False or the training data"),
        ({"include_training": branching(N, D, seed=5)}, "rows that are not those of the fit"),
        ({"include_training": branching(N, D)[::-1]}, "in the same order"),
        (
            {"include_training": branching(N, D)[:, :2]},
            "X has 2 features, but DDRTree is expecting 6",
        ),
    ],
    ids=["True", "None", "others", "reversed", "other features"],
)
def test_training_data_of_another_fit_are_refused(X, path, options, message):
    with pytest.raises(ValueError, match=message):
        DDRTree(2, random_state=0).fit(X).save(path, **options)
    assert not path.exists()


class Star:
    def best_graph(self, points):
        S = np.zeros((len(points), len(points)))
        S[0, 1:] = S[1:, 0] = 1
        return S


class Mine(Forest):
    pass


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kernel": lambda A, B: A @ B.T}, "kernel is a callable, .*kernel='precomputed'"),
        ({"structure": Star()}, r"of the class Star, .*set_params\(structure=model.tree_\)"),
        ({"structure": Mine(2)}, "of the class Mine, which a file cannot keep"),
        (
            {"random_state": np.random.RandomState(0)},
            r"random_state is a RandomState, .*set_params\(random_state=0\)",
        ),
    ],
    ids=["kernel", "structure", "structure of a subclass", "random_state"],
)
def test_what_a_file_cannot_keep_is_refused_before_anything_is_written(X, path, options, message):
    model = DRTree(**options).fit(X)
    with pytest.raises(ValueError, match=message):
        model.save(path)
    assert list(path.parent.iterdir()) == []


def test_the_remedies_help(X, fresh, path):
    model = DRTree(structure=Star(), random_state=np.random.RandomState(0)).fit(X)
    placed = model.transform(fresh)
    model.set_params(random_state=0, structure=model.tree_)
    np.testing.assert_array_equal(saved_and_loaded(model, path).transform(fresh), placed)


def test_a_callback_is_of_the_fit_and_not_kept(X, fresh, path):
    model = DRTree(callback=lambda progress: None).fit(X)
    again = saved_and_loaded(model, path)
    assert again.callback is None
    np.testing.assert_array_equal(again.transform(fresh), model.transform(fresh))


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"n_components": 3}, r"embedding_ of shape \(60, 2\) but it must be .* = \(any, 3\)"),
        ({"n_components": None}, r"mean_ of shape \(6,\) but it must be \(n_features,\) = \(2,\)"),
        (
            {"kernel": "precomputed"},
            r"mean_ of shape \(6,\) but it must be \(n_samples,\) = \(60,\)",
        ),
        ({"lam": -1.0}, "has parameters that DDRTree does not take"),
    ],
    ids=["n_components", "no projection", "kernel", "lam"],
)
def test_a_model_that_contradicts_its_parameters_is_not_saved(X, path, changed, message):
    model = DDRTree(2, random_state=0).fit(X).set_params(**changed)
    with pytest.raises(ValueError, match=f"DDRTree cannot be saved: .*{message}.*fit it again"):
        model.save(path)
    assert not path.exists()


def test_numbers_of_numpy_become_plain(X, path):
    model = DDRTree(np.int64(2), lam=np.float32(3), structure=Forest(np.int64(2)), random_state=0)
    again = saved_and_loaded(model.fit(X), path)
    wanted = "DDRTree(lam=3.0, n_components=2, random_state=0, structure=Forest(n_trees=2))"
    assert repr(again) == wanted


def test_only_fitted_estimators_of_branchwise_are_saved(path):
    with pytest.raises(NotFittedError, match="This DRTree instance is not fitted yet"):
        DRTree().save(path)

    class Other(DRTree):
        pass

    with pytest.raises(TypeError, match="Other cannot be saved, only SPL, DRTree, DDRTree can"):
        Other().save(path)


def test_equal_models_are_equal_files(X, path):
    files = []
    for _ in range(2):
        SPL().fit(X).save(path)
        files.append(path.read_bytes())
    assert files[0] == files[1]
