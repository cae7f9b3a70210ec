"""Stops a queue worker from taking work while its device is shut out, so that others of its class get it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence


class Control(Protocol):
    """Celery's remote control of workers, as far as it is used here."""

    def cancel_consumer(self, queue: str, *, destination: Sequence[str]) -> object:
        """Tell workers to leave a queue."""
        ...

    def add_consumer(self, queue: str, *, destination: Sequence[str]) -> object:
        """Tell workers to consume a queue."""
        ...


class Valve:
    """Opens and closes the queues of one worker by messages to itself."""

    def __init__(self, control: Control, worker: str, queues: Sequence[str]) -> None:
        """Open; `worker` is the worker's host name."""
        self._control = control
        self._worker = [worker]
        self._queues = tuple(queues)
        self._was_shut = False

    def set(self, *, shut: bool) -> None:
        """Called every few seconds; once it was closed it tells each time how it stands, since a message may get lost.

        Raises:
            kombu.exceptions.OperationalError: the broker is away.
        """
        self._was_shut = self._was_shut or shut
        if not self._was_shut:
            return
        tell = self._control.cancel_consumer if shut else self._control.add_consumer
        for queue in self._queues:
            tell(queue, destination=self._worker)
