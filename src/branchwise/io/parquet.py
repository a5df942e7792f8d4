"""Parquet: a file, or a folder of files that are one table."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from .._compat import import_extra
from ..data.table import InputError, Table, check_unique, pandas_for_tables
from .frames import table_from_frame

# How Dask calls the index of a table that has none.
NO_INDEX = "__null_dask_index__"


def is_parquet_folder(path: Path) -> bool:
    """Whether a folder holds Parquet files."""
    return path.is_dir() and bool(parquet_files(path))


def parquet_files(path: Path) -> list[Path]:
    """The files of a table, of a folder in the order of the numbers in their names."""
    if path.is_file():
        return [path]
    found = [file for file in path.glob("*.parquet") if not file.name.startswith(("_", "."))]
    return sorted(found, key=natural)


def natural(path: Path) -> list[Any]:
    """A key that sorts part.2 before part.10.

    Examples
    --------
    >>> from pathlib import Path
    >>> from branchwise.io.parquet import natural
    >>> natural(Path("part.2.parquet")) < natural(Path("part.10.parquet"))
    True
    """
    parts = re.split(r"(\d+)", path.name)
    return [int(part) if k % 2 else part for k, part in enumerate(parts)]


def read_parquet(
    path: Path, *, id: str | None, exclude: Sequence[str], features: Sequence[str] | None = None
) -> Table:
    """Read a Parquet file, or the files of a folder; what is a number there is a feature."""
    pandas_for_tables()
    with readable(path):
        frame = read_frame(look_at(path))
    return table_from_frame(frame, str(path), id=id, exclude=exclude, features=features, typed=True)


class Described(NamedTuple):
    """What the metadata of the files say, without any value."""

    metadata: list[Any]  # pyarrow.parquet.FileMetaData, of each file
    paths: list[Path]
    schema: Any
    names: list[str]  # of all columns, the index first
    fields: list[str]  # as the files call these columns


def look_at(path: Path) -> Described:
    """Look into the files of a table, whose columns must agree; none stays open."""
    arrow = import_extra("pyarrow", "reading Parquet", "cli")
    parquet = import_extra("pyarrow.parquet", "reading Parquet", "cli")
    paths = parquet_files(path)
    metadata, schemas = [], []
    for each in paths:
        with parquet.ParquetFile(each) as opened:
            metadata.append(opened.metadata)
            schemas.append(opened.schema_arrow)
    for file, schema in zip(paths, schemas, strict=True):
        if set(schema.names) != set(schemas[0].names):
            odd = sorted(set(schema.names) ^ set(schemas[0].names))
            raise InputError(
                f"{file.name} in {path} has other columns than {paths[0].name} ({odd[0]!r} is only "
                "in one of them); the files of a folder must be parts of one table."
            )
    check_unique(schemas[0].names, f"column names of {path}", "rename them")
    schema = schemas[0]
    if len(schemas) > 1:
        schema = arrow.unify_schemas(schemas, promote_options="permissive")
    empty = schema.empty_table().to_pandas()
    described = (schema.pandas_metadata or {}).get("index_columns", [])
    index = [name for name in described if isinstance(name, str) and name in schema.names]
    others = [name for name in schema.names if name not in index]
    if index == [NO_INDEX]:
        return Described(metadata, paths, schema, others, others)
    names = [str(name) for name in with_index_as_columns(empty).columns]
    return Described(metadata, paths, schema, names, [*index, *others])


def read_frame(described: Described, names: Sequence[str] | None = None) -> Any:
    """Columns of all files, by default all of them, as one data frame."""
    arrow = import_extra("pyarrow", "reading Parquet", "cli")
    parquet = import_extra("pyarrow.parquet", "reading Parquet", "cli")
    wanted = described.names if names is None else names
    fields = dict(zip(described.names, described.fields, strict=True))
    chosen = [fields[name] for name in wanted]
    parts = []
    for path in described.paths:
        with parquet.ParquetFile(path) as opened:
            parts.append(opened.read(columns=chosen).select(chosen))
    whole = parts[0]
    if len(parts) > 1:
        whole = arrow.concat_tables(parts, promote_options="permissive")
    for j, field in enumerate(whole.schema):
        if arrow.types.is_decimal(field.type):
            whole = whole.set_column(j, field.name, whole[j].cast(arrow.float64()))
    # Without what pandas has noted about its index, which is among the columns already.
    return whole.to_pandas(ignore_metadata=True).set_axis(list(wanted), axis=1)


def with_index_as_columns(frame: Any) -> Any:
    """The frame with its index in front, unless that only counts the rows."""
    if isinstance(frame.index, pandas_for_tables().RangeIndex):
        return frame
    names = ["" if name is None else str(name) for name in frame.index.names]
    return frame.reset_index(names=names)


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """One sentence for the many ways in which a file can be damaged."""
    arrow = import_extra("pyarrow", "reading Parquet", "cli")
    try:
        yield
    except InputError:
        raise
    except (arrow.ArrowException, OSError, ValueError) as error:
        reason = str(error).split("\n")[0].rstrip(". ")
        raise InputError(
            f"{path} cannot be read as Parquet ({reason}); it is cut short, damaged or of another "
            "format: write it again."
        ) from error
