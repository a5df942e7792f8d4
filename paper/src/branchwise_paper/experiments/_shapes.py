"""The panels of Fig. 2: shapes, their embeddings by every method, and what these keep of them."""

import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from branchwise._typing import Floats, Ints
from branchwise.estimators import SPL

from ..datasets import Dataset, fetch_toy
from ..datasets.catalog import understand
from ._rows import write_csv
from ._scores import Scores, learned_edges, n_components, scores_of, thickness
from ._truth import Truth, truth_of
from .cells import Computed
from .methods import METHODS, Parameters
from .settings import Settings

SHAPES = ("spiral", "zigzag", "two_moons", "helix", "tree", "three_clusters")
QUICK_SHAPES, QUICK_METHODS = ("spiral", "two_moons"), ("LE", "tSNE", "SPL", "SPL-auto")
# The paper's: ten neighbours for all that have any, C and gamma of SPL, and a Gaussian kernel for
# those that have a kernel. It does not say which lambda SMCE had: all of its table's are tried.
NEIGHBORS = {"n_neighbors": 10}
PARAMETERS: dict[str, tuple[Parameters, ...]] = {
    **dict.fromkeys(("LLE", "LE", "MVU", "MEU", "UMAP"), (NEIGHBORS,)),
    "SMCE": METHODS["SMCE"].grid,
    "SPL": ({**NEIGHBORS, "C": 1e3, "gamma": 1e-3},),
    "SPL-printed": ({**NEIGHBORS, "C": 1e3, "gamma": 1e-3},),
    "SPL-auto": ({**NEIGHBORS, "C": 1e3, "gamma": 1e-3},),
}
# What "keeps the structure" means (`keeps_structure`).
LEAST_ORDER, LEAST_SHAPE, LOST_PURITY = 0.9, 0.9, 0.01
# "Smooth": no more than this part of the data's own noise is left.
MOST_NOISE = 0.1


class Toy(NamedTuple):
    """A data set, its true structure, and the scores of the data themselves."""

    data: Dataset
    truth: Truth
    own: Scores


class Row(NamedTuple):
    """One panel: a method's embedding of a shape and its scores; NaN if it failed."""

    shape: str
    method: str
    parameters: Parameters
    embedding: Floats
    edges: Ints  # of the learned graph; none but for SPL
    graph_parts: float  # of it
    scores: Scores
    kept: bool
    smooth: bool
    seconds: float
    error: str

    @property
    def good(self) -> bool:
        """What the paper claims of SPL."""
        return self.kept and self.smooth


def chosen_toys(settings: Settings) -> list[Toy]:
    """The shapes to embed, from files or simulated."""
    names: tuple[str, ...] = QUICK_SHAPES if settings.quick else SHAPES
    if settings.datasets:
        wanted = {understand(name).key for name in settings.datasets}
        names = tuple(name for name in SHAPES if name in wanted)
    toys = []
    for name in names:
        data = fetch_toy(name, data_dir=settings.data_dir)
        truth = truth_of(name, data.X, y=data.y, t=data.extras.get("t"))
        plane = principal_plane(data.X)
        own = scores_of(data.X, plane, truth)
        if len(truth.tips):  # the data's noise is that of all their dimensions
            own = own._replace(noise=thickness(data.X))
        toys.append(Toy(data, truth, own))
    return toys


def embed_shape(X: Floats, *, method: str, parameters: Parameters) -> dict[str, Any]:
    """A method's embedding in the plane and, of SPL, its learned graph.

    Examples
    --------
    >>> from branchwise_paper.datasets import fetch_toy
    >>> from branchwise_paper.experiments._shapes import embed_shape
    >>> moons = fetch_toy("two_moons").X
    >>> embed_shape(moons, method="SPL-auto", parameters={})["graph_parts"]
    2
    """
    if method == "GPLVM":  # METHODS has the linear kernel of the paper's table, i.e. PCA
        from .. import baselines

        estimator = baselines.GPLVM(2, kernel="rbf")
    else:
        estimator = METHODS[method].make(2, parameters)
    start = time.perf_counter()
    embedding = np.asarray(estimator.fit_transform(X), dtype=np.float64)
    found: dict[str, Any] = {"embedding": embedding, "seconds": time.perf_counter() - start}
    if isinstance(estimator, SPL):
        found["edges"] = learned_edges(estimator.graph_)[0]
        found["graph_parts"] = n_components(estimator.graph_)
    return found


def row_of(toy: Toy, method: str, parameters: Parameters, computed: Computed) -> Row:
    """The scores of a cell's embedding."""
    found = computed.result
    edges = np.asarray(found.get("edges", np.empty((0, 2))), dtype=np.intp)
    embedding = np.asarray(found.get("embedding", np.full((len(toy.data.X), 2), np.nan)))
    if computed.error or not np.isfinite(embedding).all():
        scores = Scores(*[np.nan] * len(Scores._fields))
        error = computed.error or "the embedding is not finite"
        return Row(
            toy.data.name, method, parameters, embedding, edges, np.nan, scores, False, False,
            np.nan, error,
        )  # fmt: skip
    scores = scores_of(toy.data.X, embedding, toy.truth)
    return Row(
        shape=toy.data.name,
        method=method,
        parameters=parameters,
        embedding=embedding,
        edges=edges,
        graph_parts=float(found.get("graph_parts", np.nan)),
        scores=scores,
        kept=keeps_structure(scores, toy.own),
        smooth=bool(scores.noise <= MOST_NOISE * toy.own.noise),
        seconds=float(found["seconds"]),
        error="",
    )


def keeps_structure(scores: Scores, own: Scores) -> bool:
    """Whether an embedding has the parts, the order and the form of the data.

    Parts: the nearest neighbour is of the same part as often as in the data, less one percent; and
    where gaps divide the data into the true parts, gaps divide the embedding so, too. Order and
    form: `order` and `shape` of at least 0.9 (clusters have no order).

    Examples
    --------
    >>> from branchwise_paper.experiments._scores import Scores
    >>> from branchwise_paper.experiments._shapes import keeps_structure
    >>> data = Scores(1.0, 1.0, 0.99, 1.0, 0.2, 0.2, 1.0)
    >>> keeps_structure(data, data), keeps_structure(data._replace(order=0.5), data)
    (True, False)
    """
    has_parts = scores.purity >= own.purity - LOST_PURITY
    has_gaps = scores.separated == 1 or own.separated < 1
    has_order = np.isnan(scores.order) or scores.order >= LEAST_ORDER
    return bool(has_parts and has_gaps and has_order and scores.shape >= LEAST_SHAPE)


def selected(rows: list[Row]) -> list[Row]:
    """Of several parameters of a method on a shape, those that keep most of it.

    A structure that is kept comes first; then the lowest of order and shape decides.
    """
    best: dict[tuple[str, str], Row] = {}

    def merit(row: Row) -> tuple[bool, bool, float]:
        kept = np.nanmin([row.scores.order, row.scores.shape, row.scores.purity])
        return not row.error, row.kept, float(kept)

    for row in rows:
        key = (row.shape, row.method)
        if key not in best or (not row.error and merit(row) > merit(best[key])):
            best[key] = row
    return list(best.values())


def write_scores(path: Path, rows: list[Row]) -> None:
    """One line per panel."""
    head = ["shape", "method", "parameters", *Scores._fields, "graph_parts", "kept", "smooth"]
    lines = []
    for row in rows:
        chosen = " ".join(f"{name}={value:g}" for name, value in row.parameters.items())
        numbers = [f"{value:.6g}" for value in (*row.scores, row.graph_parts)]
        flags = [int(row.kept), int(row.smooth), f"{row.seconds:.3g}", row.error]
        lines.append([row.shape, row.method, chosen, *numbers, *flags])
    write_csv(path, [*head, "seconds", "error"], lines)


def principal_plane(X: Floats) -> Floats:
    """Scores of the first two principal components."""
    left, size, _ = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)
    return np.asarray(left[:, :2] * size[:2])
