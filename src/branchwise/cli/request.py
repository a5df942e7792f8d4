"""What the user asks `branchwise fit` for: read from the options once, before any data are."""

import argparse
import csv
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from .. import estimators
from .._messages import flag, listed
from ..data.composed import composed
from ..data.selection import (
    check_asked,
    expand,
    literal,
    protected,
    select,
    select_in_turn,
)
from ..data.table import Table
from ..pipeline import N_RESAMPLES, check_left_out
from ..preprocessing import Preparation
from ..report.content import COMPUTED
from .arguments import PARAMETERS
from .cluster import check_address
from .console import Usage

CLASSES = {"ddrtree": "DDRTree", "drtree": "DRTree", "spl": "SPL"}
# What the default way takes of the parameters; any other asks for ddrtree.
LEARNING, AUTO = ("n_components", "n_jobs"), ("auto",)
# What tells of a file what it does not say itself: arguments of `read_table`.
DIALECT = ("use_rep", "layer", "sheet", "encoding", "date_order")
# What makes use of columns, by name.
USED = ("categorical", "ordinal", "dates", "ages", "adjust")
# In the order in which they are done.
STEPS = (
    *("categorical", "ordinal", "dates", "ages"),
    *("impute", "log1p", "rank_normalize", "adjust", "standardize", "pca"),
)


@dataclass(frozen=True)
class Request:
    """All that a fit needs to know, and nothing that has still to be checked but against data."""

    source: str
    reading: dict[str, Any]  # arguments of `read_table`
    preparation: Preparation
    estimator: Any  # None: the default way
    learning: dict[str, Any]  # arguments of the default way
    support: int  # resamples
    random_state: int | None  # of the resamples
    root: str | None  # as it was written: the columns of the table tell what it means
    root_at: str
    end: int | str | None
    prune: bool
    resume: bool
    scheduler: str | None
    out: Path
    force: bool
    colors: list[str]
    ending: str  # of tables
    is_full: bool  # all digits of numbers
    pictures: tuple[str, ...]  # endings
    has_report: bool
    asked: dict[str, list[str]]  # names and patterns of columns, by parameter
    command: dict[str, Any]  # the options as they were given, for the record


def parse_request(options: argparse.Namespace) -> Request:
    """The request that the options make, or what is wrong with them.

    Examples
    --------
    >>> from branchwise.cli.arguments import build_parser
    >>> from branchwise.cli.request import parse_request
    >>> options = build_parser().parse_args(["fit", "a.csv", "-o", "out", "--lam", "5"])
    >>> parse_request(options).estimator
    DDRTree(lam=5)
    >>> options = build_parser().parse_args(["fit", "a.csv", "-o", "out"])
    >>> parse_request(options).estimator is None
    True
    """
    reading = reading_of(options)
    preparation = make_preparation(options)
    options.method = choose_method(options)
    is_default = options.method == "auto"
    estimator = make_estimator(options)
    parse_root(options.root)
    if is_default and options.root is None:
        options.root = "auto"
    if options.end is not None and options.root is None:
        raise Usage("--end needs a --root to start from; add one, or --root auto.")
    check_scheduled(options)
    return Request(
        source=options.input,
        reading=reading,
        preparation=preparation,
        estimator=None if is_default else estimator,
        learning={k: getattr(options, k) for k in LEARNING if hasattr(options, k)},
        support=resamples(options, is_default=is_default),
        random_state=getattr(options, "random_state", 0),
        root=options.root,
        root_at=options.root_at,
        end=None if options.end is None else parse_node(options.end),
        prune=options.prune,
        resume=options.resume,
        scheduler=options.scheduler,
        out=options.out,
        force=options.force,
        colors=expand(options.color),
        ending=options.format,
        is_full=options.full_precision,
        pictures={"both": ("png", "svg"), "none": ()}.get(options.figure, (options.figure,)),
        has_report=options.report,
        asked=asked_for(options, preparation),
        command={k: str(v) if isinstance(v, Path) else v for k, v in vars(options).items()},
    )


def choose_method(options: argparse.Namespace) -> str:
    """The method that was named; without a name, ddrtree if anything of it is asked for."""
    if options.method is not None:
        return str(options.method)
    given = [p.name for p in PARAMETERS if hasattr(options, p.name)]
    is_plain = set(given) <= {*LEARNING, "random_state"}
    return "auto" if is_plain and not options.prune and not options.resume else "ddrtree"


def resamples(options: argparse.Namespace, *, is_default: bool) -> int:
    """How many resamples to learn again from: some, where that takes seconds."""
    if options.support is None:
        return N_RESAMPLES if is_default and options.scheduler is None else 0
    if options.support and options.scheduler is not None:
        raise Usage(
            "--support needs all rows of the table in one place, but with --scheduler they are "
            "read chunk by chunk; leave one of the two out."
        )
    if options.support < 0 or options.support == 1:
        raise Usage(f"--support {options.support} must be at least 2, or 0 for none.")
    return int(options.support)


def make_estimator(options: argparse.Namespace) -> Any:
    """The estimator with the parameters that were given."""
    given = {p.name: getattr(options, p.name) for p in PARAMETERS if hasattr(options, p.name)}
    if options.method == "auto":
        if options.prune or options.resume:
            word = "prune" if options.prune else "resume"
            raise Usage(f"--{word} is not for --method auto; choose --method ddrtree.")
        given.pop("random_state", None)
    for name, methods, *_ in PARAMETERS:
        if name in given and options.method not in {*methods, *(AUTO if name in LEARNING else ())}:
            raise Usage(
                f"--{name} is a parameter of {' and '.join(methods)}, not of "
                f"--method {options.method}; leave it out or choose another method."
            )
    if options.method in ("drtree", "spl"):  # ddrtree has no chance in it
        given.setdefault("random_state", 0)
    estimator = getattr(estimators, CLASSES.get(options.method, "DDRTree"))(**given)
    try:
        estimator.check_parameters()
    except ValueError as error:
        raise Usage(str(error)) from error
    return estimator


def make_preparation(options: argparse.Namespace) -> Preparation:
    """The preparation that was asked for."""
    if options.pca is not None and options.pca < 1:
        raise Usage(f"--pca {options.pca} must be at least 1.")
    prepared = [name for name in STEPS if getattr(options, name)]
    if prepared and getattr(options, "kernel", None) == "precomputed":
        raise Usage(
            f"{flag(prepared[0])} is for features, not for a kernel matrix; leave it "
            "out, or --kernel precomputed."
        )
    preparation = Preparation(
        **encodings(options),
        impute=options.impute,
        log1p=options.log1p,
        rank_normalize=options.rank_normalize,
        adjust=again(options.adjust) or None,
        standardize=options.standardize,
        pca=options.pca,
        random_state=getattr(options, "random_state", 0),
    )
    try:
        preparation.check_parameters()
    except ValueError as error:
        raise Usage(str(error)) from error
    return preparation


def encodings(options: argparse.Namespace) -> dict[str, Any]:
    """What is to be encoded, as arguments of `Preparation`."""
    for option, given in (("ordinal", options.ordinal), ("age", options.ages)):
        named = [name for name, *_ in given]
        twice = [name for name in named if named.count(name) > 1]
        if twice:
            raise Usage(f"--{option} is given twice for {twice[0]!r}; leave one of the two out.")
    return {
        "categorical": list(dict.fromkeys(options.categorical)) or None,
        "ordinal": dict(options.ordinal) or None,
        "dates": list(dict.fromkeys(options.dates)) or None,
        "ages": {name: (start, end) for name, start, end in options.ages} or None,
    }


def encoded_names(options: argparse.Namespace) -> list[str]:
    """Columns to be encoded, as they were named."""
    given = [
        *expand([*getattr(options, "categorical", []), *getattr(options, "dates", [])]),
        *(name for name, _ in getattr(options, "ordinal", [])),
        *(name for _, *ends in getattr(options, "ages", []) for name in ends),
    ]
    return list(dict.fromkeys(given))


def check_scheduled(options: argparse.Namespace) -> None:
    """What cannot be done chunk by chunk, or gone on with."""
    if options.resume and getattr(options, "checkpoint", None) is None:
        raise Usage(
            "--resume needs the file that an earlier fit has written; add --checkpoint PATH."
        )
    if options.scheduler is None:
        return
    whole = ("categorical", "ordinal", "dates", "ages", "impute", "rank_normalize", "adjust")
    for name in (*whole, "kernel"):
        if getattr(options, name, None):
            raise Usage(
                f"{flag(name)} needs all rows of the table in one place, but with "
                f"--scheduler they are read chunk by chunk; leave one of the two out."
            )
    check_address(options.scheduler)


def reading_of(options: argparse.Namespace) -> dict[str, Any]:
    """How to read the table: what is adjusted for is not a feature, nor what has to be encoded.

    Files of names are read now: what was read with the table is kept in the model without them.
    """
    options.exclude, options.include = expand(options.exclude), expand(options.include)
    if hasattr(options, "adjust"):
        options.adjust = expand(options.adjust)
    return {
        "id": options.id,
        "include": again(options.include) or None,
        "exclude": again([*options.exclude, *getattr(options, "adjust", [])]),
        "annotate": again(encoded_names(options)),
        **{name: getattr(options, name) for name in DIALECT},
    }


def again(names: Sequence[str]) -> list[str]:
    """Names and patterns that were expanded, for what expands them.

    Examples
    --------
    >>> from branchwise.cli.request import again
    >>> again(["age", "@home", "age"])
    ['age', '@@home']
    """
    return [protected(name) for name in dict.fromkeys(names)]


def resolved(request: Request, table: Table) -> Request:
    """The request with the names of columns in the place of patterns, now that they are known."""
    columns = [*map(str, table.annotations.columns), *table.features]
    beside = [*columns, *([] if table.id is None else [table.id])]
    check_columns(request.asked | {"id": []}, request.root, beside, table.source)
    check_not_id(request.asked, table.id, table.source)
    check_left_out(request.asked["exclude"], request.preparation, columns, table.source)
    known = [*COMPUTED, *columns]
    adjust = request.preparation.adjust
    if adjust:
        names = select(expand(adjust), known, "adjust", table.source)
        request.preparation.set_params(adjust=again(names))
    chosen: dict[str, Any] = {
        name: [literal(column) for column in value] if isinstance(value, list) else value
        for name, value in table.chosen.items()
    }
    if "id" in chosen:
        chosen["id"] = literal(chosen["id"])
    colors = separated(request.colors, set(known))
    colors = select_in_turn(colors, known, "color", table.source)
    return replace(
        request,
        reading=request.reading | chosen,
        colors=colors,
        command=request.command | {"color": colors},
    )


def asked_for(options: argparse.Namespace, preparation: Preparation) -> dict[str, list[str]]:
    """The columns that options name, by parameter; files of names have been read."""
    return {
        "id": [] if options.id is None else expand([options.id]),
        "include": options.include,
        "exclude": options.exclude,
        **preparation.asked(),
        "color": expand(getattr(options, "color", [])),
    }


def separated(patterns: Sequence[str], known: Collection[str]) -> list[str]:
    """Names between commas by themselves, where no column is called like all of the text.

    Examples
    --------
    >>> from branchwise.cli.request import separated
    >>> separated(["death,sex", "dose, mg"], ["death", "sex", "dose, mg"])
    ['death', 'sex', 'dose, mg']
    """
    found: list[str] = []
    for pattern in patterns:
        is_whole = "," not in pattern or pattern in known
        parts = [pattern] if is_whole else next(csv.reader([pattern], skipinitialspace=True))
        found += [part for part in parts if part]
    return found


def check_columns(
    asked: dict[str, list[str]], root: str | None, known: Sequence[str], source: str
) -> None:
    """All columns that options name and the table does not have are told at once."""
    start = parse_root(root, columns=known) or {}
    colors = separated(asked["color"], {*COMPUTED, *known})
    asked = asked | {"color": colors, "root": [start["column"]] if "column" in start else []}
    check_asked(asked, known, source, {"color": COMPUTED})


def check_not_id(asked: dict[str, list[str]], id: str | None, source: str) -> None:
    """The column with the names of the samples is not to be encoded, or adjusted for, by name.

    Examples
    --------
    >>> from branchwise.cli.request import check_not_id
    >>> check_not_id({"categorical": ["sex"]}, "patient", "a.csv")
    """
    wrong = [flag(name) for name in USED if id in asked.get(name, ())]
    if wrong:
        raise Usage(
            f"{listed(wrong)}: {id!r} is the column with the names of the samples of {source}; "
            "leave it out, or name another such column with --id."
        )


def root_in(request: Request, table: Table) -> dict[str, Any] | None:
    """The root, now that the columns of the table tell what it means."""
    columns = {*map(str, table.annotations.columns), *table.features}
    return parse_root(request.root, request.root_at, columns, table.id)


def parse_root(
    text: str | None, at: str = "auto", columns: Collection[str] = (), id: str | None = None
) -> dict[str, Any] | None:
    """A root as `branchwise.pipeline.fit_pipeline` takes it.

    `at` says where to look for a label; `columns` tell which "=" ends the name of a column; `id`
    is the column with the names of the samples.

    Examples
    --------
    >>> from branchwise.cli.request import parse_root
    >>> parse_root("T1"), parse_root("node=12"), parse_root("stage=I")
    ({'node': 'T1'}, {'node': 12}, {'column': 'stage', 'value': 'I', 'at': 'auto'})
    >>> parse_root("sample=P007"), parse_root("patient=P007", id="patient")
    ({'sample': 'P007'}, {'sample': 'P007'})
    """
    if text is None:
        return None
    text = composed(text)
    if text == "auto":
        return {}  # on a ring there is no T1
    if "=" not in text:
        return {"node": parse_node(text)}
    ends = [k for k, sign in enumerate(text) if sign == "="]
    named = {*columns} | ({id} if id else set())
    end = next((k for k in ends if text[:k] in named), ends[0])
    kind, value = text[:end], text[end + 1 :]
    if not kind or not value:
        raise Usage(
            f"--root {text!r} must be a milestone (T1), node=12, sample=P007, COLUMN=LABEL or auto."
        )
    if kind == "node":
        return {"node": parse_node(value)}
    if kind == "sample" or (kind == id and kind not in columns):
        return {"sample": value}
    return {"column": kind, "value": value, "at": at}


def parse_node(text: str) -> int | str:
    """A node by its number, or the name of a milestone."""
    return int(text) if text.isdecimal() else text
