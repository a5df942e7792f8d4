"""A fingerprint of what was read."""

import hashlib
import os
from pathlib import Path

from ._table import check_path


def file_hash(path: str | os.PathLike[str]) -> str:
    r"""SHA-256 of a file, or of the names and contents of all files in a folder.

    A folder's hash does not depend on the order in which the system lists it, nor on dates.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from ramify.io import file_hash
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
