"""The paper's table (`tab:clustering`): how well nine embeddings keep classes together."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split

from branchwise._messages import listed
from branchwise._typing import Floats
from branchwise.metrics import loo_1nn

from ..datasets import Dataset, DatasetNotFound, fetch, found_datasets
from ..datasets.catalog import CATALOG, understand
from ._table1_report import (
    SETS,
    Fit,
    Problem,
    best_rows,
    checks_of,
    draw,
    falls_short,
    text_of,
    write_tables,
)
from .cells import Cell, compute
from .methods import METHODS, Method, Parameters, chosen_methods, embed
from .settings import Outcome, Settings, data_folder

# Part of the variance that the paper keeps where it does not print the number of components.
ENERGY = 0.95
# --quick: so many samples of each set and so many points of each grid.
QUICK_SAMPLES, QUICK_GRID = 200, 2


def run(settings: Settings) -> Outcome:
    """Fit every method with all its parameters on every set, and write the table.

    Files: ``table1.csv`` with the best of each method, ``table1_fits.csv`` with all fits,
    ``table1.png``.
    """
    methods = chosen_methods(settings.methods)
    problems, absent = chosen_problems(settings)
    keys = [
        (problem, method.name, parameters)
        for problem in problems
        for method in methods
        for parameters in tried(method, len(problem.data.X), settings.quick)
    ]
    methods = [
        method._replace(grid=tuple(chosen for _, name, chosen in keys if name == method.name))
        for method in methods
    ]  # what the text says was tried
    cells = [cell_of_features(problem) for problem in problems] + [cell_of_fit(*k) for k in keys]
    computed = compute(cells, settings, "table1")
    raw, computed = computed[: len(problems)], computed[len(problems) :]
    features = {p.name: one.result["accuracy"] for p, one in zip(problems, raw, strict=True)}
    fits = [Fit(*key, one) for key, one in zip(keys, computed, strict=True)]
    rows = best_rows(fits)
    others = in_other_units([row.problem for row in rows if falls_short(row)], settings)
    write_tables(settings.out, [*fits, *others], rows)
    draw(settings.out / "table1.png", problems, rows, quick=settings.quick)
    return Outcome(
        "table1",
        "Table 1: leave-one-out accuracy of the nearest neighbour",
        text_of(features, problems, methods, rows, others, absent, quick=settings.quick),
        checks_of(rows, quick=settings.quick),
        ["table1.csv", "table1_fits.csv", "table1.png"],
    )


def in_other_units(problems: Sequence[Problem], settings: Settings) -> list[Fit]:
    """SPL again, on the data times some factors, where it is below the printed accuracy.

    Its prior has unit variance, so that the unit of the data is a parameter, which the paper
    does not print.
    """
    if settings.quick:
        return []
    keys = [
        (problem, "SPL-units", one) for problem in problems for one in METHODS["SPL-units"].grid
    ]
    computed = compute([cell_of_fit(*key) for key in keys], settings, "table1")
    return [Fit(*key, one) for key, one in zip(keys, computed, strict=True)]


def cell_of_features(problem: Problem) -> Cell:
    """The set itself, for comparison."""
    data = {"X": problem.data.X, "y": problem.data.y}
    return Cell(f"{problem.data.title} features", accuracy_of_features, data, {})


def accuracy_of_features(X: Floats, y: Any) -> dict[str, Any]:
    """Leave-one-out accuracy of the nearest neighbour without any embedding."""
    return {"accuracy": loo_1nn(X, y)}


def cell_of_fit(problem: Problem, method: str, parameters: Parameters) -> Cell:
    """One fit, to be computed once."""
    chosen = ", ".join(f"{name}={value:g}" for name, value in parameters.items())
    return Cell(
        f"{problem.data.title} {method} {chosen}".strip(),
        accuracy_of_fit,
        {"X": problem.data.X, "y": problem.data.y},
        {"method": method, "n_components": problem.n_components, "parameters": parameters},
    )


def accuracy_of_fit(
    X: Floats, y: Any, *, method: str, n_components: int, parameters: Parameters
) -> dict[str, Any]:
    """Leave-one-out accuracy of the nearest neighbour in a method's embedding.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from branchwise_paper.experiments.table1 import accuracy_of_fit
    >>> X, y = load_iris(return_X_y=True)
    >>> found = accuracy_of_fit(X, y, method="SPL-auto", n_components=2, parameters={})
    >>> found["accuracy"] > 0.9
    True
    """
    found = embed(X, method=method, n_components=n_components, parameters=parameters)
    return {"accuracy": loo_1nn(found.pop("embedding"), y), **found}


def chosen_problems(settings: Settings) -> tuple[list[Problem], list[str]]:
    """The sets to run, and one sentence for each of the paper's that is not here.

    Sets that are named have to be there; of the paper's own, those that are found are taken.
    """
    folder = data_folder(settings)
    if settings.datasets:
        sets = {name: fetch(name, data_dir=folder) for name in settings.datasets}
        for name, data in sets.items():
            if reason := unusable(data):
                raise ValueError(f"{name} has {reason}; choose other --datasets.")
        return [problem_of(*item, quick=settings.quick) for item in sets.items()], []
    problems, absent = [], []
    for name in SETS:
        stems = [stem for stem in found_datasets(folder) if understand(stem).key == name]
        try:
            # A folder that is named is what is meant, and nothing is taken from elsewhere.
            if folder is not None and not stems:
                raise DatasetNotFound(f"{CATALOG[name].title}: there is no {name}.npz.")
            data = fetch(name, data_dir=folder, download=folder is None)
            if reason := unusable(data):
                raise DatasetNotFound(f"{data.title} has {reason}.")
        except DatasetNotFound as error:
            absent.append(str(error))
        else:
            called = stems[0] if len(stems) == 1 else name
            problems.append(problem_of(called, data, quick=settings.quick))
    if not problems:
        there = listed(found_datasets(folder), 20)
        hint = f"name some of {there} with --datasets, or " if there else ""
        raise DatasetNotFound(
            f"none of the paper's data sets was found{f' in {folder}' if folder else ''}; {hint}"
            "put NAME.npz files with X and y into a folder and name it with --data-dir."
        )
    return problems, absent


def unusable(data: Dataset) -> str:
    """What a set lacks for the table, if anything."""
    if data.y is None:
        return "no labels y, which the table needs"
    return "only one sample, which has no nearest neighbour" if len(data.X) < 2 else ""


def problem_of(name: str, data: Dataset, *, quick: bool) -> Problem:
    """A set, or some of its samples, with the paper's number of components or the one it means."""
    X, y, n_all = data.X, data.y, len(data.X)
    if quick and n_all > QUICK_SAMPLES:
        index = some_of(y, QUICK_SAMPLES)
        X, y = X[index], y[index]
    d = data.n_components or components_of_energy(X, ENERGY)
    d = min(d, X.shape[1], len(X) - 1)
    kept = data._replace(X=np.ascontiguousarray(X), y=np.asarray(y))
    return Problem(name, kept, d, n_all)


def some_of(y: Any, n: int) -> Any:
    """Indices of n samples, in order; of all classes alike where these are large enough."""
    counts = np.unique(y, return_counts=True)[1]
    # Both what is taken and what is left need a sample of every class.
    is_large = len(counts) <= min(n // 2, len(y) - n) and counts.min() > 1
    by_class = y if is_large else None
    chosen = train_test_split(np.arange(len(y)), train_size=n, random_state=0, stratify=by_class)[0]
    return np.sort(chosen)


def components_of_energy(X: Floats, energy: float) -> int:
    """How many principal components keep that part of the variance.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise_paper.experiments.table1 import components_of_energy
    >>> components_of_energy(np.diag([3.0, 2.0, 0.1]), 0.95)
    2
    """
    variances = np.linalg.svd(X - X.mean(axis=0), compute_uv=False) ** 2
    kept = np.cumsum(variances) / max(variances.sum(), np.finfo(float).tiny)
    return int(np.searchsorted(kept, energy * (1 - 1e-12)) + 1)


def tried(method: Method, n_samples: int, quick: bool) -> list[Parameters]:
    """The parameters of a grid that so many samples allow."""
    grid = [
        parameters for parameters in method.grid if parameters.get("n_neighbors", 0) < n_samples
    ]
    if not grid:
        grid = [{**method.grid[0], "n_neighbors": n_samples - 1}]
    if quick and len(grid) > QUICK_GRID:
        return [grid[i] for i in np.linspace(0, len(grid) - 1, QUICK_GRID, dtype=int)]
    return grid
