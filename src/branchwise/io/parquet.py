"""Parquet: a file, or a folder of files that are one table."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .._compat import import_extra
from ..data.categories import natural
from ..data.dates import DateOrder
from ..data.judging import ID_NAME, is_unnamed
from ..data.selection import Selection
from ..data.table import (
    InputError,
    Table,
    check_has_rows,
    check_unique,
    make_table,
    pandas_for_tables,
)
from .arrow import frame_of, readable
from .frames import Framed, sort_columns
from .lazy import lazy_array, most_rows

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
    return sorted(found, key=lambda file: natural(file.name))


def frame_of_parquet(path: Path, selection: Selection) -> Framed:
    """Read a Parquet file, or the files of a folder; what is a number there is a feature."""
    pandas_for_tables()
    with readable(path, "Parquet", "cli"):
        frame = read_frame(look_at(path))
    return Framed(frame)


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
    return frame_of(whole, wanted)


def with_index_as_columns(frame: Any) -> Any:
    """The frame with its index in front, unless that only counts the rows."""
    if isinstance(frame.index, pandas_for_tables().RangeIndex):
        return frame
    names = ["" if name is None else str(name) for name in frame.index.names]
    return frame.reset_index(names=names)


def lazy_parquet(path: Path, selection: Selection, *, date_order: DateOrder = None) -> Table:
    """Numbers of a Parquet file or folder in groups of rows; the other columns are in memory."""
    arrow = import_extra("pyarrow", "reading Parquet", "cli")
    types = arrow.types
    with readable(path, "Parquet", "cli"):
        described = look_at(path)
        names = described.names
        is_number = [
            types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind)
            for kind in (described.schema.field(field).type for field in described.fields)
        ]
        selection = selection.among([name for name in names if name], str(path))
        read_now = {*selection.exclude, *selection.annotate}
        read_now |= set() if selection.id is None else {selection.id}
        if names and (is_unnamed(names[0]) or ID_NAME.fullmatch(names[0].lower())):
            read_now.add(names[0])
        read_now |= {name for name, number in zip(names, is_number, strict=True) if not number}
        frame = read_frame(described, [name for name in names if name in read_now])
        n_rows = sum(file.num_rows for file in described.metadata)
        check_has_rows(n_rows, str(path))
        if not frame.shape[1]:
            pandas = pandas_for_tables()
            frame = pandas.DataFrame(index=range(n_rows), columns=pandas.Index([], dtype=object))
    found = sort_columns(frame, names, str(path), selection, typed=True, date_order=date_order)
    fields = dict(zip(names, described.fields, strict=True))
    chosen = [fields[name] for name in found.features]
    pieces, sizes = parquet_pieces(described, 8 * len(chosen))
    rows = lazy_array(parquet_rows, path, (chosen,), sizes, len(chosen), pieces=pieces)
    table = make_table(rows, found.features, found.samples, found.annotations, str(path))
    return replace(table, chosen=found.chosen(), id=found.id)


def parquet_pieces(described: Any, row_bytes: int) -> tuple[list[Any], list[int]]:
    """What each chunk consists of, (file, group) after (file, group), and its number of rows."""
    limit = most_rows(sum(file.num_rows for file in described.metadata), row_bytes)
    pieces: list[Any] = []
    sizes: list[int] = []
    for path, file in zip(described.paths, described.metadata, strict=True):
        for group in range(file.num_row_groups):
            n_rows = file.row_group(group).num_rows
            if pieces and sizes[-1] + n_rows <= limit:
                pieces[-1], sizes[-1] = (*pieces[-1], (path.name, group)), sizes[-1] + n_rows
            elif n_rows:
                pieces.append(((path.name, group),))
                sizes.append(n_rows)
    return pieces, sizes


def parquet_rows(path: Path, start: int, stop: int, chosen: Sequence[str], groups: Any) -> Any:
    """Groups of rows, (file, group) after (file, group), as numbers."""
    arrow = import_extra("pyarrow", "reading Parquet", "cli")
    parquet = import_extra("pyarrow.parquet", "reading Parquet", "cli")
    parts = []
    for name, group in groups:
        with parquet.ParquetFile(path / name if path.is_dir() else path) as file:
            part = file.read_row_group(group, columns=chosen)
        numbers = [part[field].cast(arrow.float64(), safe=False).to_numpy() for field in chosen]
        parts.append(np.column_stack(numbers))
    return np.concatenate(parts)
