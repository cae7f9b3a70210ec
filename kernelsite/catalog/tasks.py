"""Celery tasks of the catalogue: what device workers say of validations and probes."""

from __future__ import annotations

from typing import Any

from kernelsite.catalog import device_jobs, probes, validations
from kernelsite.catalog.models import WorkloadProbe, WorkloadValidation
from kernelsite.celery import app
from search.records import TaskName


@app.task(name=TaskName.VALIDATION_STARTED)
def started(id: str, token: str) -> None:
    """A device has begun."""
    device_jobs.start(WorkloadValidation, int(id), token)


@app.task(name=TaskName.VALIDATION_ALIVE)
def alive(id: str, token: str, known: dict[str, Any]) -> None:
    """A device is still at it."""
    validations.hear(int(id), token, known)


@app.task(name=TaskName.VALIDATION_RECORD)
def record(id: str, token: str, known: dict[str, Any]) -> None:
    """A device is done."""
    validations.record(int(id), token, known)


@app.task(name=TaskName.PROBE_STARTED)
def probe_started(id: str, token: str) -> None:
    """A device runs a program."""
    device_jobs.start(WorkloadProbe, int(id), token)


@app.task(name=TaskName.PROBE_ALIVE)
def probe_alive(id: str, token: str) -> None:
    """It runs still."""
    device_jobs.hear(WorkloadProbe, int(id), token)


@app.task(name=TaskName.PROBE_RECORD)
def probe_record(id: str, token: str, answer: dict[str, Any]) -> None:
    """It has run."""
    probes.record(int(id), token, answer)
