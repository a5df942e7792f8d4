import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import linalg
from scipy.spatial.distance import cdist, pdist, squareform
from scipy.stats import ortho_group
from sklearn import decomposition, manifold
from sklearn.metrics import silhouette_score
from sklearn.neighbors import kneighbors_graph

from branchwise_paper.baselines import KPCA, LE, LLE, PCA, TSNE, Isomap
from branchwise_paper.baselines.exact_tsne import affinities, exact_tsne, gradient
from branchwise_paper.baselines.spectral import (
    connected_neighbors,
    geodesics,
    join_parts,
    laplacian_eigenmap,
    locally_linear,
    reconstruction_weights,
)

ALL = [PCA(2), KPCA(2), Isomap(2), LE(2), LLE(2), TSNE(2, max_iter=250, random_state=0)]
ALL += [TSNE(3, max_iter=250, random_state=0)]
ON_GRAPHS = [Isomap, LE, LLE]


def up_to_signs(A, B):
    return A * np.sign(np.einsum("ij,ij->j", A, B)), B


def sheet(rng, n_samples=120):
    """A bent sheet, so dense that its neighbour graph is connected."""
    t, h = rng.uniform(0, 3, n_samples), rng.uniform(0, 1.3, n_samples)
    return np.column_stack([np.cos(t), np.sin(t), h])


# Principal components


def test_pca_reconstructs_better_than_any_other_projection(rng):
    X = rng.normal(size=(50, 6)) @ rng.normal(size=(6, 6))
    model = PCA(3).fit(X)
    Y = X - X.mean(axis=0)

    def error(W):
        return np.linalg.norm(Y - Y @ W @ W.T) ** 2

    assert error(model.components_.T) == pytest.approx((linalg.svdvals(Y)[3:] ** 2).sum())
    for seed in range(20):
        W = ortho_group.rvs(6, random_state=seed)[:, :3]
        assert error(W) > error(model.components_.T)
    np.testing.assert_allclose(model.embedding_, (X - model.mean_) @ model.components_.T)


def test_pca_says_when_there_are_too_few_features(rng):
    with pytest.raises(ValueError, match="n_components=3 must be at most n_features=2; lower"):
        PCA(3).fit(rng.normal(size=(9, 2)))


def test_kpca_is_that_of_scikit_learn(rng):
    X = rng.normal(size=(40, 3))
    theirs = decomposition.KernelPCA(4, kernel="rbf", gamma=1 / (2 * 1.5**2), eigen_solver="dense")
    ours = KPCA(4, sigma=1.5).fit_transform(X)
    np.testing.assert_allclose(*up_to_signs(ours, theirs.fit_transform(X)), atol=1e-10)


def test_kpca_with_a_wide_kernel_is_pca(rng):
    X = rng.normal(size=(40, 3)) * [3.0, 2.0, 1.0]
    scores = 1e4 * KPCA(3, sigma=1e4).fit_transform(X)
    np.testing.assert_allclose(*up_to_signs(scores, PCA(3).fit_transform(X)), atol=1e-5)


# Neighbour graphs in several parts


def test_parts_are_joined_by_the_shortest_edges_between_them(rng):
    X = np.concatenate([rng.normal(size=(15, 2)) + shift for shift in ([0, 0], [30, 0], [60, 5])])
    edges, n_parts = connected_neighbors(X, 3)
    bridges = edges[edges[:, 0] // 15 != edges[:, 1] // 15]
    assert n_parts == 3
    assert len(bridges) == 2
    lengths = cdist(X, X)
    for a, b in ((0, 1), (1, 2)):
        shortest = lengths[15 * a : 15 * a + 15, 15 * b : 15 * b + 15].min()
        assert shortest in lengths[tuple(bridges.T)]


def test_a_connected_graph_is_left_alone(rng):
    edges, n_parts = connected_neighbors(sheet(rng), 8)
    assert n_parts == 1
    assert len(join_parts(edges, sheet(rng))[0]) == 0


@pytest.mark.parametrize("method", ON_GRAPHS)
def test_all_samples_of_all_parts_are_embedded_and_the_parts_kept_apart(method, rng):
    X = np.concatenate([rng.normal(size=(30, 4)), rng.normal(size=(20, 4)) + 50])
    model = method(1, n_neighbors=5).fit(X)
    z = model.embedding_[:, 0]
    assert model.n_parts_ == 2
    assert z[:30].max() < z[30:].min() or z[30:].max() < z[:30].min()


@pytest.mark.parametrize("method", ON_GRAPHS)
def test_too_many_neighbors_are_named(method, rng):
    with pytest.raises(ValueError, match="n_neighbors=9 must be less than n_samples=9; set"):
        method(2, n_neighbors=9).fit(rng.normal(size=(9, 3)))


# Isomap


def test_isomap_recovers_the_lengths_along_an_arc():
    t = np.sort(np.random.default_rng(0).uniform(0, 1.5 * np.pi, 300))
    X = np.column_stack([np.cos(t), np.sin(t)])
    z = Isomap(1, n_neighbors=4).fit_transform(X)[:, 0]
    z = z * np.sign(z[-1] - z[0])
    np.testing.assert_allclose(z - z[0], t - t[0], atol=0.01)


def test_geodesics_are_those_of_floyd_and_warshall(rng):
    X = np.repeat(sheet(rng, 25), 2, axis=0)  # copies are at distance 0, not apart
    edges, _ = connected_neighbors(X, 3)
    paths = np.full((50, 50), np.inf)
    np.fill_diagonal(paths, 0.0)
    i, j = edges.T
    paths[i, j] = paths[j, i] = np.linalg.norm(X[i] - X[j], axis=1)
    for k in range(50):
        paths = np.minimum(paths, paths[:, [k]] + paths[[k]])
    np.testing.assert_allclose(geodesics(X, edges), paths, atol=1e-12)


def test_isomap_is_that_of_scikit_learn(rng):
    X = sheet(rng)
    model = Isomap(2, n_neighbors=8).fit(X)
    assert model.n_parts_ == 1
    theirs = manifold.Isomap(n_components=2, n_neighbors=8, eigen_solver="dense").fit_transform(X)
    np.testing.assert_allclose(*up_to_signs(model.embedding_, theirs), atol=1e-8)


# Laplacian eigenmaps


def heat_kernel(X, n_neighbors, sigma):
    near = kneighbors_graph(X, n_neighbors).toarray()
    D2 = np.where(near + near.T > 0, squareform(pdist(X)) ** 2, np.nan)
    return np.nan_to_num(np.exp(-D2 / np.nanmax(D2) / (2 * sigma**2)))


@pytest.mark.parametrize("sigma", [1.0, 0.3])
def test_le_solves_the_generalised_eigenproblem(sigma, rng):
    X = sheet(rng)
    S = heat_kernel(X, 8, sigma)
    D = np.diag(S.sum(axis=0))
    values, vectors = linalg.eigh(D - S, D)
    assert values[1] > 1e-4  # so there is one constant solution, the first
    Z = LE(3, n_neighbors=8, sigma=sigma).fit_transform(X)
    np.testing.assert_allclose(*up_to_signs(Z, vectors[:, 1:4]), atol=1e-8)
    np.testing.assert_allclose(Z.T @ D @ Z, np.eye(3), atol=1e-10)
    np.testing.assert_allclose(Z.T @ D @ np.ones(len(X)), 0, atol=1e-10)


def test_le_is_that_of_scikit_learn(rng):
    S = heat_kernel(sheet(rng), 8, 1.0)
    theirs = manifold.spectral_embedding(S, n_components=3, eigen_solver="arpack", random_state=0)
    np.testing.assert_allclose(*up_to_signs(laplacian_eigenmap(S, 3), theirs), atol=1e-8)


def test_le_does_not_know_units(rng):
    X = sheet(rng)
    np.testing.assert_allclose(LE().fit_transform(X), LE().fit_transform(1024 * X), atol=1e-9)


# Locally linear embedding


@settings(max_examples=20)
@given(seed=st.integers(0, 10**6), log_scale=st.integers(-3, 3))
def test_lle_weights_do_not_change_if_all_samples_are_moved_turned_or_scaled(seed, log_scale):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(12, 3))
    neighbors = [np.delete(np.arange(12), i)[:5] for i in range(12)]
    W = reconstruction_weights(X, neighbors, 1e-3)
    turned = 10.0**log_scale * X @ ortho_group.rvs(3, random_state=seed) + 10.0**log_scale
    np.testing.assert_allclose(reconstruction_weights(turned, neighbors, 1e-3), W, atol=1e-9)
    np.testing.assert_allclose(W.sum(axis=1), 1)


def test_lle_weights_are_the_minimum(rng):
    X = rng.normal(size=(8, 3))
    near, reg = np.array([1, 3, 4, 6, 7]), 1e-3
    w = reconstruction_weights(X, [near] + 7 * [np.array([0])], reg)[0, near]

    def cost(v):
        spread = ((X[near] - X[0]) ** 2).sum()
        return ((X[0] - v @ X[near]) ** 2).sum() + reg * spread * (v @ v)

    for _ in range(20):
        step = rng.normal(size=5)
        step -= step.mean()  # keeps the sum
        for length in (1e-3, 1.0):
            assert cost(w + length * step) > cost(w)


def test_lle_is_that_of_scikit_learn(rng):
    X = sheet(rng)
    model = LLE(2, n_neighbors=8).fit(X)
    assert model.n_parts_ == 1
    theirs, _ = manifold.locally_linear_embedding(
        X, n_neighbors=8, n_components=2, eigen_solver="dense"
    )
    np.testing.assert_allclose(*up_to_signs(model.embedding_, theirs), atol=1e-8)


def test_lle_finds_all_of_a_null_space_but_the_constant(rng):
    # Two groups that know nothing of each other: the solver must not drop the vector between them.
    group = np.full((4, 4), 1 / 3) - np.eye(4) / 3
    Z = locally_linear(linalg.block_diag(group, group), 1)
    np.testing.assert_allclose(np.abs(Z), np.sqrt(1 / 8), atol=1e-10)
    assert abs(Z.sum()) < 1e-10


# t-SNE


def entropies(P):
    return -np.nansum(P * np.log(np.where(P > 0, P, np.nan)), axis=1)


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
def test_affinities_have_the_perplexity_in_any_unit(unit, rng):
    X = unit * rng.normal(size=(60, 4))
    P = affinities(X, 7.0)
    assert P.sum() == pytest.approx(1)
    np.testing.assert_array_equal(P, P.T)
    # By bisection, for each row on its own.
    D2 = squareform(pdist(X / unit)) ** 2
    expected = np.zeros_like(P)
    for i in range(60):
        others = np.arange(60) != i
        low, high = 1e-6, 1e6
        for _ in range(200):
            beta = np.sqrt(low * high)
            p = np.exp(-beta * (D2[i, others] - D2[i, others].min()))
            p /= p.sum()
            low, high = (beta, high) if entropies(p[None])[0] > np.log(7) else (low, beta)
        expected[i, others] = p
    np.testing.assert_allclose(P, (expected + expected.T) / 120, atol=1e-8)


def test_affinities_of_many_copies_are_uniform_on_the_copies():
    X = np.concatenate([np.zeros((6, 2)), np.eye(2)])
    P = affinities(X, 3.0)
    off_diagonal = ~np.eye(6, dtype=bool)
    np.testing.assert_allclose(P[:6, :6][off_diagonal], P[0, 1])
    # Rows of copies have nothing for the others, and what is left to those is their own choice.
    assert P[:6, :6].sum() == pytest.approx(6 / 8)


@pytest.mark.parametrize("exaggeration", [1.0, 12.0])
def test_tsne_gradient_is_the_sum_over_pairs(exaggeration, rng):
    n = 150  # more than a block
    P, Y = affinities(rng.normal(size=(n, 3)), 10.0), rng.normal(size=(n, 4))
    T = 1 / (1 + squareform(pdist(Y)) ** 2)
    np.fill_diagonal(T, 0.0)
    Q = T / T.sum()
    expected = [
        4 * sum((exaggeration * P[i, j] - Q[i, j]) * T[i, j] * (Y[i] - Y[j]) for j in range(n))
        for i in range(n)
    ]
    np.testing.assert_allclose(gradient(P, Y, exaggeration), expected, atol=1e-12)


def test_tsne_gradient_matches_finite_differences(rng):
    P, Y, step = affinities(rng.normal(size=(12, 3)), 3.0), rng.normal(size=(12, 2)), 1e-6

    def divergence(points):
        T = 1 / (1 + squareform(pdist(points)) ** 2)
        np.fill_diagonal(T, 0.0)
        Q = T / T.sum()
        return (P * np.log((P + np.eye(12)) / (Q + np.eye(12)))).sum()

    direction = rng.normal(size=Y.shape)
    slope = (divergence(Y + step * direction) - divergence(Y - step * direction)) / (2 * step)
    assert (gradient(P, Y) * direction).sum() == pytest.approx(slope, rel=1e-6)


@pytest.mark.parametrize("n_components", [2, 5])
def test_tsne_keeps_clusters_and_its_seed_decides(n_components, rng):
    y = np.repeat([0, 1, 2], 40)
    X = 6 * np.eye(4)[y] + rng.normal(size=(120, 4))
    Z = TSNE(n_components, perplexity=15, random_state=3).fit_transform(X)
    assert Z.shape == (120, n_components)
    assert silhouette_score(Z, y) > 0.6
    again = TSNE(n_components, perplexity=15, random_state=3).fit_transform(X)
    np.testing.assert_array_equal(Z, again)


def test_exact_tsne_ends_no_higher_than_that_of_scikit_learn(rng):
    """On samples of a line: elsewhere rounding decides which of many minima is reached."""
    X = np.column_stack([np.linspace(0, 10, 60), 0.1 * rng.normal(size=60)])
    P = affinities(X, 10.0)

    def divergence(Y):
        T = 1 / (1 + squareform(pdist(Y)) ** 2)
        np.fill_diagonal(T, 0.0)
        Q = T / T.sum()
        return (P * np.log((P + np.eye(60)) / (Q + np.eye(60)))).sum()

    start = PCA(2).fit_transform(X)
    ours = exact_tsne(P, 1e-4 * start / start[:, 0].std(), max_iter=1000)
    theirs = manifold.TSNE(method="exact", perplexity=10, random_state=0).fit_transform(X)
    assert divergence(ours) <= 1.05 * divergence(theirs)


def test_tsne_of_few_samples_lowers_its_perplexity(rng):
    assert TSNE(2, max_iter=250).fit(rng.normal(size=(10, 3))).perplexity_ == 3.0


def test_tsne_does_not_know_units(rng):
    X = 6 * np.eye(4)[np.repeat([0, 1], 20)] + rng.normal(size=(40, 4))
    large, small = (TSNE(2, random_state=0).fit_transform(2.0**k * X) for k in (300, -300))
    np.testing.assert_array_equal(large, small)
    assert silhouette_score(large, np.repeat([0, 1], 20)) > 0.6


# All


@pytest.mark.parametrize("wrong", [KPCA(sigma=1e-200), LE(sigma=1e200), LLE(reg=1e-300)], ids=repr)
def test_parameters_beyond_rounding_are_refused(wrong, rng):
    with pytest.raises(ValueError, match=r"parameter of .* must be a float in the range \[1e-1"):
        wrong.fit(rng.normal(size=(24, 1)))


@pytest.mark.parametrize("model", ALL, ids=repr)
@pytest.mark.parametrize("kind", ["copies", "constant", "single precision", "far from the origin"])
def test_odd_data_give_finite_embeddings(model, kind, rng):
    X = rng.normal(size=(24, 4))
    if kind == "copies":
        X = np.repeat(X[:3], 8, axis=0)
    elif kind == "constant":
        X = np.full_like(X, 0.1)  # of which rounding leaves something of the mean
    elif kind == "single precision":
        X = X.astype(np.float32)
    else:
        X = X + 1e6
    Z = model.fit_transform(X)
    assert Z.shape == (24, model.n_components)
    assert Z.dtype == np.float64
    assert np.isfinite(Z).all()


@pytest.mark.parametrize("model", ALL, ids=repr)
def test_fits_are_repeated_to_the_last_digit(model, rng):
    X = rng.normal(size=(40, 4))
    np.testing.assert_array_equal(model.fit_transform(X), model.fit_transform(X))
