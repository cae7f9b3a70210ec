"""Operators of a program that a device worker has timed: ranked, and the chosen ones made workloads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db import transaction
from pydantic import ValidationError

from kernelsite.catalog import imports, workload_publish
from kernelsite.catalog.imports import Outcome, Outcomes, Result
from kernelsite.catalog.models import WorkloadImport
from kernelsite.catalog.workload_publish import WorkloadRefusedError
from search.formats.operators import rank
from search.validation import Ending

if TYPE_CHECKING:
    from collections.abc import Collection

    from django.contrib.auth.models import User

    from kernelsite.catalog.models import WorkloadProbe
    from search.formats.operators import Ranked
    from search.formats.probes import ProbeAnswer
    from search.workload import Workload

CHOSEN = 5
"""Operators that the page has ticked: the first that can become workloads."""


def checked(found: ProbeAnswer) -> ProbeAnswer:
    """The answer, failed where what it tells are no operators."""
    if found.ending is not Ending.PASSED:
        return found
    why = ""
    try:
        ranked, _ = rank(found.told, "program", 0)
        why = "" if ranked else "it called no operator"
    except ValidationError:
        why = "what it told are no operators"
    return found.model_copy(update={"ending": Ending.FAILED, "message": why, "told": ()}) if why else found


def ranked(row: WorkloadProbe) -> tuple[list[Ranked], list[Workload]]:
    """Operators by their share of the time, and a workload of each that can become one."""
    if row.answer is None or row.answer.ending is not Ending.PASSED:
        return [], []
    told = row.answer.told
    return rank(told, row.program.name, len(told))


def make(row: WorkloadProbe, user: User | None, names: Collection[str]) -> list[Outcome]:
    """Drafts of chosen operators; their outcomes join the report of the import, each once.

    Args:
        row: a run that ranked operators.
        user: who chose.
        names: of the workloads; others are passed over.
    """
    _, offered = ranked(row)
    with transaction.atomic():
        upload = WorkloadImport.objects.select_for_update().get(pk=row.upload_id)
        made = [_made(row, user, one, upload.name) for one in offered if one.name in names]
        report = Outcomes.load(upload.report)
        told = {(one.kind, one.slug) for one in report.items if one.slug}
        new = tuple(one for one in made if (one.kind, one.slug) not in told)
        upload.report = report.model_copy(update={"items": (*report.items, *new)}).dump()
        upload.save(update_fields=["report"])
    return made


def _made(row: WorkloadProbe, user: User | None, workload: Workload, origin: str) -> Outcome:
    try:
        draft, is_new = workload_publish.create_draft(row.team, user, workload, origin)
    except WorkloadRefusedError as error:
        return Outcome(
            kind="operator", name=workload.title[:200], result=Result.REFUSED, text=str(error)[:500]
        )
    return imports.drafted("operator", workload, draft, is_new=is_new)
