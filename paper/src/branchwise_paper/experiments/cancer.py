"""Fig. 6 of the paper: the progression of breast cancer as a tree, by DDRTree."""

from itertools import pairwise
from typing import Any, NamedTuple

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.lines import Line2D
from scipy.stats import spearmanr

from branchwise._typing import Floats
from branchwise.datasets import Simulated, make_progression
from branchwise.datasets.progression import NORMAL
from branchwise.estimators import DDRTree
from branchwise.graph.placement import Placement, distances_between
from branchwise.pipeline import learn_trajectory
from branchwise.trajectory import Trajectory

from ..datasets import DatasetNotFound, fetch_metabric
from ._rows import markdown, shown, write_csv
from .cells import Cell, Computed, Result, compute
from .settings import DDRTREE_GAMMA, Check, Outcome, Settings

NAME = "cancer"
PAPER_COMPONENTS = 80
PAPER_TREE_WEIGHT = 5.0  # of each sample
SEED = 0
QUICK_NORMAL, QUICK_TUMOURS = 40, 360
# The path that the paper reads off its figure; basal tumours diverge from it.
PATH = (NORMAL, "normal-like", "luminal A", "luminal B", "HER2+")
ALONG = ("luminal A", "luminal B", "HER2+")
N_PAIRS = 4000
# Paths from the root part if they have less than this part of the shorter one in common.
COMMON = 0.9
COLORS = {
    NORMAL: "#222222",
    "normal-like": "#009e73",
    "luminal A": "#0072b2",
    "luminal B": "#56b4e9",
    "HER2+": "#cc79a7",
    "basal": "#d55e00",
    "other": "#bbbbbb",
}
# How files name the subtypes, without case and punctuation.
NAMES = {
    "normaltissue": NORMAL,
    "normalbreast": NORMAL,
    "adjacentnormal": NORMAL,
    "normal": "normal-like",
    "normallike": "normal-like",
    "luma": "luminal A",
    "luminala": "luminal A",
    "lumb": "luminal B",
    "luminalb": "luminal B",
    "her2": "HER2+",
    "her2enriched": "HER2+",
    "basal": "basal",
    "basallike": "basal",
}


class Samples(NamedTuple):
    """Expression and labels, and the truth if the samples are simulated."""

    X: Floats
    label: Any
    kind: str  # "real" or "simulated"
    source: str
    truth: Simulated | None


FITS: dict[str, dict[str, Any]] = {
    "the paper's: λ = 5·N, d = 80, a centre per sample": {
        "lam": PAPER_TREE_WEIGHT,
        "n_centers": None,
    },
    "λ = 5·N, d = 80, fewer centres": {"lam": PAPER_TREE_WEIGHT, "n_centers": "auto"},
    "ours: λ = 0.1·N, d = 80": {"lam": 0.1, "n_centers": "auto"},
    "ours: learn_trajectory": {"lam": None, "n_centers": "auto"},
}
PAPERS, _, OURS, _ = FITS


def run(settings: Settings) -> Outcome:
    """Fit, measure, draw."""
    samples = _samples(settings)
    data = {"X": samples.X, "label": samples.label}
    cells = [Cell(name, progression_tree, data, arguments) for name, arguments in FITS.items()]
    computed = dict(zip(FITS, compute(cells, settings, NAME), strict=True))
    rows = {name: _measured(done, samples) for name, done in computed.items()}
    header = ["tree", *next(iter(rows.values()))]
    write_csv(settings.out / f"{NAME}.csv", header, [[n, *r.values()] for n, r in rows.items()])
    _draw(samples, {"a": (PAPERS, computed[PAPERS]), "b": (OURS, computed[OURS])}, settings)
    return Outcome(
        NAME,
        f"Fig. 6: progression of breast cancer, by DDRTree{_tag(samples)}",
        _text(samples, rows, settings),
        _checks(samples, rows),
        [f"{NAME}.png", f"{NAME}.csv"],
    )


def _tag(samples: Samples) -> str:
    return "" if samples.kind == "real" else f" — {samples.kind}"


def _samples(settings: Settings) -> Samples:
    """METABRIC if it is there, else a simulation."""
    try:
        data = fetch_metabric(data_dir=settings.data_dir)
    except DatasetNotFound as error:
        settings.note(f"{NAME}: {error} A simulated progression takes its place.")
        size = (QUICK_NORMAL, QUICK_TUMOURS) if settings.quick else ()
        made = make_progression(*size, random_state=SEED)
        return Samples(made.X, made.label, "simulated", made.simulated.description, made.simulated)
    label = subtypes(data.y)
    if not (label == NORMAL).any():
        raise ValueError(
            f"no sample of METABRIC has the label {NORMAL!r}, where the progression has to start; "
            "give the samples of normal tissue that label in y."
        )
    X = data.X
    if settings.quick:
        some = np.random.default_rng(SEED).permutation(len(X))[: QUICK_NORMAL + QUICK_TUMOURS]
        X, label = X[some], label[some]
    return Samples(X, label, "real", data.source, None)


def subtypes(labels: Any) -> Any:
    """PAM50 subtypes by one name each; what is none of them is "other".

    Examples
    --------
    >>> from branchwise_paper.experiments.cancer import subtypes
    >>> subtypes(["LumA", "HER2-enriched", "NC", "normal tissue"]).tolist()
    ['luminal A', 'HER2+', 'other', 'normal tissue']
    """
    plain = ("".join(c for c in str(label).casefold() if c.isalnum()) for label in labels)
    return np.array([NAMES.get(name, "other") for name in plain])


# The cell


def progression_tree(X: Floats, label: Any, *, lam: float | None, n_centers: Any) -> Result:
    """A tree through the samples, rooted at normal tissue; ``lam`` is for each sample.

    None for ``lam`` is the setting of `learn_trajectory`.

    Examples
    --------
    >>> from branchwise.datasets import make_progression
    >>> from branchwise_paper.experiments.cancer import progression_tree
    >>> made = make_progression(20, 80, 30, random_state=0)
    >>> tree = progression_tree(made.X, made.label, lam=0.1, n_centers="auto")
    >>> tree["pseudotime"].shape, len(tree["edges"]) == len(tree["centers"]) - 1
    ((100,), True)
    """
    if lam is None:
        path = learn_trajectory(X, random_state=SEED)
        model = path.estimator_
    else:
        model = DDRTree(
            min(PAPER_COMPONENTS, *X.shape),
            n_centers=n_centers,
            lam=lam * len(X),
            gamma=DDRTREE_GAMMA,
            random_state=SEED,
        ).fit(X)
        path = Trajectory.from_estimator(model)
    path = path.rooted(labels=label, value=NORMAL)
    place, time = path.placement_, path.pseudotime_
    return {
        "embedding": model.embedding_[:, :3],
        "centers": path.nodes_[:, :3],
        "edges": path.edges_.astype(np.int64),
        "root": int(path.roots_[0]),
        "pseudotime": time,
        "n_tips": int((path.milestones_["kind"] == "tip").sum()),
        "diverging": diverging(place, time, label),
        "n_components": len(model.components_),
        "n_centers": len(model.centers_),
        "n_iter": int(model.n_iter_),
        "sigma": float(model.sigma_),
    }


def diverging(place: Placement, time: Floats, label: Any) -> float:
    """The share of pairs of a basal and a luminal or HER2+ tumour on different branches.

    The paths from the root to both have (t + t' − d)/2 in common, where t and t' are their lengths
    and d is the distance between the two along the tree. They are on different branches if that
    is less than nine tenths of the shorter path.
    """
    rng = np.random.default_rng(SEED)
    basal, others = np.flatnonzero(label == "basal"), np.flatnonzero(np.isin(label, ALONG))
    if not (len(basal) and len(others)):
        return float("nan")
    i, j = rng.choice(basal, N_PAIRS), rng.choice(others, N_PAIRS)
    common = (time[i] + time[j] - distances_between(place, i, j)) / 2
    return float(np.mean(common < COMMON * np.minimum(time[i], time[j]) - 1e-9 * time.max()))


# Numbers


def _measured(done: Computed, samples: Samples) -> dict[str, Any]:
    row: dict[str, Any] = {"components": None, "centers": None, "tips": None, "in order": None}
    row |= {"diverging": None, "spearman": None, **dict.fromkeys((*PATH, "basal"))}
    row |= {"seconds": done.seconds, "error": done.error}
    if done.error:
        return row
    found = done.result
    row |= {"components": found["n_components"], "centers": found["n_centers"]}
    row |= {"tips": found["n_tips"], "diverging": found["diverging"]}
    median = medians(found["pseudotime"], samples.label)
    row |= median | {"in order": in_order(median)}
    if samples.truth is not None:
        row["spearman"] = float(spearmanr(found["pseudotime"], samples.truth.pseudotime).statistic)
    return row


def medians(time: Floats, label: Any) -> dict[str, float]:
    """Median pseudotime of each stage, as a part of the latest sample's; NaN for absent ones."""
    scaled = time / max(float(time.max()), 1e-300)
    return {
        name: float(np.median(scaled[label == name])) if (label == name).any() else float("nan")
        for name in (*PATH, "basal")
    }


def in_order(median: dict[str, float]) -> int:
    """How many of the steps from normal tissue to HER2+ go forwards in time.

    Examples
    --------
    >>> from branchwise_paper.experiments.cancer import PATH, in_order
    >>> in_order(dict(zip(PATH, [0.0, 0.0, 0.3, 0.8, 0.7])))
    2
    """
    return sum(median[a] < median[b] for a, b in pairwise(PATH))


def _checks(samples: Samples, rows: dict[str, dict[str, Any]]) -> list[Check]:
    about = f"breast cancer ({samples.kind}, {len(samples.X):,} samples)"
    checks = []

    def add(name: str, field: str, claim: str, relation: str, bound: float) -> None:
        value = rows[name][field]
        claim = f"{name}: {claim}"
        checks.append(Check(claim, np.nan if value is None else value, relation, bound, about))

    for name in (PAPERS, OURS):
        add(name, "in order", "steps in order from normal tissue to HER2+", "==", len(PATH) - 1)
        add(name, "diverging", "share of basal and luminal pairs on different branches", ">=", 0.5)
        if samples.truth is not None:
            add(name, "spearman", "rank correlation of pseudotime with the true one", ">=", 0.9)
            add(
                name,
                "tips",
                "tips of the tree, normal tissue among them",
                "==",
                _true_tips(samples),
            )
    return checks


def _true_tips(samples: Samples) -> int:
    assert samples.truth is not None
    return int(np.count_nonzero(np.bincount(samples.truth.truth.edges.ravel()) == 1))


# Picture and text


def _draw(samples: Samples, panels: dict[str, tuple[str, Computed]], settings: Settings) -> None:
    figure = plt.figure(figsize=(13, 6.4), layout="constrained")
    present = [name for name in COLORS if (samples.label == name).any()]
    for k, (letter, (name, done)) in enumerate(panels.items()):
        if done.error:
            continue
        ax = figure.add_subplot(1, len(panels), k + 1, projection="3d", computed_zorder=False)
        points, nodes = done.result["embedding"], done.result["centers"]
        shuffled = np.random.default_rng(0).permutation(len(points))
        colors = np.array([COLORS[label] for label in samples.label])
        ax.scatter(*points[shuffled].T, c=colors[shuffled], s=7, linewidths=0, alpha=0.75)
        edges = done.result["edges"]
        # One line with gaps: NaN between an edge and the next.
        gaps = np.full((len(edges), 1, 3), np.nan)
        lines = np.concatenate([nodes[edges], gaps], axis=1).reshape(-1, 3)
        ax.plot(*lines.T, color="black", linewidth=1.3, zorder=5)
        root = nodes[done.result["root"]]
        ax.scatter(*root, s=130, facecolors="none", edgecolors="black", linewidths=1.6, zorder=6)
        ax.set(xticklabels=[], yticklabels=[], zticklabels=[])
        ax.set(xlabel="component 1", ylabel="component 2", zlabel="component 3")
        ax.xaxis.labelpad = ax.yaxis.labelpad = ax.zaxis.labelpad = -10
        ax.view_init(elev=24, azim=-60)
        ax.set_title(f"({letter}) {name}{_tag(samples)}", fontsize=11)
    handles = [
        Line2D([], [], linestyle="none", marker="o", markersize=6, color=COLORS[name])
        for name in present
    ]
    handles.append(
        Line2D([], [], linestyle="none", marker="o", markersize=9, mfc="none", color="black")
    )
    counts = [f"{name} ({np.count_nonzero(samples.label == name):,})" for name in present]
    figure.legend(handles, [*counts, "root"], loc="outside lower center", ncols=7, fontsize=9)
    figure.savefig(settings.out / f"{NAME}.png", dpi=110 if settings.quick else 200)
    plt.close(figure)


def _text(samples: Samples, rows: dict[str, dict[str, Any]], settings: Settings) -> str:
    parts = [
        "The paper prints the tree that DDRTree learns from 359 genes of 144 samples of normal "
        "tissue and 1,989 breast tumours (METABRIC), with λ = 5·N and d = 80, which keep 90 % of "
        "the energy: from normal tissue to luminal A, luminal B and HER2+, with side branches "
        "of both luminal subtypes, and basal tumours diverging. It prints no number."
    ]
    if samples.kind != "real":
        parts.append(
            "**These samples are simulated** (`branchwise.datasets.make_progression`): the "
            "patients' data are given on request only. The simulation has the progression that the "
            "paper describes built into it, so that finding it here says that the method can, "
            "not that breast cancer is so. Its noise was set such that 80 components keep 90 % "
            "of the energy, before any tree was learned, and was not changed after."
        )
    if settings.quick:
        parts.append("This is a quick run, with fewer samples.")
    parts.append(f"![Progression of breast cancer{_tag(samples)}]({NAME}.png)")
    fields = ["centers", "tips", "in order", "diverging", "spearman", *PATH[1:], "basal"]
    header = ["tree", "centres", "tips", "steps in order", "basal apart from luminal"]
    header += ["rank correlation with true time", *(f"time of {n}" for n in (*PATH[1:], "basal"))]
    keep = [k for k, field in enumerate(fields) if field != "spearman" or samples.truth is not None]
    table = [[name, *(row[fields[k]] for k in keep)] for name, row in rows.items()]
    parts.append(markdown([header[0], *(header[k + 1] for k in keep)], table))
    parts.append(
        "Times are medians of pseudotime from normal tissue, as parts of the latest sample's. "
        f"Steps in order are those of {' → '.join(PATH)} that go forwards in time, of "
        f"{len(PATH) - 1}. Basal is apart from luminal for pairs whose paths from the root have "
        f"less than {COMMON:.0%} of the shorter one in common." + _truth_words(samples)
    )
    papers, ours = rows[PAPERS], rows[OURS]
    parts.append(
        f"With the paper's parameters {shown(papers['in order'])} steps are in order, "
        f"{shown(papers['diverging'])} of the pairs are apart and the tree has "
        f"{shown(papers['tips'])} tips. λ = 5·N is heavy: with fewer centres than samples "
        f"{shown(list(rows.values())[1]['tips'])} tips are left. With λ = 0.1·N "
        f"{shown(ours['in order'])} steps are in order, {shown(ours['diverging'])} "
        f"of the pairs are apart and there are {shown(ours['tips'])} tips; `learn_trajectory` has "
        f"{shown(list(rows.values())[3]['tips'])}; its setting was found on noise of equal size in "
        "all components, which is not the case here."
    )
    parts.append(f"All numbers: [{NAME}.csv]({NAME}.csv). Source: {samples.source}.")
    return "\n\n".join(parts)


def _truth_words(samples: Samples) -> str:
    """What the same numbers are on the true tree."""
    if samples.truth is None:
        return ""
    truth = samples.truth
    share = diverging(truth.truth, truth.pseudotime, samples.label)
    return (
        f" On the true tree, with {_true_tips(samples)} tips and labels of which some are "
        f"wrong, {share:.3f} of the pairs are apart, the most that can be expected; the checks, "
        "whose bounds are ours, ask for half of all."
    )
