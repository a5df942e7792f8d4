"""Threads over blocks of work, with results that do not depend on their number."""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


def ordered_map(
    function: Callable[[Item], Result], items: Iterable[Item], n_jobs: int
) -> list[Result]:
    """[function(item) for item in items], on up to `n_jobs` threads.

    The results come in the order of the items. Whoever divides the work into items without
    looking at `n_jobs`, and sums results in their order, gets the same digits from any number
    of threads.

    Examples
    --------
    >>> from ramify.parallel import ordered_map
    >>> ordered_map(lambda x: x * x, [3, 1, 2], n_jobs=2)
    [9, 1, 4]
    """
    items = list(items)
    if n_jobs == 1 or len(items) < 2:
        return [function(item) for item in items]
    with ThreadPoolExecutor(min(n_jobs, len(items))) as threads:
        futures = [threads.submit(function, item) for item in items]
        try:
            return [future.result() for future in futures]
        except BaseException:
            # Also on Ctrl-C: what has not begun never begins.
            threads.shutdown(wait=False, cancel_futures=True)
            raise
