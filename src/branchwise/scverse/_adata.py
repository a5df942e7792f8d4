"""What is read from an AnnData object, checked, and how results get into it."""

from collections.abc import Iterable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from .._compat import assigned, import_extra
from .._messages import listed
from .._typing import Matrix
from ..data.dask import as_chunks, is_dask
from ..data.dask_errors import failures_in_words

if TYPE_CHECKING:
    from anndata import AnnData


def check_adata(adata: "AnnData", name: str = "adata") -> None:
    """An AnnData object whose results stay in memory; its matrices may be Dask arrays."""
    anndata = import_extra("anndata", "work on AnnData objects", "anndata")
    if not isinstance(adata, anndata.AnnData):
        raise TypeError(
            f"{name} is of type {type(adata).__name__} but must be an AnnData object; make one "
            "with anndata.AnnData(X), or pass one modality of a MuData object."
        )
    if adata.isbacked:
        raise ValueError(
            f"{name} is backed by a file, which results cannot be written to safely; pass "
            f"{name}.to_memory() or, if it does not fit into memory, what "
            "anndata.experimental.read_lazy makes of the file."
        )


def representation(adata: "AnnData", use_rep: str | None, layer: str | None) -> tuple[Matrix, str]:
    """The matrix to learn from, sparse if it is, and the name under which `uns` remembers it.

    Examples
    --------
    >>> import anndata
    >>> import numpy as np
    >>> from branchwise.scverse._adata import representation
    >>> adata = anndata.AnnData(np.ones((3, 2)), obsm={"X_pca": np.zeros((3, 1))})
    >>> matrix, name = representation(adata, None, None)
    >>> matrix.shape, name
    ((3, 1), 'X_pca')
    """
    if layer is not None and use_rep not in (None, "X"):
        raise ValueError(
            f"layer={layer!r} and use_rep={use_rep!r} name two matrices; leave one out."
        )
    if use_rep is None:
        use_rep = "X_pca" if layer is None and "X_pca" in adata.obsm else "X"
    if use_rep == "X":
        values, _, name = gene_values(adata, layer)
        return finite_matrix(values, name, adata), use_rep
    if use_rep not in adata.obsm:
        remedy = "; call scanpy.pp.pca(adata) first" if use_rep == "X_pca" else ""
        raise ValueError(
            f"use_rep={use_rep!r} is not in adata.obsm, which has "
            f"{listed(map(repr, adata.obsm)) or 'none'}{remedy or ', and is not X'}."
        )
    return finite_matrix(adata.obsm[use_rep], f"adata.obsm[{use_rep!r}]", adata), use_rep


def gene_values(adata: "AnnData", layer: str | None, use_raw: bool = False) -> tuple[Any, Any, str]:
    """A matrix of genes as it is, their names, and what it is called."""
    if use_raw:
        if layer is not None:
            raise ValueError(f"layer={layer!r} and use_raw=True name two matrices; leave one out.")
        if adata.raw is None:
            raise ValueError("use_raw=True needs adata.raw, which is None; leave use_raw out.")
        return adata.raw.X, adata.raw.var_names, "adata.raw.X"
    if layer is not None:
        if layer not in adata.layers:
            raise ValueError(
                f"layer={layer!r} is not in adata.layers, which has "
                f"{listed(map(repr, adata.layers)) or 'none'}."
            )
        return adata.layers[layer], adata.var_names, f"adata.layers[{layer!r}]"
    if adata.X is None:
        raise ValueError("adata.X is None; say with use_rep=… or layer=… which values to take.")
    return adata.X, adata.var_names, "adata.X"


def finite_matrix(values: Any, name: str, adata: "AnnData") -> Matrix:
    """Finite numbers, one row per cell, in memory or in the chunks of a Dask array."""
    if is_dask(values):
        # What is not finite is told when the chunks are read.
        return as_chunks(values, name)
    if hasattr(values, "to_numpy"):
        values = values.to_numpy()
    if not isinstance(values, np.ndarray) and not sparse.issparse(values):
        raise TypeError(
            f"{name} is of type {type(values).__name__} but must be an array, a sparse matrix or a "
            "Dask array; load it, for instance with adata.to_memory()."
        )
    if values.dtype.kind not in "buif":
        raise TypeError(
            f"{name} holds values of type {values.dtype} but must hold numbers; convert or drop "
            "the others."
        )
    entries = values.data if sparse.issparse(values) else values
    # Without an array of truth values for each entry.
    if entries.size and not np.isfinite([entries.min(), entries.max()]).all():
        wrong = sparse.coo_array(values)
        first = np.flatnonzero(~np.isfinite(wrong.data))[0]
        raise ValueError(
            f"{name} is {wrong.data[first]} in cell {adata.obs_names[wrong.row[first]]!r}, column "
            f"{wrong.col[first]}, but every value must be finite; drop such cells or replace such "
            "values first."
        )
    return np.asarray(values) if isinstance(values, np.ndarray) else values


def in_memory(value: Any) -> Any:
    """What a lazily read object holds, read; everything else as it is.

    Examples
    --------
    >>> import dask.array as da
    >>> from branchwise.scverse._adata import in_memory
    >>> in_memory({"roots": da.arange(2), "method": "ddrtree"})
    {'roots': array([0, 1]), 'method': 'ddrtree'}
    """
    if isinstance(value, dict):
        return {name: in_memory(entry) for name, entry in value.items()}
    if is_dask(value):
        with failures_in_words(value, value):
            return value.compute()
    return value.to_memory() if hasattr(value, "to_memory") else value


def check_key(key: Any, name: str = "key_added") -> str:
    """A name that files can hold."""
    if not isinstance(key, str) or not key or "/" in key:
        raise ValueError(
            f"{name}={key!r} must be a text without '/', which AnnData's files allow in no key."
        )
    return key


def column_of(adata: "AnnData", column: Any, name: str) -> Any:
    """A column of obs."""
    if column not in adata.obs:
        raise ValueError(
            f"{name} names {column!r}, which is not a column of adata.obs; columns are "
            f"{listed(map(repr, adata.obs.columns)) or 'missing'}; choose one of these."
        )
    return in_memory(adata.obs)[column]


@dataclass
class Results:
    """Everything that a function is going to write, and what this makes out of date."""

    obs: dict[str, Any] = field(default_factory=dict)
    var: dict[str, Any] = field(default_factory=dict)
    obsm: dict[str, Any] = field(default_factory=dict)
    uns: dict[str, Any] = field(default_factory=dict)
    stale_obs: Iterable[str] = ()
    stale_var: Iterable[str] = ()
    stale_uns: Iterable[str] = ()


def write(adata: "AnnData", results: Results, copy: bool) -> "AnnData | None":
    """Write all of it, into a copy if wanted; None otherwise.

    Whole tables are replaced, which turns a view into an object of its own before anything is
    written. A copy shares no array with the original.
    """
    target = adata.copy() if copy else adata
    target.obs = with_columns(target.obs, results.obs, results.stale_obs)
    is_lazy = hasattr(target.var, "to_memory")  # a table that AnnData could not write
    if is_lazy or results.var or any(name in target.var for name in results.stale_var):
        target.var = with_columns(target.var, results.var, results.stale_var)
    for name, value in results.obsm.items():
        target.obsm[name] = value
    for name in results.stale_uns:
        target.uns.pop(name, None)
    for name, value in results.uns.items():
        target.uns[name] = deepcopy(value) if copy else value
    return target if copy else None


def with_columns(table: Any, new: Mapping[str, Any], stale: Iterable[str]) -> Any:
    """A table with other columns."""
    pandas = import_extra("pandas", "a table of cells", "anndata")
    gone = [name for name in stale if name in table and name not in new]
    return assigned(pandas.DataFrame(in_memory(table)).drop(columns=gone), new)
