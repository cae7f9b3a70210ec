"""Celery tasks of searches; bodies are elsewhere. Ack early: what is lost is found by the sweeper from rows."""

from __future__ import annotations

from typing import Any

from celery import Task
from celery.exceptions import SoftTimeLimitExceeded, TimeLimitExceeded, WorkerLostError
from django.db import Error as DatabaseError
from kombu.exceptions import OperationalError as BrokerError

from kernelsite.celery import app
from kernelsite.searches import attempts, controls, dispatch, driver, proposals, recorded, sweeper
from search.records import TaskName

PASSING = (DatabaseError, BrokerError, SoftTimeLimitExceeded, TimeLimitExceeded, WorkerLostError, OSError)
"""Troubles of the moment: the sweeper sends the search's next `advance`."""


class DriverTask(Task):  # type: ignore[misc]  # celery ships no types
    """A driver that cannot go on fails its search with the reason, instead of failing again every sweep."""

    def on_failure(
        self, exc: Exception, task_id: str, args: tuple[int], kwargs: dict[str, Any], einfo: object
    ) -> None:
        """Called by the worker after the traceback is logged."""
        if not isinstance(exc, PASSING):
            controls.fail(args[0], f"driver: {type(exc).__name__}: {exc}")


@app.task(name=TaskName.ADVANCE, base=DriverTask)
def advance(search_id: int) -> None:
    """Drive a search for a slice."""
    if driver.advance(search_id):
        dispatch.send_advance(search_id)


class AgentTask(Task):  # type: ignore[misc]  # celery ships no types
    """An agent that breaks is asked again at the next sweep, without waiting for its lease to end."""

    def on_failure(
        self, exc: Exception, task_id: str, args: tuple[int], kwargs: dict[str, Any], einfo: object
    ) -> None:
        """Called by the worker after the traceback is logged."""
        proposals.drop_lease(args[0])


@app.task(name=TaskName.PROPOSE, base=AgentTask)
def propose(step_id: int) -> None:
    """Answer a draft."""
    proposals.propose(step_id)


@app.task(name=TaskName.EVALUATE)
def evaluate_recorded(requests: list[dict[str, Any]]) -> None:
    """Answer from landscapes: queue `recorded` is served by the site, every other device queue by `gpuworker`."""
    recorded.evaluate(requests)


@app.task(name=TaskName.STARTED)
def started(id: str, token: str) -> None:
    """A device has begun an attempt."""
    attempts.start(int(id), token)


@app.task(name=TaskName.ALIVE)
def alive(id: str, token: str) -> None:
    """A device is still at it."""
    attempts.start(int(id), token)


@app.task(name=TaskName.RECORD)
def record(id: str, token: str, evaluation: dict[str, Any]) -> None:
    """A device has finished an attempt."""
    attempts.record(int(id), token, evaluation)


@app.task(name=TaskName.SWEEP)
def sweep() -> None:
    """Look for lost work once."""
    sweeper.sweep()
