"""How often a branch is found again: resamples, refitted and compared."""

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from numbers import Real
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from scipy.special import ndtri
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state, indexable

from .._compat import effective_n_jobs, import_pandas, install_command, rows_of
from .._memory import check_memory
from .._messages import listed
from .._typing import Bools, Floats, Ints
from ..data.checks import check_count, check_samples
from ..estimators import SPL
from ..estimators.base import without_checkpoint
from ..model_selection import weigh_tree
from ..structures import FixedGraph, as_structure
from .branches import importance
from .checks import check_order
from .compare import Comparison, Outline, compare_outlines, outline, parts_at_forks
from .core import Trajectory
from .geometry import data_scale
from .learning import learn
from .pruning import least_length
from .roots import Landmark, Step, Steps, found_again, landmarks
from .trends import check_level
from .view import Root, View

if TYPE_CHECKING:
    from pandas import DataFrame, Series

METHODS = ("auto", "bootstrap", "posterior")
# A resample of the default way has no more rows: it takes seconds, however many there are.
MOST_ROWS = 2000


@dataclass(frozen=True, eq=False)
class Support:
    """What `support` found.

    Attributes
    ----------
    branches_ : DataFrame
        For each branch: ``support``, the part of the resamples in which it is found again;
        ``similarity``, the mean Jaccard similarity of its best match; and ``n_samples``.
    milestones_ : DataFrame
        The same for each tip and fork, and its ``kind``; ``n_samples`` is the number of samples on
        the branch of a tip, and in the smallest part of a fork.
    pseudotime_ : DataFrame
        For each sample its ``pseudotime`` t and the ``mean`` over the resamples; ``graph_std``, the
        standard deviation over the resamples, scaled to all samples (see the notes of `support`);
        ``std``, with the sample's own noise, √(graph_std² + noise_²); and ``lower`` and ``upper``,
        t ± z·std at the wanted level, not below 0; all in units of the data; and
        ``branch_agreement``, the part of the resamples in which its branch is found again and the
        sample is on it.
    n_tips_ : Series
        How many of the resamples have so many tips.
    method_ : str
        "bootstrap" or "posterior".
    n_resamples_ : int
        Resamples that the numbers come from.
    n_failed_ : int
        Resamples that no trajectory could be made of; these do not count.
    messages_ : tuple of str
        Why, each reason once.
    n_unconverged_ : int
        Fits that stopped before they had converged; these do count.
    """

    branches_: "DataFrame"
    milestones_: "DataFrame"
    pseudotime_: "DataFrame"
    n_tips_: "Series"
    method_: str
    n_resamples_: int
    n_failed_: int
    messages_: tuple[str, ...]
    n_unconverged_: int


class Task(NamedTuple):
    """All that a resample needs to know."""

    outline: Outline  # of the given trajectory
    min_jaccard: float
    # (rng, **given) → trajectory, part of the samples that it is made from, converged
    make: Callable[..., tuple[Trajectory, float, bool]]
    given: dict[str, Any]


class Run(NamedTuple):
    """What was found with one resample."""

    converged: bool
    comparison: Comparison
    agrees: Bools  # (n_samples,): whether the sample is on its branch
    pseudotime: Floats  # (n_samples,)
    n_tips: int
    part: float  # of the samples that it was made from


def support(
    trajectory: Trajectory,
    X: Any = None,
    *,
    n_resamples: int = 100,
    method: str = "auto",
    level: float = 0.95,
    min_jaccard: float = 0.5,
    random_state: Any = None,
    n_jobs: int | None = None,
    progress: bool = True,
) -> Support:
    """Support of every branch, fork and tip, and the uncertainty of every sample's pseudotime.

    The trajectory is made again, ``n_resamples`` times, from data as they might have been, and each
    is compared with the given one (`branchwise.trajectory.compare`). A branch or milestone
    is found again if its similarity s_r to the best match in resample r, from 0 to 1, is above
    ``min_jaccard``:

        support = 1/R · Σ_r [s_r > min_jaccard],      similarity = 1/R · Σ_r s_r.

    Two sets of samples with a Jaccard similarity above ½ share more than half of either's samples,
    so that a match above ½ is the only one; Hennig (2007) calls a cluster without one dissolved.
    He would not trust clusters of a mean similarity below 0.6, and calls them stable from 0.75 on.

    Bootstrap (Felsenstein, 1985): n_samples rows are drawn with replacement, and the estimator is
    fitted, with a seed of its own, to those that were drawn, each taken once: about 0.63·n_samples
    of them. (Of equal rows a tree makes short twigs that the data do not have.) A numeric ``lam``
    is taken for as many samples as there are. All the samples are placed on its graph by
    ``transform``, where rows that were drawn keep the places of the fit. Then everything is done as
    it was done for the given trajectory: pruning (the noise that a default length comes from is
    that of the rows drawn), merging (to no more branches than there are), and the root. A root
    that was chosen by labels is chosen again (where they come first nowhere, it is the place of the
    sample nearest to the given root), and one that is a sample stays. One that is a
    tip or fork, by name or by default, has no name in another tree: it is the end nearer to the
    root's nearest sample of the branch that this sample is on, if that is a tip or fork as the root
    is, and otherwise the place of the sample. A trajectory of `learn_trajectory` is learned again
    in the same way, from at most 2,000 rows.

    Posterior, for SPL: nothing is fitted. Embeddings are drawn from the posterior
    (`SPL.sample_posterior`), and the samples placed where they tell on the graph as it is. A twig
    no longer than the samples are uncertain loses them to its neighbours. A posterior is as good as
    its γ, the inverse variance of the noise: with SPL's default of 10⁻³ it takes all for noise, and
    supports nothing; take about 1/(scale_·noise)².

    Parameters
    ----------
    trajectory : Trajectory
        Made from an estimator.
    X : array-like or sparse matrix of shape (n_samples, n_features)
        The samples that the estimator was fitted to, in the same order. Not needed for
        ``method="posterior"``.
    n_resamples : int, default=100
        A support of 0.9 from 100 resamples has a standard error of 0.03.
    method : {"auto", "bootstrap", "posterior"}, default="auto"
        "auto" is the bootstrap.
    level : float, default=0.95
        Probability of the intervals from ``lower`` to ``upper``, for normal errors.
    min_jaccard : float, default=0.5
        What is found again has a similarity above this; at least 0 and below 1.
    random_state : int, RandomState or None, default=None
        Seed. Each resample has a seed of its own that comes from it.
    n_jobs : int or None, default=None
        Resamples that are made at the same time, in processes of their own. The result does not
        depend on it.
    progress : bool, default=True
        Show a progress bar if standard error is a terminal.

    Returns
    -------
    support : Support

    Notes
    -----
    A graph of a part f of the samples varies less around that of all of them than that varies
    around the truth, by a factor √((1 − f)/f) (Shao & Wu, 1989), which deviations of
    pseudotime are divided by. The resamples keep the samples' own noise, which moves them along
    the graph about as far as across it: ``noise_`` of the trajectory is added. Draws from a
    posterior need neither. What all fits have in common is not seen, as the shrinkage of a tree
    towards its middle, or noise of the sample that is the root, which shifts all times. On
    simulated trees (500 samples, 30 features, 40 resamples, `learn_trajectory`) intervals of 95 %
    held the true time of 88 to 100 % of the samples in 15 of 18 cases, and of 40 to 69 % in three.
    SPL's skeleton is shorter than the truth. Supports are those of the smaller samples, and so on
    the low side.

    Memory is 24 bytes times n_resamples·n_samples, and what the fits need.

    References
    ----------
    Felsenstein (1985), "Confidence limits on phylogenies: an approach using the bootstrap",
    Evolution 39, 783-791, doi:10.1111/j.1558-5646.1985.tb00420.x.

    Shao & Wu (1989), "A general theory for jackknife variance estimation", The Annals of Statistics
    17, 1176-1197, doi:10.1214/aos/1176347263.

    Hennig (2007), "Cluster-wise assessment of cluster stability", Computational Statistics & Data
    Analysis 52, 258-271, doi:10.1016/j.csda.2006.11.025.

    Examples
    --------
    >>> from branchwise.datasets import make_tree
    >>> from branchwise.trajectory import learn_trajectory
    >>> from branchwise.trajectory.bootstrap import support
    >>> data = make_tree(600, 10, noise=0.05, random_state=0)  # simulated
    >>> found = learn_trajectory(data.X, support=0)
    >>> result = support(found, data.X, n_resamples=5, random_state=0)
    >>> result.branches_.support.to_dict()
    {'T1-F1': 1.0, 'F1-T2': 1.0, 'F1-T3': 1.0}
    """
    model = check_model(trajectory)
    method = check_method(method, model, trajectory.steps)
    n_resamples = check_resamples(n_resamples)
    check_level(level)
    n_samples = len(trajectory.names_)
    X = check_rows(X, model, method, n_samples)
    check_order(X, trajectory.names_, "X")
    check_memory(
        # Times of all resamples: one by one, side by side, and a copy for their deviations.
        3.0 * 8 * n_resamples * n_samples,
        f"Support of {n_samples:,} samples from {n_resamples:,} resamples",
        "lower n_resamples",
    )
    given: dict[str, Any] = {"trajectory": trajectory}
    if method == "bootstrap":
        model = without_checkpoint(clone(model)).set_params(verbose=0, callback=None)
        if effective_n_jobs(n_jobs) > 1:
            model.set_params(n_jobs=1)
        view = trajectory.view
        roots = landmarks(view.base, view.milestone_names, view.default_roots)
        given = {"model": model, "X": X, "steps": trajectory.steps, "roots": roots}
    make = bootstrapped if method == "bootstrap" else drawn
    task = Task(outline(trajectory), check_jaccard(min_jaccard), make, given)
    entropy = check_random_state(random_state).randint(2**31 - 1)
    seeds = np.random.SeedSequence(entropy).spawn(n_resamples)
    outcomes = dict(outcomes_of(task, seeds, n_jobs, progress))
    # In the order of the seeds, whichever was first.
    in_order = [outcomes[number] for number in range(n_resamples)]
    runs = [run for run in in_order if isinstance(run, Run)]
    errors = [error for error in in_order if isinstance(error, str)]
    if not runs:
        raise ValueError(
            f"None of the {n_resamples} resamples gave a trajectory; the first one failed with "
            f"{errors[0]}"
        )
    pandas = import_pandas()
    return Support(
        branches_=branch_support(trajectory, task, runs),
        milestones_=milestone_support(trajectory, task, runs),
        pseudotime_=time_spread(trajectory, runs, level, method),
        n_tips_=pandas.Series([run.n_tips for run in runs], name="n_tips")
        .value_counts()
        .sort_index(),
        method_=method,
        n_resamples_=len(runs),
        n_failed_=len(errors),
        messages_=tuple(dict.fromkeys(errors)),
        n_unconverged_=sum(not run.converged for run in runs),
    )


def outcomes_of(
    task: Task, seeds: Any, n_jobs: int | None, progress: bool
) -> Iterator[tuple[int, Run | str]]:
    """The resamples by number as they are finished, in any order; a message for a failed one."""
    parallel = Parallel(n_jobs=n_jobs, return_as="generator_unordered")
    outcomes = parallel(delayed(resampled)(task, number, seed) for number, seed in enumerate(seeds))
    with stopped(outcomes), progress_bar(len(seeds)) if progress else nullcontext() as bar:
        for outcome in outcomes:
            if bar is not None:
                bar.update()
            yield outcome


@contextmanager
def stopped(outcomes: Any) -> Iterator[None]:
    """After Ctrl-C too, end what has been started, without joblib's remarks on that."""
    try:
        yield
    finally:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            outcomes.close()


def progress_bar(total: int) -> Any:
    """A bar on standard error if that is a terminal."""
    try:
        from tqdm import tqdm
    except ImportError as error:
        raise ImportError(
            f"the progress bar needs tqdm; run: {install_command('trajectory')}, or pass "
            "progress=False"
        ) from error
    return tqdm(total=total, desc="support", unit="resample", disable=None)


def resampled(task: Task, number: int, seed: np.random.SeedSequence) -> tuple[int, Run | str]:
    """Make the trajectory once more, and compare; or say why that failed."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # counted
            again, part, converged = task.make(np.random.default_rng(seed), **task.given)
        found = outline(again)
        comparison = compare_outlines(task.outline, found)
    except (ValueError, ArithmeticError, MemoryError) as error:
        return number, f"{type(error).__name__}: {error}"
    own = task.outline.branch
    is_found = comparison.branches > task.min_jaccard
    agrees = is_found[own] & (comparison.match[own] == found.branch)
    n_tips = sum(name.startswith("T") for name in found.milestones)
    return number, Run(converged, comparison, agrees, again.pseudotime_, n_tips, part)


def bootstrapped(
    rng: np.random.Generator, model: Any, X: Any, steps: Steps, roots: list[Landmark]
) -> tuple[Trajectory, float, bool]:
    """A fit to the different ones of rows drawn with replacement, all samples on its graph."""
    n_samples = X.shape[0] if hasattr(X, "shape") else len(X)
    rows = np.unique(rng.integers(n_samples, size=n_samples))
    first, *later = steps
    if first[0] == "learn":
        if len(rows) > MOST_ROWS:
            rows = np.sort(rng.choice(rows, MOST_ROWS, replace=False))
        seed, train = 0, None
    else:
        seed, train = int(rng.integers(2**31 - 1)), rows
    part = len(rows) / n_samples
    model = fitted_again(model, rows_of(model, X, rows), first, seed, part)
    points = np.asarray(model.project(rows_of(model, X, np.arange(n_samples), train)))
    options = {} if first[0] == "learn" else first[1]
    fitted = Trajectory.from_estimator(model, points=points, **options)
    return repeated(fitted, later, rows, roots), part, bool(model.converged_)


def fitted_again(model: Any, X: Any, made: Step, seed: int, part: float) -> Any:
    """An estimator fitted to other samples as that of a trajectory was to its own.

    Parameters
    ----------
    model : estimator
        With the parameters of the first one.
    X : array-like or sparse matrix
    made : (method, arguments)
        The first of the steps.
    seed : int
        Not used by the default way, in which there is no chance.
    part : float
        How many samples there are, as a part of those of the first fit.
    """
    method, options = made
    if method == "learn":
        return learn(X, **options).estimator_
    model = clone(model).set_params(random_state=seed)
    weigh_tree(model, part)
    return model.fit(X)


def drawn(rng: np.random.Generator, trajectory: Trajectory) -> tuple[Trajectory, float, bool]:
    """Samples moved as far as in a draw from the posterior, on the graph as it is."""
    seed = int(rng.integers(2**31 - 1))
    model, view = trajectory.estimator_, trajectory.view
    moved = model.sample_posterior(1, random_state=seed)[0].astype(np.float64) - model.embedding_
    points = view.points + data_scale(model) * moved
    roots = [Root("node", int(node)) for node in trajectory.roots_]
    again = View.placed(view.geometry.nodes, view.geometry.edges, points, roots=tuple(roots))
    return trajectory._with(again), 1.0, True


def repeated(
    trajectory: Trajectory,
    steps: Sequence[Step],
    rows: Ints,
    roots: list[Landmark],
) -> Trajectory:
    """What the same steps make of another trajectory of the same samples.

    Parameters
    ----------
    trajectory : Trajectory
        As it comes from an estimator.
    steps : sequence of (method, arguments)
        Those after the first one, the estimator.
    rows : array of rows
        The samples that the estimator was fitted to: they tell the noise.
    roots : list of Landmark
        Roots for connected parts that the steps give none.
    """
    for method, given in steps:
        if method == "merge":
            present = len(trajectory.view.branches.names)
            trajectory = trajectory.merge(min(given["n_branches"], present))
        elif method == "prune":
            trajectory = _pruned(trajectory, rows, **given)
        elif "labels" in given:
            trajectory = _by_label(trajectory, **given)
        elif "near" in given:
            there = [_found(trajectory, landmark) for landmark in given["near"]]
            trajectory = trajectory._with(replace(trajectory.view, roots=tuple(there), end=None))
        else:
            trajectory = trajectory.rooted(**given)
    base = trajectory.view.base
    has_root = base.parts[_nodes(trajectory, trajectory.view.roots)]
    there = [_found(trajectory, landmark) for landmark in roots]
    missing = ~np.isin(base.parts[_nodes(trajectory, there)], has_root)
    there = [root for root, is_missing in zip(there, missing, strict=True) if is_missing]
    view = replace(trajectory.view, roots=(*trajectory.view.roots, *there), end=None)
    return trajectory._with(view)


def _by_label(trajectory: Trajectory, near: list[Landmark], **given: Any) -> Trajectory:
    """From where a label comes first; if that is nowhere, from the sample at the given root.

    A tree without the twig of the root is not left out: support would be too high without it.
    """
    with warnings.catch_warnings():
        # Of a close choice the given trajectory has told; here it shows in the spread.
        warnings.simplefilter("ignore", UserWarning)
        try:
            return trajectory.rooted(**given)
        except ValueError:
            return trajectory.rooted(sample=[landmark.sample for landmark in near])


def _pruned(
    trajectory: Trajectory,
    rows: Ints,
    min_length: float | None,
    min_samples: int | None,
    near: list[Landmark] | None = None,
) -> Trajectory:
    if near is not None:
        there = [_found(trajectory, landmark) for landmark in near]
        names = trajectory.view.milestone_names
        tips = [names[root.which] for root in there if root.kind == "node"]
        return trajectory.prune(min_length, min_samples=min_samples, tips=sorted(set(tips)))
    if min_length is None and min_samples is None:
        min_length = least_length(trajectory.view, rows)
    return trajectory.prune(min_length, min_samples=min_samples)


def _found(trajectory: Trajectory, landmark: Landmark) -> Root:
    view = trajectory.view
    return found_again(landmark, view.base, view.base_segments, view.milestone_names)


def _nodes(trajectory: Trajectory, roots: Sequence[Root]) -> Ints:
    """A node of the connected part of each root."""
    base = trajectory.view.base
    nodes = [k if kind == "node" else base.edges[base.edge[k], 0] for kind, k in roots]
    return np.array(nodes, dtype=np.intp)


def branch_support(trajectory: Trajectory, task: Task, runs: list[Run]) -> "DataFrame":
    """The table of the branches."""
    similarity = np.stack([run.comparison.branches for run in runs])
    table = found_part(similarity, task.min_jaccard)
    table.index = trajectory.branch_table_.index
    return table.assign(n_samples=trajectory.branch_table_.n_samples)


def milestone_support(trajectory: Trajectory, task: Task, runs: list[Run]) -> "DataFrame":
    """The table of the tips and forks."""
    similarity = np.stack([run.comparison.milestones for run in runs])
    table = found_part(similarity, task.min_jaccard)
    names = task.outline.milestones
    table.index = import_pandas().Index(names, name="milestone")
    table["n_samples"] = samples_at_milestones(task.outline)
    chosen = sorted((name for name in names if name[0] in "TF"), key=importance)
    table = table.loc[chosen]
    table.insert(0, "kind", trajectory.milestones_.kind[chosen])
    return table


def found_part(similarity: Floats, min_jaccard: float) -> "DataFrame":
    """Support and mean similarity, for each column, from similarities in the resamples."""
    found = np.where(np.isnan(similarity), np.nan, similarity > min_jaccard)
    return import_pandas().DataFrame(
        {"support": found.mean(axis=0), "similarity": similarity.mean(axis=0)}
    )


def samples_at_milestones(one: Outline) -> Ints:
    """Samples on the branch of each tip, and in the smallest part of each fork; else 0."""
    size = np.bincount(one.branch, minlength=len(one.ends))
    parts = parts_at_forks(one)
    in_part = parts.branches @ size
    result = np.zeros(len(one.milestones), dtype=np.intp)
    for milestone, name in enumerate(one.milestones):
        if name.startswith("T"):
            result[milestone] = size[(one.ends == milestone).any(axis=1)][0]
        elif name.startswith("F"):
            result[milestone] = in_part[parts.fork == milestone].min()
    return result


def time_spread(trajectory: Trajectory, runs: list[Run], level: float, method: str) -> "DataFrame":
    """The table of the samples."""
    pandas = import_pandas()
    times = np.stack([run.pseudotime for run in runs])
    mean, time = times.mean(axis=0), trajectory.pseudotime_
    part = np.mean([run.part for run in runs])
    scale = np.sqrt(part / (1 - part)) if part < 1 else 1.0
    noise = trajectory.noise_ if method == "bootstrap" else 0.0
    graph_std = np.full(times.shape[1], np.nan)
    if len(times) > 1:
        graph_std = scale * times.std(axis=0, ddof=1)
    std = np.sqrt(graph_std**2 + noise**2)
    reach = float(ndtri((1 + level) / 2)) * std
    return pandas.DataFrame(
        {
            "pseudotime": time,
            "mean": mean,
            "graph_std": graph_std,
            "std": std,
            "lower": np.maximum(time - reach, 0.0),
            "upper": time + reach,
            "branch_agreement": np.mean([run.agrees for run in runs], axis=0),
        },
        index=pandas.Index(trajectory.names_, name="sample"),
    )


def check_model(trajectory: Trajectory) -> Any:
    """The estimator that the trajectory was made from."""
    if trajectory.estimator_ is None:
        raise AttributeError(
            "support needs the estimator, to fit it again; make the trajectory with "
            "Trajectory.from_estimator or learn_trajectory."
        )
    n_fitted, n_samples = len(trajectory.estimator_.embedding_), len(trajectory.names_)
    if n_fitted != n_samples:
        raise ValueError(
            f"The trajectory has {n_samples} samples but its estimator was fitted to {n_fitted}; "
            "make it without points=…, of the samples of the fit."
        )
    # One from a file, also if it was pruned or rooted since.
    if not {call for call, _ in trajectory.steps[:1]} & {"from_estimator", "learn"}:
        raise ValueError(
            "A trajectory from a file does not remember how it was pruned and rooted; call support "
            "before it is saved."
        )
    return trajectory.estimator_


def check_method(method: Any, model: Any, steps: Steps) -> str:
    """How to resample."""
    if method not in METHODS:
        raise ValueError(
            f"method={method!r} is not one of {listed(map(repr, METHODS))}; choose one of these."
        )
    if method == "posterior":
        if not isinstance(model, SPL):
            raise ValueError(
                f"method='posterior' is for SPL, and {type(model).__name__} has no posterior; "
                "choose 'bootstrap'."
            )
        if not model.gamma_ > 0:
            raise ValueError(
                f"method='posterior' needs gamma={model.gamma_:g} to be positive, as the "
                "posterior mean is zero without; choose 'bootstrap'."
            )
        return "posterior"
    if steps[0][0] == "learn":
        return "bootstrap"
    for structure in (getattr(model, "structure", None), steps[0][1]["structure"]):
        is_fixed = structure is not None and isinstance(as_structure(structure), FixedGraph)
        if is_fixed and getattr(model, "init", None) is None:
            raise ValueError(
                "The bootstrap fits other rows, but the nodes of a structure given as a matrix are "
                "the samples themselves; choose a structure that is learned, as 'tree'."
            )
    return "bootstrap"


def check_resamples(n_resamples: Any) -> int:
    """At least two, to differ."""
    if check_count(n_resamples, "n_resamples") < 2:
        raise ValueError("n_resamples=1 must be at least 2; 100 is usual.")
    return int(n_resamples)


def check_jaccard(min_jaccard: Any) -> float:
    """A similarity that can be exceeded."""
    if not isinstance(min_jaccard, Real) or not 0 <= float(min_jaccard) < 1:
        raise ValueError(
            f"min_jaccard={min_jaccard!r} must be at least 0 and below 1; 0.5 is usual."
        )
    return float(min_jaccard)


def check_rows(X: Any, model: Any, method: str, n_samples: int) -> Any:
    """The training samples, which the posterior does not need."""
    if X is None and method == "posterior":
        return None
    if X is None:
        raise ValueError("X=None is enough for method='posterior' only; pass the samples.")
    n_rows = check_samples(clone(model), X).shape[0]
    if n_rows != n_samples:
        raise ValueError(
            f"X has {n_rows} rows, but the estimator was fitted to {n_samples} samples; pass "
            "these, in the same order."
        )
    (X,) = indexable(X)
    return None if method == "posterior" else X
