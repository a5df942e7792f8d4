"""The folder of a fit: written whole or not at all, and read again, with the input if need be."""

import csv
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from .._compat import import_extra, import_pandas
from .._messages import listed
from .._typing import Matrix
from .._writing import guarded, replacing_bytes, unguarded
from ..data.table import Table, column, columns, rows_of_table
from ..io import file_hash, read_table
from ..persistence.loading import load
from ..pipeline import Pipeline, start_of
from ..trajectory import Trajectory
from .console import Failure, Usage, as_json
from .request import parse_root

RUN = "run.json"
MODEL = "model.branchwise"
REPORT = "report.html"
TABLE_ENDINGS = (".csv", ".tsv", ".parquet")
PICTURE_ENDINGS = (".png", ".svg", ".pdf")
TABLES = (
    "embedding",
    "centers",
    "tree",
    "pseudotime",
    "branches",
    "milestones",
    "evidence",
    "support",
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
        raise Failure(f"{out} is where you are, and is to be made anew; choose another -o.")
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        folder_beside(out, ".part").rmdir()
    except OSError as error:
        raise Failure(f"{out} cannot be made ({error.strerror}); choose another -o.") from error
    if not os.path.lexists(out) or (out.is_dir() and not any(out.iterdir())):
        return
    if not (out / RUN).is_file():
        raise Failure(f"{out} exists and is no result of branchwise fit; choose another -o.")
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
    if path.suffix in PICTURE_ENDINGS or path.name in {RUN, MODEL, REPORT, ".DS_Store"}:
        return path.is_file()
    return path.stem in TABLES and path.suffix in {".csv", ".parquet"}


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


def write_text(frame: Any, file: Any, **options: Any) -> None:
    """Write a DataFrame as CSV in which no text is a formula to spreadsheets."""
    safe = with_text(frame, guarded)
    parts = [safe.columns, safe.index, [safe.index.name]]
    parts += [safe.iloc[:, k] for k, dtype in enumerate(safe.dtypes) if dtype.kind == "O"]
    # A return that is not quoted would begin a new row, and a new cell.
    has_return = any(isinstance(cell, str) and "\r" in cell for part in parts for cell in part)
    quoting = csv.QUOTE_NONNUMERIC if has_return else csv.QUOTE_MINIMAL
    safe.to_csv(file, lineterminator="\n", quoting=quoting, **options)


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
    samples: Any  # DataFrame: annotations and embedding, by sample

    @property
    def components(self) -> list[str]:
        """Columns of the embedding in `samples`."""
        return list(self.run["columns"]["embedding"])

    @property
    def annotations(self) -> list[str]:
        """Columns of the table in `samples`."""
        return list(self.run["columns"]["annotations"])


def read_result(folder: str | Path) -> Result:
    """Read a folder of `branchwise fit`."""
    folder = Path(folder)
    if not (folder / RUN).is_file():
        raise Failure(
            f"{folder} is no result of branchwise fit: it has no {RUN}; run branchwise fit first."
        )
    try:
        run = json.loads((folder / RUN).read_text(encoding="utf-8"))
        name = run["files"]["embedding"]
        samples = read_samples(folder / Path(name).name, run["columns"].get("text", []))
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
        raise TypeError("its warnings are no list of text")


def read_samples(path: Path, text: Sequence[str] = ()) -> Any:
    """The table of the samples, by their names; `text` are columns that only look like numbers."""
    pandas = import_pandas()
    if path.suffix == ".parquet":
        import_extra("pyarrow", "Parquet", "cli")
        return pandas.read_parquet(path)
    dtypes: dict[int | str, type] = {0: str, **dict.fromkeys(map(guarded, text), str)}
    # Of what may be called missing, "None" is a therapy: only an empty cell was written as missing.
    written = pandas.read_csv(
        path,
        index_col=0,
        dtype=dtypes,
        keep_default_na=False,
        na_values=[""],
        float_precision="round_trip",
    )
    return with_text(written, unguarded)


def load_pipeline(path: str | Path) -> Pipeline:
    """The model of a result folder, or of a file that `branchwise fit` wrote."""
    path = Path(path)
    if path.is_dir():
        path = path / MODEL
        if not path.exists():
            raise Failure(
                f"{path.parent} holds no {MODEL}; name a folder that branchwise fit wrote."
            )
    model = load(path)
    if not isinstance(model, Pipeline):
        raise Failure(
            f"{path} holds a {type(model).__name__} without the names of its features; use it in "
            "Python with branchwise.load, or take a model that branchwise fit wrote."
        )
    return model


def rooted(made: Pipeline, result: Result, text: str | None, at: str) -> Trajectory:
    """The trajectory, from another root if one is given."""
    root = parse_root(text, at, result.annotations)
    if root is None:
        return made.trajectory
    if "sample" in root:
        if root["sample"] not in result.samples.index:
            raise Failure(
                f"--root sample={root['sample']} is no sample; they are "
                f"{listed(result.samples.index)}."
            )
        return made.trajectory.rooted(sample=int(result.samples.index.get_loc(root["sample"])))
    table = Table(
        X=result.samples[result.components].to_numpy(),
        features=result.components,
        samples=result.samples.index.tolist(),
        annotations=result.samples[result.annotations],
        source=str(result.folder),
    )
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
    """That of `branchwise demo`, which is no file."""
    from .demo import SOURCE, tumours

    return tumours() if source == SOURCE else None


def feature_values(table: Table, made: Pipeline, names: list[str]) -> tuple[Matrix, list[str]]:
    """The features of a model or, by name, these or other columns of numbers."""
    if not names:
        return columns(table, made.features), made.features
    return np.column_stack([number_column(table, name) for name in names]), names


def with_columns(table: Table, made: Pipeline, names: list[str]) -> tuple[Matrix, list[str]]:
    """The features of a model, and after them these columns of numbers that are none."""
    more = [name for name in dict.fromkeys(names) if name not in made.features]
    X = columns(table, made.features)
    if not more:
        return X, made.features
    others = np.column_stack([number_column(table, name) for name in more])
    joined = sparse.hstack([X, others], format="csr") if sparse.issparse(X) else None
    return np.hstack([X, others]) if joined is None else joined, [*made.features, *more]


def number_column(table: Table, name: str) -> Any:
    """One column of numbers."""
    values = column(table, name)
    if values.dtype.kind not in "biuf":
        raise Failure(f"--feature {name!r} is no column of numbers; name another one.")
    return values.to_numpy(float)
