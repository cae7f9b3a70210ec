"""Drafts that brought nothing to judge: rows for pages, groups by cause, and one paragraph that says what happened.

`static/js/drafts.js` writes the same paragraph while a search runs, from the same words.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple, TypedDict

from django.db.models import Max

from kernelsite.catalog.plain import visible
from kernelsite.searches.models import StepState
from kernelsite.searches.scene import WITH_A_MODEL
from search.records import SearchState
from search.steps import DraftFailure

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kernelsite.searches.models import Search, Step
    from kernelsite.searches.rows import CandidateRow, SearchRow

TEXT = 300
"""Characters of a failure on the page; its call has all of it."""
TOLD_FROM = 3
"""Failed drafts from which a running search explains itself; one that has stopped does it from the first."""
QUIET = (DraftFailure.NOTHING_LEFT, DraftFailure.NOT_ASKED)
"""Causes that are nobody's fault."""
RESTING = {SearchState.PAUSED, SearchState.STOPPED, SearchState.FINISHED, SearchState.FAILED}


class Words(NamedTuple):
    """A cause for people."""

    title: str
    advice: str


WORDS: dict[str, Words] = {
    DraftFailure.NO_PROGRAM: Words(
        "no program in the reply",
        "The model does not keep to the form that the prompt asks for. Read one of its replies; a larger model, or"
        " one made for code, usually does.",
    ),
    DraftFailure.UNREADABLE: Words(
        "reply is no JSON as asked for",
        "Where the server obeys JSON schemas, say so on the model's page; else try a larger model.",
    ),
    DraftFailure.TRUNCATED: Words(
        "reply cut off at its length limit",
        "Raise the output limit on the model's page, or turn its thinking down; if replies ramble, try another model.",
    ),
    DraftFailure.REFUSED: Words(
        "refused", "The model or its provider declined: read its words, then change the workload's text or the model."
    ),
    DraftFailure.EMPTY: Words(
        "no text in the reply",
        "The server answered with thinking alone, with a tool call or with nothing: test the connection on the"
        " model's page, and raise its output limit if it thinks.",
    ),
    DraftFailure.BROKEN_ANSWER: Words(
        "broken answer",
        "Something between here and the model answers in its place or breaks off: test the connection on the model's"
        " page.",
    ),
    DraftFailure.IMPOSSIBLE: Words(
        "no new structure that can be built",
        "What was proposed does not fit the workload, is not allowed, or was tried. Allow more actions, or try a"
        " larger model.",
    ),
    DraftFailure.DUPLICATE: Words(
        "program known already", "The model repeats itself: raise its temperature, or give the search a second model."
    ),
    DraftFailure.NOTHING_LEFT: Words(
        "nothing left to try", "No fault: the agent saw nothing new from there. More actions give it more to try."
    ),
    DraftFailure.NO_ROOM: Words(
        "question too long for the model",
        "Say on the model's page how much context it has, if it has more; else take one with a larger context.",
    ),
    DraftFailure.NOT_ASKED: Words("not asked", "A cap was reached: launch again with a larger one."),
    DraftFailure.LOST: Words(
        "agent fell silent", "The process that asks the model died or hung: the log of the agent queue says why."
    ),
    DraftFailure.NOT_RECORDED: Words(
        "not in the transcript",
        "The transcript was recorded with other prompts: record it anew, or search with a model.",
    ),
    DraftFailure.OTHER: Words("other", "Read the text of the failure."),
}  # fmt: skip


class DraftRow(TypedDict):
    """DRAFT: one that brought nothing to judge."""

    step: int
    kind: str
    cause: str
    text: str
    """Why; kept of the first of each cause."""
    structure: str | None
    """Short id of the structure that the answer named."""
    call: int | None
    """Its last call to a model."""


def draft_row(step: Step) -> DraftRow:
    """DRAFT of a step that was given up; reads its structure and its last call."""
    outcome = step.outcome or {}
    return {
        "step": step.number,
        "kind": step.kind,
        "cause": outcome["cause"],
        "text": visible(outcome["failure"][:TEXT]),
        "structure": step.structure.key if step.structure else None,
        "call": step.calls.aggregate(last=Max("pk"))["last"],
    }


def failed_drafts(search: Search) -> list[DraftRow]:
    """All of a search in order, in one query, and one more where models were asked."""
    empty = search.steps.filter(state=StepState.DONE, candidate=None)
    columns = ("number", "kind", "structure__number", "outcome__cause", "outcome__failure")
    calls = _last_calls(search)
    seen: set[str] = set()
    rows: list[DraftRow] = []
    for number, kind, structure, cause, failure in empty.order_by("number").values_list(*columns):
        if cause is None:  # a judgement, or dropped when its search was stopped
            continue
        rows.append(
            {
                "step": number,
                "kind": kind,
                "cause": cause,
                "text": "" if cause in seen else visible(failure[:TEXT]),
                "structure": None if structure is None else f"{search.pk}.{structure}",
                "call": calls.get(number),
            }
        )
        seen.add(cause)
    return rows


def _last_calls(search: Search) -> dict[int, int]:
    if search.agent not in WITH_A_MODEL:
        return {}
    rows = search.calls.filter(step__candidate=None).order_by().values("step__number")
    return dict(rows.annotate(last=Max("pk")).values_list("step__number", "last"))


class DraftGroup(TypedDict):
    """Drafts that ended the same way; the first one speaks for them."""

    cause: str
    title: str
    advice: str
    is_quiet: bool
    rows: list[DraftRow]


def groups(rows: Iterable[DraftRow]) -> list[DraftGroup]:
    """By cause, faults before what is nobody's fault, the most frequent first."""
    found: dict[str, list[DraftRow]] = {}
    for row in rows:
        found.setdefault(row["cause"], []).append(row)
    ordered = sorted(found.items(), key=lambda item: (item[0] in QUIET, -len(item[1])))
    return [
        {
            "cause": cause,
            "title": words_of(cause).title,
            "advice": words_of(cause).advice,
            "is_quiet": cause in QUIET,
            "rows": members,
        }
        for cause, members in ordered
    ]


def words_of(cause: str) -> Words:
    """Of a cause; of one that another version wrote, its name."""
    return WORDS.get(cause) or Words(cause.replace("_", " "), "")


class Explanation(TypedDict):
    """Why a search has nothing to show."""

    what: str
    how: str
    """What to do about the most frequent cause."""
    call: int | None
    """One call to read."""


def explanation(
    search: SearchRow, drafts: list[DraftRow], candidates: list[CandidateRow]
) -> Explanation | None:
    """Said of a search without any program that passed, whose drafts failed; None where there is no need."""
    faults = [row for row in drafts if row["cause"] not in QUIET]
    few = len(faults) < TOLD_FROM and search["state"] not in RESTING
    if search["counts"]["passed"] or not faults or few:
        return None
    worst = groups(faults)[0]
    calls = [row["call"] for row in worst["rows"] if row["call"]]
    return {
        "what": _what(faults, candidates),
        "how": worst["advice"],
        "call": calls[0] if calls else None,
    }


def _what(faults: list[DraftRow], candidates: list[CandidateRow]) -> str:
    counts = Counter(row["cause"] for row in faults).most_common()
    causes = ", ".join(f"{words_of(cause).title} ({count})" for cause, count in counts)
    judged = sum(row["status"] is not None for row in candidates)
    told = f"{len(faults)} draft{'s' if len(faults) > 1 else ''}"
    if not judged:
        return f"No draft brought a program that could be judged; {told} failed: {causes}."
    return f"No program passed: {judged} judged, and {told} brought none: {causes}."
