"""Pieces of an experiment: each computed once, in one of several processes, and kept on disk."""

import hashlib
import json
import multiprocessing
import os
import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from branchwise import __version__
from branchwise.persistence.format import ModelFileError, read_state, write_state

from .settings import Settings

FOLDER = "cells"
Result = dict[str, Any]


class Cell(NamedTuple):
    """A function of some data, which any process can import and run by itself.

    ``function(**data, **arguments)`` returns a dictionary of numbers, text, lists and arrays. Its
    name, its arguments, the data and branchwise's version decide whether a result on disk is its
    own.
    """

    label: str  # what the progress bar says
    function: Callable[..., Result]  # of a module, not of another function
    data: dict[str, Any]  # arrays
    arguments: dict[str, Any]  # what JSON can hold


class Computed(NamedTuple):
    """What became of a cell: a result, or the reason why there is none."""

    result: Result
    seconds: float
    warnings: list[str]
    error: str = ""


def compute(cells: Sequence[Cell], settings: Settings, name: str) -> list[Computed]:
    """The results of the cells, in their order; those on disk are not computed again.

    Every result is written as soon as it is there, by the process that computed it: a run that
    was killed goes on where it was. A cell that fails does not stop the others, and is tried
    again by the next run.

    Parameters
    ----------
    cells : sequence of Cell
    settings : Settings
        ``out`` has the folder of results; ``n_processes``, ``fresh`` and ``bar`` are heeded.
    name : str
        Of the experiment, for the bar.

    Returns
    -------
    computed : list of Computed

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import numpy as np
    >>> from branchwise_paper.experiments.cells import Cell, compute, summed
    >>> from branchwise_paper.experiments.settings import Settings
    >>> settings = Settings(out=pathlib.Path(tempfile.mkdtemp()), n_processes=1)
    >>> cell = Cell("a sum", summed, {"values": np.arange(4.0)}, {"factor": 2})
    >>> compute([cell], settings, "example")[0].result
    {'sum': 12.0}
    """
    folder = settings.out / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    digests: dict[int, str] = {}
    paths = [folder / f"{name}-{_key(cell, digests)}.cell" for cell in cells]
    found = {i: kept for i, path in enumerate(paths) if (kept := _read(path, settings.fresh))}
    missing = [i for i in range(len(cells)) if i not in found]
    if found:
        settings.note(f"{name}: {len(found)} of {len(cells)} cells were computed before.")
    with settings.bar(len(cells), name) as advance:
        for i in found:
            advance(cells[i].label)
        if settings.n_processes == 1 or len(missing) < 2:
            for i in missing:
                found[i] = _run(cells[i], paths[i])
                advance(cells[i].label)
        else:
            with _processes(min(settings.n_processes, len(missing))) as pool:
                tasks: dict[Future[Computed], int] = {
                    pool.submit(_run, cells[i], paths[i]): i for i in missing
                }
                for task in as_completed(tasks):
                    i = tasks[task]
                    found[i] = task.result()
                    advance(cells[i].label)
    return [found[i] for i in range(len(cells))]


def summed(values: Any, factor: float) -> Result:
    """A cell's function, as small as can be."""
    return {"sum": float(factor * values.sum())}


@contextmanager
def _processes(n: int) -> Iterator[ProcessPoolExecutor]:
    """Processes that end at once when the work is interrupted."""
    context = multiprocessing.get_context("spawn")  # forks of threaded programs can hang
    pool = ProcessPoolExecutor(n, mp_context=context, initializer=_end_with_parent)
    try:
        yield pool
    except BaseException as error:
        for process in multiprocessing.active_children():
            process.terminate()
        pool.shutdown(wait=False, cancel_futures=True)
        if isinstance(error, BrokenProcessPool):
            raise MemoryError(
                "a process of the experiment was killed, perhaps for lack of memory; run the "
                "command again with --processes 1: it goes on from here."
            ) from error
        raise
    pool.shutdown()


def _end_with_parent() -> None:
    """Ctrl-C is for the parent to handle; and when it is gone, nobody waits for the result."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    assert parent is not None

    def watch() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _run(cell: Cell, path: Path) -> Computed:
    """Compute a cell on one thread, and keep it."""
    with warnings.catch_warnings(record=True) as caught, threadpool_limits(limits=1):
        warnings.simplefilter("always")
        warnings.filterwarnings("ignore", category=DeprecationWarning)
        warnings.filterwarnings("ignore", category=FutureWarning)
        warnings.filterwarnings("ignore", category=ImportWarning)
        start = time.perf_counter()
        try:
            result = cell.function(**cell.data, **cell.arguments)
        except Exception as error:
            # The reason stands in the table, in the place of the result.
            return Computed({}, time.perf_counter() - start, [], f"{type(error).__name__}: {error}")
        seconds = time.perf_counter() - start
    texts = sorted({" ".join(str(one.message).split()) for one in caught})
    write_state(path, {"result": result, "seconds": seconds, "warnings": texts})
    return Computed(result, seconds, texts)


def _read(path: Path, fresh: bool) -> Computed | None:
    """The result on disk, if there is a sound one and it is wanted."""
    if fresh or not path.is_file():
        return None
    try:
        state = read_state(path)
        return Computed(state["result"], state["seconds"], state["warnings"])
    except (ModelFileError, KeyError):  # a damaged file: computed and written again
        return None


def _key(cell: Cell, digests: dict[int, str]) -> str:
    """A name that two cells share only if their results are the same."""
    facts = {
        "version": __version__,
        "function": f"{cell.function.__module__}.{cell.function.__qualname__}",
        "arguments": cell.arguments,
        "data": {name: _digest(array, digests) for name, array in cell.data.items()},
    }
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:24]


def _digest(array: Any, digests: dict[int, str]) -> str:
    """SHA-256 of an array; of one that many cells share, only once."""
    if id(array) not in digests:
        values = np.ascontiguousarray(array)
        described = f"{values.dtype.str}{values.shape}".encode()
        digests[id(array)] = hashlib.sha256(described + values.tobytes()).hexdigest()
    return digests[id(array)]
