"""Files from strangers, looked through before anything is read from them.

HDF5 can name other files: by external links, by datasets whose values lie in external files, and
by virtual datasets. Reading a stranger's file would then read files of one's own, and perhaps
pass them on with the results. In a folder in zarr format a symbolic link does the same, and the
codec "pickle" runs code when a chunk is unpacked. Either can declare an array of any size without
storing a value.
"""

import json
import math
import os
import zipfile
import zlib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import IO, Any
from xml.parsers import expat

from .._compat import import_extra
from ..data.table import InputError

# No lossless codec that these formats use packs real data tighter than deflate's limit of 1032.
MOST_COMPRESSED = 1100
UNSTORED_BYTES = 2**30


def check_path(path: str | os.PathLike[str]) -> Path:
    """The path, if something is there."""
    path = Path(path)
    if str(path) == "-" and not path.exists():
        raise InputError(
            "a table is not read from standard input (-), since its format is known by the name "
            "of the file; write it into a file, such as patients.csv, and pass its name."
        )
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist; check its name and folder.")
    if not (path.is_file() or path.is_dir()):
        raise InputError(f"{path} is neither a file nor a folder; pass a file on disk.")
    return path


def unstored_bytes(shape: Iterable[int], itemsize: int, stored: int) -> int:
    """How much of an array of this shape cannot be in the bytes that are stored."""
    return max(0, math.prod(map(int, shape)) * itemsize - MOST_COMPRESSED * stored)


def check_stored(shape: Iterable[int], itemsize: int, stored: int, what: str) -> None:
    """A few bytes can declare an array that fills the memory: refuse before making room for it."""
    shape = tuple(int(size) for size in shape)
    if unstored_bytes(shape, itemsize, stored) > UNSTORED_BYTES:
        raise InputError(
            f"{what} declares a shape of {shape}, but only {stored} bytes are stored; "
            "the file is damaged or hostile, and is not read."
        )


# Files that are zip archives of XML

# Sheets of equal rows are packed as tightly as this, but no others.
MOST_PACKED = 200
# So much XML at most is read, in such pieces, to find its first element.
MOST_BEFORE, PIECE = 2**20, 2**12


def check_zip(path: Path) -> None:
    """Refuse an archive that would fill the memory, or whose XML defines text to be repeated."""
    try:
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
            size = sum(member.file_size for member in members)
            if size > UNSTORED_BYTES + MOST_PACKED * path.stat().st_size:
                raise InputError(
                    f"{path} would be {size:,} bytes when unpacked, but only "
                    f"{path.stat().st_size:,} are stored; the file is damaged or hostile, and is "
                    "not read."
                )
            for member in members:
                with archive.open(member) as file:
                    if may_define_entities(file):
                        raise InputError(
                            f"{member.filename} in {path} defines entities, or hides whether it "
                            "does, which no spreadsheet does; the file is damaged or hostile, and "
                            "is not read."
                        )
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, NotImplementedError) as error:
        raise InputError(
            f"{path} cannot be read ({str(error).rstrip('. ')}); it is cut short, damaged, "
            "protected by a password or of another format: save it again as .xlsx, or as CSV."
        ) from error


class _Doctype(Exception):
    """Where entities are defined."""


class _Element(Exception):
    """Behind which none are."""


def may_define_entities(file: IO[bytes]) -> bool:
    """Whether XML has a document type, where entities are defined, before its first element.

    Read by a parser, since the text may be in any encoding and may begin with comments of any
    length. What is not XML defines nothing.

    Examples
    --------
    >>> import io
    >>> from branchwise.io.safety import may_define_entities
    >>> texts = ["<a/>", "<!-- <!DOCTYPE a> --><a/>", "<!-- --><!DOCTYPE a><a/>", "no XML"]
    >>> [may_define_entities(io.BytesIO(text.encode("utf-16"))) for text in texts]
    [False, False, True, False]
    """
    parser = expat.ParserCreate()
    parser.StartDoctypeDeclHandler = stop_at(_Doctype)
    parser.StartElementHandler = stop_at(_Element)
    try:
        for _ in range(MOST_BEFORE // PIECE):
            piece = file.read(PIECE)
            parser.Parse(piece, not piece)
            if not piece:
                return False
    except _Doctype:
        return True
    except _Element:
        return False
    except expat.ExpatError as error:
        # Other parsers may know what this one does not.
        return error.code == expat.errors.codes[expat.errors.XML_ERROR_UNKNOWN_ENCODING]
    except (LookupError, ValueError):  # the name of an encoding that Python does not take
        return True
    return True


def stop_at(found: type[Exception]) -> Callable[..., None]:
    """A handler that ends parsing."""

    def stop(*_: Any) -> None:
        raise found

    return stop


# HDF5

MOST_PATHS = 1_000_000


def check_hdf5(file: Any, path: Path) -> None:
    """Refuse a file that reaches out of itself, runs in circles or declares what it lacks.

    Objects that only an object reference leads to are looked at, too: AnnData follows references
    to the categories of old files.
    """
    scan = _Scan(file, path)
    scan.objects()
    # Only now is it known that no soft link leads through an external one.
    scan.soft_links()
    check_tree(scan.children, scan.names, scan.root, path)


class _Scan:
    """Every object of a file by its address, found through hard links and references."""

    def __init__(self, file: Any, path: Path) -> None:
        self.h5py = import_extra("h5py", "reading .h5ad", "anndata")
        self.file, self.path, self.size = file, path, path.stat().st_size
        self.root = self.address(file.id)
        self.names: dict[int, str] = {}
        self.children: dict[int, list[tuple[str, int]]] = {}
        self.soft: list[tuple[Any, str, bytes]] = []
        self.unstored = 0

    def address(self, object_id: Any) -> int:
        return int(self.h5py.h5o.get_info(object_id).addr)

    def objects(self) -> None:
        h5o = self.h5py.h5o
        found = [(h5o.open(self.file.id, b"/"), "/")]
        while found:
            object_id, name = found.pop()
            address = self.address(object_id)
            if address in self.names:
                continue
            self.names[address] = name
            self.children[address] = []
            found.extend(self.referenced(object_id, name))
            if isinstance(object_id, self.h5py.h5g.GroupID):
                found.extend(self.hard_links(object_id, name, address))
            elif isinstance(object_id, self.h5py.h5d.DatasetID):
                self.check_dataset(object_id, name)

    def hard_links(self, group: Any, name: str, address: int) -> list[tuple[Any, str]]:
        h5l, found = self.h5py.h5l, []
        for key in group:
            below = f"{name.rstrip('/')}/{key.decode('utf-8', 'replace')}"
            kind = group.links.get_info(key).type
            if kind == h5l.TYPE_SOFT:
                self.soft.append((group, below, key))
            elif kind == h5l.TYPE_EXTERNAL:
                self.refuse(below, "is an external link, which leads into another file")
            elif kind != h5l.TYPE_HARD:
                self.refuse(below, "is a link of a user-defined kind")
            else:
                child = self.h5py.h5o.open(group, key)
                self.children[address].append((below, self.address(child)))
                found.append((child, below))
        return found

    def referenced(self, object_id: Any, name: str) -> list[tuple[Any, str]]:
        h5a, h5r, found = self.h5py.h5a, self.h5py.h5r, []
        for i in range(h5a.get_num_attrs(object_id)):
            attribute = h5a.open(object_id, index=i)
            if attribute.get_type().get_class() != self.h5py.h5t.REFERENCE:
                continue
            key = attribute.name.decode("utf-8", "replace")
            value = self.h5py.AttributeManager(_WithId(object_id))[key]
            for reference in [value] if isinstance(value, h5r.Reference) else value.ravel():
                if reference:
                    target = h5r.dereference(reference, self.file.id)
                    found.append((target, f"{name} (by its attribute {key!r})"))
        return found

    def check_dataset(self, dataset: Any, name: str) -> None:
        plist = dataset.get_create_plist()
        if plist.get_external_count():
            self.refuse(name, "keeps its values in another file (external storage)")
        # Before its shape is asked for: that alone may open the files of a virtual dataset.
        if plist.get_layout() == self.h5py.h5d.VIRTUAL:
            self.refuse(name, "is a virtual dataset, which takes its values from other files")
        shape = dataset.shape or ()
        if plist.get_layout() == self.h5py.h5d.CHUNKED:
            shape = max(shape, plist.get_chunk(), key=_count)
        itemsize, stored = dataset.get_type().get_size(), dataset.get_storage_size()
        stored = min(stored, self.size)
        self.unstored += unstored_bytes(shape, itemsize, stored)
        if self.unstored > UNSTORED_BYTES:
            check_stored(shape, itemsize, stored, f"{name} in {self.path}")
            self.refuse(name, "and others declare far more values than are stored")

    def soft_links(self) -> None:
        for group, name, key in self.soft:
            try:
                target = self.h5py.h5o.open(group, key)
            except KeyError:
                continue
            self.children[self.address(group)].append((name, self.address(target)))

    def refuse(self, name: str, why: str) -> None:
        raise InputError(
            f"{name} in {self.path} {why}; the file is not read: "
            "ask its author for one that stands on its own."
        )


class _WithId:
    """What h5py's attribute manager asks of an object."""

    def __init__(self, object_id: Any) -> None:
        self.id = object_id


def _count(shape: Any) -> int:
    count = 1
    for size in shape:
        count *= int(size)
    return count


def check_tree(
    children: dict[int, list[tuple[str, int]]], names: dict[int, str], root: int, path: Path
) -> None:
    """Whoever reads the whole file follows every path: there must be an end to them."""
    paths: dict[int, int] = {}
    above: set[int] = set()
    stack = [(root, False)]
    while stack:
        node, done = stack.pop()
        if done:
            above.discard(node)
            paths[node] = 1 + sum(paths[child] for _, child in children.get(node, ()))
            if paths[node] > MOST_PATHS:
                raise InputError(
                    f"{names.get(node)} in {path} is reached by more than {MOST_PATHS} paths of "
                    "links; the file is damaged or hostile, and is not read."
                )
        elif node not in paths:
            above.add(node)
            stack.append((node, True))
            for name, child in children.get(node, ()):
                if child in above:
                    raise InputError(
                        f"{name} in {path} links back to a group that holds it; "
                        "the file is not read: ask its author for one without circles."
                    )
                stack.append((child, False))


# Zarr

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
                refuse(path, entry, "is not an ordinary file")
            if name in METADATA and name in files:
                check_codecs(read_json(entry, path), entry, path)


def read_json(entry: Path, path: Path) -> Any:
    """The metadata of an array or group."""
    try:
        return json.loads(entry.read_text("utf-8"))
    except (ValueError, RecursionError) as error:
        raise InputError(
            f"{entry.relative_to(path)} in {path} is not valid JSON; the folder is damaged."
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
