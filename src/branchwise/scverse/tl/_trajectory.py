"""The whole way on an AnnData object: what `branchwise.learn_trajectory` does with a matrix."""

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils import check_random_state

from ..._docs import CELLS, documented
from ...data.dask import is_dask
from ...pipeline import N_RESAMPLES, check_resamples, learn_trajectory, resampled
from ...trajectory import Trajectory
from ...trajectory.evidence import LEVEL
from .._adata import Results, check_adata, check_key, representation, write
from .._keys import UNS, keys_of
from .._uns import Step, follow, storable
from ._bootstrap import support_results
from ._fit import as_seed, cells_of, check_free, entry_of_model, source_of
from ._order import check_label, evidence_entry, order_results, root_arguments
from ._trust import genes_of_source, own_trust, reference_entry

if TYPE_CHECKING:
    from anndata import AnnData

# Of the intervals of pseudotime, as in `bootstrap`.
INTERVAL = 0.95


@documented(CELLS)
def trajectory(
    adata: "AnnData",
    *,
    use_rep: str | None = None,
    layer: str | None = None,
    root: Any = None,
    at: str = "auto",
    end: Any = None,
    n_components: Any = "auto",
    level: float = LEVEL,
    support: int = N_RESAMPLES,
    key_added: str = "trajectory",
    random_state: Any = 0,
    n_jobs: int | None = None,
    verbose: int = 0,
    copy: bool = False,
) -> "AnnData | None":
    """Learn a tree with the branches that there is evidence of, and put the cells in order.

    This is `branchwise.learn_trajectory` for cells: the same matrix gives the same tree, branches
    and pseudotime. No choice is needed; a root gives time its direction.

    Parameters
    ----------
    {adata_to_fit}
        There are no resamples of a Dask array.
    {fit_from}
    root : str, int, dict, tuple, list or None, default=None
        Where time starts, as in `pseudotime`: a milestone, a cell, a node, or a type of cells as
        ``{"cell_type": "HSC"}``. None: T1, one end of the longest path, which says nothing of the
        direction.
    at : {"auto", "tip", "node"}, default="auto"
        Whether cells of a type are looked for at tips and inner nodes, at tips only, or at all
        nodes alike.
    end : str, int or None, default=None
        A milestone or node at which the way ends, to tell how far along it the cells are.
    n_components : int, float or "auto", default="auto"
        Number of components, or the part of the variance that they have to keep. "auto" is 10, or
        fewer if the data have fewer dimensions.
    level : float, default=0.05
        A twig stays if a gap as empty as the one beside it has at most this probability where
        nothing forks.
    support : int, default=20
        Resamples to learn again from, to see which branches are found again; 0 for none.
    key_added : str, default="trajectory"
        Name of the results.
    random_state : int, RandomState or None, default=0
        Seeds the resamples, and nothing else. The seed is written down; None draws one.
    n_jobs : int or None, default=None
        Number of threads of a fit, or of resamples that are made at the same time; the result does
        not depend on it.
    verbose : int, default=0
        Show the progress of the fit when positive.
    {copy}

    Returns
    -------
    {copied}

    Notes
    -----
    Writes all that `ddrtree`, `pseudotime`, `branches` and, with resamples, `bootstrap` write, with
    ``key`` for ``key_added``, and

    - ``uns[key]["evidence"]``: a table of how well the tree explains cells that it was not fitted
      to, beside a curve, a plane and a cloud;
    - ``uns[key]["description"]``: what was found, and how sure it is, in sentences;
    - ``obs["{key}_p"]``: of cells like these, the part that lies as far from the tree, by trees
      that were learned without the cell; ``…_misfit``, ``…_out_of_range``, ``…_drivers``,
      ``…_branch_probability``, ``…_likeliest_branch``: see `branchwise.pipeline.Pipeline.place`.
      Not of a Dask array;
    - ``uns[key]["reference"]``: what `place` needs to say the same of new cells.

    The other tools and `branchwise.pl` go on from there. To have support for a new root, give it
    here, or call `bootstrap` after `pseudotime`.

    Examples
    --------
    >>> import anndata
    >>> import branchwise
    >>> from branchwise.datasets import make_tree
    >>> data = make_tree(300, 10, noise=0.05, random_state=0)  # simulated
    >>> adata = anndata.AnnData(data.X)
    >>> adata.obs["day"] = ["0" if time < 0.2 else "later" for time in data.pseudotime]
    >>> branchwise.tl.trajectory(adata, root={"day": "0"}, support=2)
    >>> adata.obs["trajectory_branch"].nunique()
    3
    >>> print(adata.uns["trajectory"]["description"])
    3 branches, 3 tips and 1 fork (p < 0.001 for gaps as empty as these where nothing forks).
    A tree explains the samples better than a curve, the next best: by ...
    Of 2 resamples, 2 have 3 tips.
    The fork was found again: F1 in 2 of 2 resamples.
    """
    check_adata(adata)
    check_free(adata, check_key(key_added))
    X, source = representation(adata, use_rep, layer)
    check_resamples(support)
    check_random_state(seed := as_seed(random_state))
    check_label(root, adata)
    options = {"n_components": n_components, "level": level}
    names = np.asarray(adata.obs_names, dtype=object)
    path = learn_trajectory(X, **options, support=0, names=names, n_jobs=n_jobs, verbose=verbose)
    given = root_arguments(root, adata, path, at) | ({} if end is None else {"end": end})
    steps: list[Step] = [("rooted", given)]
    # The root comes first, as times of the resamples are counted from there.
    path = follow(adata, path, steps if given else [])
    if is_dask(X) and support:
        warnings.warn(
            "No resamples were made, as what was learned from is a Dask array: there is no "
            "support of branches. Load some cells, adata[::10].to_memory(), to have it of these; "
            "support=0 asks for none.",
            stacklevel=2,
        )
    n_resamples = 0 if is_dask(X) else support
    path = resampled(path, X, n_resamples, random_state=seed, n_jobs=n_jobs, show=verbose > 0)
    params = options | {"support": support, "random_state": seed}
    genes = genes_of_source(adata, X, source)
    results = all_results(path, X, genes, key_added, steps)
    results.uns[key_added] |= {
        UNS.method: "trajectory",
        UNS.params: storable(params),
        **source_of(X, source, layer),
    }
    return write(adata, results, copy)


def all_results(path: Trajectory, X: Any, genes: list[str], key: str, steps: list[Step]) -> Results:
    """Model, order, branches, evidence, support and trust of a trajectory."""
    keys, results = keys_of(key), order_results(path, key, steps)
    results.obs |= own_trust(path, X, genes, key)
    results.uns[key] |= entry_of_model(path.estimator_) | evidence_entry(path)
    results.uns[key] |= reference_entry(path)
    if path.support_ is not None:
        found = support_results(path.support_, key, INTERVAL)
        results.obs |= found.obs
        results.uns[key] |= found.uns[key]
    embedding, projection = cells_of(path.estimator_, X)
    results.obsm = {keys.embedding: embedding, keys.projection: projection}
    results.stale_obs = keys.order + keys.support + keys.trust + keys.likely
    results.stale_var = keys.tests
    return results
