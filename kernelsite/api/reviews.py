"""Reviews of results, their releases, and the gate inside a search."""

from __future__ import annotations

import secrets
from hashlib import sha256
from typing import Annotated, Any, Literal

from django.http import HttpResponse
from ninja import Query, Router, Status
from pydantic import BaseModel, Field

from kernelsite.accounts.models import Scope
from kernelsite.accounts.roles import SCOPE_OF, Act
from kernelsite.api import review_records as records
from kernelsite.api.auth import demand_act, demand_scope
from kernelsite.api.paging import Before, Limit, newest
from kernelsite.api.results import plain_file
from kernelsite.api.schemas import Page, StructureName
from kernelsite.api.searches import Key, own_search, seen_search
from kernelsite.reviews import acts, deeds, gate_page, release_pages
from kernelsite.reviews.deeds import Said, present
from kernelsite.reviews.gates import gates
from kernelsite.reviews.models import Entry, Release, Review
from kernelsite.reviews.models.review import FACTS
from kernelsite.reviews.page import own_review
from kernelsite.reviews.standing import Stand, stands
from kernelsite.reviews.subject import Subject
from kernelsite.searches import gate
from kernelsite.searches.pages.structure import own_structure
from search.review import Ruling, Verdict

TEXT = acts.TEXT_LIMIT
License = Literal["Apache-2.0", "MIT", "BSD-3-Clause", "MPL-2.0", "LicenseRef-Proprietary"]
Deed = Literal["comment", "revise", "measure", "withdraw", "approve", "changes", "acknowledge", "dismiss"]
State = Annotated[Literal["", "open", "approved", "withdrawn"], Query()]

router = Router(tags=["reviews"])


class ReviewPage(Page):
    """Reviews."""

    items: list[records.ReviewAnswer]


class ReleasePage(Page):
    """Releases."""

    items: list[records.ReleaseAnswer]


class ProposalBody(BaseModel):
    """A structure whose best candidate is proposed."""

    structure: StructureName
    license: License = "Apache-2.0"
    text: Annotated[str, Field(max_length=TEXT)] = ""


class DeedBody(BaseModel):
    """What is said; each deed reads the fields that it needs."""

    text: Annotated[str, Field(max_length=TEXT)] = ""
    path: Annotated[str, Field(max_length=200)] = ""
    line: Annotated[int, Field(ge=1, le=10**9)] | None = None
    seen: Annotated[str, Field(max_length=60)] = ""
    """Of the review as it was read; a decision needs it."""
    checked: list[str] = []
    """Points of the check-list; an approval needs all."""
    candidate: Annotated[str, Field(max_length=60)] = ""
    purpose: Literal["", "promote", "remeasure"] = ""
    clause: Annotated[str, Field(max_length=500)] = ""
    decision: Annotated[int, Field(ge=0, le=10**9)] = 0


class RulingBody(BaseModel):
    """What is said of one structure at a gate."""

    structure: Annotated[int, Field(ge=1, le=10**6)]
    verdict: Literal["retained", "dropped", "probed"]
    reason: Annotated[str, Field(min_length=1, max_length=500)]
    probes: Annotated[int, Field(ge=0, le=gate_page.MOST_PROBES)] = 0


class GateBody(BaseModel):
    """A decision at a gate."""

    rulings: Annotated[list[RulingBody], Field(max_length=200)] = []
    add: Annotated[str, Field(max_length=200)] = ""
    """`<structure>:<action>`, to add one by hand."""
    add_reason: Annotated[str, Field(max_length=500)] = ""


@router.get("/reviews", response=ReviewPage, url_name="reviews")
def reviews(request: Any, limit: Limit = 50, before: Before = None, state: State = "") -> dict[str, Any]:
    """The team's reviews, newest first."""
    demand_scope(request, Scope.READ)
    rows = Review.objects.of_team(request.team).select_related(*FACTS)
    return newest(rows.filter(state=state) if state else rows, limit, before, _review)


def _review(row: Review) -> dict[str, Any]:
    revision = row.revision
    names = ("id", "short", "state", "note", "license", "created_at", "moved_at")
    return {name: getattr(row, name) for name in names} | {
        "structure": row.structure.key,
        "candidate": revision.candidate.key,
        "content_hash": revision.content_hash,
        "revision": revision.number,
        "proposed_by": row.proposed_by.get_username(),
    }


@router.get("/reviews/{int:review_id}", response=records.WholeReviewAnswer, url_name="review")
def review(request: Any, review_id: int) -> dict[str, Any]:
    """A review with its gates, check-list and timeline."""
    demand_scope(request, Scope.READ)
    return _whole(own_review(request, review_id))


def _whole(row: Review) -> dict[str, Any]:
    subject = Subject(row)
    standing = stands(subject)
    release = Release.objects.filter(review=row).values_list("pk", flat=True).first()
    return _review(row) | {
        "seen": present(subject),
        "gates": [
            {"name": name, "is_green": look.is_green, "text": look.text, "unsettled": list(look.unsettled)}
            for name, look in gates(subject)
        ],
        "checklist": deeds.CHECKLIST,
        "entries": [_entry(entry, standing.get(entry.pk)) for entry in subject.entries],
        "release": release,
    }


def _entry(row: Entry, stand: Stand | None) -> dict[str, Any]:
    told = {name: getattr(row, name) for name in ("id", "kind", "text", "path", "line", "at")}
    counts = stand.counts if stand else None
    why_not = stand.why_not if stand else ""
    beside = {"by": row.by.get_username(), "revision": row.revision.number}
    return told | beside | {"counts": counts, "why_not": why_not}


@router.post(
    "/reviews", response={200: records.WholeReviewAnswer, 201: records.WholeReviewAnswer}, url_name="propose"
)
def propose(request: Any, body: ProposalBody, key: Key = "") -> Status[Any]:
    """Propose a structure's best candidate; 200 with the open review where it is proposed already."""
    demand_act(request, Act.PROPOSE)
    structure = own_structure(request, body.structure)
    said = Said(user=request.user, key=_key("propose", key), text=body.text.strip())
    row, is_new = acts.put_forward(request, structure, said, body.license)
    return Status(201 if is_new else 200, _whole(own_review(request, row.pk)))


@router.post("/reviews/{int:review_id}/{deed}", response=records.WholeReviewAnswer, url_name="act_on_review")
def act(request: Any, review_id: int, deed: Deed, body: DeedBody, key: Key = "") -> dict[str, Any]:
    """Comment, propose another candidate, have it measured, withdraw, approve, ask for changes, vouch, dismiss."""
    demand_scope(request, SCOPE_OF[acts.DEEDS[deed][0]])
    row = own_review(request, review_id)
    acts.perform(request, row, deed, _said(request, body, _key(deed, key)))
    return _whole(own_review(request, review_id))


def _said(request: Any, body: DeedBody, key: str) -> Said:
    names = ("candidate", "purpose", "clause")
    return Said(
        user=request.user,
        key=key,
        text=body.text.strip(),
        path=body.path if body.line else "",
        line=body.line,
        checked=tuple(point for point in deeds.CHECKLIST if point in body.checked),
        seen=body.seen,
        more={name: getattr(body, name) for name in names} | {"decision": f"{body.decision}"},
    )


def _key(deed: str, key: str) -> str:
    """A key of the deed alone, as long as is kept; any two differ."""
    word = sha256(key.encode()).hexdigest()[:32] if key else secrets.token_urlsafe(12)
    return f"{deed} {word}"


@router.get("/releases", response=ReleasePage, url_name="releases")
def releases(request: Any, limit: Limit = 50, before: Before = None) -> dict[str, Any]:
    """The team's approved kernels, newest first."""
    demand_scope(request, Scope.READ)
    return newest(Release.objects.of_team(request.team).with_facts(), limit, before, _release)


@router.get("/releases/{int:release_id}", response=records.ReleaseAnswer, url_name="release")
def release(request: Any, release_id: int) -> dict[str, Any]:
    """One approved kernel."""
    demand_scope(request, Scope.READ)
    return _release(release_pages.own_release(request, release_id))


def _release(row: Release) -> dict[str, Any]:
    names = records.ReleaseAnswer.model_fields.keys() - {"workload", "candidate"}
    told = {name: getattr(row, name) for name in names}
    return told | {"workload": row.workload.short, "candidate": row.candidate.key}


@router.get("/releases/{int:release_id}/files/{kind}", url_name="release_file")
def release_file(
    request: Any,
    release_id: int,
    kind: Literal["source", "solution", "traces", "contract", "evaluation", "hf"],
) -> HttpResponse:
    """One of its files, held against the hash that was approved."""
    demand_scope(request, Scope.READ)
    return plain_file(release_pages.release_file(request, release_id, kind))


@router.get("/searches/{int:search_id}/gate", response=records.SearchGateAnswer, url_name="gate")
def search_gate(request: Any, search_id: int) -> dict[str, Any]:
    """What there is to decide at the gate of a search."""
    row = seen_search(request, search_id)
    proposed = gate.proposed(row) if row.is_at_gate else ()
    additions = gate.extensions(row) if row.is_at_gate else []
    return {
        "is_at_gate": row.is_at_gate,
        "since": row.gate_since,
        "structures": [
            {
                "number": each.number,
                "title": each.title,
                "speedup": each.best_speedup,
                "is_proposed": each.fingerprint in proposed,
            }
            for each in gate_page.working(row)
        ],
        "additions": [f"{each.number}:{action.id}" for each, action in additions],
    }


@router.post("/searches/{int:search_id}/gate", response=records.SearchGateAnswer, url_name="decide_gate")
def decide_gate(request: Any, search_id: int, body: GateBody, key: Key = "") -> dict[str, Any]:
    """Decide at the gate; the same Idempotency-Key decides once."""
    demand_act(request, Act.REVIEW)
    row = own_search(request, search_id)
    numbers = {each.number: each.fingerprint for each in gate_page.working(row)}
    rulings = [_ruling(each, numbers) for each in body.rulings]
    if body.add:
        rulings.append(gate.added(row, body.add, body.add_reason))
    if not rulings:
        raise gate.GateError("nothing is decided: retain a structure, or ask for more")
    gate_page.decide(request, row, rulings, _key("gate", key))
    return search_gate(request, search_id)


def _ruling(body: RulingBody, numbers: dict[int, str]) -> Ruling:
    if body.structure not in numbers:
        raise gate.GateError(f"there is no structure {body.structure} of which a program works")
    if (body.verdict == "probed") != (body.probes > 0):
        raise gate.GateError(
            f"structure {body.structure}: probes belong to the verdict probed, and to no other"
        )
    return Ruling(
        structure=numbers[body.structure],
        verdict=Verdict(body.verdict),
        reason=body.reason,
        probes=body.probes,
    )
