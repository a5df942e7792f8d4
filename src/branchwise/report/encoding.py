"""What a page knows, as text: JSON for words and numbers, bytes for arrays, zlib, base64."""

import base64
import binascii
import json
import math
import re
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from .._typing import Floats, Ints

# The types that a browser has typed arrays for, by the names that stand in the text.
TYPES = {name: np.dtype(f"<{name}") for name in ("f4", "f8", "i4", "u1", "u2", "u4", "u8")}
# What stands for an array among the words; no key of a dict may be called so.
MARK = "$array"
# Every array starts at a multiple of this, as typed arrays have to.
ALIGNMENT = 8
LEVEL = 9
# No more than this is unpacked (1 GiB): pages come by mail.
MAX_BYTES = 2**30
DATA = re.compile(r'<script type="application/octet-stream" id="branchwise-data">([^<]*)</script>')


def encode(state: Mapping[str, Any]) -> str:
    """A nested dict of words, numbers and arrays as text.

    Equal states give equal text. Equal arrays are kept once. NaN and infinity become null among
    the numbers, and stay what they are in arrays. Matrices become flat, row after row.

    Parameters
    ----------
    state : dict
        Of dicts, lists, tuples, text, numbers, truth values, None, and arrays of the types float32,
        float64, int32, uint8, uint16, uint32 and uint64.

    Returns
    -------
    text : str
        Base64.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.report.encoding import decode, encode
    >>> decode(encode({"title": "iris", "times": np.array([0.5, np.nan])}))
    {'title': 'iris', 'times': array([0.5, nan])}
    """
    arrays = Arrays()
    words = plain(state, arrays, "state")
    header = json.dumps(
        {"state": words, "arrays": arrays.places}, allow_nan=False, separators=(",", ":")
    ).encode("ascii")  # so that halves of surrogate pairs, which UTF-8 lacks, are no obstacle
    start = len(header).to_bytes(4, "little") + header
    blob = b"".join([start, padding(len(start)), *arrays.parts])
    return base64.b64encode(zlib.compress(blob, LEVEL)).decode("ascii")


class Arrays:
    """The arrays of a state, one after the other, each once."""

    def __init__(self) -> None:
        self.places: list[tuple[str, int, int]] = []  # type, offset in bytes, number of elements
        self.parts: list[bytes] = []
        self._size = 0
        self._known: dict[tuple[str, bytes], int] = {}

    def add(self, array: Floats, where: str) -> int:
        """The number of an array."""
        name = array.dtype.str[1:]
        if name not in TYPES:
            raise TypeError(
                f"{where} is an array of type {array.dtype}, but a page holds only "
                f"{', '.join(TYPES)}; convert it with astype."
            )
        values = np.ascontiguousarray(array, dtype=TYPES[name]).ravel()
        # All first bytes, then all second bytes: exponents of numbers alike are alike.
        data = values.view(np.uint8).reshape(len(values), values.itemsize).T.tobytes()
        number = self._known.setdefault((name, data), len(self.places))
        if number == len(self.places):
            self.places.append((name, self._size, len(values)))
            self.parts += [data, padding(len(data))]
            self._size += len(data) + len(self.parts[-1])
        return number


def padding(size: int) -> bytes:
    """Zeros up to the next multiple of the alignment."""
    return bytes(-size % ALIGNMENT)


def plain(value: Any, arrays: Arrays, where: str) -> Any:
    """The same for JSON, with a mark in the place of each array."""
    if isinstance(value, np.ndarray):
        return {MARK: arrays.add(value, where)}
    if isinstance(value, Mapping):
        if MARK in value:
            raise ValueError(f"{where} has the key {MARK!r}, which stands for arrays; rename it.")
        return {str(key): plain(item, arrays, f"{where}.{key}") for key, item in value.items()}
    if isinstance(value, list | tuple):
        if all(type(item) is str for item in value):  # the names of many samples
            return list(value)
        return [plain(item, arrays, f"{where}[{k}]") for k, item in enumerate(value)]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if value is None or isinstance(value, str | bool | int | float):
        return value
    raise TypeError(
        f"{where} is a {type(value).__name__}, but a page holds only text, numbers, truth values, "
        "lists, dicts and arrays; convert it, for instance by str."
    )


def decode(text: str) -> Any:
    """What `encode` made a text of.

    Parameters
    ----------
    text : str

    Returns
    -------
    state : dict
        Arrays are flat.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.report.encoding import decode, encode
    >>> decode(encode({"edges": np.array([[0, 1], [1, 2]], dtype=np.int32)}))
    {'edges': array([0, 1, 1, 2], dtype=int32)}
    """
    try:
        packed = zlib.decompressobj()
        blob = packed.decompress(base64.b64decode(text, validate=True), MAX_BYTES)
        if not packed.eof:
            raise ValueError("it is cut off, or larger than a page can be")
        end = 4 + int.from_bytes(blob[:4], "little")
        header = json.loads(blob[4:end])
        data = memoryview(blob)[end + -end % ALIGNMENT :]
        # Each is copied: without this a short text could name the same bytes again and again.
        if sum(length * TYPES[name].itemsize for name, _, length in header["arrays"]) > len(data):
            raise ValueError("its arrays are larger than the data")
        arrays = [array_at(data, *place) for place in header["arrays"]]
        return restored(header["state"], arrays)
    except (
        binascii.Error,
        zlib.error,
        ValueError,
        KeyError,
        TypeError,
        IndexError,
        RecursionError,
    ) as error:
        raise ValueError(
            f"the data are not as a page of branchwise holds them ({error}); take a file that "
            "branchwise report or to_html has written."
        ) from error


def array_at(data: memoryview, name: str, offset: int, length: int) -> Floats:
    """One of the arrays."""
    kind = TYPES[name]
    if min(offset, length) < 0 or offset + length * kind.itemsize > len(data):
        raise ValueError("an array lies beyond their end")
    planes = np.frombuffer(data, np.uint8, length * kind.itemsize, offset)
    bytewise = np.ascontiguousarray(planes.reshape(kind.itemsize, length).T)
    return bytewise.ravel().view(kind).astype(kind.newbyteorder("="))


def restored(value: Any, arrays: list[Floats]) -> Any:
    """The same with the arrays in their places."""
    if isinstance(value, list):
        return [restored(item, arrays) for item in value]
    if not isinstance(value, dict):
        return value
    if MARK in value:
        return arrays[value[MARK]]
    return {key: restored(item, arrays) for key, item in value.items()}


def read_report(path: Any) -> Any:
    """The data of a page that was written to a file.

    Parameters
    ----------
    path : str or path

    Returns
    -------
    state : dict
        See docs/report.md. Arrays are flat, row after row.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import numpy as np
    >>> from branchwise.report import read_report, write_report
    >>> from branchwise.trajectory import Trajectory
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "report.html"
    >>> write_report(path, Trajectory([[0, 1]], np.array([[0.0], [4.0]])))
    >>> read_report(path)["graph"]["lengths"]
    array([4.])
    """
    with open(path, encoding="utf-8", errors="replace") as file:
        found = DATA.search(file.read())
    if found is None:
        raise ValueError(
            f"{path} is not a page of branchwise: it has no data; take a file that branchwise "
            "report or to_html has written."
        )
    return decode(found[1])


# Beyond these sizes single precision has no numbers, or few digits.
LARGEST, SMALLEST = float(np.finfo(np.float32).max), 1e-30
# It may round values by this part of the range that they lie in.
ROUNDING = 1e-5


def single(values: Floats) -> Floats:
    """Numbers in single precision, or in double if that has too few digits for them.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.report.encoding import single
    >>> single(np.array([0.5, np.nan])).dtype, single(np.array([1e300])).dtype
    (dtype('float32'), dtype('float64'))
    >>> single(1e9 + np.array([0.5, 1.5])).dtype
    dtype('float64')
    """
    values = np.asarray(values, dtype=np.float64)
    known = values[np.isfinite(values)]
    if not len(known):
        return values.astype(np.float32)
    low, high = float(known.min()), float(known.max())
    size = max(-low, high)
    is_fine = (
        size * float(np.finfo(np.float32).eps) <= ROUNDING * (high / 2 - low / 2) or low == high
    )
    is_held = size == 0 or SMALLEST <= size <= LARGEST
    return values.astype(np.float32) if is_held and is_fine else values


def whole_or_single(values: Floats) -> Floats:
    """The same, but for whole numbers that single precision would change.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.report.encoding import whole_or_single
    >>> whole_or_single(np.array([16777217.0, np.nan])).dtype  # 2**24 + 1
    dtype('float64')
    """
    values = np.asarray(values, dtype=np.float64)
    known = values[np.isfinite(values)]
    less = single(known)
    is_whole = np.array_equal(known, np.round(known))
    return values if is_whole and not np.array_equal(less, known) else single(values)


def double(values: Floats) -> Floats:
    """Numbers in double precision."""
    return np.ascontiguousarray(values, dtype=np.float64)


def indices(values: Ints) -> Ints:
    """Numbers of nodes, edges or rows."""
    return np.asarray(values, dtype=np.int32)
