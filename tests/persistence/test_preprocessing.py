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
    [
        {},
        OPTIONS,
        OPTIONS | {"impute": "model"},
        {"impute": "drop", "standardize": True},
        {"adjust": ("site",)},
        {"adjust": []},
    ],
    ids=["none", "all", "model", "drop", "tuple", "empty"],
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


# Categories, ordered categories, dates and ages

ENCODED = {
    "categorical": ["sex", "@home"],
    "ordinal": {"grade": ["low", "mid", "high"]},
    "dates": ["seen"],
    "ages": {"age": ("born", "seen")},
}


@pytest.fixture
def clinic(rng):
    return pd.DataFrame(
        {
            "sex": ["f", "m"] * 6,
            "crp": rng.gamma(2.0, size=12),
            "@home": ["a", "b", "c"] * 4,
            "grade": ["low", "mid", "high", "low"] * 3,
            "seen": pd.date_range("2024-01-01", periods=12, freq="3D").strftime("%d/%m/%Y"),
            "born": pd.date_range("1950-01-01", periods=12, freq="300D"),
        }
    )


def encoded(clinic, **options):
    options = {**ENCODED, "categorical": ["s?x", "@@home"], "log1p": True, **options}
    return Preparation(**options).fit(clinic, covariates=ABOUT)


MORE = [
    {},
    {"standardize": True, "rank_normalize": True, "pca": 2, "impute": "median"},
    {"adjust": ["s*"], "pca": 2},
    {"categorical": None, "ages": None},
]


@pytest.mark.parametrize("options", MORE, ids=str)
def test_what_was_encoded_goes_there_and_back(clinic, options, tmp_path):
    if options.get("categorical", "") is None:
        clinic = clinic.drop(columns=["sex", "@home", "born"])
    model = encoded(clinic, **options)
    write_state(tmp_path / "state", model.to_state())
    again = Preparation.from_state(read_state(tmp_path / "state"))
    np.testing.assert_array_equal(
        again.transform(clinic, covariates=ABOUT), model.transform(clinic, covariates=ABOUT)
    )
    assert list(again.get_feature_names_out()) == list(model.get_feature_names_out())
    assert again.settings() == model.settings() | {
        "ages": None if model.ages is None else {"age": ["born", "seen"]}
    }
    # Names in the place of patterns, so that a fit again is the same one.
    refitted = again.fit(clinic, covariates=ABOUT)
    np.testing.assert_array_equal(
        refitted.transform(clinic, covariates=ABOUT), model.transform(clinic, covariates=ABOUT)
    )


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("parameters.categorical", ["sex", "@/etc/passwd"], "categorical with the name of a file"),
        ("parameters.categorical", "sex", "has parameters.categorical other than a list of names"),
        ("parameters.categorical", ["sex"], "has encode.kinds unlike parameters"),
        ("parameters.categorical", ["sex", "@@home", "x"], "encodes other columns than its feat"),
        ("parameters.categorical", None, "has steps with .* but they must be"),
        ("parameters.ordinal", {"grade": ["low"]}, "has parameters.ordinal other than a list of l"),
        ("parameters.ordinal", [["grade"]], "has parameters.ordinal other than a list of lists"),
        ("parameters.ordinal", [["grade", ["low", "mid"]]], "has encode.levels unlike ordinal"),
        ("parameters.ordinal", [["grade", 3]], "ordinal has 3 for 'grade', but must have a list"),
        ("parameters.dates", [3], "has parameters.dates other than a list of names"),
        ("parameters.ages", [["age", "born"]], "has parameters.ages other than a list of lists"),
        ("parameters.ages", [["age", "born", 3]], "has parameters.ages that are not between two"),
        ("parameters.ages", [["a", "born", "seen"]], "has encode.ages unlike ages"),
        ("steps.encode", {}, "has encode with"),
        ("steps.encode.columns", ["sex"], "has encode.columns other than its features"),
        ("steps.encode.kinds", ["number"] * 6, "has encode.kinds unlike parameters"),
        ("steps.encode.levels", [["f", "m"]], "has encode.levels other than a list of 6"),
        ("steps.encode.levels.0", ["f", "f"], "encode.levels other than different levels of each"),
        ("steps.encode.levels.0", [], "encode.levels other than different levels of each"),
        ("steps.encode.levels.0", None, "encode.levels other than different levels of each"),
        ("steps.encode.levels.1", ["f"], "encode.levels other than different levels of each"),
        ("steps.encode.shares", np.ones(4), r"encode.shares other than an array .* shape \(5,\)"),
        ("steps.encode.shares", np.ones(5), "encode.shares that are not shares of the levels"),
        ("steps.encode.shares", np.array([1.5, -0.5, 0.5, 0.3, 0.2]), "that are not shares"),
        ("steps.encode.firsts.4", "soon", "has encode.firsts other than a date for each column"),
        ("steps.encode.firsts.4", None, "has encode.firsts other than a date for each column"),
        ("steps.encode.firsts.4", "03/04/2024", "has encode.firsts other than a date for each"),
        ("steps.encode.firsts.1", "2024-01-01", "has encode.firsts other than a date for each"),
        ("steps.encode.orders.4", "ymd", "has encode.orders other than dmy, mdy or null"),
        ("steps.encode.orders.0", "dmy", "has encode.orders other than dmy, mdy or null"),
        ("steps.encode.ages", [["age", "seen", "born"]], "has encode.ages unlike ages"),
        ("steps.log1p.is_number", None, "has log1p.is_number unlike encode.kinds"),
        ("steps.log1p.is_number", np.ones(6, bool), "has log1p.is_number unlike encode.kinds"),
        ("steps.weigh.scale", np.ones(8), r"standardize.scale other than .* shape \(7,\)"),
        ("features", None, "has encode.columns other than its features"),
    ],
    ids=range(35),
)
def test_a_damaged_encoding_is_refused(clinic, path, value, message):
    state = encoded(clinic).to_state()
    *way, last = path.split(".")
    inner = state
    for key in way:
        inner = inner[key]
    inner[int(last) if isinstance(inner, list) else last] = value
    with pytest.raises(ValueError, match=message):
        Preparation.from_state(state)


def test_scores_are_those_of_all_columns_but_contrasts(clinic):
    state = encoded(clinic, rank_normalize=True).to_state()
    state["steps"]["rank_normalize"]["offsets"][1:3] = 1
    with pytest.raises(ValueError, match="offsets that do not rise from 0"):
        Preparation.from_state(state)


def test_files_that_do_not_know_of_encoding(X):
    state = Preparation(log1p=True).fit(X).to_state()
    for name in ENCODED:
        del state["parameters"][name]
    del state["steps"]["log1p"]["is_number"]
    again = Preparation.from_state(state)
    np.testing.assert_array_equal(again.transform(X), np.log1p(X))
    assert again.categorical is None


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("axes", np.ones(3), "impute.axes other than a table of numbers"),
        ("axes", np.ones((2, 4)), r"impute.axes other than .* shape \(2, 3\)"),
        ("axes", np.ones((0, 3)), "impute.axes other than a table of numbers"),
        ("axes", [[1.0, 2.0, 3.0]], "impute.axes other than a table of numbers"),
        ("axes", np.full((2, 3), np.nan), "impute.axes that are not finite"),
        ("mean", np.ones(2), r"impute.mean other than .* shape \(3,\)"),
        ("places", np.ones((4, 3)), r"impute.places other than .* shape \(4, 2\)"),
        ("places", np.ones((0, 2)), "impute.places other than a table of numbers"),
        ("weights", np.ones(2), "impute.weights that are not shares of one"),
        ("weights", np.array([-0.5, 1.5]), "impute.weights that are not shares of one"),
        ("weights", np.ones(5), "impute.weights other than"),
        ("spread", np.ones((2, 3)), "impute.spread other than"),
        ("spread", np.array([[1.0, 0.5], [0.0, 1.0]]), "spread that is not the covariance of"),
        ("spread", np.array([[1.0, 2.0], [2.0, 1.0]]), "spread that is not the covariance of"),
        ("noise", np.array([1.0, 0.0, 1.0]), "impute.noise that is not above 0"),
        ("noise", np.array(["1", "2", "3"]), "impute.noise other than"),
        ("low", np.zeros(2), "impute.low and .high other than 3 limits"),
        ("high", np.array([1.0, np.nan, 1.0]), "impute.low and .high other than 3 limits"),
        ("low", np.full(3, 2.0), "impute.low above .high"),
        ("more", 1, "has impute with"),
    ],
    ids=range(20),
)
def test_a_damaged_tree_is_refused(X, name, value, message):
    state = Preparation(impute="model").fit(X).to_state()
    one = np.eye(2, 3)
    state["steps"]["impute"] = {
        "axes": one,
        "mean": np.zeros(3),
        "places": np.ones((2, 2)),
        "noise": np.ones(3),
        "weights": np.ones(2) / 2,
        "spread": np.zeros((2, 2)),
        "low": np.array([-1.0, -np.inf, -1.0]),
        "high": np.array([1.0, np.inf, 1.0]),
    }
    Preparation.from_state(copy.deepcopy(state))
    state["steps"]["impute"][name] = value
    with pytest.raises(ValueError, match=message):
        Preparation.from_state(state)


def test_medians_and_a_tree_are_not_taken_for_each_other(X):
    state = Preparation(impute="model").fit(X).to_state()
    state["parameters"]["impute"] = "median"
    with pytest.raises(ValueError, match="has impute with"):
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
