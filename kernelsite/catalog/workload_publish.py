"""From a draft to a version, and the other steps in the life of a workload; each in one transaction."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from django.db import IntegrityError, transaction
from django.db.models import Max
from django.utils import timezone

from kernelsite.catalog import workload_report, workload_text
from kernelsite.catalog.models import WorkloadDraft, WorkloadStatus, WorkloadVersion

if TYPE_CHECKING:
    from django.contrib.auth.models import User

    from kernelsite.accounts.models import Team
    from kernelsite.catalog.workload_report import Report
    from search.workload import Workload

RESERVED = {"new", "import", "imports", "drafts", "diff", "validations"}
"""Names that addresses use."""
NAME_LIMIT = 60
_NAME = re.compile(rf"[A-Za-z][A-Za-z0-9_]{{0,{NAME_LIMIT - 1}}}")
SKELETON = """\
# What a kernel must compute. Everything after # is a comment.
name: {name}
title: {title}
description:
op_type:            # family of operations, e.g. softmax, gemm, rmsnorm
tags: []
axes:               # var: each case gives the size; const: value; expr: expression over other axes
  M: {{type: var}}
  N: {{type: var}}
inputs:             # in the order of the arguments of run
  x: {{shape: [M, N], dtype: float32}}
outputs:            # in the order of what run returns
  y: {{shape: [M, N], dtype: float32}}
cases:              # timed unless timed: false; hidden: true is never shown to an agent
- name: main
  axes: {{M: , N: }}
  inputs: {{x: {{type: random}}}}
# Allowed error of an element: scale * eps * RMS of its row + relative * |reference|.
tolerance: {{scale: 32, relative: 1e-5, frobenius: 1e-3}}
policy: {{torch_ops: false, tf32: false, deterministic: true}}
"""
SKELETON_REFERENCE = """\
import torch


def run(x):
"""


class WorkloadRefusedError(ValueError):
    """The step is not possible; the message is for people."""


def check_name(team: Team, name: str) -> None:
    """Whether a new workload of a team may have this name.

    Raises:
        WorkloadRefusedError: it may not.
    """
    if not _NAME.fullmatch(name) or name in RESERVED:
        raise WorkloadRefusedError(
            f"A name is 1 to {NAME_LIMIT} letters, digits and _, begins with a letter, and is none of {', '.join(sorted(RESERVED))}."
        )
    if WorkloadVersion.objects.visible_to(team).filter(slug=name).exists():
        raise WorkloadRefusedError(f"There is a workload {name} already.")
    if WorkloadDraft.objects.of_team(team).filter(slug=name).exists():
        raise WorkloadRefusedError(f"There is a draft of {name} already.")


def begin(team: Team, user: User | None, name: str, title: str) -> WorkloadDraft:
    """An empty draft.

    Raises:
        WorkloadRefusedError: the name cannot be used.
    """
    check_name(team, name)
    draft = WorkloadDraft(team=team, slug=name, created_by=user, reference=SKELETON_REFERENCE)
    draft.definition = SKELETON.format(name=name, title=workload_text.quoted(title or name))
    return _saved(draft)


def fork(row: WorkloadVersion, team: Team, user: User | None, name: str, title: str) -> WorkloadDraft:
    """A draft of a new workload from a version.

    Raises:
        WorkloadRefusedError: the name cannot be used.
    """
    check_name(team, name)
    record = row.record.model_copy(update={"name": name, "title": title or row.title})
    return _saved(WorkloadDraft(team=team, slug=name, created_by=user, based_on=row), record)


def next_version(row: WorkloadVersion, team: Team, user: User | None) -> WorkloadDraft:
    """The draft of the next version of a team's own workload; the one that is there, if one is.

    Raises:
        WorkloadRefusedError: the workload is not the team's.
    """
    if row.team_id != team.pk:
        raise WorkloadRefusedError(f"{row.slug} came with Kernelsite. Fork it under a name of your own.")
    there = WorkloadDraft.objects.of_team(team).filter(slug=row.slug).first()
    return there or _saved(WorkloadDraft(team=team, slug=row.slug, created_by=user, based_on=row), row.record)


def create_draft(
    team: Team, user: User | None, workload: Workload, source: str
) -> tuple[WorkloadDraft | WorkloadVersion, bool]:
    """A draft of a workload that came from elsewhere; taking in the same thing again changes nothing.

    The draft is named after the workload. A name that is taken by other content gets a number, unless the draft of
    that name came from an import and nobody has written in it: then the new content replaces the old.

    Args:
        team: whose it becomes.
        user: who takes it in.
        workload: what it holds.
        source: where it came from, for people.

    Returns:
        The draft, or the draft or version that holds the same already; and whether anything was made or changed.
    """
    known = WorkloadVersion.objects.visible_to(team).filter(hash=workload.hash).first()
    same = known or WorkloadDraft.objects.of_team(team).filter(hash=workload.hash).first()
    if same:
        return same, False
    slug = workload.name.lstrip("_")[:NAME_LIMIT] or "workload"
    draft = WorkloadDraft.objects.of_team(team).filter(slug=slug).exclude(source="").first()
    if draft is None:
        draft = WorkloadDraft(team=team, slug=_free_name(team, slug), created_by=user)
    draft.source = source[:200] or "an import"
    return _saved(draft, workload), True


def _free_name(team: Team, slug: str) -> str:
    slug = slug if _NAME.fullmatch(slug) else f"w_{slug}"[:NAME_LIMIT]
    versions = WorkloadVersion.objects.visible_to(team).filter(slug__startswith=slug)
    drafts = WorkloadDraft.objects.of_team(team).filter(slug__startswith=slug)
    taken = {*RESERVED, *versions.values_list("slug", flat=True), *drafts.values_list("slug", flat=True)}
    number, name = 1, slug
    while name in taken:
        number += 1
        name = f"{slug}_{number}"
    return name


def _saved(draft: WorkloadDraft, record: Workload | None = None) -> WorkloadDraft:
    """Check and save a draft; with a record its texts become that record's."""
    if record is not None:
        draft.definition, draft.reference = workload_text.write(record), record.reference
    fill(draft, workload_report.check(draft.definition, draft.reference))
    draft.updated_at = timezone.now()
    try:
        with transaction.atomic():
            draft.save()
    except IntegrityError as error:
        raise WorkloadRefusedError(f"There is a draft of {draft.slug} already.") from error
    return draft


def fill(draft: WorkloadDraft, report: Report) -> None:
    """Write what a check found to the draft's columns, in memory."""
    workload = report.workload
    draft.report = report.dump()
    draft.hash = workload.hash if workload else ""
    draft.title = workload.title[:200] if workload else draft.title


def publish(draft: WorkloadDraft, user: User | None) -> WorkloadVersion:
    """Make the draft the next version of its workload; the draft goes.

    Raises:
        WorkloadRefusedError: something is wrong with it, or nothing is new.
    """
    report = workload_report.check(draft.definition, draft.reference)
    workload = report.workload
    if workload is None:
        WorkloadDraft.objects.filter(pk=draft.pk).update(report=report.dump(), hash="")
        raise WorkloadRefusedError("Nothing was published: the draft has problems.")
    with transaction.atomic():
        held = WorkloadDraft.objects.select_for_update().filter(pk=draft.pk, updated_at=draft.updated_at)
        if not held.exists():
            raise WorkloadRefusedError("Nothing was published: the draft was changed or published meanwhile.")
        row = _next_row(draft, workload)
        row.created_by = user
        row.save()
        held.delete()
    return row


def _next_row(draft: WorkloadDraft, workload: Workload) -> WorkloadVersion:
    same = WorkloadVersion.objects.visible_to(draft.team).filter(hash=workload.hash).first()
    if same:
        raise WorkloadRefusedError(f"Nothing was published: it is {same.short}, word for word.")
    rows = WorkloadVersion.objects.filter(team=draft.team, slug=draft.slug)
    row = WorkloadVersion(
        team=draft.team,
        slug=draft.slug,
        version=(rows.aggregate(last=Max("version"))["last"] or 0) + 1,
        hash=workload.hash,
        document=workload.dump(),
        source=draft.source,
        based_on=draft.based_on,
    )
    row.describe(workload)
    return row


def retire(row: WorkloadVersion, team: Team) -> None:
    """No new search may use the version; those that run keep it.

    Raises:
        WorkloadRefusedError: it is not the team's, or not published.
    """
    if row.team_id != team.pk:
        raise WorkloadRefusedError(f"{row.short} came with Kernelsite and stays.")
    mine = WorkloadVersion.objects.filter(pk=row.pk, status=WorkloadStatus.PUBLISHED)
    if not mine.update(status=WorkloadStatus.RETIRED):
        raise WorkloadRefusedError(f"{row.short} is retired already.")
