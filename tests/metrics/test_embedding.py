"""Scores of embeddings: against dense definitions and scikit-learn, by hand, and ties."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.spatial.distance import cdist
from sklearn import manifold

from branchwise.metrics import continuity, coranking, loo_1nn, trustworthiness

# Few whole numbers: many samples coincide or are equally far.
grids = st.tuples(st.integers(2, 25), st.integers(1, 3)).flatmap(
    lambda shape: arrays(float, shape, elements=st.integers(-2, 2))
)


def noisy(seed, n=60, n_features=6):
    """Simulated: a cloud and its first two coordinates with noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, n_features))
    return X, X[:, :2] + 0.3 * rng.normal(size=(n, 2))


def ranks(points):
    """Rank of each sample among the others of each, from 1; n for itself."""
    D = cdist(points, points)
    np.fill_diagonal(D, np.inf)
    return np.argsort(np.argsort(D, axis=1, kind="stable"), axis=1, kind="stable") + 1


@given(grids, st.integers(0, 2**32 - 1))
def test_1nn_is_the_first_of_the_nearest(points, seed):
    labels = np.random.default_rng(seed).integers(3, size=len(points))
    D = cdist(points, points)
    np.fill_diagonal(D, np.inf)
    expected = np.mean(labels[D.argmin(axis=1)] == labels)
    assert np.isclose(loo_1nn(points, labels), expected, atol=1e-12)
    # More dimensions take another search.
    padded = np.hstack([points, np.ones((len(points), 20))])
    assert np.isclose(loo_1nn(padded, labels), expected, atol=1e-12)


def test_1nn_of_many_copies_takes_little_memory():
    """All alike: the second is nearest to the first, the first to all others."""
    labels = np.array(["a"] + ["b"] * 50_000)
    assert loo_1nn(np.zeros((50_001, 2)), labels) == 0.0
    labels[1] = "a"
    assert np.isclose(loo_1nn(np.zeros((50_001, 2)), labels), 2 / 50_001)


def test_1nn_of_labels_of_any_kind():
    points = np.array([[0.0], [0.1], [5.0], [5.1]])
    for labels in (["x", "x", "y", "y"], [True, True, False, False], np.array([1, 1, None, None])):
        assert loo_1nn(points, labels) == 1.0


@given(st.integers(0, 2**32 - 1), st.integers(1, 20))
def test_trustworthiness_and_continuity_are_their_definitions(seed, k):
    X, Z = noisy(seed, n=45)
    r, s = ranks(X), ranks(Z)
    scale = 2 / (45 * k * (2 * 45 - 3 * k - 1))
    trust = 1 - scale * np.sum((r - k)[(s <= k) & (r > k)])
    assert np.isclose(trustworthiness(X, Z, k), trust, atol=1e-12)
    cont = 1 - scale * np.sum((s - k)[(r <= k) & (s > k)])
    assert np.isclose(continuity(X, Z, k), cont, atol=1e-12)
    from_sklearn = manifold.trustworthiness(X, Z, n_neighbors=k)
    assert np.isclose(trustworthiness(X, Z, k), from_sklearn, atol=1e-12)


def test_scores_do_not_depend_on_the_size_of_blocks(monkeypatch):
    X, Z = noisy(0)
    whole = [trustworthiness(X, Z), continuity(X, Z), coranking(X, Z, 20)]
    monkeypatch.setattr("branchwise.metrics.embedding.BLOCK", 7 * len(X))
    for a, b in zip(whole, [trustworthiness(X, Z), continuity(X, Z)], strict=False):
        assert a == b
    np.testing.assert_array_equal(whole[2].counts, coranking(X, Z, 20).counts)


@given(grids.filter(lambda points: len(points) > 4))
def test_the_data_themselves_are_perfect_even_with_ties(points):
    assert trustworthiness(points, points, 2) == continuity(points, points, 2) == 1.0
    found = coranking(points, 3 * points, 2)
    np.testing.assert_allclose([*found.q_nx, *found.r_nx, found.auc], 1.0)


@given(st.integers(0, 2**32 - 1), st.integers(1, 28))
def test_coranking_is_its_definition(seed, K):
    X, Z = noisy(seed, n=30)
    r, s = ranks(X), ranks(Z)
    n = len(X)
    found = coranking(X, Z, K)
    counts = [[np.sum((r == k) & (s == l)) for l in range(1, K + 1)] for k in range(1, K + 1)]
    np.testing.assert_array_equal(found.counts, counts)
    k = np.arange(1, K + 1)
    q = np.array([np.mean(np.sum((r <= j) & (s <= j), axis=1) / j) for j in k])
    np.testing.assert_allclose(found.q_nx, q)
    np.testing.assert_allclose(found.lcmc, q - k / (n - 1), atol=1e-12)
    np.testing.assert_allclose(found.r_nx, ((n - 1) * q - k) / (n - 1 - k), atol=1e-12)
    assert np.isclose(found.auc, np.sum(found.r_nx / k) / np.sum(1 / k))
    assert found.k_max == np.argmax(q - k / (n - 1)) + 1
    assert np.isclose(found.q_local, np.mean(q[: found.k_max]))


def test_an_embedding_by_chance_is_as_good_as_chance():
    rng = np.random.default_rng(0)
    found = coranking(rng.normal(size=(500, 5)), rng.normal(size=(500, 2)), 100)
    assert abs(found.auc) < 0.02
    assert np.all(np.abs(found.r_nx[20:]) < 0.02)


def test_bad_input_is_told():
    X, Z = noisy(0, n=10)
    with pytest.raises(ValueError, match="X has 10 rows and embedding 9; pass one of each"):
        trustworthiness(X, Z[:9])
    with pytest.raises(ValueError, match="embedding has 10 rows and labels 9; pass one of each"):
        loo_1nn(Z, np.zeros(9))
    with pytest.raises(ValueError, match="n_neighbors=5 must be less than half of n_samples=10"):
        continuity(X, Z, 5)
    with pytest.raises(ValueError, match="n_neighbors=0 must be a positive integer"):
        trustworthiness(X, Z, 0)
    with pytest.raises(ValueError, match="max_neighbors=9 must be at most n_samples − 2 = 8"):
        coranking(X, Z, 9)
    with pytest.raises(ValueError, match=r"labels\[2\] is NaN, but every sample must have a label"):
        loo_1nn(Z, [0, 1, np.nan, *range(7)])
    Z[3, 1] = np.nan
    with pytest.raises(
        ValueError, match=r"embedding\[3, 1\] is NaN, but every value must be finite"
    ):
        loo_1nn(Z, np.zeros(10))
    with pytest.raises(ValueError, match="minimum of 2 is required"):
        loo_1nn([[0.0]], [0])


@pytest.mark.parametrize(("n", "expected"), [(5, 3), (102, 100), (150, 100)])
def test_coranking_looks_at_as_many_neighbours_as_there_are_up_to_a_hundred(n, expected):
    X = np.random.default_rng(0).normal(size=(n, 3))
    assert len(coranking(X, X[:, :2]).q_nx) == expected
