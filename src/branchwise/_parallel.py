"""Threads over blocks of work, with results that do not depend on their number."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


def ordered(
    function: Callable[[Item], Result], items: Iterable[Item], n_jobs: int
) -> Iterator[Result]:
    """function(item) for each item, on up to `n_jobs` threads, in the order of the items.

    Whoever divides the work into items without looking at `n_jobs`, and sums results in their
    order, gets the same digits from any number of threads. No more than `n_jobs` results wait
    at a time.

    Examples
    --------
    >>> from branchwise._parallel import ordered
    >>> list(ordered(lambda x: x * x, [3, 1, 2], n_jobs=2))
    [9, 1, 4]
    """
    items = list(items)
    if n_jobs == 1 or len(items) < 2:
        yield from map(function, items)
        return
    waiting: deque[Future[Result]] = deque()
    with ThreadPoolExecutor(min(n_jobs, len(items))) as threads:
        try:
            for item in items:
                if len(waiting) == n_jobs:
                    yield waiting.popleft().result()
                waiting.append(threads.submit(function, item))
            while waiting:
                yield waiting.popleft().result()
        finally:
            # Also after an error or Ctrl-C: what has not begun never begins.
            for future in waiting:
                future.cancel()


def ordered_map(
    function: Callable[[Item], Result], items: Iterable[Item], n_jobs: int
) -> list[Result]:
    """The list of what `ordered` yields.

    Examples
    --------
    >>> from branchwise._parallel import ordered_map
    >>> ordered_map(abs, [-1, 2], n_jobs=1)
    [1, 2]
    """
    return list(ordered(function, items, n_jobs))
