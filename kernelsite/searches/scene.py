"""What an agent is shown of a search, from rows."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING

from kernelsite.catalog.models import StartingCandidate
from kernelsite.fleet.models import Device
from kernelsite.searches.experience import experience_of
from kernelsite.searches.models import Evaluation, Search, Step, StepState
from search.agents.agent import Scene, Tried
from search.agents.llm.outcomes import CallOutcome
from search.records import EvaluationStatus, Language
from search.strategies import STRATEGIES

if TYPE_CHECKING:
    from search import records
    from search.steps import Draft

METERED = "llm"
"""The agent whose answers the ledger counts."""
REPLAY = "replay"
WITH_A_MODEL = (METERED, REPLAY)
"""Agents that call a model, or answer as one did."""
SOURCES = 200
"""Latest drafts whose programs a model's agent is shown, to know a duplicate."""


def needs_walls(search: Search) -> bool:
    """Whether its programs or its workload's code come from strangers: no device may run them unsandboxed."""
    return search.agent in WITH_A_MODEL or search.workload.team_id is not None or bool(search.record.starting)


def scene_of(search: Search, draft: Draft) -> Scene:
    """Every structure of the search and the candidate it starts from; for a model also what was tried and learned."""
    candidates: dict[int, records.Candidate] = {}
    evaluations: dict[int, records.Evaluation] = {}
    for step in _shown_steps(search, draft):
        if step.candidate is None:
            continue
        candidates[step.number] = step.candidate.record
        if (record := _verdict(step)) is not None:
            evaluations[step.number] = record
    scene = Scene(
        workload=search.workload.record,
        library=search.library.record,
        language=Language(search.language),
        device_class=search.device_class,
        blueprints={row.fingerprint: row.record for row in search.structures.all()},
        candidates=candidates,
        evaluations=evaluations,
        allowed_actions=search.record.allowed_actions,
        starting=_starting(search),
        keeps_contract=STRATEGIES[search.strategy].keeps_contract,
    )
    return _with_memory(search, scene) if search.agent in WITH_A_MODEL else scene


def _starting(search: Search) -> tuple[records.Candidate, ...]:
    """Programs that the search was launched with, in the order of its settings."""
    wanted = search.record.starting
    rows = StartingCandidate.objects.of_team(search.team).filter(hash__in=wanted) if wanted else ()
    known = {row.hash: row.record for row in rows}
    return tuple(known[one] for one in wanted if one in known)


def _shown_steps(search: Search, draft: Draft) -> list[Step]:
    rows = search.steps.select_related("candidate__source", "candidate__structure", "candidate__parent")
    if _is_as_in_one_process(search):
        return list(rows.filter(state=StepState.DONE).order_by("number"))
    numbers = set() if draft.base is None else {draft.base}
    if search.agent in WITH_A_MODEL:
        brought = rows.filter(candidate__isnull=False).exclude(kind="variant").order_by("-number")
        numbers |= set(brought.values_list("number", flat=True)[:SOURCES])
        numbers |= _best_step(search, draft)
    return list(rows.filter(number__in=numbers).order_by("number"))


def _is_as_in_one_process(search: Search) -> bool:
    """Shipped transcripts were made by `run_search`: every program is shown, and no memory but what they tell."""
    return search.transcript.startswith("shipped:")


def _best_step(search: Search, draft: Draft) -> set[int]:
    """The step of the fastest program of the draft's structure."""
    passed = Evaluation.objects.filter(
        search=search,
        candidate__structure__fingerprint=draft.structure,
        counted=True,
        status=EvaluationStatus.PASSED,
    )
    return set(passed.order_by("-speedup", "id").values_list("step__number", flat=True)[:1])


def _verdict(step: Step) -> records.Evaluation | None:
    counted = Evaluation.objects.filter(candidate=step.candidate, purpose=step.purpose, counted=True).first()
    return counted.record if counted else None


def _with_memory(search: Search, scene: Scene) -> Scene:
    scene = replace(scene, planner_replies=_planner_replies(search))
    if _is_as_in_one_process(search):
        return scene
    return replace(
        scene,
        tried=_tried(search),
        experience=experience_of(search),
        device_facts=_device_facts(search.device_class),
    )


def _tried(search: Search) -> tuple[Tried, ...]:
    done = search.steps.filter(state=StepState.DONE).select_related("structure", "candidate")
    notes = _messages(search)
    return tuple(_memory(step, notes) for step in done.order_by("number"))


def _messages(search: Search) -> dict[int, str]:
    """Why a judged step failed, by the step's id; read out of the results without their samples."""
    failed = Evaluation.objects.filter(search=search, counted=True).exclude(status=EvaluationStatus.PASSED)
    return {pk: str(message or "") for pk, message in failed.values_list("step_id", "result__message")}


def _memory(step: Step, messages: dict[int, str]) -> Tried:
    outcome = step.outcome or {}
    structure, speedup = step.structure, outcome.get("speedup")
    return Tried(
        number=step.number,
        structure=structure.fingerprint if structure else outcome.get("structure", ""),
        title=structure.title if structure else "",
        status=EvaluationStatus(outcome["status"]) if outcome.get("status") else None,
        speedup=speedup["value"] if speedup else None,
        failure=outcome.get("failure") or messages.get(step.pk, ""),
        note=(step.proposal or {}).get("note", ""),
        knobs=outcome.get("knobs", {}),
        reused=bool(outcome.get("reused")),
    )


def _planner_replies(search: Search) -> dict[str, tuple[str, ...]]:
    answered = search.calls.filter(role="planner", outcome=CallOutcome.OK).order_by("id")
    found: dict[str, list[str]] = defaultdict(list)
    for item, reply in answered.values_list("step__item", "reply"):
        if reply is not None:
            found[item.get("structure", "")].append(reply["text"])
    return {structure: tuple(texts) for structure, texts in found.items()}


def _device_facts(device_class: str) -> dict[str, str]:
    """What devices of the class say of themselves."""
    device = Device.objects.filter(device_class=device_class).order_by("-last_seen_at").first()
    if device is None:
        return {}
    told = {"model": device.model, "cores": device.cores, "runtime": device.runtime, "driver": device.driver}
    return {name: word for name, word in told.items() if word}
