"""The only home of private or version-dependent imports, and of the compiler."""

import importlib
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from joblib import effective_n_jobs
from numba import njit
from sklearn.utils import _safe_indexing
from sklearn.utils._param_validation import (
    HasMethods,
    Interval,
    RealNotInt,
    StrOptions,
    validate_parameter_constraints,
)
from sklearn.utils.metaestimators import _safe_split

__all__ = [
    "HasMethods",
    "Interval",
    "RealNotInt",
    "StrOptions",
    "assigned",
    "effective_n_jobs",
    "empty_block",
    "fitted_rows",
    "import_extra",
    "import_networkx",
    "import_pandas",
    "inlined",
    "install_command",
    "kernel",
    "output_container",
    "pandas_of",
    "rows_of",
    "some_rows",
    "validate_parameter_constraints",
]

Function = TypeVar("Function", bound=Callable[..., Any])


def kernel(function: Function) -> Function:
    """Compile a loop nest over arrays and scalars, free of the interpreter's lock.

    The machine code is kept on disk for the next process, unless there is nowhere to write.
    """
    options = {"nogil": True, "error_model": "numpy"}
    try:
        return njit(cache=True, **options)(function)
    except RuntimeError:
        return njit(**options)(function)


def inlined(function: Function) -> Function:
    """A step of several kernels, copied into each of them.

    The compiler leaves most calls between kernels as calls, which in an inner loop cost as much
    as the step itself.
    """
    return njit(nogil=True, error_model="numpy", inline="always")(function)


def rows_of(estimator: Any, X: Any, rows: Any, train: Any = None) -> Any:
    """Some rows of X, of any type; if X holds a value for each pair of samples, against `train`."""
    return _safe_split(estimator, X, None, rows, train)[0]


def some_rows(X: Any, rows: Any) -> Any:
    """Some rows of an array, a sparse matrix or a table.

    Examples
    --------
    >>> from branchwise._compat import some_rows
    >>> some_rows([[1], [2], [3]], [0, 2])
    [[1], [3]]
    """
    return _safe_indexing(X, rows)


def fitted_rows(search: Any) -> Any:
    """The samples that a `NearestNeighbors` was fitted to."""
    return search._fit_X


def output_container(estimator: Any) -> str | None:
    """What `set_output` was told, if anything."""
    return getattr(estimator, "_sklearn_output_config", {}).get("transform")


def empty_block(X: Any) -> Any:
    """A block without rows, of the type that a Dask array says its blocks have."""
    return X._meta


def install_command(extra: str | None = None, folder: str = ".") -> str:
    """How to install the package, or an extra of it: from a clone until there is a release.

    The paper's reproduction is a project of its own, in the folder ./paper of the clone.

    Every message that says how to install something says it with this.

    Examples
    --------
    >>> from branchwise._compat import install_command
    >>> install_command("cli")
    "pip install '.[cli]' in a clone of branchwise"
    """
    what = folder if extra is None else f"'{folder}[{extra}]'"
    return f"pip install {what} in a clone of branchwise"


def import_extra(name: str, purpose: str, extra: str) -> Any:
    """A library that not everyone needs: say how to get it rather than fail in the middle.

    Examples
    --------
    >>> from branchwise._compat import import_extra
    >>> import_extra("json", "a message", "trajectory").__name__
    'json'
    """
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ImportError(f"{purpose} needs {name}; run: {install_command(extra)}") from error


def import_pandas() -> Any:
    """Pandas, for tables of results.

    Examples
    --------
    >>> from branchwise._compat import import_pandas
    >>> import_pandas().__name__
    'pandas'
    """
    return import_extra("pandas", "a table of results", "trajectory")


def pandas_of(table: Any, parameter: str) -> Any:
    """A table of polars as one of pandas; anything else as it is.

    Examples
    --------
    >>> import polars as pl
    >>> from branchwise._compat import pandas_of
    >>> pandas_of(pl.DataFrame({"age": [40, 50]}), "X")["age"].tolist()
    [40, 50]
    """
    if type(table).__module__.partition(".")[0] != "polars":
        return table
    name = type(table).__name__
    if not hasattr(table, "to_pandas"):
        raise TypeError(
            f"{parameter} is a polars {name}, but its values are needed in memory here; pass "
            f"{parameter}.collect()."
        )
    import_extra("pandas", f"a polars {name}", "trajectory")
    import_extra("pyarrow", f"a polars {name}", "cli")
    return table.to_pandas()


def assigned(frame: Any, columns: Mapping[str, Any]) -> Any:
    """A DataFrame with these columns in place of its own, or behind them.

    `DataFrame.assign` takes names as arguments, of which one may not be called "self".

    Examples
    --------
    >>> import pandas as pd
    >>> from branchwise._compat import assigned
    >>> assigned(pd.DataFrame({"self": [1]}), {"self": [2], "a": [3]}).to_dict("list")
    {'self': [2], 'a': [3]}
    """
    new = frame.copy(deep=False)
    for name, values in columns.items():
        new[name] = values
    return new


def import_networkx() -> Any:
    """Networkx, for graphs that other programs read.

    Examples
    --------
    >>> from branchwise._compat import import_networkx
    >>> import_networkx().__name__
    'networkx'
    """
    return import_extra("networkx", "a graph for other programs", "trajectory")
