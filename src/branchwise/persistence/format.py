"""Model files: nested dictionaries of plain values and arrays, in one zip file without pickles.

docs/model-files.md describes the format. Whatever a file claims is compared with its size before
memory is taken: members are stored as they are, so that none is larger in memory than on disk.
"""

import json
import math
import os
import re
import struct
import zipfile
from collections.abc import Callable
from numbers import Integral, Real
from pathlib import Path
from typing import IO, Any, BinaryIO

import numpy as np
from scipy import sparse

from .. import __version__
from .._compat import install_command
from .._memory import check_memory
from .._messages import is_for_command_line
from .._typing import Floats, Sparse
from .._writing import replacing_bytes

FORMAT = "branchwise model"
VERSION = 1
CONTENTS = "contents.json"
# The values that are not arrays: a million names of features fit in.
MAX_CONTENTS = 2**25
# Signs of an error of the libraries below that are told.
MOST_TOLD = 200
MEMBER = re.compile(r"\d{3,9}-\w{1,40}\.npy", re.ASCII)
# The earliest date that a zip file can name, whenever it is written: equal models, equal bytes.
DATE = (1980, 1, 1, 0, 0, 0)
IS_ENCRYPTED = 0x1
NOT_FINITE = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
INTEGERS = range(-(2**63), 2**64)
SAVE_AGAIN = "save the model again, or copy the file again if it is whole elsewhere"
# What the zip and JSON readers of the standard library raise at broken files.
BROKEN = (
    zipfile.BadZipFile,
    EOFError,
    OSError,
    OverflowError,
    RuntimeError,  # too deeply nested, or a feature of zip files that Python does not know
    ValueError,
    struct.error,
)


class ModelFileError(ValueError):
    """A file is not a model file, is broken, or says what cannot be."""


class Unsound(ValueError):
    """What is wrong with a file whose name is known elsewhere, and what to do about it."""

    def __init__(self, reason: str, remedy: str = SAVE_AGAIN):
        super().__init__(reason)
        self.remedy = remedy


def write_state(path: str | os.PathLike[str], state: dict[str, Any]) -> None:
    """Write nested dictionaries of plain values and arrays to a file, whole or not at all.

    Equal states give equal bytes, on any machine.

    Parameters
    ----------
    path : str or path
    state : dict
        Keys are strings that do not start with "$". Values are such dictionaries; None, bool, int,
        float, str and lists of these; NumPy arrays of numbers, booleans or text; and sparse
        matrices, which come back as CSR arrays.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import numpy as np
    >>> from branchwise.persistence.format import read_state, write_state
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "some.branchwise"
    >>> write_state(path, {"names": ["a", "b"], "weights": {"first": np.arange(3)}})
    >>> read_state(path)
    {'names': ['a', 'b'], 'weights': {'first': array([0, 1, 2])}}
    """
    arrays: dict[str, Floats] = {}
    contents = {
        "format": FORMAT,
        "version": VERSION,
        "branchwise": __version__,
        "state": _encode(state, (), arrays),
    }
    text = json.dumps(contents, allow_nan=False, indent=1).encode("ascii")
    if len(text) > MAX_CONTENTS:
        raise ValueError(
            f"the values that are not arrays take {len(text):,} bytes but may take "
            f"{MAX_CONTENTS:,}; keep long lists as arrays."
        )
    with replacing_bytes(path) as file, zipfile.ZipFile(file, "w") as archive:
        with archive.open(_member(CONTENTS, len(text)), "w") as member:
            member.write(text)
        for name, array in arrays.items():
            with archive.open(_member(name, npy_size(array)), "w") as member:
                write_npy(member, array)


def read_state(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read what `write_state` has written; a file from a stranger can do no harm.

    Raises
    ------
    ModelFileError
        If the file is not a model file, is broken, or was written by a later version.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from branchwise.persistence.format import read_state
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "table.csv"
    >>> _ = path.write_text("a,b")
    >>> read_state(path)
    Traceback (most recent call last):
    ...
    branchwise.persistence.format.ModelFileError: ...table.csv is not a model file; pass a file ...
    """
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist; check its name and folder.")
    if not path.is_file():
        raise ModelFileError(f"{path} is not a file; {pass_a_model()}.")
    with path.open("rb") as file:
        try:
            return _read(file)
        except Unsound as error:
            raise ModelFileError(f"{path} {error}; {error.remedy}.") from error
        except BROKEN as error:
            raise ModelFileError(f"{path} is damaged ({plainly(error)}); {SAVE_AGAIN}.") from error


def plainly(error: Exception) -> str:
    r"""What an error says, without the bytes of a broken file, which may be long and unreadable.

    Examples
    --------
    >>> from branchwise.persistence.format import plainly
    >>> plainly(ValueError("File name in directory 'a\x00' differs."))
    "File name in directory 'a?' differs"
    """
    told = "".join(sign if sign.isprintable() else "?" for sign in str(error)).rstrip(".")
    short = told if len(told) <= MOST_TOLD else f"{told[:MOST_TOLD]}…"
    return short or type(error).__name__


def pass_a_model() -> str:
    """What to do if a file is not a model."""
    if is_for_command_line():
        return "pass OUT, the folder of a fit, or OUT/model.branchwise"
    return "pass a file that `save` wrote"


def _read(file: BinaryIO) -> dict[str, Any]:
    if file.read(4) != b"PK\x03\x04":
        raise Unsound("is not a model file", pass_a_model())
    size = file.seek(0, os.SEEK_END)
    with zipfile.ZipFile(file) as archive:
        members = _checked_members(archive, size)
        contents = _read_contents(archive, members)
        check_memory(size, f"Reading {file.name}", "use a machine with more memory")

        def take(name: Any) -> Floats:
            if not isinstance(name, str) or name not in members:
                raise Unsound(f"lacks the array {name!r}, or refers to it twice")
            return _read_array(archive, members.pop(name))

        state = _decode(contents, take)
    if members:
        raise Unsound(f"has the array {next(iter(members))!r} that nothing refers to")
    if not isinstance(state, dict):
        raise Unsound("holds no state")
    return state


def _checked_members(archive: zipfile.ZipFile, size: int) -> dict[str, zipfile.ZipInfo]:
    """The members by name, if each is what `write_state` would have written."""
    members: dict[str, zipfile.ZipInfo] = {}
    for info in archive.infolist():
        # The name as it stands in the file: zipfile cuts it at a zero and replaces backslashes.
        name = info.orig_filename
        if name != CONTENTS and not MEMBER.fullmatch(name):
            raise Unsound(f"has a member of the strange name {name[:80]!r}")
        if name in members:
            raise Unsound(f"has two members named {name!r}")
        if info.flag_bits & IS_ENCRYPTED:
            raise Unsound(f"has the encrypted member {name!r}", "save the model again, unencrypted")
        if info.compress_type != zipfile.ZIP_STORED or info.compress_size != info.file_size:
            raise Unsound(f"has the compressed member {name!r}", "save the model again, as it is")
        members[name] = info
    total = sum(info.file_size for info in members.values())
    if total > size:
        raise Unsound(f"claims to hold {total:,} bytes but has {size:,}")
    if CONTENTS not in members:
        raise Unsound(f"lacks {CONTENTS}", "pass a file that `save` wrote")
    return members


def _read_contents(archive: zipfile.ZipFile, members: dict[str, zipfile.ZipInfo]) -> Any:
    """The state without its arrays, if it is of a version that is known."""
    info = members.pop(CONTENTS)
    if info.file_size > MAX_CONTENTS:
        raise Unsound(f"has {info.file_size:,} bytes of {CONTENTS} but may have {MAX_CONTENTS:,}")
    contents = json.loads(
        archive.read(info).decode("ascii"),
        object_pairs_hook=_distinct,
        parse_constant=_no_constant,
        parse_int=_integer,
    )
    if not isinstance(contents, dict) or contents.get("format") != FORMAT:
        raise Unsound("is a file of another program", "pass a file that `save` wrote")
    version = contents.get("version")
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise Unsound(f"has the format version {version!r}, which is none")
    if version > VERSION:
        writer = str(contents.get("branchwise"))[:40]
        raise Unsound(
            f"has format version {version}, written by branchwise {writer}, "
            f"but branchwise {__version__} reads versions up to {VERSION}",
            f"upgrade: git pull, then {install_command()}",
        )
    if set(contents) != {"format", "version", "branchwise", "state"}:
        raise Unsound(f"has other entries in {CONTENTS} than it should")
    return contents["state"]


def _read_array(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Floats:
    with archive.open(info) as member:
        try:
            return read_npy(member, info.file_size)
        except ValueError as error:
            raise Unsound(f"has the member {info.filename!r}, which {error}") from error


def _member(name: str, size: int) -> zipfile.ZipInfo:
    """A member that is the same whenever and wherever it is written."""
    info = zipfile.ZipInfo(name, DATE)
    info.create_system = 3  # Unix; Windows would set another
    info.external_attr = 0o644 << 16
    info.file_size = size
    return info


def _encode(value: Any, keys: tuple[str, ...], arrays: dict[str, Floats]) -> Any:
    """The value as JSON knows it; arrays are put aside, under the names of their members."""
    where = "/".join(keys)
    if isinstance(value, dict):
        for key in value:
            if not isinstance(key, str) or key.startswith("$"):
                raise ValueError(
                    f"{where} has the key {key!r}, but keys must be strings without a leading $; "
                    "rename it."
                )
        return {key: _encode(value[key], (*keys, key), arrays) for key in value}
    if isinstance(value, list):
        return [_encode_plain(item, where) for item in value]
    if sparse.issparse(value):
        csr = sparse.csr_array(value)
        parts = {part: getattr(csr, part) for part in ("data", "indices", "indptr")}
        encoded = {part: _encode(parts[part], (*keys, part), arrays) for part in parts}
        return {"$csr": {"shape": [int(size) for size in csr.shape], **encoded}}
    if isinstance(value, np.ndarray):
        readable = re.sub(r"\W", "_", keys[-1], flags=re.ASCII)[:40] or "_"
        name = f"{len(arrays):03d}-{readable}.npy"
        try:
            arrays[name] = portable(value)
        except TypeError as error:
            raise TypeError(f"{where} is {error}.") from error
        return {"$array": name}
    return _encode_plain(value, where)


def _encode_plain(value: Any, where: str) -> Any:
    if isinstance(value, list):
        return [_encode_plain(item, where) for item in value]
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, Integral) and int(value) in INTEGERS:
        return int(value)
    if isinstance(value, Real) and not isinstance(value, Integral):
        number = float(value)
        return number if math.isfinite(number) else {"$float": str(number)}
    raise TypeError(
        f"{where} is of type {type(value).__name__}, which a model file cannot keep; use numbers, "
        "text, lists of these, or arrays."
    )


def _decode(value: Any, take: Callable[[Any], Floats]) -> Any:
    """The value that `_encode` was given."""
    if isinstance(value, list):
        return [_decode(item, take) for item in value]
    if not isinstance(value, dict):
        return value
    if not any(key.startswith("$") for key in value):
        return {key: _decode(item, take) for key, item in value.items()}
    (tag, content), *more = value.items()
    if tag == "$array" and not more:
        return take(content)
    if tag == "$float" and not more and isinstance(content, str) and content in NOT_FINITE:
        return NOT_FINITE[content]
    if tag == "$csr" and not more and isinstance(content, dict):
        return _csr(_decode(content, take))
    raise Unsound(f"has the unknown entry {tag!r} in {CONTENTS}")


def _csr(parts: dict[str, Any]) -> Sparse:
    """A sparse matrix whose indices lead nowhere else."""
    if set(parts) != {"shape", "data", "indices", "indptr"}:
        raise Unsound("has a sparse matrix that lacks a part")
    shape, data, indices, indptr = (parts[name] for name in ("shape", "data", "indices", "indptr"))
    is_shape = isinstance(shape, list) and len(shape) == 2
    if not is_shape or not all(type(n) is int and 0 <= n < 2**31 for n in shape):
        raise Unsound("has a sparse matrix without a shape")
    parts_of = {"data": (data, "biufc"), "indices": (indices, "i"), "indptr": (indptr, "i")}
    for name, (part, kinds) in parts_of.items():
        if not isinstance(part, np.ndarray) or part.ndim != 1 or part.dtype.kind not in kinds:
            raise Unsound(f"has a sparse matrix whose {name} are not a vector of numbers")
    is_sound = len(indptr) == shape[0] + 1 and len(indices) == len(data)
    is_sound = is_sound and indptr[0] == 0 and indptr[-1] == len(data)
    is_sound = is_sound and bool((indptr[:-1] <= indptr[1:]).all())
    if not is_sound or (len(indices) and not 0 <= indices.min() <= indices.max() < shape[1]):
        raise Unsound("has a sparse matrix whose indices do not fit its shape")
    return sparse.csr_array((data, indices, indptr), shape=tuple(shape))


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise Unsound(f"has an entry twice in {CONTENTS}")
    return found


def _no_constant(name: str) -> float:
    raise Unsound(f"has the number {name} in {CONTENTS}, which JSON does not know")


def _integer(digits: str) -> int:
    number = int(digits)
    if number not in INTEGERS:
        raise Unsound(f"has the number {digits[:20]}… in {CONTENTS}, which is too large")
    return number


# NumPy's own array files (.npy, version 1.0), for plain numbers, booleans and text only. The header
# is read by a pattern rather than as Python source, and is compared with the number of bytes that
# follow before memory is taken: it can neither run anything nor ask for more than the file holds.
# It is written by hand because NumPy pads it differently from version to version.

MAGIC = b"\x93NUMPY\x01\x00"
HEADER = re.compile(
    rb"\{'descr': '([<>|])([biufcU])(\d{1,9})', 'fortran_order': (False|True), "
    rb"'shape': \((|\d{1,18},|\d{1,18}(?:, \d{1,18}){1,31})\), \} *\n"
)
# Bytes per number, by kind; others (long double, for one) differ between machines.
SIZES = {"b": {1}, "i": {1, 2, 4, 8}, "u": {1, 2, 4, 8}, "f": {2, 4, 8}, "c": {8, 16}}
ALIGNMENT = 64
# More than a machine can address, less than would overflow.
MAX_BYTES = 2**60
LAST_CHARACTER = 0x10FFFF


def portable(array: Floats) -> Floats:
    """The array in little-endian byte order, contiguous by rows or by columns.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.persistence.format import portable
    >>> portable(np.array([1, 2], dtype=">i4")).dtype.str
    '<i4'
    """
    array = np.asarray(array)
    kind, size = array.dtype.kind, array.dtype.itemsize
    if kind == "U":
        # NumPy reads text without characters as text with one.
        array = array.astype("<U1") if size == 0 else array
    elif size not in SIZES.get(kind, ()):
        raise TypeError(
            f"an array of type {array.dtype} cannot be kept in a file; convert it to numbers, "
            "booleans or text of fixed width"
        )
    array = array.astype(array.dtype.newbyteorder("<"), copy=False)
    return array if array.flags.f_contiguous else np.ascontiguousarray(array)


def npy_header(array: Floats) -> bytes:
    """What precedes the numbers of a `portable` array.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.persistence.format import npy_header
    >>> header = npy_header(np.zeros((2, 3)))
    >>> len(header), header[10:70]
    (128, b"{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), } ")
    """
    order = not array.flags.c_contiguous
    text = f"{{'descr': '{array.dtype.str}', 'fortran_order': {order}, 'shape': {array.shape}, }}"
    fixed = len(MAGIC) + 2
    length = -(-(fixed + len(text) + 1) // ALIGNMENT) * ALIGNMENT - fixed
    return MAGIC + length.to_bytes(2, "little") + text.ljust(length - 1).encode("ascii") + b"\n"


def npy_size(array: Floats) -> int:
    """Bytes that `write_npy` writes.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.persistence.format import npy_size
    >>> npy_size(np.zeros((2, 3)))
    176
    """
    return len(npy_header(array)) + array.nbytes


def write_npy(file: IO[bytes], array: Floats) -> None:
    """Write a `portable` array.

    Examples
    --------
    >>> import io
    >>> import numpy as np
    >>> from branchwise.persistence.format import write_npy
    >>> file = io.BytesIO()
    >>> write_npy(file, np.arange(3))
    >>> np.load(io.BytesIO(file.getvalue()))
    array([0, 1, 2])
    """
    file.write(npy_header(array))
    if array.size:
        file.write(_bytes_of(array))


def read_npy(file: IO[bytes], size: int) -> Floats:
    """Read an array from a file of so many bytes; ValueError, in half a sentence, if it is none.

    Examples
    --------
    >>> import io
    >>> import numpy as np
    >>> from branchwise.persistence.format import npy_size, read_npy, write_npy
    >>> file = io.BytesIO()
    >>> write_npy(file, np.arange(3))
    >>> read_npy(io.BytesIO(file.getvalue()), npy_size(np.arange(3)))
    array([0, 1, 2])
    """
    start = file.read(len(MAGIC) + 2)
    length = int.from_bytes(start[len(MAGIC) :], "little")
    header = HEADER.fullmatch(file.read(length))
    if not start.startswith(MAGIC) or header is None:
        raise ValueError("is not an array of numbers, booleans or text")
    order, kind, digits, by_columns, dims = (group.decode("ascii") for group in header.groups())
    width = int(digits)
    if width not in ({width} - {0} if kind == "U" else SIZES[kind]):
        raise ValueError(f"has the unknown type {kind}{width}")
    dtype = np.dtype(f"{order}{kind}{width}")
    shape = tuple(int(dim) for dim in dims.split(",") if dim)
    # Without the zeros: NumPy multiplies the other sizes even where there is nothing to hold.
    if math.prod(max(dim, 1) for dim in shape) * dtype.itemsize > MAX_BYTES:
        raise ValueError(f"has the absurd shape {shape}")
    wanted = math.prod(shape) * dtype.itemsize
    if wanted != size - len(start) - length:
        raise ValueError(
            f"has shape {shape} and type {dtype}, which takes {wanted} bytes, but holds "
            f"{size - len(start) - length}"
        )
    array = np.empty(shape, dtype, order="F" if by_columns == "True" else "C")
    if array.size:
        _fill(file, _bytes_of(array))
    if kind == "b" and array.size and array.view(np.uint8).max() > 1:
        raise ValueError("holds booleans that are neither true nor false")
    if kind == "U" and array.size and _largest_character(array) > LAST_CHARACTER:
        raise ValueError("holds text that is not Unicode")
    return array.astype(dtype.newbyteorder("="), copy=False)


def _bytes_of(array: Floats) -> memoryview:
    """The memory of a contiguous array, in its order."""
    in_order = array if array.flags.c_contiguous else array.T
    return in_order.reshape(-1).view(np.uint8).data


def _fill(file: IO[bytes], target: memoryview) -> None:
    done = 0
    while done < len(target):
        piece = file.read(min(len(target) - done, 2**24))
        if not piece:
            raise ValueError("ends too early")
        target[done : done + len(piece)] = piece
        done += len(piece)


def _largest_character(array: Floats) -> int:
    code = np.dtype(np.uint32).newbyteorder(array.dtype.byteorder)
    return int(np.frombuffer(_bytes_of(array), dtype=code).max())
