import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import decomposition
from sklearn.metrics import adjusted_rand_score

from branchwise_paper.baselines import CLUHSIC
from branchwise_paper.baselines.cluhsic import ascend, dependence, ring_kernel, swap_labels

HIERARCHY = np.kron(np.eye(2), np.ones((2, 2))) + np.eye(4)


def centred(K):
    H = np.eye(len(K)) - 1 / len(K)
    return H @ K @ H


def gaussian(X, gamma):
    return np.exp(-gamma * ((X[:, None] - X) ** 2).sum(axis=2))


def trace(K, A, labels):
    """Tr(HKH·ΠAΠᵀ), as it is written."""
    Pi = np.zeros((len(K), len(A)))
    Pi[np.arange(len(K)), labels] = 1.0
    return np.trace(centred(K) @ Pi @ A @ Pi.T)


def on_circle(rng, n_samples):
    t = np.sort(rng.uniform(0, 2 * np.pi, n_samples))
    return np.column_stack([np.cos(t), np.sin(t)])


@pytest.mark.parametrize("name", ["identity", "ring"])
@pytest.mark.parametrize("seed", range(4))
def test_the_best_of_all_assignments_is_found(name, seed):
    X = np.random.default_rng(seed).normal(size=(7, 2))
    model = CLUHSIC(3, label_kernel=name, gamma=0.5, n_init=20, random_state=0).fit(X)
    K = gaussian(X, 0.5)
    values = [
        trace(K, model.label_kernel_, np.array(labels))
        for labels in itertools.product(range(3), repeat=7)
    ]
    assert model.objective_ == pytest.approx(max(values), abs=1e-10)
    assert trace(K, model.label_kernel_, model.labels_) == pytest.approx(model.objective_)


@settings(max_examples=25)
@given(seed=st.integers(0, 10**6), n_clusters=st.integers(1, 6))
def test_every_round_raises_the_objective_until_no_single_change_does(seed, n_clusters):
    rng = np.random.default_rng(seed)
    K = centred(gaussian(rng.normal(size=(20, 2)), 0.5))
    B = rng.normal(size=(n_clusters, n_clusters))
    A = B @ B.T
    labels, history = ascend(K, A, rng.integers(n_clusters, size=20))
    assert (np.diff(history) > 0).all()
    value = dependence(K, A, labels)
    assert value == pytest.approx(history[-1])
    for i in range(20):
        for a in range(n_clusters):
            trial = labels.copy()
            trial[i] = a
            assert dependence(K, A, trial) <= value + 1e-9
    for a, b in itertools.combinations(range(n_clusters), 2):
        swapped = np.arange(n_clusters)
        swapped[[a, b]] = [b, a]
        assert dependence(K, A, swapped[labels]) <= value + 1e-9


@pytest.mark.parametrize("n_clusters", [5, 8, 12])
def test_labels_on_a_ring_go_once_round_a_circle(n_clusters, rng):
    X = on_circle(rng, 100)
    labels = CLUHSIC(n_clusters, label_kernel="ring", random_state=0).fit(X).labels_
    steps = np.diff(np.append(labels, labels[0])) % n_clusters
    if steps.max() == n_clusters - 1:  # the other way round
        steps = -steps % n_clusters
    assert steps.sum() == n_clusters  # in order, and every label once
    assert set(steps) == {0, 1}


def test_all_labels_of_a_ring_are_equally_similar_to_the_others():
    A = ring_kernel(7)
    np.testing.assert_allclose(A[0], np.roll(A[3], -3))
    np.testing.assert_allclose(A, A.T)
    assert np.linalg.eigvalsh(A).min() > -1e-12


def test_swaps_put_clusters_in_the_order_of_the_ring(rng):
    order = rng.permutation(6)
    A = ring_kernel(6)
    B = A[np.ix_(order, order)]
    found = swap_labels(B, A)
    assert np.vdot(B, A[np.ix_(found, found)]) == pytest.approx(np.vdot(A, A))


def test_separate_clusters_are_found_and_the_pairs_of_a_hierarchy_are_near(rng):
    centers = np.array([[0, 0], [0, 3], [12, 0], [12, 3]])
    y = np.repeat(np.arange(4), 15)
    X = centers[y] + 0.3 * rng.normal(size=(60, 2))
    labels = CLUHSIC(4, gamma=0.3, random_state=0).fit(X).labels_
    assert adjusted_rand_score(y, labels) == 1
    labels = CLUHSIC(4, label_kernel=HIERARCHY, gamma=0.05, random_state=0).fit(X).labels_
    # Labels 0 and 1 are siblings, and so are 2 and 3.
    assert adjusted_rand_score(y // 2, labels // 2) == 1


def test_the_embedding_is_kernel_pca(rng):
    X = rng.normal(size=(30, 4))
    ours = CLUHSIC(random_state=0).fit_transform(X)
    theirs = decomposition.KernelPCA(2, kernel="rbf", gamma=1 / 4).fit_transform(X)
    np.testing.assert_allclose(np.abs(ours), np.abs(theirs), atol=1e-8)


def test_the_seed_decides(rng):
    X = rng.normal(size=(50, 3))
    one, two = (CLUHSIC(5, n_init=2, random_state=1).fit(X).labels_ for _ in range(2))
    np.testing.assert_array_equal(one, two)


def test_more_starts_are_no_worse(rng):
    X = rng.normal(size=(50, 3))
    values = [CLUHSIC(5, n_init=n, random_state=1).fit(X).objective_ for n in (1, 10)]
    assert values[1] >= values[0]


@pytest.mark.parametrize("kind", ["copies", "constant", "one feature", "far from the origin"])
def test_odd_data_have_labels(kind, rng):
    X = rng.normal(size=(24, 4))
    if kind == "copies":
        X = np.repeat(X[:2], 12, axis=0)
    elif kind == "constant":
        X = np.ones_like(X)
    elif kind == "one feature":
        X = X[:, :1]
    else:
        X = X + 1e6
    model = CLUHSIC(3, random_state=0).fit(X)
    assert set(model.labels_) <= {0, 1, 2}
    assert np.isfinite(model.embedding_).all()


def test_what_cannot_be_fitted_is_named(rng):
    X = rng.normal(size=(9, 2))
    with pytest.raises(ValueError, match="n_clusters=10 must be at most n_samples=9; lower"):
        CLUHSIC(10).fit(X)
    with pytest.raises(ValueError, match=r"label_kernel has shape \(4, 4\) but must be .*; give"):
        CLUHSIC(3, label_kernel=HIERARCHY).fit(X)
    with pytest.raises(ValueError, match=r"label_kernel has values .* symmetric; pass"):
        CLUHSIC(2, label_kernel=[[1.0, 0.0], [1.0, 1.0]]).fit(X)
    with pytest.raises(ValueError, match="label_kernel has values that are not finite"):
        CLUHSIC(2, label_kernel=[[1.0, np.inf], [np.inf, 1.0]]).fit(X)
