"""Memory, asked for before it is used."""

from pathlib import Path
from typing import Any

import numpy as np

GIB = 2**30
MEMINFO = Path("/proc/meminfo")
CONTROL_GROUP = Path("/sys/fs/cgroup")


def available_bytes() -> int | None:
    """Memory that this process may still take, or None where the system does not tell.

    On Linux: what the kernel calls available, or less if the process's control group allows less.
    """
    free = []
    if MEMINFO.exists():
        fields = dict(line.split(":") for line in MEMINFO.read_text("ascii").splitlines())
        if "MemAvailable" in fields:
            free.append(1024 * int(fields["MemAvailable"].split()[0]))
    limit = CONTROL_GROUP / "memory.max"
    if limit.exists() and limit.read_text("ascii").strip() != "max":
        used = int((CONTROL_GROUP / "memory.current").read_text("ascii"))
        stat = (CONTROL_GROUP / "memory.stat").read_text("ascii")
        # Pages of files that were read count as used, but give way.
        cached = int(dict(line.split() for line in stat.splitlines())["inactive_file"])
        free.append(int(limit.read_text("ascii")) - used + cached)
    return min(free) if free else None


class Workspace:
    """Arrays that are filled again for every block of rows.

    To ask the system for memory and to return it takes as long as the work on a block where the
    process is set to do so at once, as Dask's workers are.

    Examples
    --------
    >>> from branchwise._memory import Workspace
    >>> workspace = Workspace()
    >>> workspace.take("weights", 3) is workspace.take("weights", 2)
    True
    """

    def __init__(self) -> None:
        self._held: dict[str, Any] = {}

    def take(self, name: str, size: int, dtype: Any = np.float64, *, keep: int = 0) -> Any:
        """An array of at least so many numbers; the first `keep` are those of the last one.

        Whatever else the last array of that name held is lost.
        """
        held = self._held.get(name)
        if held is None or len(held) < size:
            before, held = held, np.empty(size, dtype=dtype)
            if before is not None:
                held[:keep] = before[:keep]
            self._held[name] = held
        return held


def fits(needed: float) -> bool:
    """Whether so many bytes are available, as far as the system tells.

    Examples
    --------
    >>> from branchwise._memory import fits
    >>> fits(1e3)
    True
    """
    available = available_bytes()
    return available is None or needed <= available


def check_memory(needed: float, task: str, remedy: str) -> None:
    """Raise MemoryError, with an estimate and what to do, if `task` cannot fit.

    Examples
    --------
    >>> from branchwise._memory import check_memory
    >>> check_memory(1e3, "SPL on 10 samples", "take fewer samples")  # fits
    """
    if not fits(needed):
        available = available_bytes() or 0
        raise MemoryError(
            f"{task} needs about {needed / GIB:,.1f} GiB of memory, but {available / GIB:,.1f} GiB "
            f"are available; {remedy}."
        )
