"""NumPy's own array files (.npy, version 1.0), for plain numbers, booleans and text only.

The header is read by a pattern rather than as Python source, and is compared with the number of
bytes that follow before memory is taken: a header can neither run anything nor ask for more than
the file holds. It is written by hand because NumPy pads it differently from version to version.
"""

import math
import re
from typing import IO

import numpy as np

from .._typing import Floats

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
    >>> from ramify.io.npy import portable
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
    >>> from ramify.io.npy import npy_header
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
    >>> from ramify.io.npy import npy_size
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
    >>> from ramify.io.npy import write_npy
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
    >>> from ramify.io.npy import npy_size, read_npy, write_npy
    >>> file = io.BytesIO()
    >>> write_npy(file, np.arange(3))
    >>> read_npy(io.BytesIO(file.getvalue()), npy_size(np.arange(3)))
    array([0, 1, 2])
    """
    start = file.read(len(MAGIC) + 2)
    length = int.from_bytes(start[len(MAGIC) :], "little")
    header = HEADER.fullmatch(file.read(length))
    if not start.startswith(MAGIC) or header is None:
        raise ValueError("is no array of numbers, booleans or text")
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
