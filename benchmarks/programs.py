"""The programs compared, each behind the same two functions: load it, fit it.

A worker process loads one of them. Nothing is imported here but the standard library, so that
its memory after `load` is that of the program alone.
"""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any


@dataclass(frozen=True)
class Program:
    """How to run one program.

    `fit(X, threads, **params)` returns the program's own result. `iterations` names the
    parameter that sets the number of iterations. Code that is compiled on first use is warmed up
    on `warm_rows` rows, once with each of `warm_params`: what large data need is compiled, too.
    """

    distribution: str
    modules: tuple[str, ...]
    fit: Callable[..., Any]
    iterations: str | None = None
    warm_rows: int = 200
    warm_params: tuple[dict[str, Any], ...] = ({},)

    def load(self) -> None:
        """Import what the fit needs."""
        for module in self.modules:
            import_module(module)


def fit_branchwise(name: str) -> Callable[..., Any]:
    """A fit of one of branchwise's estimators."""

    def fit(X: Any, threads: int, neighbors: Any = None, **params: Any) -> Any:
        estimator = getattr(import_module("branchwise"), name)()
        estimator.set_params(n_jobs=threads, **params)
        return estimator.fit(X) if neighbors is None else estimator.fit(X, neighbors=neighbors)

    return fit


def fit_ddrtree_python(X: Any, threads: int, **params: Any) -> Any:
    """ddrtree-python; its data are features × samples, and it does not centre them."""
    return import_module("ddrtree").DDRTree((X - X.mean(axis=0)).T, **params)


def fit_simpleppt(X: Any, threads: int, **params: Any) -> Any:
    """simpleppt, silent."""
    import_module("simpleppt").settings.verbosity = 0
    return import_module("simpleppt").ppt(X, seed=0, progress=False, **params)


def fit_umap(X: Any, threads: int, **params: Any) -> Any:
    """umap-learn; without a seed, with which it would use one thread."""
    return import_module("umap").UMAP(**params).fit(X)


def fit_elpigraph(X: Any, threads: int, **params: Any) -> Any:
    """elpigraph-python; the first of its list of graphs is the only one here.

    The threads are those of BLAS and numba: with n_cores > 1, version 0.3.4 ended with an
    UnboundLocalError on these data.
    """
    tree = import_module("elpigraph").computeElasticPrincipalTree
    return tree(X, verbose=False, Do_PCA=True, **params)[0]


BRANCHWISE = (
    "branchwise",
    "branchwise.estimators.ddrtree",
    "branchwise.estimators.drtree",
    "branchwise.estimators.spl",
)

PROGRAMS = {
    # From 5,000 centres on, DDRTree takes the paths that it takes at any larger number.
    "branchwise.DDRTree": Program(
        "branchwise", BRANCHWISE, fit_branchwise("DDRTree"), "max_iter", 5000, ({"max_iter": 2},)
    ),
    "branchwise.DRTree": Program(
        "branchwise", BRANCHWISE, fit_branchwise("DRTree"), "max_iter", 5000, ({"max_iter": 2},)
    ),
    "branchwise.SPL": Program(
        "branchwise",
        BRANCHWISE,
        fit_branchwise("SPL"),
        "max_iter",
        500,
        tuple({"max_iter": 2, "solver": solver} for solver in ("exact", "sparse", "sketch")),
    ),
    # Runs on the problem that branchwise sets up; see `subgradient.py`.
    "Algorithm 1": Program("branchwise", BRANCHWISE, fit_branchwise("SPL")),
    "ddrtree-python": Program("ddrtree-python", ("ddrtree",), fit_ddrtree_python, "max_iter"),
    "simpleppt": Program("simpleppt", ("simpleppt",), fit_simpleppt, "nsteps"),
    # Up to 4,096 rows umap compares all pairs; beyond, it runs NN-descent.
    "umap-learn": Program("umap-learn", ("umap",), fit_umap, None, 5000, ({"n_epochs": 11},)),
    "elpigraph-python": Program(
        "elpigraph-python", ("elpigraph",), fit_elpigraph, None, 200, ({"NumNodes": 5},)
    ),
}
