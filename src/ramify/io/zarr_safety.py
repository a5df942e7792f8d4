"""Look through a folder in zarr format before anything is read from it.

A symbolic link reads other files; the codec "pickle" runs code when a chunk is unpacked; and a
few bytes of JSON declare an array of any size.
"""

import json
import os
from pathlib import Path
from typing import Any

from ._table import UNSTORED_BYTES, InputError, check_stored, unstored_bytes

METADATA = (".zarray", ".zgroup", ".zattrs", ".zmetadata", "zarr.json")
# What AnnData's writers use or offer; none of them makes Python objects other than text.
CODECS = frozenset(
    [
        "adler32",
        "astype",
        "bitround",
        "blosc",
        "bytes",
        "bz2",
        "crc32",
        "crc32c",
        "delta",
        "fixedscaleoffset",
        "fletcher32",
        "gzip",
        "jenkins_lookup3",
        "lz4",
        "lzma",
        "packbits",
        "pcodec",
        "quantize",
        "sharding_indexed",
        "shuffle",
        "transpose",
        "vlen-array",
        "vlen-bytes",
        "vlen-utf8",
        "zfpy",
        "zlib",
        "zstd",
    ]
)
CODEC_KEYS = ("codecs", "index_codecs", "filters", "compressor", "compressors", "serializer")


def check_zarr(path: Path) -> None:
    """Refuse links, special files and codecs that are not known to be harmless."""
    for folder, subfolders, files in os.walk(path):
        for name in [*subfolders, *files]:
            entry = Path(folder, name)
            if entry.is_symlink():
                refuse(path, entry, "is a symbolic link")
            if not (entry.is_dir() or entry.is_file()):
                refuse(path, entry, "is no ordinary file")
            if name in METADATA and name in files:
                check_codecs(read_json(entry, path), entry, path)


def read_json(entry: Path, path: Path) -> Any:
    """The metadata of an array or group."""
    try:
        return json.loads(entry.read_text("utf-8"))
    except (ValueError, RecursionError) as error:
        raise InputError(
            f"{entry.relative_to(path)} in {path} is no valid JSON; the folder is damaged."
        ) from error


def check_codecs(document: Any, entry: Path, path: Path) -> None:
    """Every codec named anywhere in the metadata, also within others, must be a known one."""
    pending = [document]
    while pending:
        part = pending.pop()
        if isinstance(part, list):
            pending.extend(part)
        elif isinstance(part, dict):
            # Attributes are data of the user's, and may have any keys.
            pending.extend(value for key, value in part.items() if key != "attributes")
            for key in CODEC_KEYS:
                codecs = part.get(key) or []
                for codec in codecs if isinstance(codecs, list) else [codecs]:
                    check_codec(codec, entry, path)


def check_codec(codec: Any, entry: Path, path: Path) -> None:
    """Zarr 2 names a codec by "id", zarr 3 by "name" or by the name alone."""
    name = codec.get("id", codec.get("name")) if isinstance(codec, dict) else codec
    if str(name).removeprefix("numcodecs.") not in CODECS:
        refuse(
            path,
            entry,
            f"asks for the codec {name!r}, which is not among those that only hold data",
        )


def check_sizes(group: Any, path: Path) -> None:
    """Refuse arrays that declare far more than lies in their folders."""
    unstored = 0
    for folder, _, files in os.walk(path):
        if ".zarray" not in files and "zarr.json" not in files:
            continue
        name = Path(folder).relative_to(path).as_posix()
        if name == "." or not hasattr(group[name], "dtype"):
            continue
        unstored += check_array(group[name], Path(folder), path)
        if unstored > UNSTORED_BYTES:
            refuse(path, Path(folder), "and others declare far more values than are stored")


def check_array(array: Any, folder: Path, path: Path) -> int:
    """Refuse an array that declares far more than lies in its folder; the bytes that it lacks."""
    itemsize = array.dtype.itemsize or 1
    shape = max(array.shape, array.chunks, key=lambda shape: unstored_bytes(shape, 1, 0))
    stored = sum(entry.stat().st_size for entry in folder.rglob("*") if entry.is_file())
    name = folder.relative_to(path).as_posix()
    check_stored(shape, itemsize, stored, str(path) if name == "." else f"{name} in {path}")
    return unstored_bytes(shape, itemsize, stored)


def refuse(path: Path, entry: Path, why: str) -> None:
    """Name the entry and what is wrong with it."""
    raise InputError(
        f"{entry.relative_to(path)} in {path} {why}; the folder is not read: "
        "ask its author for one that stands on its own."
    )
