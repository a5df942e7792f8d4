"""The folder of a fit: written whole or not at all, and read again, with the input if need be."""

import csv
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from .._compat import import_extra, import_pandas
from .._messages import listed
from .._typing import Matrix
from .._writing import guarded, replacing_bytes, unguarded
from ..data.columns import column, columns, rows_of_table
from ..data.dates import with_dates
from ..data.selection import expand, select_in_turn
from ..data.table import Table
from ..io import file_hash, read_table
from ..persistence.loading import MODEL, load
from ..pipeline import Pipeline, hint_at_root, start_of
from ..trajectory import Trajectory
from .arguments import PLOTS
from .console import Failure, Usage, as_json
from .request import parse_root, separated

RUN = "run.json"
REPORT = "report.html"
TABLE_ENDINGS = (".csv", ".tsv", ".parquet")
# Of more rows so many are made to text at a time, by a faster way.
MANY_ROWS = 50_000
PICTURE_ENDINGS = (".png", ".svg", ".pdf")
TABLES = (
    "samples",
    "centers",
    "tree",
    "branches",
    "milestones",
    "evidence",
    "support",
    # Of results before there was one table of samples.
    "embedding",
    "pseudotime",
)


def check_out(out: Path, *, force: bool) -> None:
    """Say before the work begins that its results have nowhere to go.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from branchwise.cli.results import check_out
    >>> check_out(pathlib.Path(tempfile.mkdtemp()) / "new", force=False)
    """
    if Path.cwd().is_relative_to(out.resolve()):
        raise Failure(f"{out} is where you are, and is to be made again; choose another -o.")
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        folder_beside(out, ".part").rmdir()
    except OSError as error:
        raise Failure(f"{out} cannot be made ({error.strerror}); choose another -o.") from error
    if not os.path.lexists(out) or (out.is_dir() and not any(out.iterdir())):
        return
    if not (out / RUN).is_file():
        raise Failure(f"{out} exists and is not a result of branchwise fit; choose another -o.")
    if not force:
        raise Failure(f"{out} exists; choose another -o, or add --force to replace it.")
    others = [path.name for path in sorted(out.iterdir()) if not is_ours(path)]
    if others:
        raise Failure(
            f"{out} holds {listed(others, 5)}, which branchwise fit did not write and --force "
            "would delete; move it away, or choose another -o."
        )


def is_ours(path: Path) -> bool:
    """Whether a file in a result was made by `branchwise fit`, `plot` or `report`."""
    if path.name in {RUN, MODEL, REPORT, ".DS_Store"} or path.name in listed_files(path.parent):
        return path.is_file()
    if path.suffix in PICTURE_ENDINGS:  # `plot` names them by their kind
        return path.stem in PLOTS and path.is_file()
    return path.stem in TABLES and path.suffix in {".csv", ".parquet"}


def listed_files(folder: Path) -> set[str]:
    """The names of the files that a result says it has; none if it is damaged."""
    try:
        files = json.loads((folder / RUN).read_text(encoding="utf-8"))["files"].values()
        return {str(name) for each in files for name in np.atleast_1d(each).tolist()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return set()


def folder_beside(out: Path, ending: str) -> Path:
    """A new hidden folder, on the same disk, so that it can be renamed."""
    return Path(tempfile.mkdtemp(prefix=f".{out.name}.", suffix=ending, dir=out.parent))


@contextmanager
def new_folder(out: Path, *, force: bool) -> Iterator[Path]:
    """A folder aside that takes the place of `out` when all is written into it.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from branchwise.cli.results import new_folder
    >>> out = pathlib.Path(tempfile.mkdtemp()) / "out"
    >>> with new_folder(out, force=False) as folder:
    ...     _ = (folder / "run.json").write_text("{}")
    >>> [path.name for path in out.iterdir()], [path.name for path in out.parent.iterdir()]
    (['run.json'], ['out'])
    """
    check_out(out, force=force)
    out = out.resolve()  # a link stays, and what it points to is replaced
    aside = folder_beside(out, ".part")
    try:
        yield aside
        # mkdtemp keeps others out; a result is as open as any new folder.
        mask = os.umask(0)
        os.umask(mask)
        aside.chmod(0o777 & ~mask)
        check_out(out, force=force)
        if out.exists():
            old = folder_beside(out, ".old")
            out.rename(old / "out")
            try:
                aside.rename(out)
            except BaseException:
                (old / "out").rename(out)
                old.rmdir()
                raise
            shutil.rmtree(old)
        else:
            aside.rename(out)
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def check_file(path: Path, endings: Sequence[str], *, force: bool) -> None:
    """Say before the work begins that a file cannot be written."""
    if path.suffix not in endings:
        raise Usage(f"-o {path} must end in {', '.join(endings)}.")
    if not path.parent.is_dir():
        raise Failure(f"{path.parent} is not a folder to write {path.name} into; make it.")
    if path.is_dir():
        raise Failure(f"{path} is a folder; choose another -o.")
    if path.exists() and not force:
        raise Failure(f"{path} exists; choose another -o, or add --force to replace it.")


def check_spared(out: Path, source: str | Path, option: str = "-o") -> None:
    """Refuse to write over the input, or into it, whatever else may be replaced.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from branchwise.cli.results import check_spared
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> check_spared(folder / "places.csv", folder / "new.csv")
    """
    there, real = Path(source), out.resolve()
    is_within = there.is_dir() and real.is_relative_to(there.resolve())
    is_same = real == there.resolve() or (
        there.exists() and out.exists() and there.samefile(out)  # a link of the file system
    )
    if is_within or is_same:
        raise Failure(
            f"{option} {out} {'lies within' if is_within and not is_same else 'is'} the input "
            f"{source}, which is never replaced; choose another {option}."
        )


def check_no_result(out: Path) -> None:
    """Refuse to write a table over one of the files that make up a result of `branchwise fit`."""
    real = out.resolve()
    if (real.parent / RUN).is_file() and is_ours(real) and real.is_file():
        raise Failure(
            f"-o {out} is a file of the result {real.parent}, which would be damaged; choose "
            "another -o."
        )


def write_frame(frame: Any, path: Path) -> None:
    """Write a DataFrame as CSV, TSV or Parquet by the ending of the name, whole or not at all."""
    write_frames([frame], path)


def write_frames(frames: Iterable[Any], path: Path) -> None:
    """The same for a DataFrame in parts, of which one is held at a time.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import pandas as pd
    >>> from branchwise.cli.results import write_frames
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "a.csv"
    >>> write_frames((pd.DataFrame({"a": [k]}, index=[f"s{k}"]) for k in range(2)), path)
    >>> path.read_text().split()
    [',a', 's0,0', 's1,1']
    """
    with replacing_bytes(path) as file, ExitStack() as stack:
        writer = None
        for k, frame in enumerate(frames):
            if path.suffix == ".parquet":
                part = import_extra("pyarrow", "Parquet", "cli").Table.from_pandas(frame)
                if writer is None:
                    parquet = import_extra("pyarrow.parquet", "Parquet", "cli")
                    writer = stack.enter_context(parquet.ParquetWriter(file, part.schema))
                writer.write_table(part)
            else:
                separator = "\t" if path.suffix == ".tsv" else ","
                write_text(frame, file, mode="wb", sep=separator, header=k == 0)


def write_text(frame: Any, file: Any, *, mode: str = "w", sep: str = ",", header: bool) -> None:
    """Write a DataFrame as CSV in which no text is a formula to spreadsheets."""
    safe = with_text(frame, guarded)
    parts = [safe.columns, safe.index, [safe.index.name]]
    parts += [safe.iloc[:, k] for k, dtype in enumerate(safe.dtypes) if dtype.kind == "O"]
    # A return that is not quoted would begin a new row, and a new cell.
    has_return = any(isinstance(cell, str) and "\r" in cell for part in parts for cell in part)
    quoting = csv.QUOTE_NONNUMERIC if has_return else csv.QUOTE_MINIMAL
    options: dict[str, Any] = {"sep": sep, "lineterminator": "\n", "quoting": quoting}
    if has_return or len(safe) < MANY_ROWS or find_spec("pyarrow") is None:
        safe.to_csv(file, mode=mode, header=header, **options)
        return
    safe.iloc[:0].to_csv(file, mode=mode, header=header, **options)
    for start in range(0, len(safe), MANY_ROWS):
        lines = text_lines(safe.iloc[start : start + MANY_ROWS], options)
        file.write(lines.encode() if "b" in mode else lines)


def text_lines(frame: Any, options: dict[str, Any]) -> str:
    """Rows as `to_csv` writes them, but numbers faster.

    Examples
    --------
    >>> import pandas as pd
    >>> from branchwise.cli.results import text_lines
    >>> table = pd.DataFrame({"a": [0.5, float("nan")], "b": ["x,y", ""]}, index=["P1", "P2"])
    >>> print(text_lines(table, {"sep": ",", "lineterminator": chr(10)}), end="")
    P1,0.5,"x,y"
    P2,,
    """
    arrow = import_extra("pyarrow", "fast CSV", "cli")
    compute = import_extra("pyarrow.compute", "fast CSV", "cli")
    pieces = [as_text(frame.index.to_series(), options)]
    for k, dtype in enumerate(frame.dtypes):
        column = frame.iloc[:, k]
        if isinstance(dtype, np.dtype) and dtype.kind == "f":
            numbers = arrow.array(column.to_numpy(), from_pandas=True).cast("string")
            pieces.append(compute.fill_null(numbers, ""))
        else:
            pieces.append(arrow.array(as_text(column, options), "string"))
    joined = compute.binary_join_element_wise(*pieces, options["sep"])
    return "\n".join(joined.to_pylist()) + "\n"


def as_text(column: Any, options: dict[str, Any]) -> list[str]:
    """The cells of one column as `to_csv` writes them, beside others; equal ones only once."""
    codes, kinds = import_pandas().factorize(column, use_na_sentinel=False)
    if len(kinds) > len(column) // 2:
        return cells_of(column, options)
    written = np.array(cells_of(import_pandas().Series(kinds), options), dtype=object)
    return list(written[codes])


def cells_of(column: Any, options: dict[str, Any]) -> list[str]:
    """The same, each by itself."""
    # A column beside it, so that an empty cell is not quoted.
    frame = column.to_frame("cell").assign(end=0)
    text = frame.to_csv(None, index=False, header=False, **options | {"lineterminator": "\0"})
    return [cell.removesuffix(f"{options['sep']}0") for cell in text.split("\0")[:-1]]


def with_text(frame: Any, change: Callable[[Any], Any]) -> Any:
    """A DataFrame with every text changed: cells, and names of samples and of columns.

    With `guarded`, what spreadsheets might run is text to them; with `unguarded` it is as it was.

    Examples
    --------
    >>> import pandas as pd
    >>> from branchwise._writing import guarded
    >>> from branchwise.cli.results import with_text
    >>> with_text(pd.DataFrame({"=a": ["@x", "y"], "b": [-1, 2]}), guarded).to_dict("list")
    {"'=a": ["'@x", 'y'], 'b': [-1, 2]}
    """
    pandas = import_pandas()
    changed = frame.copy(deep=False)
    for k in range(frame.shape[1]):
        changed.isetitem(k, text_changed(frame.iloc[:, k], change))
    changed.columns = pandas.Index([change(name) for name in frame.columns], dtype=object)
    names = pandas.Series(frame.index, index=frame.index)
    changed.index = pandas.Index(text_changed(names, change), name=change(frame.index.name))
    return changed


def text_changed(column: Any, change: Callable[[Any], Any]) -> Any:
    """A Series with its texts changed, or itself if there is nothing to change."""
    pandas = import_pandas()
    types, dtype = pandas.api.types, column.dtype
    if types.is_numeric_dtype(dtype) or types.is_datetime64_any_dtype(dtype):
        return column
    if isinstance(dtype, pandas.CategoricalDtype):
        return column.cat.rename_categories([change(kind) for kind in dtype.categories])
    if dtype.kind == "m":  # "-1 days" is text
        column = column.astype(str).where(column.notna(), None)
    # Not by map, which makes floats of whole numbers beside missing ones.
    cells = np.fromiter((change(cell) for cell in column), dtype=object, count=len(column))
    if all(new is old for new, old in zip(cells, column, strict=True)):
        return column
    return pandas.Series(cells, index=column.index, name=column.name, dtype=object)


def write_json(facts: dict[str, Any], path: Path) -> None:
    """Write a record."""
    path.write_text(as_json(facts) + "\n", encoding="utf-8")


class Result(NamedTuple):
    """What `branchwise fit` wrote."""

    folder: Path
    run: dict[str, Any]
    samples: Any  # DataFrame by sample: places, coordinates and annotations

    @property
    def components(self) -> list[str]:
        """Columns of the embedding in `samples`."""
        return list(self.run["columns"]["embedding"])

    def ours(self, name: str) -> Any:
        """A column of ours, whatever it is called beside those of the table; None without one."""
        called = [column for column in self.run["columns"]["places"] if column.rstrip("_") == name]
        return self.samples[called[0]] if called else None

    @property
    def annotations(self) -> list[str]:
        """Columns of the table in `samples`."""
        return list(self.run["columns"]["annotations"])


def read_result(folder: str | Path) -> Result:
    """Read a folder of `branchwise fit`."""
    folder = Path(folder)
    if not (folder / RUN).is_file():
        raise Failure(
            f"{folder} is not a result of branchwise fit: it has no {RUN}; run branchwise fit "
            "first."
        )
    try:
        run = json.loads((folder / RUN).read_text(encoding="utf-8"))
        if "samples" not in run["files"] and "embedding" in run["files"]:
            raise Failure(
                f"{folder} was written by an earlier version of branchwise; run branchwise fit "
                "again."
            )
        name, columns = run["files"]["samples"], run["columns"]
        samples = read_samples(
            folder / Path(name).name, columns.get("text", []), columns.get("dates", [])
        )
        result = Result(folder, run, samples)
        known = set(samples.columns)
        missing = [c for c in [*result.components, *result.annotations] if c not in known]
        check_record(run)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise Failure(f"{folder} is damaged ({error}); run branchwise fit again.") from error
    if missing:
        raise Failure(f"{folder / name} lacks the column {missing[0]!r}; run branchwise fit again.")
    return result


def check_record(run: dict[str, Any]) -> None:
    """What commands read of run.json is there, and of the right kind."""
    Path(run["input"]["path"]), len(run["input"]["dropped"])
    warned = run.get("warnings", [])
    if not isinstance(warned, list) or not all(isinstance(text, str) for text in warned):
        raise TypeError("its warnings are not a list of text")


def read_samples(path: Path, text: Sequence[str] = (), dates: Sequence[str] = ()) -> Any:
    """The table of the samples, by their names, with its columns of text and of dates as such."""
    pandas = import_pandas()
    if path.suffix == ".parquet":
        import_extra("pyarrow", "Parquet", "cli")
        return pandas.read_parquet(path)
    as_text = map(guarded, [*text, *dates])
    dtypes: dict[int | str, type] = {0: str, **dict.fromkeys(as_text, str)}
    # Of what may be called missing, "None" is a therapy: only an empty cell was written as missing.
    written = pandas.read_csv(
        path,
        index_col=0,
        dtype=dtypes,
        keep_default_na=False,
        na_values=[""],
        float_precision="round_trip",
    )
    return with_dates(with_text(written, unguarded), dates)


def load_pipeline(path: str | Path) -> Pipeline:
    """The model of a result folder, or of a file that `branchwise fit` wrote."""
    model = load(path)
    if not isinstance(model, Pipeline):
        raise Failure(
            f"{path} holds a {type(model).__name__} without the names of its features; use it in "
            "Python with branchwise.load, or take a model that branchwise fit wrote."
        )
    return model


def is_model(path: str) -> bool:
    """Whether it is a model file, or a folder with one."""
    return path.endswith(".branchwise") or (Path(path) / MODEL).is_file()


def rooted(made: Pipeline, result: Result, text: str | None, at: str) -> Trajectory:
    """The trajectory, from another root if one is given."""
    root = parse_root(text, at, result.annotations)
    if root is None:
        return made.trajectory
    if "sample" in root:
        if root["sample"] not in result.samples.index:
            raise Failure(
                f"--root sample={root['sample']} is not a sample; they are "
                f"{listed(result.samples.index)}."
            )
        return made.trajectory.rooted(sample=int(result.samples.index.get_loc(root["sample"])))
    table = Table(
        X=made.trajectory.view.points,
        features=[f"projection{k}" for k in range(made.trajectory.view.points.shape[1])],
        samples=result.samples.index.tolist(),
        annotations=result.samples[result.annotations],
        source=str(result.folder),
    )
    with hint_at_root(root, table):
        return made.trajectory.rooted(**start_of(table, root))


def input_table(result: Result, made: Pipeline) -> Table:
    """The samples of a result with all their columns, if the input is still as it was."""
    source = Path(result.run["input"]["path"])
    if result.run.get("scheduler"):
        raise Failure(
            f"{source} was read chunk by chunk (--scheduler), but features along the tree are "
            "drawn of a table in memory; fit it, or a part of it, without --scheduler."
        )
    table = demo_table(str(source))
    if table is not None:
        return table
    if not source.exists():
        raise Failure(
            f"the input {source} is not there to read features from; run the command where "
            "branchwise fit was run."
        )
    if file_hash(source) != result.run["input"]["sha256"]:
        raise Failure(f"the input {source} has changed since the fit; run branchwise fit again.")
    return kept_rows(read_table(source, **made.reading), result.samples.index)


def kept_rows(table: Table, samples: Any) -> Table:
    """The rows of these samples: those that the preparation did not drop."""
    kept = import_pandas().Index(table.samples).isin(samples)
    return table if kept.all() else rows_of_table(table, kept)


def demo_table(source: str) -> Table | None:
    """That of `branchwise demo`, which is not a file."""
    from .demo import SOURCE, tumours

    return tumours() if source == SOURCE else None


def named_features(table: Table, names: Sequence[str]) -> list[str]:
    """The columns that --feature names, each once, in the order in which they were named."""
    known = [*table.features, *map(str, table.annotations.columns)]
    return select_in_turn(separated(expand(names), set(known)), known, "feature", table.source)


def feature_values(table: Table, made: Pipeline, names: list[str]) -> tuple[Matrix, list[str]]:
    """The features of a model that are numbers or, by name, these or other such columns."""
    if not names:
        return columns(table, made.numbers), made.numbers
    return np.column_stack([number_column(table, name) for name in names]), names


def with_columns(table: Table, made: Pipeline, names: list[str]) -> tuple[Matrix, list[str]]:
    """The features of a model that are numbers, and after them more columns of numbers."""
    more = [name for name in dict.fromkeys(names) if name not in made.numbers]
    X = columns(table, made.numbers)
    if not more:
        return X, made.numbers
    others = np.column_stack([number_column(table, name) for name in more])
    joined = sparse.hstack([X, others], format="csr") if sparse.issparse(X) else None
    return np.hstack([X, others]) if joined is None else joined, [*made.numbers, *more]


def number_column(table: Table, name: str) -> Any:
    """One column of numbers."""
    values = column(table, name)
    if values.dtype.kind not in "biuf":
        raise Failure(f"--feature {name!r} is not a column of numbers; name another one.")
    return values.to_numpy(float)
