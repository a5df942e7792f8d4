"""A table from a file of any of the supported formats."""

import hashlib
import os
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from .._messages import parameter, setting
from ..data.dates import DateOrder
from ..data.errors import InputError
from ..data.selection import Selection, selection
from ..data.table import Table, keep_features
from .frames import Framed, table_from_frame
from .safety import check_path


class Format(NamedTuple):
    """What reads a format, named so that a file needs only the module of its own format.

    Readers take a path, a Selection, and by name the further options; they return a Table that
    went through `make_table`, or, of a format of frames, a Framed.
    """

    module: str
    reader: str
    lazy_reader: str | None = None
    options: tuple[str, ...] = ()
    is_frame: bool = False


TEXT = Format("text", "frame_of_text", options=("encoding", "decimal"), is_frame=True)

PARQUET = Format("parquet", "frame_of_parquet", "lazy_parquet", is_frame=True)

EXCEL = Format("excel", "frame_of_excel", options=("sheet",), is_frame=True)

FEATHER = Format("feather", "frame_of_feather", is_frame=True)

LABELLED = Format("labelled", "frame_of_labelled", is_frame=True)

MATRIX_MARKET = Format("matrix_market", "read_matrix_market")

ZARR_ARRAY = Format("zarr", "read_zarr_array", "lazy_zarr_array")

ANNDATA = Format("anndata", "read_anndata_table", "lazy_anndata", ("use_rep", "layer"))

ANNDATA_ENDINGS = (".h5ad", ".zarr")

# By the ending of a file's name; folders are known by what is in them.
FORMATS = {
    **dict.fromkeys((".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz", ".txt.gz"), TEXT),
    ".parquet": PARQUET,
    ".feather": FEATHER,
    ".xlsx": EXCEL,
    **dict.fromkeys((".sav", ".zsav", ".dta"), LABELLED),
    ".npy": Format("npy", "read_npy", "lazy_npy"),
    ".npz": Format("npy", "read_npz"),
    **dict.fromkeys((".mtx", ".mtx.gz"), MATRIX_MARKET),
    **dict.fromkeys(ANNDATA_ENDINGS, ANNDATA),
}


def read_table(
    path: str | os.PathLike[str],
    *,
    id: str | None = None,
    include: str | Sequence[str] | None = None,
    exclude: str | Sequence[str] = (),
    annotate: str | Sequence[str] = (),
    features: Sequence[str] | None = None,
    use_rep: str | None = None,
    layer: str | None = None,
    sheet: str | None = None,
    encoding: str | None = None,
    date_order: DateOrder = None,
    decimal: str | None = None,
    lazy: bool = False,
) -> Table:
    r"""Read samples by features from a file, whose name tells the format.

    Parameters
    ----------
    path : path
        A file that ends in .csv, .tsv or .txt (each also .gz), .xlsx, .sav, .zsav, .dta, .parquet,
        .feather, .npy, .npz, .mtx or .mtx.gz, or .h5ad; a folder of 10x Genomics, or of Parquet
        files; a folder in zarr format, of AnnData or of one array.
    id : str, default=None
        The column (for AnnData: of obs) with the names of the samples, or a pattern that fits
        only this one. By default the first column of a text, Parquet or similar file, if it has
        no name or one like "id", "sample", "cell", "barcode" or "patient" and holds different
        words or whole numbers; else row numbers from 0. Such a column with repeats, as of several
        visits, is an annotation.
    include : str or sequence of str, default=None
        The only features. All other columns of a text, Parquet or similar file become annotations,
        whatever they hold; those of a matrix (AnnData, NumPy, Matrix Market, zarr) are left out
        unless ``exclude`` names them. This and the next two take names, shell patterns such as
        ``"*_mut"``, and ``"@genes.txt"`` for a file with a name or pattern on each line.
    exclude : str or sequence of str, default=()
        Columns that are not features, also if ``include`` has them; they become annotations.
    annotate : str or sequence of str, default=()
        Columns that become annotations as they were written: text stays text, numbers stay
        numbers, dates are dates.
    features : sequence of str, default=None
        The columns that are features, as those of an earlier table. All others of a text, Parquet
        or similar file become annotations, whatever they hold; those of the other formats, which
        may be many thousands, are left out unless ``exclude`` names them, and so are numbers of
        Parquet with ``lazy``.
    use_rep : str, default=None
        For AnnData: the representation in obsm to read in place of X, such as "X_pca".
    layer : str, default=None
        For AnnData: the layer to read in place of X.
    sheet : str, default=None
        For .xlsx: the name of the sheet; by default the first one, with a warning if there are
        others.
    encoding : str, default=None
        For text: its encoding, such as "latin-1" or "cp1252"; by default UTF-8.
    date_order : {"dmy", "mdy"} or dict, default=None
        For dates such as 02/01/2020: whether day or month comes first, in all columns or, in a
        dict, by column. By default the values tell; if all of a column fit both ways, the day is
        first, with a warning. With points (02.01.2020) the day is always first.
    decimal : {".", ","}, default=None
        For text whose cells are not separated by commas: the decimal sign where nothing in the
        file tells it, as where all there is is 236.200; by default the point.
    lazy : bool, default=False
        Leave the values where they are: X is a Dask array, whose chunks are read when they are
        needed, by the workers if there is a cluster. For zarr, .h5ad, Parquet and .npy. A chunk is
        as many stored chunks as Dask's setting ``array.chunk-size`` (128 MiB) allows. Names,
        annotations, and what ``exclude`` names, are read into memory; infinite values are found
        by the fit.

    Returns
    -------
    Table
        Numbers are features; text, dates, categories and yes/no columns are annotations. Text of
        which every known cell is a date is dates; whole numbers that begin with a zero (07766)
        are text.

    Notes
    -----
    A lone .mtx file is samples by features; one with barcodes and features beside it is features
    by cells, as 10x Genomics writes it, and is transposed.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from branchwise.io import read_table
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "patients.csv"
    >>> _ = path.write_text("patient,age,crp,ward\nP1,71,3.5,A\nP2,64,,B\n")
    >>> table = read_table(path, exclude=["age"])
    >>> table.features, list(table.annotations.columns)
    (['crp'], ['age', 'ward'])
    >>> table.X
    array([[3.5],
           [nan]])
    """
    path = check_path(path)
    chosen = selection(id, include, exclude, annotate, features)
    given = {"use_rep": use_rep, "layer": layer, "sheet": sheet}
    given |= {"encoding": encoding, "decimal": decimal}
    found = find_format(path, given)
    if lazy and found.lazy_reader is None:
        raise InputError(
            f"{path} is of a format that cannot be read chunk by chunk; convert it to Parquet "
            f"or zarr, or read it into memory (without {parameter('lazy')})."
        )
    if found.is_frame and not lazy:
        framed = read_frame(path, found, chosen, given)
        return table_from_frame(framed, str(path), chosen, date_order=date_order)
    options: dict[str, Any] = {name: given[name] for name in found.options}
    options |= {"date_order": date_order} if found.is_frame else {}
    module = import_module(f".{found.module}", __package__)
    reader = getattr(module, found.lazy_reader if lazy and found.lazy_reader else found.reader)
    table: Table = reader(path, chosen, **options)
    # Of a matrix all columns come back.
    return table if features is None else keep_features(table, features)


def read_frame(path: Path, found: Format, chosen: Selection, given: Mapping[str, Any]) -> Framed:
    """A file of a format of frames, before its columns are sorted."""
    reader = getattr(import_module(f".{found.module}", __package__), found.reader)
    framed: Framed = reader(path, chosen, **{name: given[name] for name in found.options})
    return framed


# What has options of its own, for messages.
OPTIONS = {
    "use_rep": "AnnData files (.h5ad, .zarr)",
    "layer": "AnnData files (.h5ad, .zarr)",
    "sheet": "Excel files (.xlsx)",
    "encoding": "text (.csv, .tsv, .txt)",
    "decimal": "text (.csv, .tsv, .txt)",
}


def find_format(path: Path, given: Mapping[str, Any] = MappingProxyType({})) -> Format:
    """The format of a file by its name, or of a folder by its content; it takes what is given."""
    found = folder_format(path) if path.is_dir() else None
    if found is None:
        endings = (ending for ending in FORMATS if path.name.lower().endswith(ending))
        found = FORMATS.get(next(endings, ""))
    for name, formats in OPTIONS.items():
        if given.get(name) is not None and (found is None or name not in found.options):
            raise InputError(
                f"{setting(name, given[name])} is for {formats}, but {path} is none; leave "
                f"{parameter(name)} out."
            )
    if found is None:
        raise InputError(
            f"the format of {path} is not known by its name; it must end in "
            f"{', '.join(FORMATS)}, or be a folder of 10x Genomics or of Parquet files"
            f"{'; save it as .xlsx' if path.suffix.lower() == '.xls' else ''}."
        )
    return found


def folder_format(path: Path) -> Format:
    """The format of a folder; one that is not known by its content may be of 10x Genomics."""
    from .anndata import is_zarr
    from .parquet import is_parquet_folder
    from .zarr import is_zarr_array

    if is_zarr_array(path):
        return ZARR_ARRAY
    if path.name.lower().endswith(ANNDATA_ENDINGS) or is_zarr(path):
        return ANNDATA
    return PARQUET if is_parquet_folder(path) else MATRIX_MARKET


def file_hash(path: str | os.PathLike[str]) -> str:
    r"""SHA-256 of a file, or of the names and contents of all files in a folder.

    A folder's hash does not depend on the order in which the system lists it, nor on dates.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from branchwise.io import file_hash
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "a.csv"
    >>> _ = path.write_text("x,y\n1,2\n")
    >>> file_hash(path)[:8], len(file_hash(path))
    ('...', 64)
    """
    path = check_path(path)
    if path.is_file():
        return _digest(path)
    whole = hashlib.sha256()
    names = [p.relative_to(path).as_posix() for p in path.rglob("*") if p.is_file()]
    for name in sorted(names):
        # Both digests have a fixed length, so that no name can pass for content.
        whole.update(hashlib.sha256(name.encode("utf-8", "surrogateescape")).digest())
        whole.update(bytes.fromhex(_digest(path / name)))
    return whole.hexdigest()


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
