"""A simulated progression of breast cancer: from normal tissue to five subtypes."""

from typing import Any, NamedTuple

import numpy as np

from .._typing import Floats, Ints
from ..data.checks import check_count
from ..graph.placement import Placement
from ._simulated import Simulated, check_number, check_rng, draw_places, with_truth
from .topologies import check_topology, drawn, lay_out, milestones_of, on_arcs

# Away from normal tissue. The path by luminal A and B to HER2+ and the divergence to basal are what
# the paper reads off its figure, the side branches likewise; shares are about those of PAM50 among
# the tumours of Curtis et al. (2012).
STAGES = (
    # from, to, subtype, length, share of the tumours
    (0, 1, "normal-like", 0.5, 0.10),
    (1, 2, "basal", 1.6, 0.17),
    (1, 3, "luminal A", 1.0, 0.25),
    (3, 4, "luminal A", 0.6, 0.11),
    (3, 5, "luminal B", 0.8, 0.17),
    (5, 6, "luminal B", 0.6, 0.08),
    (5, 7, "HER2+", 1.0, 0.12),
)
NORMAL = "normal tissue"
SUBTYPES = ("normal-like", "luminal A", "luminal B", "HER2+", "basal")
ANGLE = 0.8  # that a branch turns by
# Change of a gene along a unit of length, as a root mean square, in units of log expression.
EFFECT = 0.6
# Standard deviation of a gene between tumours of one stage: of what genes share, and of its own.
SHARED, OWN = 0.5, 0.2
DECAY = 0.7  # the k-th pattern that genes share has a standard deviation in proportion to k^-DECAY
MISLABELLED = 0.1  # part of the tumours with the label of a branch next to theirs
NORMAL_SPAN = 0.1  # part of the first branch that normal tissue lies on


class Progression(NamedTuple):
    """Simulated samples, their labels, and the truth.

    Attributes
    ----------
    X : ndarray of shape (n_samples, n_genes)
        Log expression.
    label : ndarray of str
        "normal tissue", or a subtype: "normal-like", "luminal A", "luminal B", "HER2+", "basal".
        One in ten tumours has that of a branch next to its own.
    simulated : Simulated
        The truth: graph, branch, pseudotime from normal tissue.
    """

    X: Floats
    label: Any
    simulated: Simulated


def make_progression(
    n_normal: int = 144,
    n_tumours: int = 1989,
    n_genes: int = 359,
    *,
    noise: float = 1.0,
    random_state: Any = None,
) -> Progression:
    """Simulate the progression of a tumour as a tree that branches: no patients.

    It stands in for METABRIC (Curtis et al. 2012), which is given to researchers on request, where
    the paper reads off its figure: normal tissue → luminal A → luminal B → HER2+ with side branches
    of both luminal subtypes, and basal tumours that diverge early. Log expression is on a tree of
    arcs, on which every gene changes smoothly; tumours of one stage differ by patterns that genes
    share and by what each gene has of its own.

    Parameters
    ----------
    n_normal, n_tumours : int, default=144 and 1989
        Samples of normal tissue, at the root, and of tumours: the paper's numbers.
    n_genes : int, default=359
    noise : float, default=1
        Factor of the differences between samples of one stage.
    random_state : int, numpy.random.Generator or None, default=None
        Seed of the random numbers.

    Returns
    -------
    Progression

    Notes
    -----
    **What was hard:** a plausible noise. Independent noise of equal size in all genes needs
    nearly all components for 90 % of the energy, whereas 80 of 359 have it in the paper's data.
    Patterns that genes share, with standard deviations that fall like k^-0.7, bring it to
    about that; this is all that the simulation was fitted to.

    Examples
    --------
    >>> from branchwise.datasets import make_progression
    >>> made = make_progression(10, 90, 40, random_state=0)
    >>> made.X.shape, made.label[:1].tolist()
    ((100, 40), ['normal tissue'])
    """
    n_normal = check_count(n_normal, "n_normal")
    n_tumours = check_count(n_tumours, "n_tumours")
    if check_count(n_genes, "n_genes") < 2:
        raise ValueError(f"n_genes={n_genes} must be at least 2, for branches; pass 2 or more.")
    noise = check_number(noise, "noise", 0)
    rng = check_rng(random_state)
    tree = check_topology([stage[:2] for stage in STAGES])
    lengths = np.array([stage[3] for stage in STAGES])
    unit = EFFECT * np.sqrt(n_genes)
    arcs = lay_out(rng, tree, unit * lengths, n_genes, ANGLE)

    shares = np.array([stage[4] for stage in STAGES])
    edge, position = draw_places(rng, n_tumours, shares, np.zeros(len(shares)))
    edge = np.concatenate([np.zeros(n_normal, dtype=edge.dtype), edge])
    position = np.concatenate([NORMAL_SPAN * rng.random(n_normal), position])
    clean = on_arcs(arcs, edge, position)
    X = clean + noise * _variation(rng, *clean.shape)
    simulated = with_truth(
        Placement(tree.n_nodes, tree.edges, lengths, edge, position),
        tree.root,
        X=X,
        clean=clean,
        milestones=milestones_of(arcs, tree),
        curve=drawn(arcs),
        description=f"simulated: a progression from {n_normal} samples of normal tissue to "
        f"{n_tumours} tumours of {len(SUBTYPES)} subtypes, {n_genes} genes; no patients",
    )
    return Progression(X, _labels(rng, edge, n_normal), simulated)


def _variation(rng: np.random.Generator, n_samples: int, n_genes: int) -> Floats:
    """Differences between samples of one stage."""
    deviation = np.arange(1, n_genes + 1) ** -DECAY
    deviation *= SHARED * np.sqrt(n_genes) / np.linalg.norm(deviation)
    patterns = np.linalg.qr(rng.standard_normal((n_genes, n_genes)))[0]
    shared = (rng.standard_normal((n_samples, n_genes)) * deviation) @ patterns
    return shared + OWN * rng.standard_normal((n_samples, n_genes))


def _labels(rng: np.random.Generator, edge: Ints, n_normal: int) -> Any:
    """The subtype of each sample's branch or, of some tumours, of one that touches it."""
    ends = np.array([stage[:2] for stage in STAGES])
    given = edge.copy()
    for i in np.flatnonzero(rng.random(len(edge)) < MISLABELLED):
        near = np.flatnonzero(np.isin(ends, ends[edge[i]]).sum(axis=1) == 1)  # itself has 2
        given[i] = rng.choice(near)
    label = np.array([stage[2] for stage in STAGES], dtype=object)[given]
    label[:n_normal] = NORMAL
    return label.astype(str)
