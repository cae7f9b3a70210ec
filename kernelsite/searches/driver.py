"""The driver of a search: one `advance` message takes the lease, works until there is nothing to do, lets go.

The database is the only truth. Every round rebuilds the engine from rows, asks it for steps, and writes them
in one transaction that first checks the fence. A driver may be killed anywhere: the next one finds the same
rows and does what is missing.
"""

from __future__ import annotations

import secrets
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.utils import timezone

from kernelsite.searches import attempts, dispatch, events, fold, gate, holds, proposals, recorded, tidings
from kernelsite.searches.limits import limits, seconds
from kernelsite.searches.models import Evaluation, Search, Step, StepState, Structure
from kernelsite.searches.rows import wall_seconds
from search.records import EventKind, SearchState, Stage, WaitReason
from search.steps import Draft, DraftFailure, Item, Variant

if TYPE_CHECKING:
    from search.engine import SearchResult

ASKING = (SearchState.QUEUED, SearchState.RUNNING, SearchState.WAITING)


@dataclass(frozen=True)
class Plan:
    """What one round found out before it took the write lock."""

    seen: int
    """Sequence number of the search's last event when its rows were read."""
    items: list[Item] | None
    """Steps to write; None when the engine was not asked."""
    result: SearchResult
    outstanding: int
    wait: WaitReason | None
    over: str
    """Why the search must end now although the engine would go on; empty when it need not."""


def advance(search_id: int) -> bool:
    """Drive a search for one slice; True when another `advance` message should follow.

    Another driver holding the lease is no loss: it looks again at everything that was committed before it lets go.
    """
    until = timezone.now() + seconds(limits().driver_lease_s)
    fence = Search.objects.lease(search_id, secrets.token_hex(8), until)
    if fence is None:
        return False
    deadline = time.monotonic() + limits().slice_s
    try:
        while time.monotonic() < deadline:
            if release(search_id, fence, act(search_id, fence, look(search_id))):
                return False
    except events.LeaseLostError:
        return False
    Search.objects.filter(pk=search_id, fence=fence).update(lease_owner="", lease_until=None)
    return True


def release(search_id: int, fence: int, seen: int) -> bool:
    """Let go of the lease if nothing happened since event `seen`; False: look again.

    This is what makes a lost wake-up impossible: whoever changes the search appends an event first, and
    either finds the lease free afterwards or makes this compare-and-set fail.
    """
    held = Search.objects.filter(pk=search_id, fence=fence)
    if held.filter(event_seq=seen).update(lease_owner="", lease_until=None):
        return True
    if not held.exclude(lease_owner="").exists():
        raise events.LeaseLostError
    return False


def look(search_id: int) -> Plan:
    """Read the rows, rebuild the engine, ask it."""
    search = Search.objects.get(pk=search_id)
    history = [row.record for row in search.steps.order_by("number")]
    machine = gate.engine_of(search, history)
    outstanding = sum(step.outcome is None for step in history)
    served = recorded.is_served(search.device_class)
    wait = holds.wait_of(search) if served else WaitReason.DEVICE
    over = _over(search)
    room = search.record.parallel - outstanding
    may_ask = room > 0 and wait is None and not over and search.state in ASKING
    items = machine.ask(room) if may_ask else None
    result = machine.result()
    # At the gate a person is needed and nothing else.
    return Plan(search.event_seq, items, result, outstanding, result.waiting or wait, over)


def _over(search: Search) -> str:
    cap = search.record.budget.wall_seconds
    return f"wall time of {cap:g} s spent" if cap is not None and wall_seconds(search) >= cap else ""


def act(search_id: int, fence: int, plan: Plan) -> int:
    """Write one round: the state, what the engine concluded, the steps it asked for.

    Returns:
        The last event that the driver has looked at: its own of this round, when nothing else came between
        and no step was answered on the spot.
    """
    with events.locked(search_id, fence) as search:
        undisturbed = search.event_seq == plan.seen
        _move(search, plan)
        _conclude(search, plan.result)
        running = search.state == SearchState.RUNNING
        launched = [launch(search, item) for item in plan.items or () if running]
        if running and not launched and not plan.outstanding:
            _finish(search, plan)
        answered = any(step.state == StepState.DONE for step in launched)
        return search.event_seq if undisturbed and not answered else plan.seen


def _move(search: Search, plan: Plan) -> None:
    """Follow devices coming and going, and pauses."""
    was = (search.state, search.wait_reason)
    if search.state == SearchState.PAUSING:
        idle = not plan.outstanding or (plan.wait is not None and not search.running_count)
        if idle:
            search.move(SearchState.PAUSED)
    elif plan.wait is not None and not plan.result.finished:
        search.move(SearchState.WAITING, wait=plan.wait)
    else:
        search.move(SearchState.RUNNING)
    if was != (search.state, search.wait_reason):
        why = f" for {search.wait_reason}" if search.wait_reason else ""
        events.append(search, EventKind.STATE, f"{search.state}{why}")
        if search.is_at_gate:
            tidings.at_gate(search)


def _finish(search: Search, plan: Plan) -> None:
    """End a search that has nothing outstanding and gets no more steps."""
    if plan.result.finished or plan.over:
        search.move(SearchState.FINISHED, reason=plan.over or plan.result.reason)
    elif plan.items is not None:
        search.move(SearchState.FAILED, reason="the engine asked for nothing and had nothing to wait for")
    else:
        return
    _restate_structures(search)
    events.append(search, EventKind.RESULT, f"{search.state}: {search.reason}")
    tidings.ended(search)


def launch(search: Search, item: Item) -> Step:
    """Write one asked step; a variant goes straight to a device, a draft to an agent."""
    search.step_count += 1
    step = Step(search=search, number=item.number, item=item.dump(), stage=item.stage)
    match item:
        case Draft():
            step.kind, step.state = item.kind, StepState.ASKED
            step.lease_until = timezone.now() + seconds(limits().resend_after_s)
            step.save()
            events.append(search, EventKind.ASKED, f"step {item.number}: {item.kind}. {item.why}".strip())
            dispatch.propose_later(step.pk)
        case Variant():
            step.kind, step.state, step.tier, step.purpose = (
                "variant",
                StepState.EVALUATING,
                item.tier,
                item.purpose,
            )
            step.save()
            _launch_variant(search, step, item)
    return step


def _launch_variant(search: Search, step: Step, item: Variant) -> None:
    rows = search.steps.select_related("candidate__source", "candidate__structure", "candidate__parent")
    base = rows.get(number=item.base).candidate
    if base is None:
        failure = f"step {item.base} has no candidate to vary"
        proposals.give_up(search, step, failure, DraftFailure.OTHER)
        return
    known = base.record
    same = dict(item.knobs) == dict(known.knobs)
    update = {"knobs": dict(item.knobs), "parent": known.hash}
    program = known if same else known.model_copy(update=update)
    attempts.evaluate(search, step, proposals.add_candidate(search, step, base.structure, program))


def _conclude(search: Search, result: SearchResult) -> None:
    """Bring stage, retained structures and the best in line with the engine."""
    # A search at its gate is in its first stage still.
    stage = Stage.EXPLORE if result.stage == "review" else result.stage
    stage_changed = search.stage != stage
    if stage_changed:
        search.stage = stage
    _retain(search, result.retained)
    if stage_changed:
        events.append(search, EventKind.STAGE, f"stage {stage}")
        _restate_structures(search)
    _crown(search, result)


def _retain(search: Search, retained: tuple[str, ...]) -> None:
    for structure in search.structures.select_related("parent").filter(
        fingerprint__in=retained, retained=False
    ):
        structure.retained = True
        structure.status = fold.status_of(structure, search)
        structure.save(update_fields=["retained", "status"])
        text = f"structure {structure.key} retained: {structure.title}"
        events.append(search, EventKind.RETAINED, text, structure=structure)


def _restate_structures(search: Search) -> None:
    """Tell every structure whose standing a new stage changes."""
    for structure in search.structures.select_related("parent"):
        status = fold.status_of(structure, search)
        if status == structure.status:
            continue
        Structure.objects.filter(pk=structure.pk).update(status=status)
        structure.status = status
        text = f"structure {structure.key} {status}"
        events.append(search, EventKind.STRUCTURE_CHANGED, text, structure=structure)


def _crown(search: Search, result: SearchResult) -> None:
    """Copy the engine's best to the search's columns, and tell when it changed."""
    if result.best is None or result.speedup is None:
        return
    step = search.steps.select_related("candidate__structure").get(number=result.best)
    if step.candidate is None:
        return
    counted = Evaluation.objects.select_related("candidate__structure").filter(
        candidate=step.candidate, purpose=step.purpose, counted=True
    )
    evaluation = counted.order_by("id").first()
    if evaluation is None:
        return
    known = (search.best_candidate, search.best_speedup, search.best_confirmed)
    if known == (evaluation.key, result.speedup.value, result.best_confirmed):
        return
    search.best_candidate, search.best_structure = evaluation.key, step.candidate.structure.key
    search.best_speedup, search.best_low, search.best_high = (
        result.speedup.value,
        result.speedup.low,
        result.speedup.high,
    )
    search.best_median_us, search.best_baseline = result.median_us, evaluation.baseline
    search.best_confirmed = result.best_confirmed
    confirmed = ", confirmed" if result.best_confirmed else ""
    text = f"best {evaluation.key}: {result.speedup.value:.3g}x over {evaluation.baseline}{confirmed}"
    events.append(search, EventKind.BEST, text)
    tidings.best_changed(search)
