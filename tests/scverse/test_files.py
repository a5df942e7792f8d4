"""What is written survives h5ad and zarr, and the next tool goes on from there."""

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import branchwise
from branchwise.scverse._uns import restored, storable

from .cells import METHODS, QUICK, anndata, simulated_cells

pytest.importorskip("h5py", reason="h5ad files")
pytest.importorskip("zarr", reason="zarr folders")

FORMATS = {
    "h5ad": (anndata.AnnData.write_h5ad, anndata.read_h5ad),
    "zarr": (anndata.AnnData.write_zarr, anndata.read_zarr),
}


PLAIN = st.none() | st.booleans() | st.integers(-(2**62), 2**62) | st.floats(allow_nan=False)
VALUES = st.recursive(
    PLAIN | st.text().filter(lambda text: text != "None"),
    lambda inner: st.dictionaries(st.text(min_size=1), inner, max_size=3),
    max_leaves=5,
)


@settings(max_examples=20)
@given(VALUES)
def test_values_come_back_from_what_a_file_can_hold(value):
    assert restored(storable(value)) == value


def read_again(adata, kind, tmp_path):
    write, read = FORMATS[kind]
    path = tmp_path / f"cells.{kind}"
    with warnings.catch_warnings():
        # AnnData announces that it is going to write another version of zarr.
        warnings.filterwarnings("ignore", "Writing zarr v2 data", UserWarning)
        write(adata, path)
    return read(path)


def assert_same(one, other):
    """The same content, whatever class of numbers or matrices a file made of it."""
    if isinstance(one, dict):
        assert sorted(one) == sorted(other)
        for name in one:
            assert_same(one[name], other[name])
    elif isinstance(one, pd.DataFrame):
        # Text comes back as categories.
        assert one.index.tolist() == other.index.tolist()
        assert one.to_dict("list") == other.to_dict("list")
    elif sparse.issparse(one):
        assert (abs(one - other)).nnz == 0
    else:
        np.testing.assert_array_equal(one, other)


@pytest.fixture(scope="module", params=METHODS)
def analysed(request):
    """All tools have written."""
    adata = simulated_cells()
    method = request.param
    getattr(branchwise.tl, method)(adata, **QUICK[method])
    branchwise.tl.branches(adata, n_branches=3)
    branchwise.tl.pseudotime(adata, root={"day": "0"}, end="T2")
    branchwise.tl.test_association(adata)
    branchwise.tl.bootstrap(adata, n_resamples=2)
    return adata, method


@pytest.fixture(scope="module", params=list(FORMATS))
def reread(request, analysed, tmp_path_factory):
    """What was written, and what a file made of it."""
    return *analysed, read_again(analysed[0], request.param, tmp_path_factory.mktemp("cells"))


def test_round_trip_keeps_every_slot(reread):
    adata, method, again = reread
    assert_same(adata.uns[method], again.uns[method])
    pd.testing.assert_frame_equal(adata.obs, again.obs, check_categorical=False, check_dtype=False)
    pd.testing.assert_frame_equal(adata.var, again.var)
    np.testing.assert_array_equal(adata.obsm[f"X_{method}"], again.obsm[f"X_{method}"])
    branch = f"{method}_branch"
    assert again.obs[branch].cat.categories.tolist() == adata.obs[branch].cat.categories.tolist()


def test_every_tool_goes_on_from_a_file(reread):
    adata, method, reference = reread
    again = reference.copy()
    branchwise.tl.bootstrap(again, n_resamples=2)
    assert_same(adata.uns[method]["support"], again.uns[method]["support"])
    branchwise.tl.test_association(again)
    assert_same(adata.uns[method]["association"], again.uns[method]["association"])
    branchwise.tl.branches(again, n_branches=3)
    expected = adata.obs[f"{method}_pseudotime"]
    np.testing.assert_allclose(again.obs[f"{method}_pseudotime"], expected, atol=1e-9)
    branchwise.tl.pseudotime(again, root="T1")
    assert again.obs[f"{method}_pseudotime"].min() >= 0
    new = adata[:30].copy()
    branchwise.tl.place(new, reference)
    np.testing.assert_allclose(new.obs[f"{method}_pseudotime"], expected[:30], atol=1e-9)


def test_unusual_parameters_survive(tmp_path):
    adata = simulated_cells()
    path = sparse.diags_array([np.ones(19), np.ones(19)], offsets=[-1, 1]).tocsr()
    centers = np.column_stack([np.linspace(-1, 1, 20), np.zeros(20)])
    branchwise.tl.ddrtree(adata, structure=path, init=centers, key_added="fixed")
    branchwise.tl.ddrtree(
        adata, n_components=None, kernel="rbf", kernel_params={"gamma": 0.1}, key_added="kernel"
    )
    again = read_again(adata, "h5ad", tmp_path)
    for key in ("fixed", "kernel"):
        assert_same(adata.uns[key], again.uns[key])
        branchwise.tl.place(new := adata[:5].copy(), again, key=key)
        np.testing.assert_allclose(new.obsm[f"X_{key}"], adata.obsm[f"X_{key}"][:5], atol=1e-9)
