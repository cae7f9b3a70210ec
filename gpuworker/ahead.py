"""Work of a batch that is done side by side before its turn comes."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Key = tuple[str, str]
"""What kind of work, and the request it is for."""
_Result = TypeVar("_Result")


class Ahead:
    """Results, or exceptions, that wait to be taken once."""

    def __init__(self, workers: int) -> None:
        """Work on so many at a time."""
        self._workers = workers
        self._done: dict[Key, Future[Any]] = {}

    def start(self, jobs: Sequence[tuple[Key, Callable[[], object]]]) -> None:
        """Do all of them; returns when the last is done, so that nothing runs beside a clock.

        What an earlier batch left untaken is forgotten.
        """
        with ThreadPoolExecutor(self._workers) as pool:
            self._done = {key: pool.submit(work) for key, work in jobs}

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
