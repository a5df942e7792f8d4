"""Every step against a formula of its own, computed the slow way or by another library."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse, stats
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler

from branchwise import Preparation
from branchwise.preprocessing.steps import MAX_KNOTS, blom_scores, centred_product


@pytest.fixture
def X(rng):
    return rng.gamma(2.0, 3.0, size=(60, 5))


def with_gaps(X, rng, share=0.1):
    X = X.copy()
    X[rng.random(X.shape) < share] = np.nan
    return X


def slow_scores(x):
    """Blom's normal scores with mean ranks for equal values."""
    return stats.norm.ppf((stats.rankdata(x) - 3 / 8) / (len(x) + 1 / 4))


def slow_residuals(X, *columns):
    """One regression per feature on a constant and the given columns, plus the feature's mean."""
    A = np.column_stack([np.ones(len(X)), *columns])
    left = [x - A @ np.linalg.lstsq(A, x, rcond=None)[0] + x.mean() for x in X.T]
    return np.column_stack(left)


def test_without_steps_nothing_changes(X):
    prepared = Preparation().fit_transform(X)
    np.testing.assert_array_equal(prepared, X)
    assert not np.shares_memory(prepared, X)


def test_missing_values_become_the_medians_of_the_training_data(X, rng):
    gaps = with_gaps(X, rng)
    medians = [np.median(x[~np.isnan(x)]) for x in gaps.T]
    model = Preparation(impute="median").fit(gaps)
    expected = np.where(np.isnan(gaps), medians, gaps)
    np.testing.assert_array_equal(model.transform(gaps), expected)
    np.testing.assert_array_equal(model.transform(np.full((1, 5), np.nan)), [medians])


def test_medians_of_sparse_data_count_their_zeros(rng):
    X = sparse.csr_array(rng.random((41, 4)) * (rng.random((41, 4)) < 0.8))
    X.data[::7] = np.nan
    dense = X.toarray()
    prepared = Preparation(impute="median").fit_transform(X)
    assert sparse.issparse(prepared)
    np.testing.assert_array_equal(
        prepared.toarray(), Preparation(impute="median").fit_transform(dense)
    )


def test_logarithms(X):
    np.testing.assert_allclose(Preparation(log1p=True).fit_transform(X), np.log(1 + X), rtol=1e-14)
    prepared = Preparation(log1p=True).fit_transform(sparse.csr_array(X * (X > 3)))
    assert sparse.issparse(prepared)
    np.testing.assert_allclose(prepared.toarray(), np.log(1 + X * (X > 3)), rtol=1e-14)


def test_normal_scores_of_ranks(X):
    X = np.column_stack([X, np.round(X[:, 0])])  # the last with ties
    prepared = Preparation(rank_normalize=True).fit_transform(X)
    np.testing.assert_allclose(prepared, np.column_stack([slow_scores(x) for x in X.T]), atol=1e-12)


def test_scores_between_and_beyond_the_training_values():
    model = Preparation(rank_normalize=True).fit([[0.0], [1.0], [3.0]])
    low, middle, high = slow_scores([0.0, 1.0, 3.0])
    new = [[-5.0], [0.25], [2.0], [1e100]]
    expected = [[low], [0.75 * low + 0.25 * middle], [(middle + high) / 2], [high]]
    np.testing.assert_allclose(model.transform(new), expected, rtol=1e-14)


@pytest.mark.parametrize(
    "draw",
    [
        pytest.param(lambda rng: rng.normal(size=20_000), id="normal"),
        pytest.param(lambda rng: rng.standard_cauchy(size=20_000), id="heavy tails"),
        pytest.param(
            lambda rng: np.where(rng.random(20_000) < 0.6, 0.0, rng.normal(size=20_000)),
            id="most samples in one value",
        ),
        pytest.param(lambda rng: np.exp(rng.normal(size=20_000) * 20), id="many orders"),
    ],
)
def test_long_tables_are_kept_short_and_miss_no_score_by_much(draw, rng):
    X = draw(rng)[:, np.newaxis]
    model = Preparation(rank_normalize=True).fit(X)
    assert len(model.steps_["rank_normalize"].values) <= MAX_KNOTS
    exact = slow_scores(X[:, 0])
    step = np.ptp(exact) / (MAX_KNOTS / 2 - 1)
    assert step < 0.02
    assert np.abs(model.transform(X)[:, 0] - exact).max() <= step


@given(st.lists(st.floats(-1e100, 1e100), min_size=1, max_size=30))
def test_scores_of_any_numbers_are_exact(values):
    X = np.array(values)[:, np.newaxis]
    prepared = Preparation(rank_normalize=True).fit_transform(X)
    np.testing.assert_allclose(prepared[:, 0], slow_scores(X[:, 0]), atol=1e-12)


def test_all_distinct_values_are_kept_up_to_the_limit(rng):
    X = rng.normal(size=(MAX_KNOTS, 1))
    model = Preparation(rank_normalize=True).fit(X)
    np.testing.assert_array_equal(model.steps_["rank_normalize"].values, np.sort(X[:, 0]))
    np.testing.assert_array_equal(np.sort(model.transform(X)[:, 0]), blom_scores(X[:, 0])[1])


@pytest.fixture
def clinic(rng):
    return pd.DataFrame(
        {
            "age": rng.integers(30, 80, size=60),
            "site": rng.choice(["rome", "bonn", "oslo"], size=60),
            "smoker": rng.random(60) < 0.4,
        }
    )


def indicators(clinic):
    """As one would write them by hand: bonn and False are the references."""
    site, smoker = clinic["site"].to_numpy(), clinic["smoker"].to_numpy()
    return [clinic["age"], site == "oslo", site == "rome", smoker]


def test_residuals_keep_the_mean_and_lose_the_covariates(X, clinic):
    X = X + clinic[["age"]].to_numpy() * [0.0, 1.0, -2.0, 0.1, 0.0]
    model = Preparation(adjust=["age", "site", "smoker"])
    prepared = model.fit_transform(X, covariates=clinic)
    np.testing.assert_allclose(prepared, slow_residuals(X, *indicators(clinic)), atol=1e-10)
    np.testing.assert_allclose(prepared.mean(axis=0), X.mean(axis=0), rtol=1e-12)
    assert model.steps_["adjust"].levels == [None, ["bonn", "oslo", "rome"], ["False", "True"]]


def test_a_new_cohort_is_adjusted_by_the_old_coefficients(X, clinic):
    model = Preparation(adjust=["age", "site"]).fit(X, covariates=clinic)
    A = np.column_stack([np.ones(60), *indicators(clinic)[:3]])
    B = np.linalg.lstsq(A, X, rcond=None)[0]
    new, about = X[:3] + 1, {"age": [20, 99, 50], "site": ["oslo", "rome", "bonn"]}
    Z = np.array([[1, 20, 1, 0], [1, 99, 0, 1], [1, 50, 0, 0]])
    prepared = model.transform(new, covariates=about)
    np.testing.assert_allclose(prepared, new - Z @ B + X.mean(axis=0), atol=1e-10)


def test_covariates_that_depend_on_one_another_are_no_obstacle(X, clinic):
    doubled = clinic.assign(months=12 * clinic["age"], one=1.0, town=clinic["site"], all="x")
    names = ["age", "site", "smoker", "months", "one", "town", "all"]
    prepared = Preparation(adjust=names).fit_transform(X, covariates=doubled)
    np.testing.assert_allclose(prepared, slow_residuals(X, *indicators(clinic)), atol=1e-10)


def test_covariates_of_any_size_are_no_obstacle(X, clinic):
    clinic = clinic.assign(born=1e12 + 1e6 * clinic["age"])
    prepared = Preparation(adjust=["born"]).fit_transform(X, covariates=clinic)
    np.testing.assert_allclose(prepared, slow_residuals(X, clinic["age"]), atol=1e-9)


def test_a_constant_covariate_changes_nothing(X):
    prepared = Preparation(adjust=["site"]).fit_transform(X, covariates={"site": ["a"] * 60})
    np.testing.assert_array_equal(prepared, X)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_what_covariates_determine_becomes_constant_and_no_noise(X, clinic, dtype):
    """Rounding must not be blown up to unit variance."""
    X = X.astype(dtype)
    X[:, 1] = (clinic["age"] - clinic["age"].mean()) / 7
    X[:, 2] = 1000 - 3 * clinic["age"]
    model = Preparation(adjust=["age"], standardize=True).fit(X, covariates=clinic)
    assert model.steps_["adjust"].is_explained.tolist() == [False, True, True, False, False]
    prepared = model.transform(X, covariates=clinic)
    np.testing.assert_array_equal(prepared[:, 1:3], 0)
    np.testing.assert_allclose(prepared[:, [0, 3, 4]].std(axis=0), 1, rtol=1e-5)


def test_standard_scores(X):
    prepared = Preparation(standardize=True).fit_transform(X)
    np.testing.assert_allclose(prepared, StandardScaler().fit_transform(X), atol=1e-12)
    X = sparse.csr_array(X * (X > 5))
    prepared = Preparation(standardize=True).fit_transform(X)
    assert sparse.issparse(prepared)
    expected = StandardScaler(with_mean=False).fit_transform(X)
    np.testing.assert_allclose(prepared.toarray(), expected.toarray(), atol=1e-12)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_constants_have_no_scale(X, container):
    X[:, 1], X[:, 3] = 0.1, 0.0
    model = Preparation(standardize=True).fit(container(X))
    assert (model.steps_["standardize"].scale == 0).tolist() == [False, True, False, True, False]
    for table in (X, X + 5):
        prepared = model.transform(container(table))
        prepared = prepared.toarray() if sparse.issparse(prepared) else prepared
        np.testing.assert_array_equal(prepared[:, [1, 3]], 0)


def test_values_whose_squares_vanish_have_a_scale(X):
    tiny = Preparation(standardize=True).fit_transform(X * 1e-250)
    np.testing.assert_allclose(tiny, StandardScaler().fit_transform(X), atol=1e-12)


def up_to_sign(found, expected):
    return found * np.sign(np.sum(found * expected, axis=0))


@pytest.mark.parametrize("shape", [(60, 5), (12, 30)], ids=["tall", "wide"])
def test_principal_components(shape, rng):
    X = rng.normal(size=shape) * np.linspace(1, 3, shape[1]) + 5
    model, peer = Preparation(pca=4).fit(X), PCA(4).fit(X)
    new = rng.normal(size=(7, shape[1]))
    for table in (X, new):
        expected = peer.transform(table)
        found = model.transform(table)
        np.testing.assert_allclose(up_to_sign(found, expected), expected, atol=1e-8)
    step = model.steps_["pca"]
    np.testing.assert_allclose(step.variance_ratio, peer.explained_variance_ratio_, atol=1e-10)
    largest = np.abs(step.components).argmax(axis=1)
    assert (step.components[np.arange(4), largest] > 0).all()


@pytest.mark.parametrize("standardize", [False, True])
def test_principal_components_of_sparse_data_are_those_of_dense_data(standardize, rng):
    X = sparse.csr_array(rng.random((80, 20)) * (rng.random((80, 20)) < 0.3))
    options = {"pca": 5, "standardize": standardize}
    dense = Preparation(**options).fit_transform(X.toarray())
    np.testing.assert_allclose(Preparation(**options).fit_transform(X), dense, atol=1e-10)


def test_components_beyond_the_rank_are_zero(rng):
    X = np.outer(rng.normal(size=10), [1.0, 2.0, 3.0])
    prepared = Preparation(pca=3).fit_transform(X)
    np.testing.assert_allclose(prepared[:, 1:], 0, atol=1e-12)
    np.testing.assert_allclose(np.abs(prepared[:, 0]), np.linalg.norm(X - X.mean(axis=0), axis=1))


def test_the_steps_follow_one_another_in_the_documented_order(X, clinic, rng):
    gaps = with_gaps(X, rng)
    model = Preparation(
        impute="median",
        log1p=True,
        rank_normalize=True,
        adjust=["age", "site", "smoker"],
        standardize=True,
        pca=3,
    )
    table = np.log1p(np.where(np.isnan(gaps), np.nanmedian(gaps, axis=0), gaps))
    table = np.column_stack([slow_scores(x) for x in table.T])
    table = StandardScaler().fit_transform(slow_residuals(table, *indicators(clinic)))
    expected = PCA(3).fit_transform(table)
    found = model.fit_transform(gaps, covariates=clinic)
    np.testing.assert_allclose(up_to_sign(found, expected), expected, atol=1e-8)
    assert list(model.steps_) == [
        "impute",
        "log1p",
        "rank_normalize",
        "adjust",
        "standardize",
        "pca",
    ]


@pytest.mark.parametrize(
    "options", [{"rank_normalize": True}, {"adjust": ["age"]}], ids=["ranks", "residuals"]
)
def test_sparse_data_become_dense_where_they_must(X, clinic, options):
    X = X * (X > 5)
    model = Preparation(**options, standardize=True)
    dense = model.fit_transform(X, covariates=clinic)
    found = model.fit_transform(sparse.csr_array(X), covariates=clinic)
    assert isinstance(found, np.ndarray)
    np.testing.assert_array_equal(found, dense)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize(
    ("shape", "limit"),
    [((40, 60), 60), ((40, 60), 40), ((60, 40), 20)],
    ids=["features", "samples", "iteration"],
)
def test_large_data_take_other_ways_to_the_same_components(
    container, shape, limit, rng, monkeypatch
):
    X = rng.normal(size=shape) * np.linspace(1, 3, shape[1]) * (rng.random(shape) < 0.5) + 0.0
    X[:, -1] = X[:, 0]
    expected = PCA(4).fit_transform(X)
    monkeypatch.setattr("branchwise.data.centering.MAX_COPIED", 0)
    monkeypatch.setattr("branchwise.preprocessing.steps.MAX_DECOMPOSED", limit)
    model = Preparation(pca=4)
    found = model.fit_transform(container(X))
    np.testing.assert_allclose(up_to_sign(found, expected), expected, atol=1e-8)
    W = model.steps_["pca"].components
    np.testing.assert_allclose(W @ W.T, np.eye(4), atol=1e-10)


def test_rows_times_a_matrix(rng):
    X, center, W = rng.normal(size=(7, 5)), rng.normal(size=5), rng.normal(size=(5, 3))
    np.testing.assert_allclose(centred_product(X, center, W), (X - center) @ W, atol=1e-14)
