"""`branchwise reproduce`: the paper's table and figures, beside the printed ones."""

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from branchwise.cli.arguments import Command, names
from branchwise.cli.console import Console, Failure, Usage

from .experiments.settings import EXPERIMENTS, Advance, Outcome, Settings, data_folder

DESCRIPTION = """\
Make the table and the figures of the paper again, from data sets in a folder or fetched by
scikit-learn, and write them beside the printed ones into one folder, with every claim checked by a
number: NAME.md, pictures and tables for each experiment, report.md and checks.csv for all
experiments of the call.

What has been computed stays in OUT/cells: a run that was stopped, or asks for more, goes on from
there.
"""

EXAMPLES = """\
examples:
  branchwise reproduce all --data-dir data -o reproduction   (an hour; --quick: minutes)
  branchwise reproduce table1 --datasets iris,usps --methods SPL,tSNE,PCA
  branchwise reproduce synthetic --quick

The folder of data (--data-dir, or the environment variable BRANCHWISE_DATA) holds NAME.npz files
with X, labels y and, if they were scaled, Xs; any of them can be named for table1.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `branchwise reproduce`."""
    parser.add_argument(
        "experiment", metavar="WHAT", choices=(*EXPERIMENTS, "all"), help="%(choices)s"
    )
    parser.add_argument(
        "-o",
        "--out",
        type=Path,
        metavar="OUT",
        default=Path("branchwise-reproduction"),
        help="folder to write or to go on in (default: %(default)s)",
    )
    parser.add_argument(
        "--data-dir",
        type=Path,
        metavar="DIR",
        help="folder with NAME.npz (default: BRANCHWISE_DATA)",
    )
    parser.add_argument(
        "--quick", action="store_true", help="a look at it: few samples, few parameters"
    )
    for option, what in (
        ("--datasets", "data sets, by the paper's names or those of files"),
        ("--methods", "methods of table1 and synthetic, such as SPL,tSNE,UMAP"),
    ):
        parser.add_argument(
            option,
            type=names,
            action="extend",
            default=[],
            metavar="A,B",
            help=f"only these {what}",
        )
    parser.add_argument(
        "--processes", type=int, default=2, metavar="N", help="at a time (default: %(default)s)"
    )
    parser.add_argument(
        "--no-images", action="store_true", help="dots only, for images that may not be given away"
    )
    parser.add_argument("--fresh", action="store_true", help="compute also what has been computed")


def run(options: argparse.Namespace, console: Console) -> None:
    """Run the experiments, and say which claims hold."""
    from .experiments import report

    settings = Settings(
        out=options.out,
        data_dir=options.data_dir,
        quick=options.quick,
        datasets=tuple(options.datasets),
        methods=tuple(options.methods),
        images=not options.no_images,
        n_processes=options.processes,
        fresh=options.fresh,
        note=console.note,
        bar=progress_bar,
    )
    experiments = list(EXPERIMENTS) if options.experiment == "all" else [options.experiment]
    check(settings)
    try:
        experiments = report.left_over(experiments, settings)
    except ValueError as error:
        raise Usage(str(error)) from error
    console.interrupted = (
        "interrupted; the same command goes on from here, with what has been computed."
    )
    outcomes = report.reproduce(experiments, settings)
    facts = {
        outcome.name: {
            "files": [str(options.out / name) for name in outcome.files],
            "checks": [{**one._asdict(), "holds": one.passed} for one in outcome.checks],
        }
        for outcome in outcomes
    }
    console.result(facts, summary(outcomes, options.out))


def check(settings: Settings) -> None:
    """Say before the work begins what is wrong with the call."""
    from .experiments.cells import FOLDER
    from .experiments.methods import chosen_methods

    folder = data_folder(settings)
    if folder is not None and not folder.is_dir():
        raise Failure(
            f"{folder} is not a folder of data sets; make it, or name another --data-dir."
        )
    if settings.n_processes < 1:
        raise Usage(f"--processes {settings.n_processes} must be at least 1.")
    try:
        chosen_methods(settings.methods)
    except ValueError as error:
        raise Usage(f"--methods: {error}") from error
    out = settings.out
    if out.exists() and not out.is_dir():
        raise Failure(f"{out} is a file; choose another -o.")
    if out.is_dir() and any(out.iterdir()) and not (out / FOLDER).is_dir():
        raise Failure(
            f"{out} exists and is not a result of branchwise reproduce; choose another -o."
        )


@contextmanager
def progress_bar(total: int, name: str) -> Iterator[Advance]:
    """One bar for an experiment, if somebody is looking."""
    if not sys.stderr.isatty():
        yield lambda label: None
        return
    from tqdm import tqdm

    with tqdm(total=total, desc=name, unit="cell", file=sys.stderr, leave=False) as bar:

        def advance(label: str) -> None:
            bar.set_postfix_str(label, refresh=False)
            bar.update()

        yield advance


def summary(outcomes: list[Outcome], out: Path) -> str:
    """What was found, for the screen."""
    lines = []
    for outcome in outcomes:
        holding = sum(one.passed for one in outcome.checks)
        told = f"{holding} of {len(outcome.checks)} claims hold" if outcome.checks else "no claims"
        lines.append(f"{outcome.name:<12} {told}: {', '.join(outcome.files)}")
        lines += [
            f"{'':<12} falls short: {one.claim}; {one.value:.5g}, wanted {one.relation} "
            f"{one.bound:.5g}"
            for one in outcome.checks
            if not one.passed
        ]
    lines.append(f"written to {out}; read {out / 'report.md'}")
    return "\n".join(lines)


COMMAND = Command(
    "reproduce",
    add_arguments,
    "WHAT",
    "the paper's table and figures",
    DESCRIPTION,
    EXAMPLES,
    run,
)
