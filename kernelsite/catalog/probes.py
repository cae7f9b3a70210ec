"""Programs of imports that only a run explains: asked for, recorded, and made workloads. None runs in a process of the site."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from django.db import DatabaseError, IntegrityError, transaction

from kernelsite.catalog import device_jobs, imports, profiles, workload_publish
from kernelsite.catalog.device_job import JobState
from kernelsite.catalog.imports import Outcome, Outcomes, Result
from kernelsite.catalog.models import WorkloadImport, WorkloadProbe
from kernelsite.catalog.validation_panel import device_classes
from kernelsite.catalog.workload_publish import WorkloadRefusedError
from kernelsite.fleet.models import Device
from search.formats.format import FormatError, Notes
from search.formats.probes import ProbeAnswer
from search.formats.registry import finish
from search.records import content_hash
from search.validation import Ending

if TYPE_CHECKING:
    from collections.abc import Sequence

    from django.contrib.auth.models import User

    from search.formats.probes import Probe, ProbeTask

log = logging.getLogger(__name__)

_TEXT = 500
RECORDED = "recorded"
VERBS: dict[ProbeTask, str] = {"shapes": "run", "profile": "profile"}
"""What the audit trail and the form call each."""


class ProbeRefusedError(ValueError):
    """Nothing is run; the message is for people."""


def choices() -> list[tuple[str, int]]:
    """Device classes that can run programs, with how many are online."""
    return [each for each in device_classes() if each[0].split(":")[0] != RECORDED]


def check_class(wanted: str) -> str:
    """The class that a person chose, or the first where they chose none.

    Raises:
        ProbeRefusedError: there is none of that name, or it has no sandbox.
    """
    names = [name for name, _ in choices()]
    wanted = wanted or names[0]
    if wanted not in names:
        raise ProbeRefusedError(f"There is no device class {wanted[:50]}.")
    if not Device.objects.is_walled(wanted):
        raise ProbeRefusedError(
            f"A worker of class {wanted} has no sandbox, and an uploaded program runs nowhere else."
        )
    return wanted


def wanting(report: Outcomes) -> list[int]:
    """Places of the programs that are no workload yet: not run so far, or refused."""
    told = [one for one in report.items if one.kind == "probe"]
    return [place for place, one in enumerate(told) if one.result in {Result.PROBE, Result.REFUSED}]


def request(
    upload: WorkloadImport,
    user: User | None,
    device_class: str,
    places: Sequence[int] | None = None,
    task: ProbeTask = "shapes",
) -> list[WorkloadProbe]:
    """Have programs of an import run on a device class; those under way already are left alone.

    Args:
        upload: the import.
        user: who asks.
        device_class: `check_class` has seen it.
        places: of the programs in the report's `probes`, or its `programs` where they are profiled; None for those
            that have not been run so far.
        task: what is asked of them.

    Returns:
        The runs that this call began.

    Raises:
        ProbeRefusedError: there is no such program, or it is a workload already.
    """
    report = Outcomes.load(upload.report)
    programs = report.probes if task == "shapes" else report.programs
    may = wanting(report) if task == "shapes" else range(len(programs))
    if places is None:
        before = _run_before(upload, task)
        places = [place for place in may if place not in before]
    if not set(places) <= set(may):
        raise ProbeRefusedError("There is no such program, or it is a workload already.")
    begun = (_begin(upload, user, device_class, (task, place, programs[place])) for place in places)
    return [row for row in begun if row is not None]


def _run_before(upload: WorkloadImport, task: ProbeTask) -> set[int]:
    """Places of the programs that have told something, or wait to be asked."""
    rows = WorkloadProbe.objects.filter(upload=upload, task=task)
    return set(rows.exclude(state=JobState.CANCELLED).values_list("place", flat=True))


def _begin(
    upload: WorkloadImport, user: User | None, device_class: str, wanted: tuple[ProbeTask, int, Probe]
) -> WorkloadProbe | None:
    task, place, program = wanted
    document = program.dump()
    try:
        with transaction.atomic():
            row = WorkloadProbe.objects.create(
                team=upload.team,
                upload=upload,
                place=place,
                task=task,
                hash=content_hash(document),
                document=document,
                device_class=device_class,
                created_by=user,
            )
    except IntegrityError:
        return None
    device_jobs.send_later(row)
    return row


def record(pk: int, token: str, answer: dict[str, Any]) -> None:
    """A worker is done. The run ends and its item gets its outcome in one transaction; late and double answers are dropped.

    Raises:
        pydantic.ValidationError: it is no answer.
    """
    found = ProbeAnswer.load(answer)
    row = WorkloadProbe.objects.addressed(pk, token).select_related("team", "created_by").first()
    if row is None:
        log.warning("probe %s: an answer that nobody waits for was dropped", pk)
        return
    if found.ending is Ending.INFRA:
        device_jobs.again(row, found.message)
        return
    with transaction.atomic():
        # The import first: several programs of it may be done at the same moment.
        upload = WorkloadImport.objects.select_for_update().get(pk=row.upload_id)
        ended = _profiled(row, found) if row.task == "profile" else _shaped(row, upload, found)
        if not ended:
            transaction.set_rollback(True)


def _profiled(row: WorkloadProbe, found: ProbeAnswer) -> bool:
    found = profiles.checked(found)
    passed = found.ending is Ending.PASSED
    return device_jobs.end(row, JobState.PASSED if passed else JobState.FAILED, found.dump())


def _shaped(row: WorkloadProbe, upload: WorkloadImport, found: ProbeAnswer) -> bool:
    outcome, changed = _finished(row, upload, found)
    passed = outcome.result is not Result.REFUSED
    _write(upload, row.place, outcome, changed)
    return device_jobs.end(row, JobState.PASSED if passed else JobState.FAILED, found.dump())


def _finished(row: WorkloadProbe, upload: WorkloadImport, found: ProbeAnswer) -> tuple[Outcome, list[str]]:
    """The draft of a program, or why there is none; and what of it is not word for word."""
    notes = Notes()
    try:
        with transaction.atomic():
            if found.ending is Ending.FAILED:
                raise FormatError(_why(found))
            workload = finish(row.program, found.told, notes)
            made, is_new = workload_publish.create_draft(row.team, row.created_by, workload, upload.name)
    except (FormatError, WorkloadRefusedError, DatabaseError) as error:
        told = "the database refused it" if isinstance(error, DatabaseError) else str(error)
        name, line = row.program.name[:200], row.program.line
        return Outcome(kind="probe", name=name, result=Result.REFUSED, text=told[:_TEXT], line=line), []
    changed = [f"{one.where}: {one.text}"[:_TEXT] for one in notes.changed]
    return imports.drafted("probe", workload, made, is_new=is_new), changed


def _why(found: ProbeAnswer) -> str:
    """Of what a program printed, the last line says most: the exception."""
    last = found.log.rstrip().rpartition("\n")[2].strip()[:300]
    return f"{found.message}: {last}" if last else found.message


def _write(upload: WorkloadImport, place: int, outcome: Outcome, changed: Sequence[str]) -> None:
    report = Outcomes.load(upload.report)
    items = list(report.items)
    at = [index for index, one in enumerate(items) if one.kind == "probe"][place]
    items[at] = outcome
    kept = (*report.changed, *changed)[: imports.REMARKS]
    upload.report = report.model_copy(update={"items": tuple(items), "changed": kept}).dump()
    upload.save(update_fields=["report"])
