"""Linear coordinates: the slow formula, for every kind of input, and after a file."""

import dask.array as da
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

import branchwise
from branchwise import SPL, DDRTree, DRTree

from ..conftest import branching

X = branching(60, 5)  # simulated
NEW = branching(20, 5, seed=1)
MODELS = {
    "ddrtree": DDRTree(2, n_centers=12, random_state=0),
    "ddrtree one component": DDRTree(n_components=1, n_centers=12, random_state=0),
    "ddrtree all components": DDRTree(n_components=None, n_centers=12, random_state=0),
    "drtree": DRTree(),
    "drtree share of variance": DRTree(n_components=0.8),
    "spl": SPL(n_neighbors=5),
    "spl without prior": SPL(n_neighbors=5, gamma=0.0),
}


def slowly(model, rows):
    """Wᵀ(x − mean), number by number."""
    return [
        [
            sum(w * (x - m) for w, x, m in zip(axis, row, model.mean_, strict=True))
            for axis in model.components_
        ]
        for row in rows
    ]


@pytest.fixture(scope="module", params=list(MODELS))
def model(request):
    return MODELS[request.param].fit(X)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array, np.ndarray.tolist])
def test_the_slow_formula(model, kind):
    np.testing.assert_allclose(model.project(kind(NEW)), slowly(model, NEW), rtol=0, atol=1e-8)
    np.testing.assert_allclose(model.projection_, slowly(model, X), rtol=0, atol=1e-8)


def test_old_samples_are_where_equal_new_ones_are(model):
    np.testing.assert_array_equal(model.project(X), model.projection_)
    np.testing.assert_array_equal(model.project(X[7:8]), model.projection_[7:8])


def test_chunks_of_a_dask_array(model):
    chunks = da.from_array(NEW, chunks=(7, 2))
    found = model.project(chunks)
    assert isinstance(found, da.Array)
    assert found.chunks[0] == chunks.chunks[0]
    assert found.shape == (20, len(model.components_))
    np.testing.assert_allclose(found.compute(), slowly(model, NEW), rtol=0, atol=1e-8)


@pytest.mark.parametrize("kernel", ["linear", "rbf", lambda a, b: (a @ b.T + 1.0) ** 2])
@pytest.mark.parametrize("estimator", [DDRTree, DRTree, SPL])
def test_kernels_are_projected_by_their_values(estimator, kernel):
    model = estimator(kernel=kernel, random_state=0).fit(X)
    if kernel == "linear":
        rows, own = NEW @ X.T, X @ X.T
    elif kernel == "rbf":
        rows, own = (np.exp(-((some[:, None] - X[None]) ** 2).sum(axis=2) / 5) for some in (NEW, X))
    else:
        rows, own = kernel(NEW, X), kernel(X, X)
    size = np.abs(model.projection_).max()
    np.testing.assert_allclose(model.project(NEW), slowly(model, rows), atol=1e-8 * size)
    np.testing.assert_allclose(model.projection_, slowly(model, own), atol=1e-8 * size)
    np.testing.assert_allclose(model.project(X), model.projection_, atol=1e-8 * size)
    with_matrix = estimator(kernel="precomputed", random_state=0).fit(own)
    found = with_matrix.project(rows)
    np.testing.assert_allclose(found, slowly(with_matrix, rows), atol=1e-8 * size)


def test_a_fit_to_chunks_has_its_projection_there():
    chunks = da.from_array(X, chunks=(25, 5))
    model = DDRTree(2, n_centers=12, random_state=0).fit(chunks)
    assert isinstance(model.projection_, da.Array)
    assert model.projection_.chunks == ((25, 25, 10), (2,))
    found = model.projection_.compute()
    np.testing.assert_allclose(found, slowly(model, X), rtol=0, atol=1e-8)
    in_memory = DDRTree(2, n_centers=12, random_state=0).fit(X)
    np.testing.assert_allclose(found, in_memory.projection_, atol=1e-6)
    for estimator in (DRTree(n_landmarks=30), SPL(n_landmarks=30, n_neighbors=5)):
        landmarks = estimator.fit(chunks)
        expected = slowly(landmarks, X[landmarks.landmarks_])
        np.testing.assert_allclose(landmarks.projection_, expected, rtol=0, atol=1e-8)


def test_a_file_keeps_the_projection(model, tmp_path):
    model.save(tmp_path / "model.branchwise")
    loaded = branchwise.load(tmp_path / "model.branchwise")
    np.testing.assert_array_equal(loaded.projection_, model.projection_)
    np.testing.assert_array_equal(loaded.project(NEW), model.project(NEW))


def test_types_and_names():
    model = DDRTree(2, random_state=0).fit(
        pd.DataFrame(X.astype(np.float32), columns=list("abcde"))
    )
    assert model.projection_.dtype == np.float32
    table = pd.DataFrame(NEW, columns=list("abcde"))
    assert model.project(table).dtype == np.float64
    with pytest.raises(ValueError, match="feature names"):
        model.project(table[list("edcba")])
    with pytest.raises(ValueError, match="has 3 features"):
        DDRTree(2, random_state=0).fit(X).project(NEW[:, :3])
    with pytest.raises(NotFittedError):
        DDRTree(2).project(X)
