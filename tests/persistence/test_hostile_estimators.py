"""What a file says is checked before it is used: shapes, ranges, indices, names, parameters."""

import copy
import functools

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import sparse

import branchwise
from branchwise import SPL, DDRTree, DRTree
from branchwise.persistence.estimators import estimator_state
from branchwise.persistence.format import ModelFileError, write_state
from branchwise.trajectory import Trajectory

from ..conftest import branching

N, D, K = 40, 5, 8
MODELS = {
    "DDRTree": DDRTree(2, n_centers=K, random_state=0),
    "DDRTree features": DDRTree(None, n_centers=K, random_state=0),
    "DDRTree rbf": DDRTree(2, n_centers=K, kernel="rbf", random_state=0),
    "DRTree": DRTree(),
    "SPL": SPL(n_neighbors=5),
    "SPL sparse": SPL(n_neighbors=5, solver="sparse"),
    "SPL linear": SPL(n_neighbors=5, kernel="linear"),
}


@functools.cache
def good_state(name):
    return estimator_state(MODELS[name].fit(branching(N, D)))


def changed(name, path, value):
    """A copy of the state with one entry changed; a function is told what was there."""
    state = copy.deepcopy(good_state(name))
    inner = state
    *parents, last = path.split("/")
    for key in parents:
        inner = inner[key]
    inner[last] = value(inner[last]) if callable(value) else value
    return state


def without(name):
    def remove(entries):
        return {key: value for key, value in entries.items() if key != name}

    return remove


def extra(entries):
    return {**entries, "surprise": 1}


def put(place, value):
    def change(array):
        array[place] = value
        return array

    return change


def loaded(state, path):
    write_state(path, state)
    return branchwise.load(path)


HOSTILE = [
    # The file
    ("DRTree", "kind", "workshop", "holds a 'workshop', which is none of"),
    ("DRTree", "kind", ["estimator"], "holds a "),
    ("DRTree", "class", "os.system", "class='os.system' but it must be one of 'SPL', 'DRTree'"),
    ("DRTree", "class", ["SPL"], "has class="),
    ("DRTree", "output", "html", "output='html' but it must be one of None, 'default', 'pandas'"),
    ("DRTree", "feature_names", ["a"], "feature_names that are not a list of 5 strings"),
    ("DRTree", "feature_names", ["a", "b", "c", "d", 5], "feature_names that are not a list of 5"),
    ("DRTree", "fitted", None, "has no fitted"),
    ("DRTree", "fitted", extra, "has an unknown 'surprise' in fitted"),
    ("DRTree", "fitted", without("mean_"), "lacks mean_ in fitted"),
    # Parameters
    ("DRTree", "parameters", 3, "has no parameters"),
    ("DRTree", "parameters", extra, "the parameter 'surprise', which DRTree does not know"),
    ("DRTree", "parameters/n_components", "2", "does not take .*'n_components' parameter"),
    ("DRTree", "parameters/n_components", 3, r"embedding_ of shape \(40, 2\) but .* \(any, 3\)"),
    ("DRTree", "parameters/n_components", None, r"mean_ of shape \(5,\) but .* = \(2,\)"),
    ("DRTree", "parameters/tol", np.zeros(3), "does not take .*'tol' parameter"),
    ("DRTree", "parameters/kernel", "precomputed", r"mean_ of shape \(5,\) but .* \(40,\)"),
    ("DRTree", "parameters/kernel", "os.system", "does not take .*'kernel' parameter"),
    ("DRTree", "parameters/kernel_params", {"gamma": 1}, "kernel_params names gamma"),
    ("DDRTree rbf", "parameters/kernel_params", {"gamma": "x"}, "must have a positive finite"),
    ("DRTree", "parameters/structure", "castle", "does not take .*'structure' parameter"),
    ("DRTree", "parameters/structure", {}, "lacks class in structure"),
    ("DRTree", "parameters/structure", {"class": "Grove", "options": {}}, "has class='Grove' but"),
    (
        "DRTree",
        "parameters/structure",
        {"class": "Tree", "options": 1},
        "structure without options",
    ),
    ("DRTree", "parameters/structure", {"class": "Tree", "options": {"a": 1}}, "does not take"),
    (
        "DRTree",
        "parameters/structure",
        {"class": "Forest", "options": {"n_trees": [1]}},
        "options of Forest that are neither numbers nor text",
    ),
    (
        "DRTree",
        "parameters/structure",
        {"class": "FixedGraph", "options": {"adjacency": -np.ones((2, 2))}},
        "does not take .*weight -1",
    ),
    ("DRTree", "parameters/structure", np.ones((2, 3)), r"does not take .*shape \(2, 3\)"),
    ("DDRTree", "parameters/init", ["a", "b"], "has an init that holds no numbers"),
    # Shapes and types
    ("DDRTree", "fitted/centers_", np.zeros((K, 3)), r"centers_ of shape \(8, 3\) but it must be"),
    ("DDRTree", "fitted/centers_", np.zeros(K), r"shape \(8,\) but it must be \(n_centers, n_comp"),
    ("DDRTree", "fitted/centers_", np.zeros((0, 2)), r"centers_ of shape \(0, 2\) but it must be"),
    ("DDRTree", "fitted/centers_", [[0.0, 1.0]], "centers_ that is not an array of float64"),
    ("DDRTree", "fitted/centers_", np.zeros((K, 2), np.float32), "is not an array of float64"),
    ("DDRTree", "fitted/centers_", np.zeros((K, 2), dtype="<U1"), "is not an array of float64"),
    ("DRTree", "fitted/embedding_", np.zeros((1, 2)), r"embedding_ of 1 sample\(s\) but it must"),
    ("DRTree", "fitted/embedding_", np.zeros((0, 2)), r"embedding_ of 0 sample\(s\) but it must"),
    (
        "DRTree",
        "fitted/embedding_",
        lambda Z: Z.astype(np.float16),
        "not an array of float32 or float64",
    ),
    ("DRTree", "fitted/components_", np.zeros((2, 4)), r"components_ of shape \(2, 4\) but"),
    ("DDRTree features", "fitted/mean_", np.zeros(4), r"mean_ of shape \(4,\) but .* \(5,\)"),
    ("DRTree", "fitted/row_keys", lambda keys: keys[1:], "39 row_keys for an embedding_ of 40 sam"),
    ("DDRTree", "fitted/row_keys", lambda keys: keys[1:], "39 row_keys for an embedding_ of 40 sa"),
    ("DRTree", "fitted/row_keys", lambda keys: keys[:0], "0 row_keys for an embedding_ of 40 sam"),
    ("DRTree", "fitted/row_keys", np.zeros(N), "row_keys that is not an array of uint64"),
    ("DRTree", "fitted/objective_history_", np.zeros(0), r"objective_history_ of shape \(0,\)"),
    ("DDRTree rbf", "fitted/kernel_samples", np.zeros((3, D)), "kernel_samples of shape"),
    ("SPL", "fitted/search_rows", np.zeros((N, D - 1)), "search_rows of shape"),
    ("SPL", "fitted/search_rows", sparse.csr_array((N, D - 1)), "search_rows of shape"),
    ("SPL", "fitted/posterior_std_", np.zeros(3), "posterior_std_ of shape"),
    ("SPL", "fitted/posterior_std_", 3, "posterior_std_ that is not an array of float64"),
    # Values
    ("DDRTree", "fitted/centers_", put((0, 0), np.nan), "centers_ with values that are not from"),
    ("DDRTree", "fitted/centers_", put((3, 1), 1e200), "centers_ with values that are not from"),
    ("DRTree", "fitted/embedding_", put((1, 1), np.inf), "embedding_ with values that are not"),
    ("DRTree", "fitted/components_", put((0, 0), 2.0), "components_ with values that are not from"),
    ("DRTree", "fitted/mean_", put(0, np.nan), "mean_ with values that are not from"),
    ("SPL", "fitted/search_rows", put((0, 0), np.nan), "search_rows with values"),
    ("SPL linear", "fitted/kernel_samples", put((0, 0), 1e153), "has kernel_samples without"),
    ("DRTree", "fitted/lam_", -1.0, "lam_=-1.0 but it must be from 0 to"),
    ("DRTree", "fitted/lam_", float("nan"), "lam_=nan but it must be from 0 to"),
    ("DRTree", "fitted/lam_", "1", "lam_='1' but it must be from 0 to"),
    ("DRTree", "fitted/lam_", True, "lam_=True but it must be from 0 to"),
    ("DDRTree", "fitted/sigma_", float("inf"), "sigma_=inf but it must be from 0 to"),
    ("SPL", "fitted/scale_", 0.0, "scale_=0.0 but it must be from 1e-300 to"),
    ("SPL", "fitted/solver_", "magic", "solver_='magic' but it must be one of 'exact'"),
    ("SPL", "fitted/n_ties", N + 1, "n_ties=41 but it must be a count from 1 to 40"),
    ("SPL", "fitted/n_ties", 1.0, "n_ties=1.0 but it must be a count"),
    ("DRTree", "fitted/n_iter_", -1, "n_iter_=-1 but it must be a count from 0"),
    ("DRTree", "fitted/converged_", 1, "converged_=1 but it must be one of True, False"),
    # Graphs
    ("DDRTree", "fitted/edges", put((0, 1), K), "edges that are not pairs of nodes from 0 to 7"),
    ("DDRTree", "fitted/edges", put((0, 0), -1), "edges that are not pairs of nodes from 0 to 7"),
    ("DRTree", "fitted/edges", put((0, 1), 2**31 - 1), "not pairs of nodes from 0 to 39"),
    ("DRTree", "fitted/edges", put(0, 0), "not pairs of nodes from 0 to 39"),
    ("DRTree", "fitted/edges", lambda edges: edges[::-1], "edges that are not in order"),
    ("DRTree", "fitted/edges", lambda edges: edges[:, :1], r"edges of shape \(39, 1\)"),
    (
        "DRTree",
        "fitted/edges",
        lambda edges: edges * 1.0,
        "edges that are not an array of integers",
    ),
    ("DRTree", "fitted/weights", lambda weights: -weights, "weights with values that are not from"),
    ("DRTree", "fitted/weights", lambda weights: weights[1:], r"weights of shape \(38,\)"),
    ("SPL", "fitted/edges_", put((0, 1), N), "edges_ that are not pairs of nodes from 0 to 39"),
    ("SPL sparse", "fitted/weights", lambda weights: -weights, "weights with values that are not"),
    ("SPL", "fitted/weights", put(0, np.nan), "weights with values that are not from"),
]


@pytest.mark.parametrize(
    ("name", "where", "value", "message"),
    HOSTILE,
    ids=[f"{number}-{case[0]}-{case[1]}" for number, case in enumerate(HOSTILE)],
)
def test_each_contradiction_has_its_sentence(tmp_path, name, where, value, message):
    with pytest.raises(
        ModelFileError, match=rf"model\.branchwise .*{message}.*; save the model again"
    ):
        loaded(changed(name, where, value), tmp_path / "model.branchwise")


def test_training_data_must_fit(tmp_path):
    state = {**good_state("DRTree"), "training": np.zeros((N, D + 1))}
    with pytest.raises(ModelFileError, match=r"training of shape \(40, 6\) but it must be"):
        loaded(state, tmp_path / "model")


def test_sparse_samples_cannot_claim_any_number_of_columns(tmp_path):
    state = changed("DDRTree rbf", "fitted/kernel_samples", sparse.csr_array((N, 2**30)))
    with pytest.raises(ModelFileError, match="1,073,741,824 columns, more than 134,217,728"):
        loaded(state, tmp_path / "model")


def test_an_older_file_may_lack_a_parameter(tmp_path):
    model = loaded(changed("DRTree", "parameters", without("tol")), tmp_path / "model")
    assert model.tol == DRTree().tol


numbers = st.sampled_from([-1, 0, 1, 2, 3, 40, 10**9, 0.5, 1e300, float("nan"), float("inf")])
texts = st.sampled_from(["auto", "exact", "sketch", "rbf", "precomputed", "ring", "hard", ""])


@st.composite
def wrong_arrays(draw, array):
    """The array with other values, another shape or another type."""
    array = np.array(array)
    how = draw(st.sampled_from(["value", "shape", "type"]))
    if how == "value" and array.dtype.kind in "fi" and array.size:
        value = draw(st.sampled_from([-1, 0, 1, 7, 40, 2**31 - 1, -(2**31), 1.5, 1e100, np.nan]))
        if array.dtype.kind == "f" or isinstance(value, int):
            array.flat[draw(st.integers(0, array.size - 1))] = value
    elif how == "shape":
        rows, columns = draw(st.integers(0, 50)), draw(st.integers(0, 6))
        array = np.resize(array, (rows, columns)[: draw(st.integers(0, 2))])
    else:
        array = array.astype(draw(st.sampled_from(["f4", "f8", "i8", "i4", "u8", "U3"])))
    return array


@pytest.mark.filterwarnings("ignore:.*:RuntimeWarning")
@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_changed_state_is_refused_or_works(data, tmp_path):
    """Whatever passes the checks can be used: nothing reads beyond its arrays, nothing crashes."""
    name = data.draw(st.sampled_from(sorted(MODELS)))
    group = data.draw(st.sampled_from(["parameters", "fitted"]))
    key = data.draw(st.sampled_from(sorted(good_state(name)[group])))
    present = good_state(name)[group][key]
    wrong = numbers | texts | st.none() | st.lists(numbers, max_size=3)
    if isinstance(present, np.ndarray):
        wrong = wrong_arrays(present) | wrong
    model = usable(changed(name, f"{group}/{key}", data.draw(wrong)), tmp_path / "model")
    if model is not None:
        new = branching(5, D, seed=1)
        assert model.transform(new).shape == (5, len(model.components_))
        assert model.transform(branching(N, D)).shape == (N, len(model.components_))
        assert len(Trajectory.from_estimator(model).pseudotime_) == len(model.embedding_)
        if isinstance(model, SPL):
            assert np.shape(model.posterior_covariance(0, [1, 2])) == (2,)


def usable(state, path):
    try:
        return loaded(state, path)
    except ModelFileError:
        return None
