"""Fig. 4 of the paper: the turning teapot as a principal curve, by DDRTree."""

from typing import Any, NamedTuple

import matplotlib.pyplot as plt
import numpy as np
from scipy.sparse.csgraph import depth_first_order

from branchwise._typing import Floats, Ints
from branchwise.estimators import DDRTree
from branchwise.graph import adjacency, euclidean_spanning_tree
from branchwise.metrics import skeleton_smoothness
from branchwise.plotting import plot_adjacency

from ..baselines import CLUHSIC
from ..datasets import Dataset, fetch_teapot
from ._images import (
    TEAPOT,
    TEAPOT_PIXELS,
    consecutive,
    draw_images,
    image_kernel,
    of_size,
    pixels,
    rgb,
    rotation,
    standardised,
    turn_agreement,
)
from ._rows import markdown, write_csv
from .cells import Cell, Computed, Result, compute
from .settings import DDRTREE_GAMMA, Check, Outcome, Settings

NAME = "teapot"
TITLE = "Fig. 4: the teapot's principal curve, by DDRTree"
ENERGY = 0.95  # that the paper's 36 components keep of 400 frames
PAPER_COMPONENTS = 36
PAPER_TREE_WEIGHT = 0.1  # of each frame
STEP = 30 / 400  # of a turn between two frames that are drawn
QUICK_FRAMES = 50
# CLUHSIC: labels on a ring, with its defaults, and in the setting that its docstring advises for
# objects whose back looks like their front.
N_LABELS = 10
RIVALS = {"CLUHSIC": (0.0, 1.0), "CLUHSIC, narrower kernels": (1.0, 3.0)}


class Fitted(NamedTuple):
    """What to fit: the graph, its weight for each frame, and the number of components."""

    structure: str
    weight: float
    n_components: float

    @property
    def name(self) -> str:
        """For tables."""
        kept = f"{self.n_components:.0%}" if self.n_components < 1 else f"{self.n_components}"
        return f"{self.structure}, λ = {self.weight:g}·N, d = {kept}"


PAPERS = Fitted("tree", PAPER_TREE_WEIGHT, ENERGY)
RING = Fitted("ring", PAPER_TREE_WEIGHT, ENERGY)
CURVE = Fitted("curve", PAPER_TREE_WEIGHT, ENERGY)
HEAVY = Fitted("tree", 1.0, ENERGY)
FITS = (PAPERS, Fitted("tree", PAPER_TREE_WEIGHT, PAPER_COMPONENTS), HEAVY, CURVE, RING)


def run(settings: Settings) -> Outcome:
    """Fit, measure, draw."""
    data = fetch_teapot(data_dir=settings.data_dir)
    X = pixels(of_size(data, TEAPOT_PIXELS))[np.argsort(rotation(data), kind="stable")]
    if settings.quick and len(X) > QUICK_FRAMES:
        X = X[:: -(-len(X) // QUICK_FRAMES)]
    kernel = image_kernel(X)
    fits = [fit for fit in FITS if fit.n_components < len(X)]
    cells = [Cell(fit.name, principal_graph, {"kernel": kernel}, fit._asdict()) for fit in fits]
    computed = dict(zip(fits, compute(cells, settings, NAME), strict=True))
    rows = {fit: _measured(fit, done, len(X)) for fit, done in computed.items()}
    rivals = [
        Cell(name, ring_labels, {"X": X}, {"width": width, "narrower": narrower})
        for name, (width, narrower) in RIVALS.items()
    ]
    labels = dict(zip(RIVALS, compute(rivals, settings, NAME), strict=True))
    turns = _turns(computed[RING], labels)
    before = {
        "images": euclidean_spanning_tree(standardised(X)),
        "rows of the kernel matrix": euclidean_spanning_tree(kernel),
    }
    smooth = _smoothness(kernel, computed)
    _draw(X, {fit: computed[fit] for fit in (PAPERS, RING)}, labels, settings)
    header = list(rows[PAPERS])
    write_csv(settings.out / f"{NAME}.csv", header, [list(row.values()) for row in rows.values()])
    text = _text(data, X, rows, before, smooth, turns, settings)
    return Outcome(
        NAME, TITLE, text, _checks(data, rows, smooth, len(X)), [f"{NAME}.png", f"{NAME}.csv"]
    )


def principal_graph(
    kernel: Floats, *, structure: str, weight: float, n_components: float
) -> Result:
    """DDRTree with one centre per frame on the rows of a kernel matrix.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise_paper.experiments.teapot import principal_graph
    >>> t = np.linspace(0, 1, 12)
    >>> kernel = np.exp(-((t[:, None] - t) ** 2) / 0.1)
    >>> found = principal_graph(kernel, structure="tree", weight=0.1, n_components=3)
    >>> found["edges"].tolist()[:3]
    [[0, 1], [1, 2], [2, 3]]
    """
    model = DDRTree(
        n_components,
        n_centers=None,
        lam=weight * len(kernel),
        gamma=DDRTREE_GAMMA,
        structure=structure,
        kernel="precomputed",
    ).fit(kernel)
    edges = np.column_stack(model.tree_.nonzero())
    return {
        "embedding": model.embedding_[:, :3],
        "centers": model.centers_[:, :3],
        "edges": edges[edges[:, 0] < edges[:, 1]].astype(np.int64),
        "n_components": len(model.components_),
        "sigma": float(model.sigma_),
        "gamma": float(model.gamma_),
        "n_iter": int(model.n_iter_),
        "converged": bool(model.converged_),
    }


def ring_labels(X: Floats, *, width: float, narrower: float) -> Result:
    """CLUHSIC's labels of the frames, and the frames in kernel principal components.

    Labels d steps apart have the similarity exp(−d²/(2·width²)) or, for a width of 0, that of
    CLUHSIC's own ring.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise_paper.experiments.teapot import ring_labels
    >>> turn = 2 * np.pi * np.arange(40) / 40
    >>> X = np.column_stack([np.cos(turn), np.sin(turn)])
    >>> len(set(ring_labels(X, width=0.0, narrower=1.0)["labels"].tolist()))
    10
    """
    away = np.abs(np.subtract.outer(np.arange(N_LABELS), np.arange(N_LABELS)))
    away = np.minimum(away, N_LABELS - away)
    model = CLUHSIC(
        N_LABELS,
        label_kernel=np.exp(-(away**2) / (2 * width**2)) if width else "ring",
        gamma=narrower / X.shape[1],
        n_components=min(3, X.shape[1]),
        random_state=0,
    ).fit(standardised(X))
    return {"labels": model.labels_.astype(np.int64), "embedding": model.embedding_}


def _turns(ring: Computed, labels: dict[str, Computed]) -> dict[str, float]:
    """That of our ring and of CLUHSIC's labels."""
    places = {
        name: done.result["labels"] / N_LABELS for name, done in labels.items() if not done.error
    }
    if not ring.error:
        edges, n = ring.result["edges"], len(ring.result["centers"])
        order, _ = depth_first_order(adjacency(edges, n), 0, directed=False)
        places = {'DDRTree, structure="ring"': np.argsort(order) / n, **places}
    return {name: turn_agreement(2 * np.pi * place) for name, place in places.items()}


def _smoothness(kernel: Floats, computed: dict[Fitted, Computed]) -> dict[str, float]:
    """Of the learned graphs, and of the frames in their order in kernel principal components."""
    n = len(kernel)
    centred = kernel - kernel.mean(axis=0)
    basis, values, _ = np.linalg.svd(centred, full_matrices=False)
    chain = np.column_stack([np.arange(n - 1), np.arange(1, n)])
    graphs = {"projection": (chain, (basis * values)[:, :3])}
    for fit, done in computed.items():
        if not done.error:
            graphs[fit.name] = done.result["edges"], done.result["centers"]
    return {
        name: skeleton_smoothness(adjacency(edges, n), points).mean
        for name, (edges, points) in graphs.items()
    }


def _measured(fit: Fitted, done: Computed, n: int) -> dict[str, Any]:
    row: dict[str, Any] = {"graph": fit.name, "components": None, "edges": None}
    row |= {"consecutive": None, "largest degree": None, "tips": None, "iterations": None}
    row |= {
        "other edges": None,
        "sigma": None,
        "gamma": None,
        "seconds": done.seconds,
        "error": done.error,
    }
    if not done.error:
        edges = done.result["edges"]
        degree = np.bincount(edges.ravel(), minlength=n)
        row |= {"components": done.result["n_components"], "edges": len(edges)}
        row |= {"consecutive": consecutive(edges, n), "largest degree": int(degree.max())}
        row |= {"tips": int(np.count_nonzero(degree == 1)), "iterations": done.result["n_iter"]}
        others = [pair for pair in edges.tolist() if not consecutive(np.array([pair]), n)]
        row["other edges"] = ", ".join(f"{i} and {j}" for i, j in others)
        row |= {"sigma": done.result["sigma"], "gamma": done.result["gamma"]}
    return row


def _checks(
    data: Dataset, rows: dict[Fitted, dict[str, Any]], smooth: dict[str, float], n: int
) -> list[Check]:
    about, nan = f"{data.title} ({data.kind}, {n} frames)", float("nan")
    checks = []
    for fit, n_edges in ((PAPERS, n - 1), (CURVE, n - 1), (RING, n)):
        found = rows[fit]["consecutive"]
        claim = f"{fit.name}: edges that join consecutive frames"
        checks.append(Check(claim, nan if found is None else found, "==", n_edges, about))
    degree = rows[PAPERS]["largest degree"]
    claim = f"{PAPERS.name}: largest degree of a frame"
    checks.append(Check(claim, nan if degree is None else degree, "<=", 2, about))
    gain = smooth.get(PAPERS.name, nan) - smooth["projection"]
    claim = f"{PAPERS.name}: smoothness beyond that of the frames in kernel principal components"
    checks.append(Check(claim, gain, ">=", 0, about))
    return checks


def _draw(
    X: Floats,
    shown: dict[Fitted, Computed],
    labels: dict[str, Computed],
    settings: Settings,
) -> None:
    n_rows = len(shown) + 1
    figure = plt.figure(figsize=(11, 4.9 * n_rows), layout="constrained")
    n = len(X)
    order = np.arange(n)
    for r, (fit, done) in enumerate(shown.items()):
        if done.error:
            continue
        left = figure.add_subplot(n_rows, 2, 2 * r + 1, projection="3d", computed_zorder=False)
        centers, edges = done.result["centers"], done.result["edges"]
        for edge in edges:
            left.plot(*centers[edge].T, color="0.45", linewidth=1.2)
        dots = left.scatter(*centers.T, c=360 * order / n, cmap="hsv", vmin=0, vmax=360, s=18)
        left.set(xticklabels=[], yticklabels=[], zticklabels=[])
        left.view_init(elev=28, azim=-70)
        left.set_box_aspect(np.ptp(centers, axis=0), zoom=0.95)
        word = {"tree": "principal curve (tree)", "ring": 'with structure="ring"'}[fit.structure]
        left.set_title(f"({'ac'[r]}) {word}", fontsize=12)
        bar = figure.colorbar(dots, ax=left, shrink=0.55, aspect=30, pad=0.06)
        bar.set_label("rotation (°)")
        bar.set_ticks([0, 90, 180, 270, 360])
        bar.outline.set_visible(False)
        right = figure.add_subplot(n_rows, 2, 2 * r + 2)
        plot_adjacency(adjacency(edges, n), ax=right)
        right.set(xlabel="frame", ylabel="frame")
        right.set_title(f"({'bd'[r]}) adjacency matrix", fontsize=12)
        if settings.images:
            which = np.unique((np.arange(0, 1, STEP) * n).round().astype(int) % n)
            images = rgb(X[which], *TEAPOT)
            draw_images(left, centers[which], images, zoom=0.33, away_from=centers)
    _draw_rivals(figure, n_rows, labels)
    figure.savefig(settings.out / f"{NAME}.png", dpi=110 if settings.quick else 200)
    plt.close(figure)


def _draw_rivals(figure: Any, n_rows: int, labels: dict[str, Computed]) -> None:
    """CLUHSIC's labels by frame, for both settings."""
    for k, (name, done) in enumerate(labels.items()):
        if done.error:
            continue
        ax = figure.add_subplot(n_rows, 2, 2 * n_rows - 1 + k)
        found = done.result["labels"]
        frames = np.arange(len(found))
        ax.scatter(frames, found, c=360 * frames / len(found), cmap="hsv", vmin=0, vmax=360, s=18)
        ax.set(xlabel="frame", ylabel="label on the ring", ylim=(-0.5, N_LABELS - 0.5))
        ax.set_box_aspect(0.62)
        ax.spines[["top", "right"]].set_visible(False)
        ax.set_title(f"({'ef'[k]}) {name}", fontsize=12)


def _others(row: dict[str, Any]) -> str:
    """The edges that pass over frames."""
    return f"; the others join frames {row['other edges']}" if row["other edges"] else ""


def _text(
    data: Dataset,
    X: Floats,
    rows: dict[Fitted, dict[str, Any]],
    before: dict[str, Ints],
    smooth: dict[str, float],
    turns: dict[str, float],
    settings: Settings,
) -> str:
    n, papers = len(X), rows[PAPERS]
    parts = [
        "The paper prints the principal curve that DDRTree learns from the kernel matrix of 400 "
        "frames of a turning teapot (λ = 0.1·N, d = 36, which keeps 95 % of the energy), and its "
        "adjacency matrix, a chain in the order of the rotation. σ, γ and the number of centres "
        'are not printed: here they are `sigma="auto"`, `gamma=10` and one centre per frame.'
    ]
    if settings.quick:
        parts.append("This is a quick run, with fewer frames.")
    if n != 400:
        parts.append(
            f"Here are {n} of the 400 frames, {360 / n:.1f}° apart instead of 0.9°; "
            f"{papers['components']} components keep 95 % of the energy of their kernel matrix."
        )
    parts.append(f"![The teapot's principal curve]({NAME}.png)")
    header = ["graph", "components", "edges", "of consecutive frames", "largest degree", "tips"]
    header += ["smoothness"]
    names = ["graph", "components", "edges", "consecutive", "largest degree", "tips"]
    table = [[row[name] for name in names] + [smooth.get(row["graph"])] for row in rows.values()]
    parts.append(markdown(header, table))
    counts = {name: consecutive(edges, n) for name, edges in before.items()}
    parts.append(
        f"With the paper's parameters {papers['consecutive']} of {n - 1} edges join consecutive "
        f"frames, and the largest degree is {papers['largest degree']}{_others(papers)}. Before "
        "anything is learned, the shortest spanning tree has "
        + " and ".join(f"{count} such edges on the {name}" for name, count in counts.items())
        + f". A heavier tree (λ = {HEAVY.weight:g}·N) has {rows[HEAVY]['consecutive']} and a "
        f'largest degree of {rows[HEAVY]["largest degree"]}; `structure="curve"` has '
        f'{rows[CURVE]["consecutive"]}, and `structure="ring"`, which is what a full turn is, '
        f"has {rows[RING]['consecutive']} of {rows[RING]['edges']}."
    )
    parts.append(
        f"Smoothness is one minus the mean angle between successive edges, as a part of 180°, in "
        f"the three components that are drawn; the frames in their order in kernel principal "
        f"components, without a learned curve, have {smooth['projection']:.3f}."
    )
    parts.append(
        "**CLUHSIC**, which the paper names for comparison, is told that its "
        f"{N_LABELS} labels lie on a ring, and gives one to each frame. The agreement of places on "
        "the ring with the rotation (1 if they go round once, evenly) is "
        + ", ".join(f"{value:.3f} for {name}" for name, value in turns.items())
        + ". About one half is what labels have that go half round and return, since the teapot's "
        "back looks like its front."
    )
    parts.append(f"All numbers: [{NAME}.csv]({NAME}.csv). Source of the frames: {data.source}")
    return "\n\n".join(parts)
