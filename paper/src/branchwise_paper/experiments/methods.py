"""The paper's nine methods with the parameters it tried, and some more."""

import time
from collections.abc import Callable, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from branchwise._messages import listed
from branchwise._typing import Floats
from branchwise.estimators import SPL

NEIGHBORS = (5, 10, 15, 20, 30, 50)
Parameters = dict[str, Any]


class Method(NamedTuple):
    """How to make a method's estimator, and which parameters the paper tried."""

    name: str
    make: Callable[[int, Parameters], Any]  # of n_components and the parameters
    grid: tuple[Parameters, ...]
    settings: str  # of the parameters that were not tried


def _baseline(name: str, **fixed: Any) -> Callable[[int, Parameters], Any]:
    def make(n_components: int, parameters: Parameters) -> Any:
        from .. import baselines

        return getattr(baselines, name)(n_components, **fixed, **parameters)

    return make


def _spl(**fixed: Any) -> Callable[[int, Parameters], Any]:
    return lambda n_components, parameters: SPL(n_components, **fixed, **parameters)


def _umap(n_components: int, parameters: Parameters) -> Any:
    from umap import UMAP

    # One thread, so that the seed decides everything.
    return UMAP(n_components=n_components, random_state=0, n_jobs=1, **parameters)


def grid(**values: Sequence[Any]) -> tuple[Parameters, ...]:
    """All combinations of some values of parameters.

    Examples
    --------
    >>> from branchwise_paper.experiments.methods import grid
    >>> grid(C=(10, 1000), gamma=(0,))
    ({'C': 10, 'gamma': 0}, {'C': 1000, 'gamma': 0})
    """
    return tuple(dict(zip(values, chosen, strict=True)) for chosen in product(*values.values()))


UNITS = (0.5, 2, 4)
ON_REQUEST = ("SPL-units", "PPCA", "Isomap", "GPLVM-RBF", "L1Graph", "DRILL", "StructureLearning")
TRIED = grid(n_neighbors=NEIGHBORS)
# The paper's, in the order of its table; its own algorithm; ours without tuning; PCA, UMAP. The
# rest run if they are named.
METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        Method("LLE", _baseline("LLE"), TRIED, "regularisation 1e-3"),
        Method("LE", _baseline("LE"), TRIED, "heat kernel, sigma = 1 in units of the longest edge"),
        Method("MVU", _baseline("MVU", random_state=0), TRIED, "low-rank solver with a dual bound"),
        Method("KPCA", _baseline("KPCA"), ({},), "Gaussian kernel, sigma = 1"),
        Method("GPLVM", _baseline("GPLVM", kernel="linear"), ({},), "linear kernel"),
        Method("MEU", _baseline("MEU"), TRIED, "no negative weights, lam = 0.01"),
        Method("SMCE", _baseline("SMCE"), grid(lam=(0.01, 0.1, 1, 10)), "50 candidates"),
        Method(
            "tSNE", _baseline("TSNE", random_state=0), ({},), "perplexity 30, exact, 500 iterations"
        ),
        Method(
            "SPL",
            _spl(scale=None),
            grid(n_neighbors=NEIGHBORS, C=(10, 1000), gamma=(0, 1e-3)),
            "in the units of the data, at the global optimum",
        ),
        Method(
            "SPL-printed",
            _baseline("PrintedSPL"),
            grid(n_neighbors=NEIGHBORS, C=(10, 1000), gamma=(0, 1e-3)),
            "the same by the paper's Algorithm 1, 20 steps",
        ),
        Method(
            "SPL-units",
            _spl(),
            grid(n_neighbors=NEIGHBORS, C=(10, 1000), gamma=(0, 1e-3), scale=UNITS),
            "the data times the factor scale, at the global optimum",
        ),
        Method("SPL-auto", _spl(), ({},), 'defaults: scale="auto", 10 neighbours, no tuning'),
        Method("PCA", _baseline("PCA"), ({},), "no parameters"),
        Method("UMAP", _umap, ({},), "defaults: 15 neighbours, min_dist 0.1"),
        Method("PPCA", _baseline("PPCA"), ({},), ""),
        Method("Isomap", _baseline("Isomap"), TRIED, ""),
        Method("GPLVM-RBF", _baseline("GPLVM", kernel="rbf"), ({},), "Gaussian kernel"),
        Method("L1Graph", _baseline("L1Graph"), ({},), ""),
        Method("DRILL", _baseline("DRILL"), ({},), ""),
        Method("StructureLearning", _baseline("StructureLearning"), ({},), ""),
    )
}


def chosen_methods(names: Sequence[str]) -> list[Method]:
    """Methods by their names, in any case; if none is named, all but those on request.

    Examples
    --------
    >>> from branchwise_paper.experiments.methods import chosen_methods
    >>> [method.name for method in chosen_methods(["spl", "t-SNE"])]
    ['SPL', 'tSNE']
    """
    if not names:
        return [method for name, method in METHODS.items() if name not in ON_REQUEST]
    known = {_plain(name): method for name, method in METHODS.items()}
    unknown = [name for name in names if _plain(name) not in known]
    if unknown:
        raise ValueError(
            f"there is no method {unknown[0]!r}; choose from {listed(list(METHODS), 20)}."
        )
    return [known[_plain(name)] for name in dict.fromkeys(map(_plain, names))]


def embed(X: Floats, *, method: str, n_components: int, parameters: Parameters) -> dict[str, Any]:
    """The embedding by a method and the processor's seconds, as the result of a cell.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from branchwise_paper.experiments.methods import embed
    >>> X = load_iris().data
    >>> embed(X, method="SPL-auto", n_components=2, parameters={})["embedding"].shape
    (150, 2)
    """
    estimator = METHODS[method].make(n_components, parameters)
    start = time.process_time()  # which other programs on the machine do not lengthen
    found = np.asarray(estimator.fit_transform(X), dtype=np.float64)
    seconds = time.process_time() - start
    objective = float(getattr(estimator, "objective_", np.nan))
    return {"embedding": found, "seconds": seconds, "objective": objective}


def _plain(name: str) -> str:
    return "".join(letter for letter in name.casefold() if letter.isalnum())
