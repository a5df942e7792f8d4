import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.preprocessing import StandardScaler

import branchwise.data.kernels
from branchwise.data.kernels import kernel_matrix, kernel_rows

from ..conftest import branching


def polynomial(A, B, degree=2):
    product = A @ B.T
    return (1 + (product.toarray() if sparse.issparse(product) else product)) ** degree


@given(
    n_a=st.integers(1, 20),
    n_b=st.integers(1, 20),
    n_features=st.integers(1, 30),
    gamma=st.floats(1e-3, 10),
    seed=st.integers(0, 1000),
)
def test_kernels_are_their_formulas(n_a, n_b, n_features, gamma, seed):
    rng = np.random.default_rng(seed)
    A, B = rng.normal(size=(n_a, n_features)), rng.normal(size=(n_b, n_features))
    squared = cdist(A, B, "sqeuclidean")
    expected = {
        "linear": (np.einsum("ik,jk->ij", A, B), None),
        "rbf": (np.exp(-gamma * squared), {"gamma": gamma}),
    }
    for kernel, (values, params) in expected.items():
        np.testing.assert_allclose(kernel_rows(A, B, kernel, params), values, atol=1e-12)
        for left, right in [(sparse.csr_array(A), B), (A, sparse.csr_array(B))]:
            np.testing.assert_allclose(kernel_rows(left, right, kernel, params), values, atol=1e-12)
        both = kernel_rows(sparse.csr_array(A), sparse.csr_array(B), kernel, params)
        np.testing.assert_allclose(both, values, atol=1e-12)
    np.testing.assert_allclose(kernel_rows(A, B, "rbf"), np.exp(-squared / n_features), atol=1e-12)


def test_default_rbf_is_the_paper_s():
    """K_ij = exp(−‖y_i − y_j‖²/D) of standardised data."""
    X = StandardScaler().fit_transform(branching(30, 50))
    expected = np.exp(-((X[:, None] - X) ** 2).sum(axis=2) / 50)
    np.testing.assert_allclose(kernel_matrix(X, "rbf"), expected, atol=1e-12)


def test_a_large_mean_costs_rbf_no_digits():
    X = branching(30, 50).round(6)
    np.testing.assert_allclose(
        kernel_matrix(X + 2.0**20, "rbf"), kernel_matrix(X, "rbf"), rtol=1e-9
    )


@pytest.mark.parametrize("kernel", ["linear", "rbf", polynomial])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_permuting_samples_permutes_rows_and_columns(kernel, container, rng):
    """To the last bit; equal samples have equal rows."""
    X = np.repeat(branching(40, 7), [2, 1, 3, 1] * 10, axis=0)
    order = rng.permutation(len(X))
    K, permuted = kernel_matrix(container(X), kernel), kernel_matrix(container(X[order]), kernel)
    np.testing.assert_array_equal(permuted, K[np.ix_(order, order)])
    np.testing.assert_array_equal(K[0], K[1])
    np.testing.assert_array_equal(K[:, 0], K[:, 1])
    np.testing.assert_allclose(K, kernel_rows(X, X, kernel), rtol=1e-12)


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_blocks_and_threads_change_nothing(n_jobs, monkeypatch):
    X = branching(50, 7)
    whole = kernel_matrix(X, "rbf")
    monkeypatch.setattr(branchwise.data.kernels, "MAX_BLOCK", 350)
    calls = []

    def counted(A, B):
        calls.append(len(A))
        return kernel_rows(A, B, "rbf")

    np.testing.assert_allclose(kernel_matrix(X, counted, n_jobs=n_jobs), whole, rtol=1e-14)
    assert calls == [7] * 7 + [1]


def test_a_callable_is_passed_its_parameters():
    A, B = branching(5, 3), branching(4, 3, seed=1)
    np.testing.assert_allclose(
        kernel_rows(A, B, polynomial, {"degree": 3}), (1 + A @ B.T) ** 3, rtol=1e-14
    )
    counts = kernel_rows(A, B, lambda A, B: np.ones((5, 4), dtype=np.uint8))
    assert counts.dtype == np.float64


def test_precision_is_that_of_the_samples():
    X = branching(20, 3).astype(np.float32)
    K = kernel_matrix(X, "rbf")
    assert K.dtype == np.float32
    np.testing.assert_allclose(K, kernel_matrix(X.astype(float), "rbf"), rtol=1e-6)
