"""How far is a fit to landmarks from the fit to all samples? On simulated trees.

DRTree and SPL are fitted to a Dask array by `n_landmarks` of its rows, which then place all of
them. Here the same is done where all samples can be fitted, too, with the landmarks of branchwise
and with as many rows drawn uniformly. Writes results/landmarks.json and landmarks.md.

    python benchmarks/landmarks.py [--sizes 2000 10000 20000]
"""

import argparse
import json
import warnings
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from branchwise import SPL, DRTree
from branchwise.data.landmarks import choose_landmarks
from branchwise.datasets import make_tree
from branchwise.metrics import f1_branches, tree_correlation
from branchwise.trajectory import Trajectory

HERE = Path(__file__).parent
N_FEATURES, N_COMPONENTS, NOISE = 20, 5, 0.1
# Simulations of each size.
SEEDS = {2000: (0, 1, 2), 10_000: (0, 1), 20_000: (0,)}
N_LANDMARKS = (250, 1000, 5000)
# A binary tree has seven branches; of the second kind, the last holds one sample in two hundred.
KINDS = {"even": None, "rare tip": np.array([1.0] * 6 + [0.03])}
METHODS = {"DRTree": DRTree(N_COMPONENTS), "SPL": SPL(N_COMPONENTS, random_state=0)}
# Shorter twigs are cut off before branches are compared. A least share of the samples would not
# do: where every sample is a node, each twig has few, and what is left of the tree is a path. The
# length is the one of 0.1 to 0.6 that did best on fits to all of 2,000 and 5,000 samples of a
# simulation that is not among those below (seed 7).
LEAST_LENGTH = 0.3
SCORES = {
    "of the rare tip": ".1f",
    "Procrustes": ".3f",
    "error": ".3f",
    "error on the rare tip": ".3f",
    "tree correlation": ".3f",
    "F1 of branches": ".3f",
}


def aligned(Z: np.ndarray, target: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """Both centred and of unit size, the first turned onto the second, and their correlation."""
    Z, target = (points - points.mean(axis=0) for points in (Z, target))
    Z, target = Z / np.linalg.norm(Z), target / np.linalg.norm(target)
    U, s, Vt = np.linalg.svd(Z.T @ target)
    return s.sum() * Z @ U @ Vt, target, float(s.sum())


def against_full(Z: np.ndarray, full: np.ndarray, is_rare: np.ndarray) -> dict[str, float]:
    """How far points are from where the fit to all samples has them, relative to its spread."""
    moved, target, correlation = aligned(Z, full)
    squares = len(Z) * np.sum((moved - target) ** 2, axis=1)
    scores = {"Procrustes": correlation, "error": float(np.sqrt(squares.mean()))}
    if is_rare.any():
        scores["error on the rare tip"] = float(np.sqrt(squares[is_rare].mean()))
    return scores


def against_truth(model: Any, Z: np.ndarray, made: Any) -> dict[str, float]:
    """All samples on the learned tree, against where they were simulated."""
    found = Trajectory.from_estimator(model, points=Z)
    pruned = found.prune(min_length=LEAST_LENGTH)
    return {
        "tree correlation": tree_correlation(made, found),
        "F1 of branches": f1_branches(made, pruned),
    }


def run(n_samples: int, kind: str, seed: int, method: str) -> list[dict[str, Any]]:
    """One simulation, one method: the fit to all samples, and those to some."""
    made = make_tree(
        n_samples,
        N_FEATURES,
        topology="binary",
        noise=NOISE,
        weights=KINDS[kind],
        random_state=seed,
    )
    is_rare = (made.truth.edge == len(made.truth.edges) - 1) & (kind != "even")
    common = {"n_samples": n_samples, "data": kind, "seed": seed, "method": method}
    model = clone(METHODS[method]).fit(made.X)
    full = model.transform(made.X)
    truth = against_truth(model, full, made)
    if is_rare.any():
        truth["of the rare tip"] = int(is_rare.sum())
    runs = [common | {"n_landmarks": n_samples, "rows": "all", "scores": truth}]
    for n_landmarks in (n for n in N_LANDMARKS if n < n_samples):
        uniform = np.random.default_rng(seed).choice(n_samples, n_landmarks, replace=False)
        for rows, numbers in (
            ("landmarks", choose_landmarks(made.X, n_landmarks, random_state=seed)[1]),
            ("uniform", np.sort(uniform)),
        ):
            model = clone(METHODS[method]).fit(made.X[numbers])
            Z = model.transform(made.X)
            scores = against_full(Z, full, is_rare) | against_truth(model, Z, made)
            if is_rare.any():
                scores["of the rare tip"] = int(is_rare[numbers].sum())
            runs.append(common | {"n_landmarks": n_landmarks, "rows": rows, "scores": scores})
    return runs


def render(document: dict[str, Any]) -> str:
    """The page, from the results alone."""
    groups = defaultdict(list)
    for one in document["runs"]:
        key = (one["n_samples"], one["data"], one["method"], one["n_landmarks"], one["rows"])
        groups[key].append(one["scores"])
    seeds = ", ".join(f"{len(SEEDS[n])} of {n:,}" for n in document["sizes"])
    lines = [
        "# Landmarks against all samples",
        "",
        "Generated by `python benchmarks/landmarks.py` from `results/landmarks.json`. All data are",
        "simulated (`branchwise.datasets.make_tree`): binary trees of seven branches in "
        f"{N_FEATURES}",
        f"features with Gaussian noise of {NOISE}, the branches being about 1 long. There are",
        f"{seeds} samples, each with its own seed. The means are shown; of so few, small",
        "differences tell nothing. *Even*: samples in proportion to the",
        "length of a branch. *Rare tip*: one branch that ends in a tip has one sample in 200.",
        f"DRTree and SPL have {N_COMPONENTS} components and their defaults.",
        "",
        "*Landmarks* are the rows that `fit` chooses of a Dask array; *uniform* are as many rows",
        "drawn without regard to where they are. Then all samples are placed by `transform`.",
        "*Of the rare tip* is how many of the rows that were fitted lie on it.",
        "*Procrustes* is the correlation of their places with those of the fit to all samples,",
        "after the best rotation; *error* the root mean squared distance between the two, relative",
        "to the spread of the samples; on the rare tip, that of its samples alone. The last two",
        "columns compare with the simulated tree: `tree_correlation`, and `f1_branches` after",
        f"twigs shorter than {LEAST_LENGTH} have been cut off. That length was chosen on fits to",
        "all samples of another simulation, and is the same in all rows. It does not suit all of",
        "them: where the F1 is near that of a single branch, the cut has left a path. Cutting by a",
        "least share of the samples was tried first and did the same to other rows, those of many",
        "nodes. The F1 therefore says more about the cut than about the landmarks; the columns",
        "before it do not depend on any cut.",
        "",
    ]
    for method in METHODS:
        lines += [
            f"## {method}",
            "",
            f"| samples | data | fitted | rows | {' | '.join(SCORES)} |",
            "| ---: | --- | ---: | --- |" + " ---: |" * len(SCORES),
        ]
        for key, scores in groups.items():
            n_samples, kind, name, n_landmarks, rows = key
            if name != method:
                continue
            cells = [
                format(np.mean([one[score] for one in scores]), form) if score in scores[0] else ""
                for score, form in SCORES.items()
            ]
            lines.append(
                f"| {n_samples:,} | {kind} | {n_landmarks:,} | {rows} | {' | '.join(cells)} |"
            )
        lines.append("")
    return "\n".join(lines)


def main() -> None:
    """Measure, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SEEDS), choices=list(SEEDS))
    sizes = sorted(parser.parse_args().sizes)
    document: dict[str, Any] = {"sizes": [], "runs": []}
    warnings.simplefilter("ignore", ConvergenceWarning)
    for n_samples in sizes:
        document["sizes"].append(n_samples)
        for method in METHODS:
            for kind in KINDS:
                for seed in SEEDS[n_samples]:
                    print(f"{n_samples:,} samples, {method}, {kind}, seed {seed}", flush=True)
                    document["runs"] += run(n_samples, kind, seed, method)
        results = HERE / "results" / "landmarks.json"
        results.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
        (HERE / "landmarks.md").write_text(render(document), encoding="utf-8")


if __name__ == "__main__":
    main()
