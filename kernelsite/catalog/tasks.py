"""Celery tasks of the catalogue: what device workers say of validations. Bodies are in `validations.py`."""

from __future__ import annotations

from typing import Any

from kernelsite.catalog import validations
from kernelsite.celery import app
from search.records import TaskName


@app.task(name=TaskName.VALIDATION_STARTED)
def started(id: str, token: str) -> None:
    """A device has begun."""
    validations.start(int(id), token)


@app.task(name=TaskName.VALIDATION_ALIVE)
def alive(id: str, token: str, known: dict[str, Any]) -> None:
    """A device is still at it."""
    validations.hear(int(id), token, known)


@app.task(name=TaskName.VALIDATION_RECORD)
def record(id: str, token: str, known: dict[str, Any]) -> None:
    """A device is done."""
    validations.record(int(id), token, known)
