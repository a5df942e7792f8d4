"""Without a graph, and without noise, SPL is PPCA: its W spans the principal subspace."""

import numpy as np
import pytest
from scipy.linalg import subspace_angles
from sklearn.decomposition import PCA

from branchwise import SPL

from ..conftest import branching


@pytest.mark.parametrize("solver", ["exact", "sparse", "sketch"])
@pytest.mark.parametrize("gamma", [1e-3, 1.0, 50.0])
@pytest.mark.parametrize("shape", [(60, 5), (30, 90)], ids=["D<N", "D>N"])
def test_without_a_graph_spl_is_ppca(solver, gamma, shape):
    """Neighbours are too far apart for any edge. W is PPCA's (`op:mll`); X = γ/(γ+1)·YW, the
    posterior mean of y = Wx + noise; and X spans what linear GPLVM's does (`eq:gplvm`)."""
    X = 1000 * branching(*shape)
    with pytest.warns(UserWarning, match="No edge is active"):
        model = SPL(scale=None, gamma=gamma, solver=solver, random_state=0).fit(X)
    assert model.graph_.nnz == 0
    pca = PCA(n_components=2).fit(X)
    assert np.sin(subspace_angles(model.components_.T, pca.components_.T)).max() < 1e-8
    scores = (X - X.mean(axis=0)) @ model.components_.T
    atol = 1e-10 * np.abs(scores).max()
    np.testing.assert_allclose(model.embedding_, gamma / (gamma + 1) * scores, atol=atol)
    np.testing.assert_allclose(model.skeleton_, scores, atol=atol)
    # GPLVM's are eigenvectors of YYᵀ, with lengths of their own.
    Y = X - X.mean(axis=0)
    gplvm = np.linalg.eigh(Y @ Y.T)[1][:, -2:]
    assert np.sin(subspace_angles(model.embedding_, gplvm)).max() < 1e-8


@pytest.mark.parametrize("C", [1e3, np.inf])
@pytest.mark.parametrize("n_components", [2, None])
def test_spl_without_noise_is_pca_whatever_its_graph(C, n_components):
    """As γ → ∞, Q = L + (γ+1)/4·I is all but a multiple of I, because S stays bounded: edges that
    W cuts short become inactive, and for W = I all terms of the objective fall like 1/γ."""
    X = branching(60, 5)
    deviations = []
    for gamma in (1e2, 1e3, 1e6):
        # With two components the last of them holds no neighbours together any more.
        model = SPL(n_components, gamma=gamma, C=C)
        if n_components == 2 and gamma == 1e6:
            with pytest.warns(UserWarning, match="No edge is active"):
                model.fit(X)
        else:
            assert model.fit(X).graph_.nnz > 0
        pca = PCA(n_components=len(model.components_)).fit(X)
        reconstructed = pca.inverse_transform(pca.transform(X)) - pca.mean_
        mapped_back = model.skeleton_ @ model.components_
        deviations.append(
            np.linalg.norm(mapped_back - reconstructed) / np.linalg.norm(reconstructed)
        )
    assert deviations[1] < deviations[0] / 2
    assert deviations[2] < 1e-4
