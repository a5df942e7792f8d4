"""Which experiments there are, and the files that tell of them together."""

import importlib
import platform
import time
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path

from .. import __version__
from .._compat import import_pandas
from ..io import replacing
from .settings import Check, Outcome, Settings

# In the order of the paper's table and figures.
EXPERIMENTS = {
    "table1": "leave-one-out accuracies of nine methods on ten data sets",
    "sensitivity": "Fig. 1: the parameters γ and C",
    "synthetic": "Fig. 2: six shapes, all methods",
    "real": "Fig. 3: a turning teapot and handwritten ones",
    "teapot": "Fig. 4: the principal curve of the teapot",
    "faces": "Fig. 5: a hierarchy of faces",
    "cancer": "Fig. 6: the progression of breast cancer",
}
REPORT, CHECKS = "report.md", "checks.csv"


def reproduce(names: Sequence[str], settings: Settings) -> list[Outcome]:
    """Run experiments one after the other; each is written as soon as it is done.

    Parameters
    ----------
    names : sequence of str
        Keys of EXPERIMENTS.
    settings : Settings

    Returns
    -------
    outcomes : list of Outcome
        In that order. In ``settings.out`` there are NAME.md for each, their pictures and tables,
        and of all of them report.md and checks.csv.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from ramify.experiments.report import reproduce
    >>> from ramify.experiments.settings import Settings
    >>> out = pathlib.Path(tempfile.mkdtemp())
    >>> some = Settings(out, quick=True, datasets=("iris",), methods=("PCA",), n_processes=1)
    >>> [outcome.name for outcome in reproduce(["table1"], some)]
    ['table1']
    >>> sorted(path.name for path in out.iterdir())  # doctest: +NORMALIZE_WHITESPACE
    ['cells', 'checks.csv', 'report.md', 'table1.csv', 'table1.md', 'table1.png',
     'table1_fits.csv']
    """
    settings.out.mkdir(parents=True, exist_ok=True)
    outcomes = []
    for name in names:
        outcome = importlib.import_module(f"{__package__}.{name}").run(settings)
        outcomes.append(outcome)
        _write(settings.out / f"{name}.md", page(outcome, level=1))
        write_report(settings.out, outcomes)
    return outcomes


def page(outcome: Outcome, *, level: int) -> str:
    """An outcome as Markdown, with its checks below."""
    parts = [f"{'#' * level} {outcome.title}", outcome.text]
    if outcome.checks:
        parts += ["Checked by numbers:", check_table(outcome.checks)]
    return "\n\n".join(parts) + "\n"


def check_table(checks: Sequence[Check]) -> str:
    """Claims with their numbers.

    Examples
    --------
    >>> from ramify.experiments.report import check_table
    >>> from ramify.experiments.settings import Check
    >>> print(check_table([Check("two moons: components", 2, "==", 2, "simulated")]))
    | claim | data | measured | wanted | holds |
    | --- | --- | ---: | ---: | --- |
    | two moons: components | simulated | 2 | 2 | yes |
    """
    lines = ["| claim | data | measured | wanted | holds |", "| --- | --- | ---: | ---: | --- |"]
    for check in checks:
        sign = {">=": "≥ ", "<=": "≤ ", "==": ""}[check.relation]
        lines.append(
            f"| {check.claim} | {check.data} | {check.value:.5g} | {sign}{check.bound:.5g} | "
            f"{'yes' if check.passed else '**no**'} |"
        )
    return "\n".join(lines)


def write_report(out: Path, outcomes: Sequence[Outcome]) -> None:
    """What all outcomes say, in one page and one table."""
    pages = [page(outcome, level=2) for outcome in outcomes]
    _write(out / REPORT, "\n".join([head_of(outcomes), *pages]))
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


def head_of(outcomes: Sequence[Outcome]) -> str:
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
        "Its table and its figures were made anew by `ramify reproduce`, which wrote this page: "
        f"every number in it was measured, on {time.strftime('%Y-%m-%d')}, with ramify "
        f"{__version__}, Python {platform.python_version()}, {versions}.",
        f"{holding} of {len(checks)} claims that were checked by a number hold."
        + (" These do not; the sections below say why:" if short else ""),
    ]
    return "\n\n".join([*parts, "\n".join(short)] if short else parts) + "\n"


def _write(path: Path, text: str) -> None:
    with replacing(path) as file:
        file.write(text)
