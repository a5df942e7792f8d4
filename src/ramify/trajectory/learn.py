"""One setting for trees in noisy data: from samples to a pruned trajectory in one call."""

from typing import Any

from .._validation import check_count, check_samples
from ..chunks import check_not_chunked
from ..estimators import DDRTree
from ..model_selection import automatic_sigma
from .core import Trajectory

# Found on simulated trees other than those of benchmarks/trajectories.py.
N_COMPONENTS = 20
GAMMA = 0.01
TREE_WEIGHT = 0.005
SIGMAS = 6.0


def learn_trajectory(
    X: Any,
    *,
    n_components: int | float = N_COMPONENTS,
    names: Any = None,
    random_state: Any = None,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> Trajectory:
    """Learn a tree from noisy samples, prune it, and place the samples on it.

    The setting is a `DDRTree` that draws samples hardly at all (γ = 0.01, near SimplePPT) in as
    many principal components as a tree with many branches needs (20), a tree of weight
    λ = 0.005·γ·n_samples, and assignments six times as wide as its automatic σ, wide enough for
    neighbouring centres to share samples. What it leaves in twigs and in double forks shorter than
    twice the noise is removed (`Trajectory.prune`).

    The setting was found on simulated trees in 50 dimensions with equal noise in all of them
    (`ramify.datasets.make_tree`, other seeds than those of the benchmark). Where noise is less
    even, as in counts of few genes, look at `Trajectory.support` before believing a branch.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Standardise columns that are measured in different units; take logarithms of counts.
    n_components : int or float, default=20
        Number of principal components, fewer if the data have fewer dimensions; or the part of
        the variance that they have to keep. A tree with many branches needs many. Of real data
        with few samples take those before the variance of components levels off: the rest are
        noise that the tree follows.
    names : sequence of length n_samples or None, default=None
        Names of the samples; None: the index of a DataFrame.
    random_state : int, RandomState or None, default=None
        Seeds k-means, from which the centres start.
    n_jobs : int or None, default=None
        Number of threads; the result does not depend on it.
    verbose : int, default=0
        Show the progress of the fit when positive.

    Returns
    -------
    trajectory : Trajectory
        The fitted `DDRTree` is its ``estimator_``; `Trajectory.place` places new samples.

    Examples
    --------
    >>> from ramify.datasets import make_tree
    >>> from ramify.trajectory import learn_trajectory
    >>> data = make_tree(500, 30, topology="bifurcation", noise=0.1, random_state=0)  # simulated
    >>> found = learn_trajectory(data.X, random_state=0)
    >>> found.branch_table_.index.tolist()
    ['T1-F1', 'F1-T2', 'F1-T3']
    """
    check_not_chunked(X)
    if not isinstance(n_components, float):
        check_count(n_components, "n_components")
    model = DDRTree(gamma=GAMMA, random_state=random_state, n_jobs=n_jobs, verbose=verbose)
    shape = check_samples(model, X, ensure_min_samples=2).shape
    # A part of the variance is below one, and stays; a float that is none, DDRTree complains of.
    model.set_params(n_components=min(n_components, *shape), lam=TREE_WEIGHT * GAMMA * shape[0])
    model.set_params(sigma=SIGMAS * automatic_sigma(model, X))
    names = getattr(X, "index", None) if names is None else names
    model.fit(X)
    return Trajectory.from_estimator(model, names=names, n_jobs=n_jobs).prune()
