"""Experiments one after the other, and the files that tell of them together."""

import importlib
import platform
import time
from collections.abc import Sequence
from dataclasses import replace
from importlib import metadata
from pathlib import Path

from branchwise import __version__
from branchwise._compat import import_pandas
from branchwise._writing import replacing

from ..datasets import DatasetNotFound
from ..datasets.catalog import understand
from ._rows import escaped
from .settings import Check, Outcome, Settings

# The data sets of each figure; the table has any.
FIGURES = {
    "sensitivity": ("distorted_sshape",),
    "synthetic": ("spiral", "zigzag", "two_moons", "helix", "tree", "three_clusters"),
    "real": ("teapot", "usps_ones"),
    "teapot": ("teapot",),
    "faces": ("faces",),
    "cancer": ("metabric",),
}
WITH_METHODS = ("table1", "synthetic")
REPORT, CHECKS = "report.md", "checks.csv"


def reproduce(names: Sequence[str], settings: Settings) -> list[Outcome]:
    """Run experiments one after the other; each is written as soon as it is done.

    Parameters
    ----------
    names : sequence of str
        Keys of `settings.EXPERIMENTS`.
    settings : Settings

    Returns
    -------
    outcomes : list of Outcome
        In that order. In ``settings.out`` there are NAME.md for each, their pictures and tables,
        and of all of them report.md and checks.csv. Of several experiments, one whose data are
        not there is left out, and the report says so.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from branchwise_paper.experiments.report import reproduce
    >>> from branchwise_paper.experiments.settings import Settings
    >>> out = pathlib.Path(tempfile.mkdtemp())
    >>> some = Settings(out, quick=True, datasets=("iris",), methods=("PCA",), n_processes=1)
    >>> [outcome.name for outcome in reproduce(["table1"], some)]
    ['table1']
    >>> sorted(path.name for path in out.iterdir())  # doctest: +NORMALIZE_WHITESPACE
    ['cells', 'checks.csv', 'report.md', 'table1.csv', 'table1.md', 'table1.png',
     'table1_fits.csv']
    """
    settings.out.mkdir(parents=True, exist_ok=True)
    outcomes: list[Outcome] = []
    absent: list[str] = []
    for name in names:
        chosen = replace(settings, datasets=own_sets(name, settings.datasets, len(names) > 1))
        try:
            outcome = importlib.import_module(f"{__package__}.{name}").run(chosen)
        except DatasetNotFound as error:
            absent.append(f"{name}: {error}")
            if len(absent) == len(names):
                raise
            settings.note(f"{name} is left out: {error}")
            continue
        outcomes.append(outcome)
        _write(settings.out / f"{name}.md", page(outcome, level=1))
        write_report(settings.out, outcomes, absent, quick=settings.quick)
    if outcomes and absent:
        write_report(settings.out, outcomes, absent, quick=settings.quick)
    return outcomes


def left_over(names: Sequence[str], settings: Settings) -> list[str]:
    """Of several experiments, those that have some of the data sets that were named.

    Examples
    --------
    >>> from pathlib import Path
    >>> from branchwise_paper.experiments.report import left_over
    >>> from branchwise_paper.experiments.settings import EXPERIMENTS, Settings
    >>> left_over(list(EXPERIMENTS), Settings(Path("out"), datasets=("iris", "Teapot")))
    ['table1', 'real', 'teapot']
    """
    if len(names) > 1:
        some = bool(settings.datasets)
        left = [n for n in names if not some or own_sets(n, settings.datasets, True)]
        skipped = [name for name in names if name not in left]
        if skipped:
            settings.note(f"none of --datasets belongs to {', '.join(skipped)}, left out.")
        return left
    [name] = names
    if settings.methods and name not in WITH_METHODS:
        raise ValueError(
            f"--methods is for {' and '.join(WITH_METHODS)}; {name} has methods of its own: leave "
            "it out."
        )
    strange = set(settings.datasets) - set(own_sets(name, settings.datasets, False))
    if strange:
        raise ValueError(
            f"--datasets: {name} has no data set {min(strange)!r}; choose from "
            f"{', '.join(FIGURES[name])}."
        )
    return [name]


def own_sets(name: str, datasets: Sequence[str], among_others: bool) -> tuple[str, ...]:
    """Those of the named data sets that belong to an experiment.

    All do to the table; but among other experiments it leaves them what is theirs.

    Examples
    --------
    >>> from branchwise_paper.experiments.report import own_sets
    >>> own_sets("real", ["Teapot", "iris"], True)
    ('Teapot',)
    """
    keys = {one: understand(one).key for one in datasets}
    if name != "table1":
        return tuple(one for one, key in keys.items() if key in FIGURES[name])
    figures = {key for sets in FIGURES.values() for key in sets} if among_others else set()
    return tuple(one for one, key in keys.items() if key not in figures)


def page(outcome: Outcome, *, level: int) -> str:
    """An outcome as Markdown, with its checks below."""
    parts = [f"{'#' * level} {outcome.title}", outcome.text.rstrip()]
    if outcome.checks:
        parts += ["Checked by numbers:", check_table(outcome.checks)]
    return "\n\n".join(parts) + "\n"


def check_table(checks: Sequence[Check]) -> str:
    """Claims with their numbers.

    Examples
    --------
    >>> from branchwise_paper.experiments.report import check_table
    >>> from branchwise_paper.experiments.settings import Check
    >>> print(check_table([Check("two moons: components", 2, "==", 2, "simulated")]))
    | claim | data | measured | wanted | holds |
    | --- | --- | ---: | ---: | --- |
    | two moons: components | simulated | 2 | 2 | yes |
    """
    lines = ["| claim | data | measured | wanted | holds |", "| --- | --- | ---: | ---: | --- |"]
    for check in checks:
        sign = {">=": "≥ ", "<=": "≤ ", "==": ""}[check.relation]
        lines.append(
            f"| {escaped(check.claim)} | {escaped(check.data)} | {check.value:.5g} | "
            f"{sign}{check.bound:.5g} | {'yes' if check.passed else '**no**'} |"
        )
    return "\n".join(lines)


def write_report(
    out: Path, outcomes: Sequence[Outcome], absent: Sequence[str] = (), *, quick: bool = False
) -> None:
    """What all outcomes say, in one page and one table."""
    pages = [page(outcome, level=2) for outcome in outcomes]
    _write(out / REPORT, "\n".join([head_of(outcomes, absent, quick=quick), *pages]))
    frame = import_pandas().DataFrame(
        [
            (outcome.name, *check[:4], check.data, check.passed)
            for outcome in outcomes
            for check in outcome.checks
        ],
        columns=["experiment", "claim", "value", "relation", "bound", "data", "holds"],
    )
    with replacing(out / CHECKS) as file:
        frame.to_csv(file, index=False, lineterminator="\n")


def head_of(outcomes: Sequence[Outcome], absent: Sequence[str], *, quick: bool) -> str:
    """What the report is, what it was made with, and how many claims hold."""
    checks = [check for outcome in outcomes for check in outcome.checks]
    holding = sum(check.passed for check in checks)
    versions = ", ".join(
        f"{name} {metadata.version(name)}" for name in ("numpy", "scipy", "scikit-learn")
    )
    short = [
        f"- {outcome.name}: {check.claim}: {check.value:.5g}"
        for outcome in outcomes
        for check in outcome.checks
        if not check.passed
    ]
    parts = [
        "# The paper, reproduced",
        'The paper is Li Wang, "Probabilistic Dimensionality Reduction via Structure Learning". '
        "Its table and its figures were made anew by `branchwise reproduce`, which wrote this "
        f"page: every number in it was measured, on {time.strftime('%Y-%m-%d')}, with branchwise "
        f"{__version__}, Python {platform.python_version()}, {versions}. What is wrong in the "
        "paper's formulas is listed in branchwise's `docs/equations.md`.",
    ]
    if quick:
        parts.append("**A quick run**: on so few samples a claim may fail for that reason alone.")
    told = f"{holding} of {len(checks)} claims that were checked by a number hold."
    parts.append(told if checks else "No claim was checked by a number.")
    if short:
        parts[-1] += " These do not; the sections below tell more:"
        parts.append("\n".join(short))
    if absent:
        parts += ["Left out for want of data:", "\n".join(f"- {one}" for one in absent)]
    return "\n\n".join(parts) + "\n"


def _write(path: Path, text: str) -> None:
    with replacing(path) as file:
        file.write(text)
