"""Does `branchwise.select` choose well? On simulated data whose structure is known.

For every data set: the parameters that `select` chooses from its default grid, and the error of the
fit with these, with the estimator's defaults, and with the best combination of the grid, which
nobody can know without the truth. Writes results/selection.json and selection.md.

    python benchmarks/selection.py [--only spl|ddrtree]
"""

import argparse
import json
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import ParameterGrid

from branchwise import SPL, DDRTree, select
from branchwise.graph import count_branches
from branchwise.model_selection import default_grid
from data import branching, true_tree_distances
from measures import tree_correlation

HERE = Path(__file__).parent
N_SAMPLES = 300
N_TREE_SAMPLES = 600
SEEDS = (0, 1)
TREE_SEEDS = (0, 1, 2, 3)


def ring(rng: np.random.Generator, n: int) -> np.ndarray:
    """A circle of radius 3."""
    t = rng.uniform(0, 2 * np.pi, n)
    return np.column_stack([3 * np.cos(t), 3 * np.sin(t)])


def space_curve(rng: np.random.Generator, n: int) -> np.ndarray:
    """A curve that needs three dimensions."""
    t = rng.uniform(0, 1, n)
    return np.column_stack([3 * np.cos(4 * t), 3 * np.sin(4 * t), 2 * np.cos(8 * t)])


def star(rng: np.random.Generator, n: int) -> np.ndarray:
    """Three straight branches of length 4 in a plane."""
    angle = np.deg2rad([90, 210, 330])[rng.integers(3, size=n)]
    return 4 * rng.uniform(size=(n, 1)) * np.column_stack([np.cos(angle), np.sin(angle)])


CURVES = {"ring": (ring, 2), "space curve": (space_curve, 3), "star": (star, 2)}


def spl_case(name: str, noise: float, seed: int) -> dict[str, Any]:
    """One choice for SPL, with 8 features; the error is the distance from the noise-free points."""
    make, dimension = CURVES[name]
    rng = np.random.default_rng(seed)
    clean = make(rng, N_SAMPLES)
    clean = np.hstack([clean, np.zeros((N_SAMPLES, 8 - clean.shape[1]))])
    X = clean + noise * rng.normal(size=clean.shape)

    def error(model: SPL) -> float:
        fitted = model.skeleton_ @ model.components_ + model.mean_
        return float(np.sqrt(np.mean(np.sum((fitted - clean) ** 2, axis=1))))

    return compare(SPL(tol=1e-3, max_iter=100), X, error) | {
        "data": name,
        "noise": noise,
        "seed": seed,
        "dimension": dimension,
    }


def ddrtree_case(n_branches: int, noise: float, seed: int) -> dict[str, Any]:
    """One choice for DDRTree, with 20 features, as many components as branches.

    The error is one minus the correlation of distances along the tree with the true ones.
    """
    simulated = branching(N_TREE_SAMPLES, 20, noise, n_branches, seed)
    rows = np.arange(0, N_TREE_SAMPLES, 2)
    true = true_tree_distances(simulated.truth, rows)

    def error(model: DDRTree) -> float:
        nodes = model.centers_ @ model.components_ + model.mean_
        edges = np.column_stack(sparse.triu(model.tree_).nonzero())
        return 1 - tree_correlation(simulated.X[rows], nodes, edges, true)["pearson"]

    estimator = DDRTree(n_branches, random_state=0)
    result = compare(estimator, simulated.X, error, lambda model: count_branches(model.tree_).tips)
    return result | {
        "data": f"{n_branches} branches",
        "noise": noise,
        "seed": seed,
        "tips": n_branches,
    }


def compare(estimator: Any, X: np.ndarray, error: Any, count: Any = None) -> dict[str, Any]:
    """Errors of the chosen, the default and the best combination."""
    start = time.perf_counter()
    selection = select(estimator, X, n_jobs=-1)
    seconds = time.perf_counter() - start
    default = clone(estimator).fit(X)
    errors = []
    for parameters in ParameterGrid(default_grid(estimator, X)):
        errors.append(error(clone(estimator).set_params(**parameters).fit(X)))
    index = selection.best_index_
    result = {
        "chosen": selection.best_params_,
        "noise found": float(selection.results_["noise"][index]),
        "error chosen": error(selection.best_estimator_),
        "error default": error(default),
        "error best": min(errors),
        "error median": float(np.median(errors)),
        "seconds": seconds,
    }
    if count is not None:
        result |= {"tips chosen": count(selection.best_estimator_), "tips default": count(default)}
    if isinstance(estimator, SPL):
        loo = [
            clone(estimator).set_params(**parameters).fit(X).loo_log_likelihood_.mean()
            for parameters in ParameterGrid({**default_grid(estimator, X), "C": [1e3]})
        ]
        grid = list(ParameterGrid({**default_grid(estimator, X), "C": [1e3]}))
        result["dimension by leave-one-out"] = grid[int(np.argmax(loo))]["n_components"]
    return result


def render(cases: list[dict[str, Any]]) -> str:
    """The page, from the results alone."""
    spl = [case for case in cases if "dimension" in case]
    trees = [case for case in cases if "tips" in case]
    lines = [
        "# Does `branchwise.select` choose well?",
        "",
        "Generated by `python benchmarks/selection.py` from `results/selection.json`. All data are",
        "simulated, so that the truth is known. The default grid is searched; *best* is the",
        "smallest error of any combination in it, *median* that of one drawn blindly.",
        "",
        f"## SPL ({N_SAMPLES} samples, 8 features)",
        "",
        "Error: root mean squared distance of the fitted skeleton from the noise-free samples.",
        "",
        "| data | noise | seed | dimension: true, chosen, by leave-one-out given S | noise found "
        "| n_neighbors | gamma | C | error chosen | default | median | best | seconds |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for case in spl:
        chosen = case["chosen"]
        lines.append(
            f"| {case['data']} | {case['noise']} | {case['seed']} | {case['dimension']}, "
            f"{chosen['n_components']}, {case['dimension by leave-one-out']} "
            f"| {case['noise found']:.3f} | {chosen['n_neighbors']} | {chosen['gamma']:g} "
            f"| {chosen['C']:g} | {errors_of(case)} | {case['seconds']:.0f} |"
        )
    right = sum(case["chosen"]["n_components"] == case["dimension"] for case in spl)
    by_loo = sum(case["dimension by leave-one-out"] == case["dimension"] for case in spl)
    lines += [
        "",
        f"The dimension is right in {right} of {len(spl)} cases (by `loo_log_likelihood_` alone, "
        f"whose graph has seen the sample left out, in {by_loo}). {summary(spl)}",
        "",
        f"## DDRTree ({N_TREE_SAMPLES} samples, 20 features, as many components as branches)",
        "",
        "Error: one minus the correlation of distances along the tree with the true ones.",
        "",
        "| data | noise | seed | tips: true, chosen, default | noise found | n_centers | lam/N "
        "| error chosen | default | median | best | seconds |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for case in trees:
        chosen = case["chosen"]
        lines.append(
            f"| {case['data']} | {case['noise']} | {case['seed']} | {case['tips']}, "
            f"{case['tips chosen']}, {case['tips default']} | {case['noise found']:.3f} "
            f"| {chosen['n_centers']} | {chosen['lam'] / N_TREE_SAMPLES:g} "
            f"| {errors_of(case)} | {case['seconds']:.0f} |"
        )
    right = sum(case["tips chosen"] == case["tips"] for case in trees)
    usual = sum(case["tips default"] == case["tips"] for case in trees)
    lines += [
        "",
        f"The number of tips is right in {right} of {len(trees)} cases (with default parameters in "
        f"{usual}). {summary(trees)}",
        "",
    ]
    return "\n".join(lines)


KINDS = ("chosen", "default", "median", "best")


def errors_of(case: dict[str, Any]) -> str:
    """The four errors as cells of a table."""
    return " | ".join(f"{case[f'error {kind}']:.3f}" for kind in KINDS)


def summary(cases: list[dict[str, Any]]) -> str:
    """How the chosen fits compare with the others."""
    ratio = [case["error chosen"] / case["error best"] for case in cases]
    better = sum(case["error chosen"] <= case["error default"] for case in cases)
    return (
        f"The error of the choice is {np.median(ratio):.2f} times the best in the median and "
        f"{max(ratio):.2f} times at worst; it is no larger than with default parameters in "
        f"{better} of {len(cases)}."
    )


def run_spl() -> list[dict[str, Any]]:
    """All cases of SPL."""
    return [
        spl_case(name, noise, seed) for name in CURVES for noise in (0.1, 0.3) for seed in SEEDS
    ]


def run_ddrtree() -> list[dict[str, Any]]:
    """All cases of DDRTree."""
    return [
        ddrtree_case(n_branches, noise, seed)
        for n_branches, noise in ((3, 0.25), (5, 0.25), (5, 0.4))
        for seed in TREE_SEEDS
    ]


def main() -> None:
    """Run the cases, all or those of one estimator, and write the results and the page."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", choices=["spl", "ddrtree"], help="keep the other's results")
    only = parser.parse_args().only
    warnings.simplefilter("ignore", ConvergenceWarning)
    warnings.filterwarnings("ignore", message="No edge is active")
    path = HERE / "results" / "selection.json"
    known = json.loads(path.read_text("utf-8")) if only else []
    spl = [case for case in known if "dimension" in case] if only == "ddrtree" else run_spl()
    trees = [case for case in known if "tips" in case] if only == "spl" else run_ddrtree()
    path.write_text(json.dumps(spl + trees, indent=1) + "\n", "utf-8")
    (HERE / "selection.md").write_text(render(spl + trees), "utf-8")


if __name__ == "__main__":
    main()
