"""What an answer is judged by: sets with a known truth, tables without a tree, and the scores.

The sets lie in the folder that BRANCHWISE_DATA names, as `tree_NAME.npz` and `sc_NAME.npz`, and are
never part of the project; trees that `make_tree` simulates count as any other set.
"""

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.stats import spearmanr
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import adjusted_rand_score

from branchwise.datasets import make_tree
from branchwise.graph.placement import Placement

N_BINS = 100
# Where labels are no more than branches, samples of so early a part of the time are the start.
START = 0.1


@dataclass(frozen=True)
class Set:
    """Samples, and what is known of them."""

    name: str
    X: np.ndarray
    label: np.ndarray  # stage, type or branch of each sample
    lineages: list[list[str]]  # ordered labels of each lineage, the last its fate
    tips: int  # of the true tree; 0: not known
    root: str  # a label
    time: np.ndarray  # NaN where it is not known
    branch: np.ndarray  # "" where it is not known
    real: bool
    source: str

    @property
    def is_root(self) -> np.ndarray:
        """The samples that time starts at."""
        return self.label == self.root


class Answer(NamedTuple):
    """What a method says of the samples."""

    pseudotime: np.ndarray  # (n_samples,), from the root; NaN for samples that it leaves out
    branch: np.ndarray  # (n_samples,) labels
    tips: int
    placement: Placement | None  # None: the method has no tree that samples lie on


# Loading


def load_sets(folder: Path | None = None) -> list[Set]:
    """All sets of the folder, and some simulated ones."""
    if folder is None and "BRANCHWISE_DATA" not in os.environ:
        raise SystemExit("Name the folder of the sets tree_*.npz in BRANCHWISE_DATA.")
    folder = folder or Path(os.environ["BRANCHWISE_DATA"])
    paths = sorted(folder.glob("tree_*.npz"))
    sets = [tree_set(path) for path in paths if "lineages" in np.load(path).files]
    sets += [load(folder / f"sc_{name}.npz") for name, load in CELLS.items()]
    return sets + [simulated(*case) for case in SIMULATED]


def tree_set(path: Path) -> Set:
    """A set that says itself what is known."""
    data = np.load(path)
    return Set(
        path.stem,
        data["X"].astype(float),
        data["label"].astype(str),
        json.loads(str(data["lineages"])),
        int(data["tips"]),
        str(data["root"]),
        data["time"].astype(float),
        data["branch"].astype(str),
        bool(data["real"]),
        str(data["source"]),
    )


def cells(path: Path, X: np.ndarray, label: np.ndarray, lineages: str, tips: int, **known) -> Set:
    """A set of cells; a lineage is written as its labels with arrows."""
    n = len(X)
    ways = [way.split(" > ") for way in lineages.split(", ")]
    told = {"time": np.full(n, np.nan), "branch": np.full(n, ""), "real": True, **known}
    source = str(np.load(path)["source"])
    return Set(path.stem, X, label, ways, tips, ways[0][0], source=source, **told)


def lung(path: Path) -> Set:
    """Cells of the lung by age; more than one type of cell grows, how many tips is not known."""
    data = np.load(path)
    X = np.log1p(data["X"].astype(float))
    return cells(path, X, data["time"].astype(str), "E14.5 > E16.5 > E18.5 > Adult", 0)


# The names that lineages use for types of the cells of blood.
BLOOD = {
    "Multipotent progenitors": "MPP",
    "Erythrocyte": "Ery",
    "Monocytes": "Mono",
    "Neutrophils": "Neu",
}


def blood(path: Path) -> Set:
    """Cells of blood by type: counts as parts of their total, and logarithms."""
    data = np.load(path)
    counts = data["X"].astype(float)
    totals = counts.sum(axis=1, keepdims=True)
    X = np.log1p(counts / totals * np.median(totals))
    kinds = data["celltype"].astype(str)
    label = np.array([BLOOD.get(kind, kind) for kind in kinds])
    return cells(path, X, label, "MPP > Ery, MPP > GMP > Mono, MPP > GMP > Neu", 0)


def krumsiek(path: Path) -> Set:
    """Simulated cells of blood; the time is the step of the simulation."""
    data = np.load(path)
    label, step = data["celltype"].astype(str), data["step"].astype(float)
    label = np.where(step < START * step.max(), "start", label)
    ways = ", ".join(f"start > progenitor > {fate}" for fate in ("Mo", "Neu", "Ery", "Mk"))
    return cells(path, data["X"].astype(float), label, ways, 5, time=step, real=False)


CELLS = {"lung": lung, "paul240": blood, "krumsiek11": krumsiek}
# Topology, number of samples, noise.
SIMULATED = (("linear", 600, 0.1), ("bifurcation", 800, 0.15), ("binary", 1000, 0.1))


def simulated(topology: str, n_samples: int, noise: float) -> Set:
    """A tree of our own simulator: one of many."""
    data = make_tree(n_samples, 50, topology=topology, noise=noise, curvature=1.0, random_state=1)
    ends = [f"{data.names[a]}-{data.names[b]}" for a, b in data.truth.edges]
    way_to = {data.root: []}
    for (a, b), name in zip(data.truth.edges.tolist(), ends, strict=True):
        way_to[b] = [*way_to[a], name]
    tips = [node for node in way_to if np.sum(data.truth.edges == node) == 1]
    branch = np.array(ends)[data.truth.edge]
    return Set(
        f"make_tree_{topology}",
        data.X,
        np.where(data.pseudotime < START * data.pseudotime.max(), "start", branch),
        [["start", *way_to[tip]] for tip in tips if tip != data.root],
        len(tips),
        "start",
        data.pseudotime,
        branch,
        False,
        data.description,
    )


# Tables without a tree


def nulls(n_draws: int, n_samples: int = 600, n_features: int = 30) -> Iterator[tuple]:
    """Kind, number and samples of tables in which nothing branches."""
    for kind, draw in NULLS.items():
        for number in range(n_draws):
            rng = np.random.default_rng([number, *kind.encode()])
            yield kind, number, draw(rng, n_samples, n_features)


def round_cloud(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    """The same spread in all directions."""
    return rng.normal(size=(n, d))


def long_cloud(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    """Direction k has a standard deviation of 1/k."""
    return rng.normal(size=(n, d)) / np.arange(1, d + 1)


def shuffled(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    """A real table (tumours), each column in an order of its own."""
    X = load_breast_cancer().data
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    return np.column_stack([rng.permutation(column) for column in X.T])


def disk(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    """Even on a disk that is turned into space, with a little noise."""
    radius, angle = np.sqrt(rng.uniform(size=n)), rng.uniform(0, 2 * np.pi, n)
    flat = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
    return flat @ axes(rng, 2, d) + 0.01 * rng.normal(size=(n, d))


def curve(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    """Even along three quarters of a circle that rises, with noise."""
    t = rng.uniform(size=n)
    way = np.column_stack([np.cos(1.5 * np.pi * t), np.sin(1.5 * np.pi * t), t])
    return way @ axes(rng, 3, d) + 0.1 * rng.normal(size=(n, d))


def box(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    """Even in a flat box of three dimensions, with noise."""
    return rng.uniform(-1, 1, (n, 3)) * [2, 1, 0.5] @ axes(rng, 3, d) + 0.05 * rng.normal(
        size=(n, d)
    )


def axes(rng: np.random.Generator, k: int, d: int) -> np.ndarray:
    """Orthonormal rows."""
    return np.linalg.qr(rng.normal(size=(d, k)))[0].T


NULLS = {
    "round Gaussian": round_cloud,
    "long Gaussian": long_cloud,
    "shuffled columns": shuffled,
    "disk": disk,
    "curve": curve,
    "box": box,
}


# Scores


def score(known: Set, answer: Answer) -> dict[str, float]:
    """How well an answer fits what is known; NaN where nothing is known."""
    return {
        "rho": order(known, answer.pseudotime),
        "F1": branches(known, answer.branch),
        "ARI": types(known, answer.branch),
        "tips": float(answer.tips),
        "dtips": abs(answer.tips - known.tips) if known.tips else np.nan,
        "eff": evenness(answer.placement) if answer.placement is not None else np.nan,
    }


def order(known: Set, pseudotime: np.ndarray) -> float:
    """Rank correlation with time or stage, along each lineage: their mean."""
    found = []
    for lineage in known.lineages:
        stage = {label: number for number, label in enumerate(lineage)}
        rows = np.flatnonzero(np.isin(known.label, lineage))
        true = known.time[rows]
        if np.isnan(true).any():
            true = np.array([stage[label] for label in known.label[rows]], dtype=float)
        found.append(rank_correlation(true, pseudotime[rows]))
    return float(np.mean(found))


def rank_correlation(a: np.ndarray, b: np.ndarray) -> float:
    """Spearman's; 0 if one of them is constant, and samples without a time are last."""
    b = np.where(np.isfinite(b), b, np.inf)
    if np.ptp(a) == 0 or (b == b[0]).all():
        return 0.0
    return float(spearmanr(a, b).statistic)


def judged(known: Set) -> tuple[np.ndarray, np.ndarray]:
    """Rows with a true branch, or where none is known with a fate, and these."""
    if (known.branch != "").all():
        return np.arange(len(known.X)), known.branch
    rows = np.flatnonzero(np.isin(known.label, [lineage[-1] for lineage in known.lineages]))
    return rows, known.label[rows]


def branches(known: Set, branch: np.ndarray) -> float:
    """F1 of the Jaccard similarities of true and found branches, each with its best match."""
    rows, true = judged(known)
    similarity = jaccard(true, branch[rows])
    recovery, relevance = similarity.max(axis=1).mean(), similarity.max(axis=0).mean()
    return float(2 * recovery * relevance / (recovery + relevance))


def jaccard(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Similarity of every group of a to every group of b."""
    in_a = np.unique(a)[:, None] == a
    in_b = np.unique(b)[:, None] == b
    both = in_a.astype(float) @ in_b.T
    return both / (in_a.sum(axis=1)[:, None] + in_b.sum(axis=1) - both)


def types(known: Set, branch: np.ndarray) -> float:
    """Adjusted Rand index of true and found branches."""
    rows, true = judged(known)
    return float(adjusted_rand_score(true, branch[rows]))


def evenness(placement: Placement) -> float:
    """Perplexity of the samples over bins of 1 % of the tree's length: 100 if they are even."""
    lengths = placement.lengths
    start = np.concatenate([[0.0], np.cumsum(lengths)])
    if start[-1] == 0:
        return 1.0
    at = start[placement.edge] + placement.position * lengths[placement.edge]
    bins = np.minimum((N_BINS * at / start[-1]).astype(int), N_BINS - 1)
    share = np.bincount(bins) / len(bins)
    share = share[share > 0]
    return float(np.exp(-np.sum(share * np.log(share))))
