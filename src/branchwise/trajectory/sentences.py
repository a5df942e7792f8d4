"""What was found, and how sure it is, in sentences."""

from typing import TYPE_CHECKING, Any

import numpy as np

from .._messages import counted, listed
from .._typing import Floats
from .alternatives import evidence_sentence
from .evidence import LEVEL, segment_of_branch
from .view import View

if TYPE_CHECKING:
    from .bootstrap import Support

# Found again in fewer of the resamples, a branch or fork is not sure.
SURE = 0.8


def findings(path: Any) -> list[str]:
    """The sentences of `Trajectory.describe`."""
    found = [branches_sentence(path)]
    found.append(evidence_sentence(path.evidence_, n_forks(path.view)))
    n_compared, n_samples = int(path.evidence_["n_samples"].iloc[0]), len(path.names_)
    if n_compared < n_samples:
        found.append(f"Shapes were compared on {n_compared:,} of the {n_samples:,} samples.")
    if path.support_ is not None:
        found += support_sentences(path)
    return found


def n_forks(view: View) -> int:
    """Forks of the graph, whatever the root."""
    return sum(name.startswith("F") for name in view.milestone_names.values())


def branches_sentence(path: Any) -> str:
    """How many branches there are, and how surely.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.trajectory import Trajectory
    >>> from branchwise.trajectory.sentences import branches_sentence
    >>> branches_sentence(Trajectory([[0, 1]], np.array([[0.0], [1.0]])))
    '1 branch, 2 tips and no fork.'
    """
    table, names = path.branch_table_, path.view.milestone_names.values()
    n_tips = sum(name.startswith("T") for name in names)
    told = f"{counted(len(table), 'branch', 'branches')}, {counted(n_tips, 'tip')} and "
    told += counted(n_forks(path.view), "fork") if n_forks(path.view) else "no fork"
    p = table["p"].max()
    if np.isnan(p):
        return f"{told}."
    by_chance = "p < 0.001" if p < 0.001 else f"p = {p:.2g}"
    told += f" ({by_chance} for gaps as empty as these where nothing forks)"
    return f"{told}." if p <= LEVEL else f"{told}: not every fork is sure."


def support_sentences(path: Any) -> list[str]:
    """How often tips and forks were found again, and whether resamples agree."""
    found: Support = path.support_
    n, tips = found.n_resamples_, found.n_tips_
    spread = [
        f"{count} {'has' if count == 1 else 'have'} {number} tips" for number, count in tips.items()
    ]
    told = [f"Of {n} resamples, {listed(spread)}."]
    forks = found.milestones_.query("kind == 'fork'")["support"]
    again = [f"{name} in {round(share * n)} of {n}" for name, share in forks.items()]
    if again:
        word = "fork was" if len(again) == 1 else "forks were"
        told.append(f"The {word} found again: {listed(again)} resamples.")
    n_tips = sum(name.startswith("T") for name in path.view.milestone_names.values())
    if tips.get(n_tips, 0) < SURE * n:
        told.append("Resamples disagree about the number of tips.")
    table = path.branch_table_
    unsure = table.index[table["support"] < SURE].tolist()
    if unsure:
        told.append(
            f"Resamples disagree about {listed(unsure)}: found again in fewer than {SURE:.0%}."
        )
    return told


def found_again(path: Any) -> Floats:
    """The support of each branch, whatever the root was when it was found."""
    names, found = path.view.milestone_names, path.view.base_segments
    table = path.support_.branches_
    shares = table["support"]
    if shares.index.tolist() == path.view.branches.names.tolist() and _same_roots(path, table):
        return shares.to_numpy(dtype=float)
    known = {frozenset(branch.split("-")): share for branch, share in shares.items()}
    ends = [frozenset(names.get(int(end), "") for end in ends) for ends in found.ends]
    return np.array([known.get(ends[k], np.nan) for k in segment_of_branch(path.view)])


def _same_roots(path: Any, table: Any) -> bool:
    """Whether branches of the same names are the same; from a root within a branch they may not be.

    Another root within it is called R1, too; then the numbers of samples differ.
    """
    found = path.view.branches
    if "n_samples" not in table or not any(name.startswith("R") for name in found.milestones):
        return True
    counts = np.bincount(found.placed.edge, minlength=len(found.names))
    return bool(np.array_equal(counts, table["n_samples"]))
