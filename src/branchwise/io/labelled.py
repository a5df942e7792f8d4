"""Files of SPSS and Stata, whose numbers may have labels."""

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from .._compat import import_extra
from .._messages import listed
from ..data.dates import in_usual_unit
from ..data.errors import InputError
from ..data.selection import Selection
from ..data.table import check_has_rows, pandas_for_tables
from .frames import Framed
from .safety import check_stored

READERS = {".sav": "read_sav", ".zsav": "read_sav", ".dta": "read_dta"}
# Before it is packed, a file of SPSS has one byte for a value that would take so many.
BYTES_OF_ONE = 8


def frame_of_labelled(path: Path, selection: Selection) -> Framed:
    """Read a file of SPSS or Stata: numbers with labels are categories, and dates are dates.

    What the file declares as missing is missing.
    """
    pandas_for_tables()
    statistics = import_extra("pyreadstat", f"reading {path.suffix}", "formats")
    read = getattr(statistics, READERS[path.suffix.lower()])
    try:
        described = read(str(path), metadataonly=True)[1]
        check_size(described, path)
        frame, described = read(str(path), dates_as_pandas_datetime=True)
    except (InputError, ImportError):
        raise
    # A damaged file fails anywhere in the library, with errors of any type.
    except Exception as error:
        reason = " ".join(str(error).split())[:200].rstrip(". ") or type(error).__name__
        raise InputError(
            f"{path} cannot be read as a file of SPSS or Stata ({reason}); it is cut short, "
            "damaged or of another format: save it again, or as CSV."
        ) from error
    check_has_rows(len(frame), str(path))
    partly = []
    for name in frame.columns:
        labels = described.variable_value_labels.get(name, {})
        frame[name], is_part = labelled(frame[name], labels)
        partly += [name] if is_part else []
    if partly:
        warnings.warn(
            f"{listed(map(repr, partly), 5)} of {path} "
            + (
                "has labels for some of its values only, and is numbers here"
                if len(partly) == 1
                else "have labels for some of their values only, and are numbers here"
            )
            + ", the labelled ones too; declare these as missing where the file was made if they "
            f"are not measurements, or exclude the {'column' if len(partly) == 1 else 'columns'}.",
            stacklevel=2,
        )
    return Framed(frame)


def check_size(described: Any, path: Path) -> None:
    """The header must agree with what is stored, before room is made for it."""
    widths = described.variable_storage_width.values()
    n_bytes = sum(max(int(width), 1) for width in widths)
    rows = described.number_rows or 0
    packed = BYTES_OF_ONE if path.suffix.lower() == ".zsav" else 1
    check_stored((rows, n_bytes), 1, packed * path.stat().st_size, str(path))


def labelled(column: Any, labels: Mapping[Any, str]) -> tuple[Any, bool]:
    """A column with labels in the place of its values, if all of them have one.

    Returns
    -------
    column : Series
    is_part : bool
        Whether some of its values have labels, and others not.

    Examples
    --------
    >>> import pandas as pd
    >>> from branchwise.io.labelled import labelled
    >>> labelled(pd.Series([1.0, 2.0, None]), {1: "low", 2: "high"})[0].tolist()
    ['low', 'high', nan]
    >>> labelled(pd.Series([36.6, 99.0]), {99: "refused"})
    (0    36.6
    1    99.0
    dtype: float64, True)
    """
    pandas = pandas_for_tables()
    if column.dtype.kind == "M":
        moments = column.to_numpy("datetime64[us]")
        return pandas.Series(in_usual_unit(moments), column.index, name=column.name), False
    if column.dtype.kind == "O":
        # An empty text is how these files write a missing one.
        blank = np.array([isinstance(cell, str) and not cell.strip() for cell in column], bool)
        column = column.where(~blank, None)
    if column.dtype.kind == "f" and (np.abs(column) < 2**53).all() and (column % 1 == 0).all():
        column = column.astype(np.int64)  # names of samples, maybe
    present = set(column.dropna().unique().tolist())
    known = {value for value in present if value in labels}
    if not known:
        return column, False
    if known < present:
        return column, True
    # Two values may have one label.
    kinds = list(dict.fromkeys(str(labels[value]) for value in labels))
    texts = column.map({value: str(label) for value, label in labels.items()})
    return texts.astype(pandas.CategoricalDtype(kinds)), False
