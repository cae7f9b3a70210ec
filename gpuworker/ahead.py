"""Work of a batch that is done side by side before its turn comes."""

from __future__ import annotations

from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Key = tuple[str, str]
"""What kind of work, and the request it is for."""
_Result = TypeVar("_Result")


class Ahead:
    """Results, or exceptions, that wait to be taken once."""

    def __init__(self, workers: int, *, beside: bool) -> None:
        """Work on so many at a time.

        Args:
            workers: how many.
            beside: go on while others are judged, where a device of its own keeps the clock.
        """
        self._pool = ThreadPoolExecutor(workers)
        self._beside = beside
        self._done: dict[Key, Future[Any]] = {}

    def start(self, jobs: Sequence[tuple[Key, Callable[[], object]]]) -> None:
        """Begin all of them; unless they may go on beside a clock, return when the last is done.

        What an earlier batch left untaken is forgotten.
        """
        for left in self._done.values():
            left.cancel()
        self._done = {key: self._pool.submit(work) for key, work in jobs}
        if not self._beside:
            wait(self._done.values())

    def first(self, keys: Sequence[Key]) -> int:
        """Wait until one of these is done; the place of the first in line that is.

        A key that was never announced, or is taken already, counts as done: nothing is to be waited for.
        """
        futures = [self._done.get(key) for key in keys]
        waiting = [future for future in futures if future is not None]
        if len(waiting) == len(futures):
            wait(waiting, return_when=FIRST_COMPLETED)
        return next(place for place, future in enumerate(futures) if future is None or future.done())

    def take(self, key: Key, work: Callable[[], _Result]) -> _Result:
        """The result of this key; done now if it was not announced.

        Raises:
            Exception: whatever the work raised.
        """
        future = self._done.pop(key, None)
        if future is None:
            return work()
        result: _Result = future.result()
        return result
