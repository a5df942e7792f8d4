"""The commands, their options and their help."""

import argparse
import csv
import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from .. import __version__
from .console import Console, Usage
from .parser import Help, Names, Parser

METHODS = ("ddrtree", "drtree", "spl")

# The kinds of `branchwise plot`, which are the names of its files if no other is given.
PLOTS = (
    "embedding",
    "layout",
    "branches",
    "adjacency",
    "convergence",
    "uncertainty",
    "trends",
    "heatmap",
)

ALL, TREES, DDRTREE, SPL = METHODS, ("ddrtree", "drtree"), ("ddrtree",), ("spl",)


class Parameter(NamedTuple):
    """A parameter of an estimator as an option."""

    name: str
    methods: tuple[str, ...]
    help: str
    metavar: str = "X"


# As the estimators name them; a test holds this table against their signatures.
PARAMETERS = (
    Parameter("n_components", ALL, "dimensions, part of the variance, or 'auto': 10", "D"),
    Parameter("n_centers", DDRTREE, "nodes of the tree, 'auto', or 'none' for one per sample", "K"),
    Parameter("lam", TREES, "weight of the tree: larger is shorter and smoother"),
    Parameter("gamma", ("ddrtree", "spl"), "ddrtree: weight of the clusters; spl: noise precision"),
    Parameter("sigma", DDRTREE, "width of the assignments, in squared units of the data"),
    Parameter("assignment", DDRTREE, "soft or hard", "KIND"),
    Parameter("structure", TREES, "tree, forest, ring, curve or graph", "NAME"),
    Parameter("n_neighbors", SPL, "neighbours of each sample", "K"),
    Parameter("C", SPL, "price of a slack; inf forbids it"),
    Parameter("loss", SPL, "squared, absolute, hard or equality", "NAME"),
    Parameter("scale", SPL, "factor before the prior, 'auto', or 'none' for 1"),
    Parameter("solver", SPL, "auto, exact, sparse or sketch", "NAME"),
    Parameter("kernel", ALL, "linear, rbf or precomputed; 'none' fits the samples", "NAME"),
    Parameter("kernel_params", ALL, "as JSON: '{\"gamma\": 0.1}'", "JSON"),
    Parameter("max_iter", ALL, "most iterations", "N"),
    Parameter("tol", ALL, "when to stop"),
    Parameter("random_state", ALL, "seed (default: none for ddrtree, otherwise 0)", "SEED"),
    Parameter("n_landmarks", ("drtree", "spl"), "rows to fit of data beyond memory", "N"),
    Parameter("n_jobs", ALL, "threads; -1 is all processors", "N"),
    Parameter("checkpoint", DDRTREE, "file to write after every iteration, for --resume", "PATH"),
)


class Command(NamedTuple):
    """A command: its lines of help, its options, and what runs it.

    Another package has one by an entry point of the group `branchwise.commands`, which names an
    object of this kind. What runs a command of our own is in the module of its name.
    """

    name: str
    add: Callable[[argparse.ArgumentParser], None]
    call: str
    help: str
    description: str
    examples: str
    run: Callable[[argparse.Namespace, Console], None] | None = None


def find_plugins() -> list[Command]:
    """The commands that other packages bring; `reproduce` is named even where it is not installed.

    Examples
    --------
    >>> from branchwise.cli.arguments import find_plugins
    >>> "reproduce" in [command.name for command in find_plugins()]
    True
    """
    from importlib.metadata import entry_points  # slow: only where a plug-in may be meant

    found: list[Command] = []
    for entry in entry_points(group="branchwise.commands"):
        try:
            found.append(entry.load())
        except (ImportError, AttributeError) as error:
            raise Usage(
                f"the command {entry.name} is installed but cannot be loaded ({error}); install "
                "its package again, or remove it."
            ) from error
    return found if REPRODUCE.name in [one.name for one in found] else [*found, REPRODUCE]


def build_parser(plugins: Sequence[Command] = ()) -> argparse.ArgumentParser:
    """The parser of `branchwise`, with the commands of other packages.

    Examples
    --------
    >>> from branchwise.cli.arguments import build_parser
    >>> options = build_parser().parse_args(["fit", "a.csv", "-o", "out", "--n_components", "5"])
    >>> options.method, options.n_components
    (None, 5)
    """
    parser = Parser(
        prog="branchwise",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=Help,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"branchwise {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    *most, completion = OWN
    for command in (*most, *plugins, completion):
        added = commands.add_parser(
            command.name,
            usage=" ".join(f"branchwise {command.name} {command.call} [options]".split()),
            help=command.help,
            description=command.description,
            epilog=command.examples,
            formatter_class=Help,
            allow_abbrev=False,
        )
        command.add(added)
        messages = added.add_argument_group("messages")
        messages.add_argument("--json", action="store_true", help="print the result as JSON")
        messages.add_argument("--debug", action="store_true", help="show the traceback of an error")
    return parser


def add_fit(parser: argparse.ArgumentParser) -> None:
    """Options of `branchwise fit`."""
    parser.add_argument("input", metavar="INPUT", help="table to read")
    add_out(parser, "folder to write", required=True)
    parser.add_argument(
        "--method",
        choices=("auto", *METHODS),
        help="auto is the way of learn_trajectory, with branches by evidence (default: auto, or "
        "ddrtree if parameters of it are given)",
    )
    add_reading(parser)
    add_preparation(parser)
    add_root(parser)
    results = parser.add_argument_group("results")
    results.add_argument(
        "--color",
        nargs="+",
        action="extend",
        default=[],
        metavar="COLUMN",
        help="columns to colour the picture by, one panel each; also pseudotime and branch",
    )
    results.add_argument("--format", choices=("csv", "parquet"), default="csv", help="of tables")
    add_full_precision(results)
    results.add_argument(
        "--figure",
        choices=("png", "svg", "both", "none"),
        default="both",
        help="picture to draw (default: %(default)s)",
    )
    results.add_argument(
        "--no-report", dest="report", action="store_false", help="leave report.html out"
    )
    parameters = add_parameters(parser)
    parameters.add_argument(
        "--resume",
        action="store_true",
        help="go on from the file --checkpoint, if it is there (ddrtree)",
    )
    add_scheduler(parser)


def add_transform(parser: argparse.ArgumentParser) -> None:
    """Options of `branchwise transform`."""
    parser.add_argument("model", metavar="MODEL", help="model file, or the folder of a fit")
    parser.add_argument("new", metavar="NEW", help="table with the rows to place")
    parser.add_argument(
        "-o", "--out", metavar="FILE", default="-", help=".csv, .tsv or .parquet (default: screen)"
    )
    parser.add_argument("--force", action="store_true", help="replace FILE if it exists")
    parser.add_argument(
        "--id", metavar="COLUMN", help="column with the samples' names (default: as in the fit)"
    )
    parser.add_argument("--use-rep", metavar="KEY", help=argparse.SUPPRESS)
    parser.add_argument("--layer", metavar="KEY", help=argparse.SUPPRESS)
    add_dialect(parser.add_argument_group("reading"))
    add_full_precision(parser)
    add_scheduler(parser)


def add_full_precision(parser: Any) -> None:
    """How many digits numbers of tables have."""
    parser.add_argument(
        "--full-precision",
        action="store_true",
        help="write all digits of numbers (default: 5 in text; Parquet has all)",
    )


def add_report(parser: argparse.ArgumentParser) -> None:
    """Options of `branchwise report`."""
    parser.add_argument("result", metavar="OUT", help="folder of a fit")
    parser.add_argument(
        "--color",
        metavar="COLUMN",
        help="column to colour by at first; also pseudotime and branch (default: as in the fit)",
    )
    add_features(
        parser, "columns of numbers to have in the page besides the features that change most"
    )
    parser.add_argument("--title", metavar="TEXT", help="of the page (default: name of the input)")
    parser.add_argument("--root", metavar="ROOT", help="start at another root (see branchwise fit)")
    add_root_at(parser)
    parser.add_argument(
        "-o", "--out", metavar="FILE", help="ending in .html (default: report.html in OUT)"
    )
    parser.add_argument("--force", action="store_true", help="replace FILE if it exists")


def add_plot(parser: argparse.ArgumentParser) -> None:
    """Options of `branchwise plot`."""
    parser.add_argument("result", metavar="OUT", help="folder of a fit")
    parser.add_argument(
        "--kind",
        choices=PLOTS,
        default="embedding",
        metavar="KIND",
        help="%(choices)s (default: %(default)s)",
    )
    parser.add_argument(
        "--color",
        nargs="+",
        action="extend",
        default=[],
        metavar="COLUMN",
        help="columns to colour by, one panel each; also pseudotime and branch",
    )
    add_features(
        parser,
        "features for trends and heatmap (default: those with the strongest evidence of a change "
        "along the whole tree)",
    )
    parser.add_argument(
        "--root", metavar="ROOT", help="draw from another root (see branchwise fit)"
    )
    add_root_at(parser)
    parser.add_argument(
        "--to",
        metavar="TIP",
        help="trends and heatmap of the way to this tip only (default: all branches; in a heatmap "
        "up to four tips, side by side)",
    )
    parser.add_argument("--dims", type=int, choices=(2, 3), default=2, help="of the embedding")
    parser.add_argument(
        "--view",
        choices=("auto", "flat", "axes", "both"),
        default="auto",
        help="of the embedding: the tree drawn flat with true lengths, the linear axes that show "
        "it best, or both (default: both if there are more than two components)",
    )
    parser.add_argument(
        "-o",
        "--out",
        metavar="FILE",
        help=".png, .svg or .pdf (default: KIND.png in OUT)",
    )
    parser.add_argument("--force", action="store_true", help="replace FILE if it exists")
    parser.add_argument("--dpi", type=int, default=150, help="default: %(default)s")


def add_score(parser: argparse.ArgumentParser) -> None:
    """Options of `branchwise score`."""
    parser.add_argument("result", metavar="OUT", help="folder of a fit")
    parser.add_argument(
        "--labels",
        nargs="+",
        action="extend",
        required=True,
        metavar="COLUMN",
        help="annotations to compare with: categories or numbers",
    )


def add_info(parser: argparse.ArgumentParser) -> None:
    """Options of `branchwise info`."""
    parser.add_argument("path", metavar="MODEL|INPUT", help="model file, result folder or table")
    add_reading(parser)
    add_encodings(parser.add_argument_group("encoding", "as a fit would take these columns"))


def add_demo(parser: argparse.ArgumentParser) -> None:
    """Options of `branchwise demo`."""
    add_out(parser, "folder to write; an older demo is replaced", default="branchwise-demo")


def add_completion(parser: argparse.ArgumentParser) -> None:
    """Options of `branchwise completion`."""
    parser.add_argument(
        "shell", metavar="SHELL", choices=("bash", "zsh", "tcsh"), help="%(choices)s"
    )


def add_out(parser: argparse.ArgumentParser, help: str, **options: Any) -> None:
    """Where a folder of results goes."""
    text = help + (" (default: %(default)s)" if "default" in options else "")
    parser.add_argument("-o", "--out", type=Path, metavar="OUT", help=text, **options)
    parser.add_argument("--force", action="store_true", help="replace OUT if it is a result")


def add_reading(parser: argparse.ArgumentParser) -> None:
    """How to read a table."""
    group = parser.add_argument_group("reading")
    group.add_argument("--id", metavar="COLUMN", help="column with the samples' names")
    for option, text in (
        ("--include", "the only features; all other columns are kept as annotations"),
        ("--exclude", "columns that are not features; kept as annotations"),
    ):
        group.add_argument(
            option, type=names, nargs="+", action=Names, default=[], metavar="A,B", help=text
        )
    group.add_argument("--use-rep", metavar="KEY", help="of .h5ad and .zarr: matrix in obsm")
    group.add_argument("--layer", metavar="KEY", help="of .h5ad and .zarr: layer in place of X")
    add_dialect(group)


def add_dialect(group: Any) -> None:
    """How to read what is not told by a file itself."""
    group.add_argument("--sheet", metavar="NAME", help="of .xlsx: sheet (default: the first)")
    group.add_argument("--encoding", metavar="NAME", help="of text: latin-1, … (default: utf-8)")
    group.add_argument(
        "--date-order",
        choices=("dmy", "mdy"),
        help="how to read dates such as 02/01/2020 (default: as the values say, else dmy)",
    )


def add_preparation(parser: argparse.ArgumentParser) -> None:
    """What is done to the features, in this order."""
    group = parser.add_argument_group(
        "preparation", "done in this order, and repeated by transform as it was"
    )
    add_encodings(group)
    group.add_argument(
        "--impute",
        choices=("median", "model", "drop"),
        help="missing values: medians of their columns, what a tree of the known values makes "
        "likely of them, or drop the rows",
    )
    group.add_argument("--log1p", action="store_true", help="log(1 + x), for counts")
    group.add_argument(
        "--rank-normalize", action="store_true", help="normal scores of the ranks in each column"
    )
    group.add_argument(
        "--adjust",
        type=names,
        nargs="+",
        action=Names,
        default=[],
        metavar="A,B",
        help="take out what a linear regression on these columns explains",
    )
    group.add_argument("--standardize", action="store_true", help="mean 0 and deviation 1")
    for name in ("standardize", "rank_normalize"):
        also = f"--{name.replace('_', '-').replace('ize', 'ise')}"
        group.add_argument(also, dest=name, action="store_true", help=argparse.SUPPRESS)
    group.add_argument("--pca", type=int, metavar="N", help="keep N principal components")


def add_encodings(group: Any) -> None:
    """Columns that are not numbers as features."""
    group.add_argument(
        "--categorical",
        type=names,
        nargs="+",
        action=Names,
        default=[],
        metavar="A,B",
        help="categories (text, yes/no, numbers of groups) as features; one of K levels "
        "counts as much as K - 1 numbers",
    )
    group.add_argument(
        "--ordinal",
        type=ordered,
        action="append",
        default=[],
        metavar="COLUMN=LOW,MID,HIGH",
        help="an ordered category as a feature, with all of its levels in order",
    )
    group.add_argument(
        "--date",
        dest="dates",
        type=names,
        nargs="+",
        action=Names,
        default=[],
        metavar="A,B",
        help="dates as features: days since the first one",
    )
    group.add_argument(
        "--age",
        dest="ages",
        type=between,
        action="append",
        default=[],
        metavar="NAME=START:END",
        help="years between two columns of dates as a feature of a new name",
    )


def add_root(parser: argparse.ArgumentParser) -> None:
    """Where time starts."""
    group = parser.add_argument_group("trajectory")
    group.add_argument(
        "--root", metavar="ROOT", help="T1, node=12, sample=P007, COLUMN=LABEL, or auto"
    )
    add_root_at(group)
    group.add_argument("--end", metavar="END", help="milestone or node at which the way ends")
    group.add_argument(
        "--prune",
        action="store_true",
        help="remove twigs that cannot be told from noise (auto does so by evidence)",
    )
    group.add_argument(
        "--support",
        type=int,
        metavar="N",
        help="learn again from N resamples, to see how sure branches are (default: 20 with auto)",
    )
    group.add_argument(
        "--no-support", dest="support", action="store_const", const=0, help="leave these out"
    )


def add_features(parser: argparse.ArgumentParser, text: str) -> None:
    """Which features, by name."""
    parser.add_argument(
        "--feature", nargs="+", action="extend", default=[], metavar="NAME", help=text
    )


def add_root_at(parser: Any) -> None:
    """Where a label may be the root."""
    parser.add_argument(
        "--root-at",
        choices=("auto", "tip", "node"),
        default="auto",
        help="where to look for a label: at tips and inner nodes, at tips only, or at all nodes "
        "alike (default: %(default)s)",
    )


def add_parameters(parser: argparse.ArgumentParser) -> Any:
    """Parameters of the estimators, by their Python names."""
    group = parser.add_argument_group("parameters of the method")
    for name, methods, text, metavar in PARAMETERS:
        only = "" if methods == ALL else f" ({', '.join(methods)})"
        spellings = dict.fromkeys([f"--{name}", f"--{name.replace('_', '-')}"])
        group.add_argument(
            *spellings,
            dest=name,
            type=TYPES.get(name, literal),
            default=argparse.SUPPRESS,
            metavar=metavar,
            help=f"{text.replace('%', '%%')}{only}",
        )
    return group


def add_scheduler(parser: argparse.ArgumentParser) -> None:
    """Where a table is worked on that does not fit into memory."""
    group = parser.add_argument_group("tables beyond memory (zarr, .h5ad, Parquet or .npy)")
    group.add_argument(
        "--scheduler",
        metavar="ADDRESS",
        help="read and work chunk by chunk, with Dask: tcp://HOST:PORT of a cluster, local for "
        "processes of this machine, or threads of this process",
    )


def names(text: str) -> list[str]:
    """Names between commas, in quotation marks if they have commas themselves, as in a CSV file.

    Examples
    --------
    >>> from branchwise.cli.arguments import names
    >>> names("age, sex"), names('age,"dose, mg"')
    (['age', 'sex'], ['age', 'dose, mg'])
    """
    [row] = csv.reader([text], skipinitialspace=True) if text else [[""]]
    found = [name.strip() for name in row]
    if not all(found):
        raise argparse.ArgumentTypeError(f"{text!r} has an empty name between its commas")
    return found


def ordered(text: str) -> tuple[str, list[str]]:
    """A column and its levels; with = or commas in them, in quotation marks.

    Examples
    --------
    >>> from branchwise.cli.arguments import ordered
    >>> ordered("grade=low,mid,high"), ordered('"a=b"="low, or none",high')
    (('grade', ['low', 'mid', 'high']), ('a=b', ['low, or none', 'high']))
    """
    name, sign, rest = divided(text, "=")
    if not name or not sign or not rest:
        raise argparse.ArgumentTypeError(
            f"{text!r} must be COLUMN=LEVEL,LEVEL,…, for instance grade=low,mid,high"
        )
    return name, names(rest)


def between(text: str) -> tuple[str, str, str]:
    """A new name and two columns of dates; with = or : in them, in quotation marks.

    Examples
    --------
    >>> from branchwise.cli.arguments import between
    >>> between("age=born:seen"), between('age="born: date":seen')
    (('age', 'born', 'seen'), ('age', 'born: date', 'seen'))
    """
    name, _, rest = divided(text, "=")
    start, _, end = divided(rest, ":")
    end, _, more = divided(end, ":")
    if not name or not start or not end or more:
        raise argparse.ArgumentTypeError(
            f"{text!r} must be NAME=START:END, a new name and two columns of dates, for instance "
            "age=born:seen"
        )
    return name, start, end


def divided(text: str, sign: str) -> tuple[str, str, str]:
    """What stands before the first such sign, the sign, and the rest.

    In quotation marks the sign is part of the text before it, which then comes without them.
    """
    quoted = re.match(rf'\s*"((?:[^"]|"")*)"\s*(?:({re.escape(sign)})(.*))?$', text, re.DOTALL)
    if quoted:
        return quoted[1].replace('""', '"'), quoted[2] or "", quoted[3] or ""
    before, found, rest = text.partition(sign)
    return before.strip(), found, rest.strip()


def literal(text: str) -> Any:
    """A number, nothing, or a word.

    Examples
    --------
    >>> from branchwise.cli.arguments import literal
    >>> [literal(text) for text in ("5", "1e-3", "none", "auto")]
    [5, 0.001, None, 'auto']
    """
    if text.lower() == "none":
        return None
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def json_object(text: str) -> Any:
    """An object in JSON."""
    try:
        found = json.loads(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} is not JSON: {error}") from error
    if not isinstance(found, dict):
        raise argparse.ArgumentTypeError(f'{text!r} must be an object such as {{"gamma": 0.1}}')
    return found


# How parameters are read whose values are neither numbers nor words.
TYPES: dict[str, Callable[[str], Any]] = {"kernel_params": json_object, "checkpoint": str}

DESCRIPTION = """\
Learn a low-dimensional embedding together with the tree, or another graph, that the data lie on.

  branchwise demo                               see it work on 569 real tumours
  branchwise fit table.csv -o out --standardize from a table to embedding, tree, picture and model
  branchwise transform out new.csv              place new rows on the same tree
"""

EPILOG = """\
exit codes: 0 done, 1 the fit or the data failed, 2 wrong usage. Every command has --help with an
example. Tables: CSV, TSV (also .gz), Excel (.xlsx), SPSS (.sav), Stata (.dta), Parquet, Feather,
NPY, NPZ, Matrix Market (10x folders), .h5ad, .zarr.
"""

FIT = """\
Read a table, prepare it, learn an embedding and its graph, and write all results into one folder:
samples (places, how much to trust each, coordinates, annotations), centers, tree (with a root also
branches and milestones) as tables, the model for `branchwise transform`, a picture, an interactive
page (report.html), and run.json with versions, parameters, seed, input hash, times and objective.

Numeric columns are features. All others are annotations: they are kept, can be coloured by, and can
tell where the root is. Categories, yes/no columns and dates become features, too, where
--categorical, --ordinal, --date or --age name them.
"""

FIT_EXAMPLES = """\
examples:
  branchwise fit patients.csv -o out --id patient --standardize --exclude outcome --color outcome
  branchwise fit cohort.xlsx -o out --sheet Visit1 --include @genes.txt --color 'pam50*' stage
  branchwise fit cohort.parquet -o out --rank-normalize --adjust age,sex --root stage=I --prune
  branchwise fit clinic.csv -o out --categorical sex,smoker --ordinal grade=low,high --standardize
  branchwise fit cells.h5ad -o out --use-rep X_pca --n_components 5 --root cell_type=HSC
  branchwise fit faces.npz -o out --method spl --n_neighbors 5 --C 1000
  branchwise fit atlas.zarr -o out --pca 50 --scheduler tcp://10.0.0.1:8786 --checkpoint atlas.fit

The root is a milestone as the picture names it (T1, F2), a node (node=12), a sample (sample=P007),
or the place that a label comes first from (stage=I): a tip or, if no tip has it, an inner node.

Wherever columns are named, patterns will do ('*_mut', in quotation marks, so that the shell leaves
them alone), and so will @FILE, which has a name or pattern on each line. A name with a comma stands
in quotation marks: --exclude 'age,"dose, mg"'. Parameters have their Python names and defaults.

With --scheduler the table is read chunk by chunk by the workers of Dask, which need the same path
to it; drtree and spl are then fitted to landmarks. What needs all rows in one place (--categorical,
--ordinal, --date, --age, --impute, --rank-normalize, --adjust, --kernel) is for tables in memory.
"""

TRANSFORM = """\
Place the rows of a new table on the graph of a fitted model. What the fit did to its table, from
medians to covariates, is repeated as it was; columns are found by their names. Columns and values
may be missing. Each row comes with a p-value: the part of rows like those of the fit that lie as
far from the tree.
"""

TRANSFORM_EXAMPLES = """\
examples:
  branchwise transform out new.csv                    (to the screen, as CSV)
  branchwise transform out/model.branchwise new.parquet -o placed.csv
  branchwise transform out new.zarr -o placed.parquet --scheduler local
"""

REPORT = """\
Write an interactive page of a result of `branchwise fit`: one HTML file that any browser opens,
without a network or anything else. `branchwise fit` writes it, too; here it is made again, with
another root, colour or title, or with more features (these are read from the input of the fit, if
it has not changed). The page holds the values that it shows: mail it only to those who may see
them.
"""

REPORT_EXAMPLES = """\
examples:
  branchwise report out --root T2 --color pseudotime
  branchwise report out --feature age --feature bmi -o cohort.html --title "The cohort of 2024"
"""

PLOT = """\
Draw a result of `branchwise fit`: the embedding with its graph, the tree by pseudotime, branches as
a graph, the adjacency matrix, how the objective converged, or features along the tree (these are
read from the input of the fit, if it has not changed).
"""

PLOT_EXAMPLES = """\
examples:
  branchwise plot out --color pseudotime
  branchwise plot out --kind layout --root T2 -o layout.svg
  branchwise plot out --kind trends --feature age --feature bmi
"""

SCORE = """\
How well a result of `branchwise fit` agrees with labels that it has not seen: accuracy of the
nearest neighbour, and with a root how branches and pseudotime agree with them.
"""

SCORE_EXAMPLES = """\
example:
  branchwise score out --labels diagnosis
"""

INFO = """\
Describe a model file, a result folder, or a table before it is fitted: what each column holds, what
is odd about it, and what a fit would do with it. No table is refused for what is in it.
"""

INFO_EXAMPLES = """\
examples:
  branchwise info patients.csv --id patient
  branchwise info out/model.branchwise
"""

DEMO = """\
Fit DDRTree to scikit-learn's breast-cancer table (569 real tumours, 30 measurements each, shipped
with scikit-learn, no download), as `branchwise fit` would.
"""

DEMO_EXAMPLES = """\
example:
  branchwise demo -o branchwise-demo
"""

COMPLETION = """\
Print a script that lets the shell complete commands, options and file names.
"""

COMPLETION_EXAMPLES = """\
examples:
  branchwise completion bash > ~/.local/share/bash-completion/completions/branchwise
  branchwise completion zsh > ~/.zfunc/_branchwise
    (with fpath+=~/.zfunc before compinit in ~/.zshrc)
"""

# Stands in the help for the command of branchwise-paper where that is not installed.
REPRODUCE = Command(
    "reproduce",
    lambda parser: None,
    "WHAT",
    "the paper's table and figures (with branchwise-paper)",
    "",
    "",
)

# In the order of the help.
OWN = (
    Command("fit", add_fit, "INPUT -o OUT", "from a table to results and model", FIT, FIT_EXAMPLES),
    Command(
        "transform", add_transform, "MODEL NEW", "place new rows", TRANSFORM, TRANSFORM_EXAMPLES
    ),
    Command("report", add_report, "OUT", "an interactive page", REPORT, REPORT_EXAMPLES),
    Command("plot", add_plot, "OUT", "draw a result", PLOT, PLOT_EXAMPLES),
    Command(
        "score", add_score, "OUT --labels COLUMN", "compare with labels", SCORE, SCORE_EXAMPLES
    ),
    Command("info", add_info, "MODEL|INPUT", "describe a model or a table", INFO, INFO_EXAMPLES),
    Command("demo", add_demo, "", "fit a tree to real data in seconds", DEMO, DEMO_EXAMPLES),
    Command(
        "completion", add_completion, "SHELL", "for your shell", COMPLETION, COMPLETION_EXAMPLES
    ),
)
