"""Validations: asked for, heard of, recorded. What they have in common with other jobs is in `device_jobs.py`."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from django.db import IntegrityError, transaction

from kernelsite.catalog import device_jobs
from kernelsite.catalog.device_job import JobState
from kernelsite.catalog.models import WorkloadValidation
from search.validation import Ending, Validation

if TYPE_CHECKING:
    from django.contrib.auth.models import User

    from kernelsite.accounts.models import Team
    from search.workload import Workload

log = logging.getLogger(__name__)


def request(
    team: Team, user: User | None, workload: Workload, slug: str, device_class: str
) -> tuple[WorkloadValidation, bool]:
    """Have a workload validated on a device class; one that is under way already is taken as it is.

    Returns:
        The validation, and whether this call made it.
    """
    own = WorkloadValidation.objects.of_team(team).filter(hash=workload.hash, device_class=device_class)
    try:
        with transaction.atomic():
            row = WorkloadValidation.objects.create(
                team=team,
                hash=workload.hash,
                slug=slug,
                document=workload.dump(),
                device_class=device_class,
                created_by=user,
            )
    except IntegrityError:
        return own.open().get(), False
    device_jobs.send_later(row)
    return row, True


def hear(pk: int, token: str, known: dict[str, Any]) -> None:
    """A worker is still at it, and says what it knows.

    Raises:
        pydantic.ValidationError: it says nothing of that kind.
    """
    device_jobs.hear(WorkloadValidation, pk, token, known=Validation.load(known).dump())


def record(pk: int, token: str, known: dict[str, Any]) -> None:
    """A worker is done. Late and double results, and those of another content, are dropped.

    Raises:
        pydantic.ValidationError: it is no result.
    """
    found = Validation.load(known)
    row = WorkloadValidation.objects.addressed(pk, token).first()
    if row is None or found.hash not in {row.hash, ""} or found.ending is None:
        log.warning("validation %s: a result that nobody waits for was dropped", pk)
        return
    if found.ending is Ending.INFRA:
        device_jobs.again(row, found.message)
        return
    passed = found.ending is Ending.PASSED
    device_jobs.end(row, JobState.PASSED if passed else JobState.FAILED, found.dump())
