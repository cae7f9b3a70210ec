"""Drafts: an agent is shown the scene, its answer becomes a structure and a candidate. Runs on the `agent` queue."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from django.db.models import F
from django.utils import timezone

from kernelsite.searches import attempts, dispatch, drafts, events, fold, holds, ledger
from kernelsite.searches.calls import model_agent
from kernelsite.searches.limits import limits, seconds
from kernelsite.searches.models import Candidate, Search, SourceText, Step, StepState, Structure
from kernelsite.searches.scene import METERED, WITH_A_MODEL, scene_of
from search.agents.registry import AGENTS
from search.records import TEXT_LIMIT, EventKind
from search.steps import Draft, DraftFailure, Proposal

if TYPE_CHECKING:
    from search import records
    from search.agents.agent import Agent
    from search.blueprint import Blueprint

log = logging.getLogger(__name__)


def propose(step_id: int) -> None:
    """Answer one draft. A step that is answered, taken, or of a finished search is left alone."""
    attempt = _claim(step_id)
    if attempt is None:
        return
    step = Step.objects.select_related("search__workload", "search__library").get(pk=step_id)
    if step.search.agent == METERED:
        with events.locked(step.search_id) as search:
            ledger.abandon(search, step, attempt - 1)
    draft = Draft.load(step.item)
    try:
        proposal = agent_of(step).propose(draft, scene_of(step.search, draft))
    except ledger.CallStop as stop:
        put_back(step.search_id, step_id, attempt, stop)
    except ledger.StepLostError:
        log.info("%s: attempt %s was overtaken", step, attempt)
    else:
        accept(step.search_id, step_id, attempt, proposal)


def agent_of(step: Step) -> Agent:
    """The agent that answers a step.

    Raises:
        ledger.CallStop: a model of the search cannot be used.
    """
    search = step.search
    return model_agent(search, step) if search.agent in WITH_A_MODEL else AGENTS[search.agent]()


def _claim(step_id: int) -> int | None:
    """Take the step by compare-and-set; its attempt number is the fence of the answer."""
    until = timezone.now() + seconds(limits().agent_lease_s)
    asked = Step.objects.filter(pk=step_id, state=StepState.ASKED)
    if not asked.update(state=StepState.PROPOSING, attempt=F("attempt") + 1, lease_until=until):
        return None
    return Step.objects.values_list("attempt", flat=True).get(pk=step_id)


def _own_step(search: Search, step_id: int, attempt: int) -> Step | None:
    """The step, unless it was given to another attempt or its search has ended."""
    step = Step.objects.get(pk=step_id)
    if step.state == StepState.PROPOSING and step.attempt == attempt and not search.is_final:
        return step
    log.info("%s: answer of attempt %s dropped", step, attempt)
    return None


def accept(search_id: int, step_id: int, attempt: int, proposal: Proposal) -> None:
    """Write an agent's answer, unless the step was given to another attempt meanwhile."""
    with events.locked(search_id) as search:
        step = _own_step(search, step_id, attempt)
        if step is None:
            return
        step.proposal = _kept(search, step, proposal)
        structure = _structure(search, step, proposal.blueprint)
        if proposal.blueprint is not None:
            # A draft that failed shows its calls, and its failure to later prompts, where it was meant to succeed.
            step.structure = structure
        if proposal.candidate is None:
            # A judgement brings beliefs and nothing to measure.
            silent = "" if proposal.beliefs else "the agent brought no candidate"
            give_up(search, step, proposal.failure or silent, proposal.cause or DraftFailure.OTHER)
        elif structure is None:
            failure = "the agent brought a candidate without a structure"
            give_up(search, step, failure, DraftFailure.OTHER)
        else:
            candidate = add_candidate(search, step, structure, proposal.candidate, proposal.note)
            attempts.evaluate(search, step, candidate)
        holds.pause_after_refusals(search)
        dispatch.advance_later(search_id)


def put_back(search_id: int, step_id: int, attempt: int, stop: ledger.CallStop) -> None:
    """Have a step wait for its model or for a person; without either the search goes on without the step."""
    with events.locked(search_id) as search:
        step = _own_step(search, step_id, attempt)
        if step is None:
            return
        if not holds.hold(search, step, stop):
            step.proposal = _kept(search, step, Proposal(failure=f"not asked: {stop.reason}"[:TEXT_LIMIT]))
            give_up(search, step, f"not asked: {stop.reason}", DraftFailure.NOT_ASKED)
        dispatch.advance_later(search_id)


def _kept(search: Search, step: Step, proposal: Proposal) -> dict[str, object]:
    """The answer without its sources, which have their own table, at what the ledger says that it cost."""
    usage = ledger.usage_of(step) if search.agent == METERED else proposal.usage
    document = proposal.model_copy(update={"usage": usage}).dump()
    del document["candidate"]
    return document


def give_up(search: Search, step: Step, failure: str, cause: DraftFailure) -> None:
    """Close a draft that brought nothing to measure; without a failure it was a judgement."""
    outcome = fold.failed_draft(step, failure[:TEXT_LIMIT], cause)
    step.save(update_fields=["proposal", "structure"])
    fold.settle(search, step, outcome)
    if failure:
        text = f"step {step.number}: {failure}"
        events.append(search, EventKind.FAILED_DRAFT, text, more={"draft": drafts.draft_row(step)})
    else:
        text = f"step {step.number}: {len(outcome.beliefs)} beliefs about structures"
        events.append(search, EventKind.STRUCTURE_CHANGED, text)


def _structure(search: Search, step: Step, blueprint: Blueprint | None) -> Structure | None:
    """The structure of an answer: a known one, or a new row under the draft's."""
    rows = search.structures.select_related("parent")
    asked_for = Draft.load(step.item).structure
    if blueprint is None:
        return rows.filter(fingerprint=asked_for).first()
    known = rows.filter(fingerprint=blueprint.fingerprint).first()
    if known is not None:
        return known
    search.structure_count += 1
    structure = Structure.objects.create(
        search=search,
        number=search.structure_count,
        fingerprint=blueprint.fingerprint,
        parent=rows.filter(fingerprint=asked_for).first(),
        blueprint=blueprint.dump(),
        title=blueprint.title[:400],
        step=step.number,
        created_seq=search.event_seq + 1,
    )
    events.append(
        search, EventKind.STRUCTURE, f"structure {structure.key}: {structure.title}", structure=structure
    )
    return structure


def add_candidate(
    search: Search, step: Step, structure: Structure, program: records.Candidate, note: str = ""
) -> Candidate:
    """The candidate's row in this search: the earlier one when the same program came before."""
    known = search.candidates.select_related("structure", "source").filter(hash=program.hash).first()
    if known is not None:
        return known
    source, _ = SourceText.objects.get_or_create(
        search=search,
        hash=program.source_hash,
        defaults={"files": [file.dump() for file in program.sources]},
    )
    structure = Structure.objects.get(pk=structure.pk)
    structure.candidate_count += 1
    structure.save(update_fields=["candidate_count"])
    return Candidate.objects.create(
        search=search,
        structure=structure,
        number=structure.candidate_count,
        hash=program.hash,
        source=source,
        language=program.language,
        entry_point=program.entry_point,
        knobs=dict(program.knobs),
        parent=search.candidates.filter(hash=program.parent).first() if program.parent else None,
        step=step.number,
        note=note[:500],
    )


def drop_lease(step_id: int) -> None:
    """The agent that had taken the step is known to be gone."""
    Step.objects.filter(pk=step_id, state=StepState.PROPOSING).update(lease_until=timezone.now())


def resend_or_give_up(step_id: int) -> bool:
    """A taken draft whose agent fell silent is asked again; after too many attempts it is closed."""
    search_id = Step.objects.values_list("search_id", flat=True).get(pk=step_id)
    with events.locked(search_id) as search:
        step = Step.objects.get(pk=step_id)
        silent = step.lease_until is not None and step.lease_until < timezone.now()
        if step.state != StepState.PROPOSING or not silent or search.is_final:
            return False
        if step.attempt >= limits().attempts:
            ledger.abandon(search, step, step.attempt)
            failure = f"the agent gave no answer in {step.attempt} attempts"
            give_up(search, step, failure, DraftFailure.LOST)
            dispatch.advance_later(search_id)
            return True
        step.state, step.lease_until = StepState.ASKED, timezone.now() + seconds(limits().resend_after_s)
        step.save(update_fields=["state", "lease_until"])
        dispatch.propose_later(step_id)
    return True
