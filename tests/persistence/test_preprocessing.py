"""What was learned as JSON values and arrays, and what is refused on the way back."""

import copy
import json

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from branchwise import Preparation
from branchwise.persistence.format import read_state, write_state

ABOUT = {"age": np.arange(12.0), "site": ["a", "b", "c"] * 4}
OPTIONS = {
    "impute": "median",
    "log1p": True,
    "rank_normalize": True,
    "adjust": ["age", "site"],
    "standardize": True,
    "pca": 2,
    "random_state": 3,
}


@pytest.fixture
def X(rng):
    return pd.DataFrame(rng.gamma(2.0, size=(12, 3)), columns=["x", "y", "é"])


@pytest.fixture
def state(X):
    return Preparation(**OPTIONS).fit(X, covariates=ABOUT).to_state()


def leaves(value):
    if isinstance(value, dict):
        assert all(isinstance(key, str) for key in value)
        for part in value.values():
            yield from leaves(part)
    else:
        yield value


def test_a_state_holds_json_values_and_plain_arrays(state):
    for leaf in leaves(state):
        if isinstance(leaf, np.ndarray):
            assert leaf.dtype.kind in "fib"
        else:
            assert json.loads(json.dumps(leaf)) == leaf
    assert state["kind"] == "preparation"
    assert state["features"] == ["x", "y", "é"]


@pytest.mark.parametrize(
    "options",
    [{}, OPTIONS, {"impute": "drop", "standardize": True}, {"adjust": ("site",)}, {"adjust": []}],
    ids=["none", "all", "drop", "tuple", "empty"],
)
def test_there_and_back(X, options):
    model = Preparation(**options).fit(X, covariates=ABOUT)
    again = Preparation.from_state(copy.deepcopy(model.to_state()))
    swapped = X[["é", "x", "y"]].assign(more="text")
    np.testing.assert_array_equal(
        again.transform(swapped, covariates=ABOUT), model.transform(X, covariates=ABOUT)
    )
    assert list(again.get_feature_names_out()) == list(model.get_feature_names_out())
    assert again.n_features_in_ == 3
    assert list(again.steps_) == list(model.steps_)
    for name in ("impute", "log1p", "pca", "standardize"):
        assert getattr(again, name) == getattr(model, name)


def test_through_a_file(X, tmp_path):
    model = Preparation(**OPTIONS).fit(X, covariates=ABOUT)
    write_state(tmp_path / "state", model.to_state())
    again = Preparation.from_state(read_state(tmp_path / "state"))
    np.testing.assert_array_equal(
        again.transform(X, covariates=ABOUT), model.transform(X, covariates=ABOUT)
    )


def test_without_names(X):
    model = Preparation(standardize=True).fit(X.to_numpy())
    again = Preparation.from_state(model.to_state())
    assert not hasattr(again, "feature_names_in_")
    np.testing.assert_array_equal(again.transform(X.to_numpy()), model.transform(X.to_numpy()))


def test_generators_stay_behind(X):
    model = Preparation(random_state=np.random.RandomState(0)).fit(X)
    assert model.to_state()["parameters"]["random_state"] is None


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("kind", "estimator", "is of kind 'estimator'"),
        ("kind", np.array([1, 2]), "is of kind"),
        ("version", 2, "has version 2, but this release reads version 1"),
        ("version", True, "has version True"),
        ("parameters", None, "has parameters with NoneType, but they must be a dict with"),
        ("parameters.pca", None, "has steps with .* but they must be a dict with"),
        ("parameters.pca", 3, r"pca.components other than an array of numbers of shape \(3, 3\)"),
        ("parameters.pca", "2", "'pca' parameter of Preparation must be"),
        ("parameters.pca", np.array([1, 2]), "'pca' parameter of Preparation must be"),
        ("parameters.standardize", 1, "'standardize' parameter of Preparation must be"),
        ("parameters.adjust", ["age"], "has adjust.names unlike adjust"),
        ("parameters.more", 1, "has parameters with"),
        ("n_features", 0, "has n_features=0, which must be a positive integer"),
        ("n_features", 3.0, "has n_features=3.0"),
        ("n_features", 4, "has features other than a list of 4 names"),
        ("features", ["x", "y", 3], "has features other than a list of 3 names"),
        ("features", "xyz", "has features other than"),
        ("steps", [], "has steps with list"),
        ("steps.impute", {}, "has impute with"),
        ("steps.impute.medians", np.ones(4), r"impute.medians other than .* shape \(3,\)"),
        ("steps.impute.medians", [1.0, 2.0, 3.0], "impute.medians other than an array"),
        ("steps.impute.medians", np.array([1, "a", None]), "impute.medians other than an array"),
        ("steps.impute.medians", np.array([1, 2, np.nan]), "impute.medians that are not finite"),
        ("steps.rank_normalize.offsets", np.array([0, 12, 12, 36]), "offsets that do not rise"),
        ("steps.rank_normalize.offsets", np.array([1, 12, 24, 36]), "offsets that do not rise"),
        ("steps.rank_normalize.offsets", np.zeros(4), "other than an array of whole numbers"),
        ("steps.rank_normalize.offsets", np.array([0, 12, 24, 2**60]), "rank_normalize.values oth"),
        ("steps.rank_normalize.values", np.zeros(36), "rank_normalize.values that do not rise"),
        ("steps.rank_normalize.scores", np.zeros(36), "rank_normalize.scores that do not rise"),
        ("steps.adjust.names", ["age", "town"], "has adjust.names unlike adjust"),
        ("steps.adjust.levels", [None], "has adjust.levels that are not"),
        ("steps.adjust.levels", [None, ["a", "a", "c"]], "has adjust.levels that are not"),
        ("steps.adjust.levels", [None, []], "has adjust.levels that are not"),
        ("steps.adjust.levels", [None, ["a", "b"]], r"adjust.center other than .*\(2,\)"),
        ("steps.adjust.coefficients", np.zeros((3, 4)), r"adjust.coefficients other .*\(3, 3\)"),
        ("steps.adjust.mean", np.full(3, np.inf), "adjust.mean that are not finite"),
        ("steps.adjust.is_explained", np.zeros(3), "is_explained other than 3 truth values"),
        ("steps.standardize.scale", -np.ones(3), "has a negative standardize.scale"),
        ("steps.standardize.mean", np.ones((3, 1)), "standardize.mean other than"),
        ("steps.pca.mean", np.ones(2), "pca.mean other than"),
        ("steps.pca.variance_ratio", np.ones(3), "pca.variance_ratio other than"),
    ],
    ids=range(41),
)
def test_a_damaged_state_is_refused(state, path, value, message):
    *way, last = path.split(".")
    inner = state
    for key in way:
        inner = inner[key]
    inner[last] = value
    with pytest.raises(ValueError, match=message):
        Preparation.from_state(state)


@pytest.mark.parametrize("state", [None, [], {}, {"kind": "preparation"}], ids=range(4))
def test_what_is_no_state_is_refused(state):
    with pytest.raises(ValueError, match=r"has keys with .*it is damaged or not one of ours: fit"):
        Preparation.from_state(state)


def test_files_that_do_not_know_whether_scaled_rows_are_centred(X):
    """Written before that was kept: dense rows are centred, sparse rows are not, as then."""
    X = X.to_numpy()
    model = Preparation(standardize=True).fit(X)
    state = model.to_state()
    assert state["steps"]["standardize"]["is_centred"] is True
    del state["steps"]["standardize"]["is_centred"]
    again = Preparation.from_state(state)
    np.testing.assert_array_equal(again.transform(X), model.transform(X))
    assert sparse.issparse(again.transform(sparse.csr_array(X)))
    state["steps"]["standardize"]["is_centred"] = "yes"
    with pytest.raises(ValueError, match="is_centred='yes', which must be true, false or null"):
        Preparation.from_state(state)
