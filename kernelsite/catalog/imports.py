"""Uploads to drafts and starting candidates: item by item, each in a transaction of its own, each with its outcome."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, TypeVar

from django.db import DatabaseError, transaction
from pydantic import ValidationError

from kernelsite.catalog import workload_publish
from kernelsite.catalog.models import StartingCandidate, WorkloadDraft, WorkloadImport, WorkloadVersion
from kernelsite.catalog.workload_publish import WorkloadRefusedError
from search.formats import flashinfer_trace, sol_execbench
from search.formats.containers import Limits, read_upload
from search.formats.convert import foreign_name
from search.formats.format import FormatError
from search.formats.probes import Probe
from search.formats.sol_execbench import SolSolution
from search.records import Candidate, Record

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from django.contrib.auth.models import User

    from kernelsite.accounts.models import Team
    from search.formats.containers import Item, Upload
    from search.formats.schema import Solution
    from search.workload import Workload

LIMITS = Limits(files=5_000, total_bytes=64 << 20, items=500)
"""Of an upload to the site; the command line of the search takes more."""
PROGRAMS = 300
"""Most programs of an import whose operators can be ranked."""
MAKE_WORKLOADS = ("workload", "probe", "operator")
"""Kinds of things that become workloads: a probe once its program has been run, an operator of one that was profiled."""
REMARKS = 500
"""Most remarks of a kind that a report keeps."""
_TEXT = 500

_T = TypeVar("_T")


class Result(StrEnum):
    """What became of a thing."""

    DRAFT = "draft"
    STARTING = "starting candidate"
    UNCHANGED = "unchanged"
    """It is here already, word for word."""
    PROBE = "needs a probe"
    REFUSED = "refused"


class Outcome(Record):
    """One thing of an upload."""

    kind: str
    """`workload`, `solution`, `probe`, `operator` of a program, or `file` for what is none."""
    name: str
    result: Result
    text: str = ""
    """Why, where there is something to say."""
    slug: str = ""
    """Of the workload that it is or belongs to."""
    draft: bool = False
    """Whether `slug` is a draft's."""
    line: int | None = None


class Outcomes(Record):
    """The report of an import."""

    items: tuple[Outcome, ...]
    changed: tuple[str, ...] = ()
    """Taken, but not word for word."""
    dropped: tuple[str, ...] = ()
    """Parts of items that were left out, and why."""
    probes: tuple[Probe, ...] = ()
    """Programs that have to be run once before they can become workloads; of each an item of this kind tells, in this order."""

    programs: tuple[Probe, ...] = ()
    """Programs whose operators a run would rank."""

    def count(self, result: str) -> int:
        """How many ended so."""
        return sum(one.result == result for one in self.items)


def take(
    team: Team,
    user: User | None,
    given: bytes | Path | Mapping[str, bytes],
    name: str,
    form: str = "",
) -> WorkloadImport:
    """Read an upload and take in what can be taken.

    Args:
        team: whose drafts they become.
        user: who brought it.
        given: content of a file, a path, or files by path.
        name: of the file or folder.
        form: name of its format; recognised where it is empty.

    Raises:
        UploadError: there is nothing to take; nothing was written.
    """
    upload = read_upload(given, name, LIMITS, form)
    outcomes = Outcomes(
        items=(*_Taker(team, user, name[:200] or "upload").all(upload), *_faults(upload)),
        changed=tuple(f"{one.where}: {one.text}"[:_TEXT] for one in upload.report.changed[:REMARKS]),
        dropped=tuple(
            f"{one.where}: {one.text}"[:_TEXT] for one in upload.report.dropped[:REMARKS] if not one.whole
        ),
        probes=tuple(item.probe for item in upload.items if item.probe is not None),
        programs=upload.programs[:PROGRAMS],
    )
    return WorkloadImport.objects.create(
        team=team, created_by=user, name=name[:200] or "upload", format=upload.format, report=outcomes.dump()
    )


def _faults(upload: Upload) -> Iterator[Outcome]:
    for fault in upload.faults:
        yield Outcome(
            kind="file",
            name=fault.where[:200],
            result=Result.REFUSED,
            text=fault.text.removeprefix(f"{fault.where}:{fault.line}: ")[:_TEXT],
            line=fault.line,
        )


class _Taker:
    """Takes the items of one upload; programs are for the workloads that came with them."""

    def __init__(self, team: Team, user: User | None, origin: str) -> None:
        self._team, self._user, self._origin = team, user, origin
        self._slugs: dict[str, tuple[str, bool]] = {}
        """Slug, and whether it is a draft's, by the name that programs of the format call a workload."""
        self._by_kind: dict[str, Callable[[Item], Outcome]] = {
            "workload": self._workload,
            "solution": self._solution,
            "probe": self._probe,
        }

    def all(self, upload: Upload) -> Iterator[Outcome]:
        """What became of each item, in their order."""
        for item in upload.items:
            try:
                with transaction.atomic():
                    yield self._by_kind[item.kind](item)
            except (FormatError, ValidationError, WorkloadRefusedError, DatabaseError) as error:
                told = "the database refused it" if isinstance(error, DatabaseError) else str(error)
                yield Outcome(kind=item.kind, name=item.name[:200], result=Result.REFUSED, text=told[:_TEXT])

    def _workload(self, item: Item) -> Outcome:
        workload = _there(item.workload)
        row, is_new = workload_publish.create_draft(self._team, self._user, workload, self._origin)
        self._slugs[foreign_name(workload)] = row.slug, isinstance(row, WorkloadDraft)
        return drafted(item.kind, workload, row, is_new=is_new)

    def _solution(self, item: Item) -> Outcome:
        solution = _there(item.solution)
        slug, is_draft = self._slugs.get(solution.definition, ("", False))
        if not slug:
            raise FormatError("its workload was left out", solution.name)
        program = program_of(solution)
        _, is_new = starting(
            self._team, self._user, slug, program, (solution.name, solution.author, self._origin)
        )
        return Outcome(
            kind=item.kind,
            name=solution.name[:200],
            result=Result.STARTING if is_new else Result.UNCHANGED,
            text=f"{program.language} program by {solution.author[:80]}",
            slug=slug,
            draft=is_draft,
        )

    def _probe(self, item: Item) -> Outcome:
        probe = _there(item.probe)
        return Outcome(
            kind=item.kind,
            name=probe.name[:200],
            result=Result.PROBE,
            text=f"{probe.where}: {probe.problem}"[:_TEXT],
            line=probe.line,
        )


def drafted(kind: str, workload: Workload, row: WorkloadDraft | WorkloadVersion, *, is_new: bool) -> Outcome:
    """What became of a workload, as `workload_publish.create_draft` answered."""
    words = f"{len(workload.cases)} case{'s'[: len(workload.cases) != 1]}"
    if row.slug != workload.name:
        words += f"; the name {workload.name} was taken" if is_new else ""
    return Outcome(
        kind=kind,
        name=workload.title[:200],
        result=Result.DRAFT if is_new else Result.UNCHANGED,
        text=words,
        slug=row.slug,
        draft=isinstance(row, WorkloadDraft),
    )


def _there(value: _T | None) -> _T:
    assert value is not None, "an item holds what its kind says"
    return value


def program_of(solution: Solution) -> Candidate:
    """A program of a format as a candidate.

    Raises:
        FormatError: it cannot be called here.
    """
    if isinstance(solution, SolSolution):
        return sol_execbench.candidate_of(solution)
    assert isinstance(solution, flashinfer_trace.FlashInferSolution)
    return flashinfer_trace.candidate_of(solution)


def starting(
    team: Team, user: User | None, slug: str, program: Candidate, told: tuple[str, str, str]
) -> tuple[StartingCandidate, bool]:
    """Keep a program to start searches of a workload from.

    Args:
        team: whose it is.
        user: who brought it.
        slug: of the workload.
        program: what is kept.
        told: its name, its author, and where it came from.

    Returns:
        Its row, and whether it is new.
    """
    name, author, origin = told
    values = {
        "name": name[:200],
        "author": author[:200],
        "origin": origin[:200],
        "language": program.language,
        "document": program.dump(),
        "created_by": user,
    }
    return StartingCandidate.objects.get_or_create(
        team=team, workload=slug, hash=program.hash, defaults=values
    )


def publish(row: WorkloadImport, user: User | None) -> tuple[list[WorkloadVersion], list[str]]:
    """Publish the drafts that an import made and nobody has written in since.

    Returns:
        The versions, and a sentence for each draft that stays one.
    """
    slugs = [one.slug for one in Outcomes.load(row.report).items if one.draft and one.kind in MAKE_WORKLOADS]
    made: list[WorkloadVersion] = []
    left: list[str] = []
    for draft in WorkloadDraft.objects.of_team(row.team).filter(slug__in=slugs).exclude(source=""):
        try:
            made.append(workload_publish.publish(draft, user))
        except WorkloadRefusedError as error:
            left.append(f"{draft.slug}: {error}")
    return made, left
