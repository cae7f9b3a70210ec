"""Rows as pages and sockets see them: `SEARCH`, `STRUCTURE`, `CANDIDATE` of the live protocol."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

from django.utils import timezone

from kernelsite.searches.models import AttemptState, Evaluation, Search, Structure
from kernelsite.searches.models.work import PURPOSE_SUFFIX
from search.records import KnobValue, SearchState

if TYPE_CHECKING:
    from datetime import datetime

ROW_STATE = {
    AttemptState.QUEUED: "queued",
    AttemptState.LEASED: "running",
    AttemptState.DONE: "done",
    AttemptState.INFRA: "done",
    AttemptState.REUSED: "done",
    AttemptState.LOST: "lost",
    AttemptState.CANCELLED: "lost",
}


class Spending(TypedDict):
    """Spent against a cap; None is no cap."""

    spent: float
    cap: float | None


class BestRow(TypedDict):
    """Best candidate of a search or structure."""

    candidate: str
    structure: str
    speedup: float
    low: float | None
    high: float | None
    median_us: float | None
    baseline: str
    confirmed: bool


class LiveRow(TypedDict):
    """The part of SEARCH that changes; every event carries it."""

    state: str
    wait_reason: str
    stage: str
    reason: str
    started_at: str | None
    finished_at: str | None
    gate_since: str | None
    gate_wait_s: float
    last_event_at: str | None
    budget: dict[str, Spending]
    eta_s: float | None
    counts: dict[str, int]
    best: BestRow | None


class WorkloadRow(TypedDict):
    """Which workload version."""

    slug: str
    name: str
    version: int
    hash: str


class LibraryRow(TypedDict):
    """Which library version."""

    slug: str
    version: int


class SearchRow(LiveRow):
    """SEARCH."""

    id: int
    short: str
    title: str
    strategy: str
    agent: str
    seed: int
    device_class: str
    language: str
    workload: WorkloadRow
    library: LibraryRow
    created_at: str


class StructureBest(TypedDict):
    """Best candidate of a structure."""

    candidate: str
    speedup: float
    low: float | None
    high: float | None
    median_us: float | None


class StructureRow(TypedDict):
    """STRUCTURE."""

    id: str
    number: int
    fingerprint: str
    parent: int | None
    title: str
    actions: list[str]
    status: str
    retained: bool
    evaluations: int
    passed: int
    best: StructureBest | None
    created_seq: int


class CandidateRow(TypedDict):
    """CANDIDATE: one per (candidate, purpose)."""

    id: str
    number: int
    structure: int
    step: int
    stage: str
    kind: str
    purpose: str
    tier: str
    state: str
    status: str | None
    speedup: float | None
    low: float | None
    high: float | None
    median_us: float | None
    knobs: dict[str, KnobValue]
    order: int | None
    device_seconds: float
    spent_device_seconds: float | None
    spent_tokens: int | None
    spent_cost_usd: float | None
    at: str


def iso(at: datetime | None) -> str | None:
    """ISO 8601, or None."""
    return at.isoformat() if at else None


def live_row(search: Search) -> LiveRow:
    """What of a search changes while it runs; no query."""
    return {
        "state": search.state,
        "wait_reason": search.wait_reason,
        "stage": search.stage,
        "reason": search.reason,
        "started_at": iso(search.started_at),
        "finished_at": iso(search.finished_at),
        "gate_since": iso(search.gate_since),
        "gate_wait_s": round(search.gate_wait_s, 3),
        "last_event_at": iso(search.last_event_at),
        "budget": _budget(search),
        "eta_s": _eta_s(search),
        "counts": {
            "steps": search.step_count,
            "queued": search.queued_count,
            "running": search.running_count,
            "passed": search.passed_count,
            "failed": search.failed_count,
            "infra": search.infra_count,
            "reused": search.reused_count,
        },
        "best": _best(search),
    }


def search_row(search: Search) -> SearchRow:
    """The whole of SEARCH; reads the workload's and library's rows."""
    workload, library = search.workload, search.library
    return {
        "id": search.pk,
        "short": search.short,
        "title": search.title,
        "strategy": search.strategy,
        "agent": search.agent,
        "seed": search.seed,
        "device_class": search.device_class,
        "language": search.language,
        "workload": {
            "slug": workload.slug,
            "name": workload.title,
            "version": workload.version,
            "hash": workload.hash,
        },
        "library": {"slug": library.slug, "version": library.version},
        "created_at": search.created_at.isoformat(),
        **live_row(search),
    }


def structure_row(structure: Structure, parent: int | None = None) -> StructureRow:
    """STRUCTURE; `parent` is the parent's number, read from its row unless given."""
    if parent is None and structure.parent is not None:
        parent = structure.parent.number
    best: StructureBest | None = None
    if structure.best_speedup is not None:
        best = {
            "candidate": structure.best_candidate,
            "speedup": structure.best_speedup,
            "low": structure.best_low,
            "high": structure.best_high,
            "median_us": structure.best_median_us,
        }
    return {
        "id": structure.key,
        "number": structure.number,
        "fingerprint": structure.fingerprint,
        "parent": parent,
        "title": structure.title,
        "actions": structure.actions,
        "status": structure.status,
        "retained": structure.retained,
        "evaluations": structure.evaluation_count,
        "passed": structure.passed_count,
        "best": best,
        "created_seq": structure.created_seq,
    }


def candidate_row(evaluation: Evaluation) -> CandidateRow:
    """CANDIDATE of an attempt; reads its candidate, structure and step."""
    candidate = evaluation.candidate
    return {
        "id": candidate.key + PURPOSE_SUFFIX[evaluation.purpose],
        "number": candidate.number,
        "structure": candidate.structure.number,
        "step": evaluation.step.number,
        "stage": evaluation.step.stage,
        "kind": "draft" if evaluation.step.is_draft else "variant",
        "purpose": evaluation.purpose,
        "tier": evaluation.tier,
        "state": ROW_STATE[AttemptState(evaluation.state)],
        "status": evaluation.status or None,
        "speedup": evaluation.speedup,
        "low": evaluation.low,
        "high": evaluation.high,
        "median_us": evaluation.median_us,
        "knobs": candidate.knobs,
        "order": evaluation.order,
        "device_seconds": evaluation.device_seconds,
        "spent_device_seconds": evaluation.spent_device_seconds,
        "spent_tokens": evaluation.spent_tokens,
        "spent_cost_usd": evaluation.spent_cost_usd,
        "at": (evaluation.finished_at or evaluation.started_at or evaluation.created_at).isoformat(),
    }


def _best(search: Search) -> BestRow | None:
    if search.best_speedup is None:
        return None
    return {
        "candidate": search.best_candidate,
        "structure": search.best_structure,
        "speedup": search.best_speedup,
        "low": search.best_low,
        "high": search.best_high,
        "median_us": search.best_median_us,
        "baseline": search.best_baseline,
        "confirmed": search.best_confirmed,
    }


def wall_seconds(search: Search) -> float:
    """Seconds from start to end, or until now, without those that it waited for reviewers."""
    if search.started_at is None:
        return 0.0
    whole = ((search.finished_at or timezone.now()) - search.started_at).total_seconds()
    return max(0.0, whole - search.uncharged_s)


def _budget(search: Search) -> dict[str, Spending]:
    caps = search.caps
    return {
        "evaluations": {"spent": search.evaluations_spent, "cap": caps.evaluations},
        "device_seconds": {"spent": round(search.device_seconds_spent, 3), "cap": caps.device_seconds},
        "wall_seconds": {"spent": round(wall_seconds(search), 1), "cap": caps.wall_seconds},
        "tokens": {"spent": search.tokens_spent, "cap": caps.tokens},
        "cost_usd": {"spent": search.cost_usd_spent, "cap": caps.cost_usd},
    }


def _eta_s(search: Search) -> float | None:
    """Seconds left at the pace so far; None when nothing says."""
    if search.state != SearchState.RUNNING or not search.evaluations_spent:
        return None
    left = search.evaluations_cap - search.evaluations_spent
    return round(wall_seconds(search) / search.evaluations_spent * left, 1)
