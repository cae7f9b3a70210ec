"""From a draft to a version, and the other steps in the life of a library; each in one transaction."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from django.db import IntegrityError, transaction
from django.db.models import Max

from kernelsite.catalog import library_report
from kernelsite.catalog.library_files import checked, to_files
from kernelsite.catalog.models import LibraryDraft, LibraryStatus, LibraryVersion
from search.actions import ActionLibrary
from search.library_diff import diff

if TYPE_CHECKING:
    from collections.abc import Mapping

    from django.contrib.auth.models import User

    from kernelsite.accounts.models import Team

RESERVED = {"import", "drafts"}
"""Names that addresses use."""
_NAME = re.compile(r"[a-z][a-z0-9_]{0,59}")


class LibraryRefusedError(ValueError):
    """The step is not possible; the message is for people."""


def check_name(team: Team, name: str) -> None:
    """Whether a new library of a team may have this name.

    Raises:
        LibraryRefusedError: it may not.
    """
    if not _NAME.fullmatch(name) or name in RESERVED:
        raise LibraryRefusedError(
            "A name is 1 to 60 small letters, digits and _, begins with a letter, and is not import or drafts."
        )
    if LibraryVersion.objects.visible_to(team).filter(slug=name).exists():
        raise LibraryRefusedError(f"There is a library {name} already.")
    if LibraryDraft.objects.of_team(team).filter(slug=name).exists():
        raise LibraryRefusedError(f"There is a draft of {name} already.")


def fork(row: LibraryVersion, team: Team, user: User | None, name: str, title: str) -> LibraryDraft:
    """A draft of a new library with the actions of a version.

    Raises:
        LibraryRefusedError: the name cannot be used.
    """
    check_name(team, name)
    return new_draft(team, user, name, to_files(row.record, name, title), row)


def next_version(row: LibraryVersion, team: Team, user: User | None) -> LibraryDraft:
    """The draft of the next version of a team's own library; the one that is there, if one is.

    Raises:
        LibraryRefusedError: the library is not the team's.
    """
    if row.team_id != team.pk:
        raise LibraryRefusedError(f"{row.slug} came with Kernelsite. Fork it under a name of your own.")
    there = LibraryDraft.objects.of_team(team).filter(slug=row.slug).first()
    return there or new_draft(team, user, row.slug, to_files(row.record), row)


def new_draft(
    team: Team, user: User | None, name: str, files: Mapping[str, str], based_on: LibraryVersion | None = None
) -> LibraryDraft:
    """A draft with its first check.

    Raises:
        LibraryRefusedError: another draft of the name was faster.
    """
    report = library_report.check(files, name).dump()
    try:
        with transaction.atomic():
            return LibraryDraft.objects.create(
                team=team, slug=name, files=dict(files), report=report, based_on=based_on, created_by=user
            )
    except IntegrityError as error:
        raise LibraryRefusedError(f"There is a draft of {name} already.") from error


def publish(draft: LibraryDraft, user: User | None) -> LibraryVersion:
    """Make the draft the next version of its library; the draft goes.

    Raises:
        LibraryRefusedError: something is wrong with it, or nothing is new.
    """
    report = library_report.check(checked(draft.files), draft.slug)
    if report.document is None:
        LibraryDraft.objects.filter(pk=draft.pk).update(report=report.dump())
        raise LibraryRefusedError("Nothing was published: the draft has problems.")
    with transaction.atomic():
        held = LibraryDraft.objects.select_for_update().filter(pk=draft.pk, updated_at=draft.updated_at)
        if not held.exists():
            raise LibraryRefusedError("Nothing was published: the draft was changed or published meanwhile.")
        row = _next_row(draft, ActionLibrary.load(report.document))
        row.created_by = user
        row.save()
        held.delete()
    return row


def _next_row(draft: LibraryDraft, record: ActionLibrary) -> LibraryVersion:
    rows = LibraryVersion.objects.filter(team=draft.team, slug=draft.slug)
    last = rows.order_by("-version").first()
    if last and diff(last.record, record).is_empty and last.title == record.title:
        raise LibraryRefusedError(f"Nothing was published: nothing differs from {last.short}.")
    number = (rows.aggregate(last=Max("version"))["last"] or 0) + 1
    record = record.model_copy(update={"version": str(number)})
    return LibraryVersion(
        team=draft.team,
        slug=draft.slug,
        version=number,
        hash=record.hash,
        document=record.dump(),
        title=record.title[:200],
        status=LibraryStatus.PUBLISHED,
        based_on=draft.based_on,
    )


def retire(row: LibraryVersion, team: Team) -> None:
    """No new search may use the version; those that run keep it.

    Raises:
        LibraryRefusedError: it is not the team's, or not published.
    """
    if row.team_id != team.pk:
        raise LibraryRefusedError(f"{row.short} came with Kernelsite and stays.")
    mine = LibraryVersion.objects.filter(pk=row.pk, status=LibraryStatus.PUBLISHED)
    if not mine.update(status=LibraryStatus.RETIRED):
        raise LibraryRefusedError(f"{row.short} is retired already.")
