"""`branchwise score`: a result against labels that it has not seen."""

import argparse
from typing import Any

import numpy as np
from scipy.stats import spearmanr
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

from .._compat import import_pandas
from .._messages import counted
from ..data.errors import UnknownNameError
from ..data.selection import expand, select_in_turn
from ..metrics import loo_1nn
from .console import Console, Failure
from .request import separated
from .results import Result, read_result


def run(options: argparse.Namespace, console: Console) -> None:
    """Score each column of labels."""
    result = read_result(options.result)
    facts = {name: scores(result, name) for name in labels_of(result, options.labels)}
    lines = [
        f"{name}\n" + "\n".join(f"  {what:<32} {show(value)}" for what, value in found.items())
        for name, found in facts.items()
    ]
    console.result(facts, "\n".join(lines))


def labels_of(result: Result, patterns: list[str]) -> list[str]:
    """The annotations that are meant."""
    patterns = separated(expand(patterns), set(result.annotations))
    try:
        return select_in_turn(patterns, result.annotations, "labels", str(result.folder))
    except UnknownNameError as error:
        raise Failure(
            f"{error} Name other columns at the fit with --exclude or --color."
        ) from error


def scores(result: Result, name: str) -> dict[str, Any]:
    """Agreement of the embedding, and of branches and pseudotime, with one column."""
    labels = result.samples[name]
    known = labels.notna().to_numpy()
    if known.sum() < 2:
        raise Failure(
            f"--labels {name!r} has {counted(int(known.sum()), 'value')}; scores need at least 2."
        )
    labels, embedding = labels[known], result.samples[result.components].to_numpy()[known]
    branches = result.ours("branch")
    found: dict[str, Any] = {"samples with a label": int(known.sum())}
    types = import_pandas().api.types
    is_number = types.is_numeric_dtype(labels) and not types.is_bool_dtype(labels)
    # Numbers of a few kinds, 0 and 1 for instance, are classes as well.
    if not is_number or labels.nunique() <= MOST_CLASSES:
        classes = labels.astype(str).to_numpy()
        share = np.unique(classes, return_counts=True)[1].max() / len(classes)
        found["classes"] = len(np.unique(classes))
        found["nearest neighbour's label right"] = float(loo_1nn(embedding, classes))
        found["most frequent label right"] = float(share)
        if branches is not None:
            branches = branches.to_numpy()[known]
            found["branch: adjusted Rand index"] = float(adjusted_rand_score(classes, branches))
            found["branch: mutual information"] = float(
                normalized_mutual_info_score(classes, branches)
            )
            found["branch: purity"] = purity(branches, classes)
    times = result.ours("pseudotime")
    if is_number and times is not None and labels.nunique() > 1:
        time = times.to_numpy()[known]
        found["pseudotime: Spearman correlation"] = float(spearmanr(time, labels).statistic)
    return found


# More different numbers than this are a quantity.
MOST_CLASSES = 20


def purity(branches: Any, classes: Any) -> float:
    """The part of samples that have the most frequent label of their branch."""
    table = import_pandas().crosstab(branches, classes)
    return float(table.max(axis=1).sum() / len(classes))


def show(value: Any) -> str:
    """A number for people."""
    return f"{value:,}" if isinstance(value, int) else f"{value:.3f}"
