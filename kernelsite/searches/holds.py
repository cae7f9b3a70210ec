"""Steps that cannot go on: what a model's fault or a cap makes of the search, and how the step comes back.

A held step is `asked` again. Its lease says when the sweeper gives it to an agent; without a lease it waits for a
person. Its earlier answers stand in the ledger, so nothing is paid twice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.utils import timezone

from kernelsite.fleet.models import Device
from kernelsite.searches import dispatch, events, tidings
from kernelsite.searches.ledger import CallStop
from kernelsite.searches.limits import limits, seconds
from kernelsite.searches.models import AtCap, ModelCall, Search, Step, StepState
from kernelsite.searches.scene import METERED, needs_walls
from search.agents.llm.outcomes import CallOutcome
from search.records import EventKind, SearchState, WaitReason

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from search import steps
    from search.settings import Budget

REFUSALS = 3
"""Refusals of models in a row that pause a search."""


def hold(search: Search, step: Step, stop: CallStop) -> bool:
    """Put a step back and have its search wait or pause; the caller holds the search locked.

    Returns:
        False when nothing can be waited for: the search goes on without its model, and the step is to be given up.
    """
    if stop.axis:
        return _hold_at_cap(search, step, stop)
    if stop.wait is None:
        _put_back(step)
        pause(search, stop.reason)
        return True
    search.calls_until = stop.until
    _wait(search, step, stop)
    return True


def _hold_at_cap(search: Search, step: Step, stop: CallStop) -> bool:
    """A cap allows no further call. Without any answer yet there is nothing to go on with, so a person must act."""
    search.calls_closed = stop.axis
    events.append(search, EventKind.BUDGET, f"no further calls: {stop.reason}")
    if search.at_cap == AtCap.FINISH and search.calls.exists():
        return False
    reason = f"{stop.reason}. Extend the cap, or stop the search"
    _wait(search, step, CallStop(reason, WaitReason.BUDGET))
    tidings.needs_a_person(search, reason)
    return True


def _put_back(step: Step, until: datetime | None = None) -> None:
    step.state, step.lease_until = StepState.ASKED, until
    step.save(update_fields=["state", "lease_until"])


def _wait(search: Search, step: Step, stop: CallStop) -> None:
    """Wait, unless a person has asked for a pause: then that is what comes of it."""
    if search.state in (SearchState.PAUSING, SearchState.PAUSED):
        _put_back(step)
        pause(search, stop.reason)
        return
    _put_back(step, stop.until)
    search.move(SearchState.WAITING, wait=stop.wait, reason=stop.reason)
    events.append(search, EventKind.STATE, f"waiting for {stop.wait}: {stop.reason}")


def pause(search: Search, reason: str) -> None:
    """Pause until a person resumes; whoever drives the search loses its lease."""
    search.move(SearchState.PAUSED, reason=reason)
    search.lease_owner, search.lease_until = "", None
    events.append(search, EventKind.STATE, f"paused: {reason}")
    tidings.needs_a_person(search, reason)


def release(search: Search) -> None:
    """Give every step that waits for a person or a moment to an agent; the caller holds the search locked."""
    search.calls_until = None
    search.refusals_after = search.calls.order_by("-id").values_list("id", flat=True).first() or 0
    held = search.steps.filter(state=StepState.ASKED)
    for pk in held.values_list("pk", flat=True):
        dispatch.propose_later(pk)
    held.update(lease_until=timezone.now() + seconds(limits().resend_after_s))


def pause_after_refusals(search: Search) -> None:
    """Pause when the last calls were all refused."""
    if search.agent != METERED:
        return
    answered = search.calls.filter(pk__gt=search.refusals_after).exclude(outcome="").order_by("-id")
    last = list(answered.values_list("outcome", flat=True)[:REFUSALS])
    if last != [CallOutcome.REFUSED] * REFUSALS or search.is_final or search.state == SearchState.PAUSED:
        return
    search.refusals_after = ModelCall.objects.filter(search=search).latest("id").pk
    pause(search, f"the model refused {REFUSALS} calls in a row; read its answers in the transcript")


def is_walled(device_class: str) -> bool:
    """Whether every device of the class runs candidates in a sandbox: what strangers wrote runs nowhere else."""
    return Device.objects.is_walled(device_class)


def wait_of(search: Search) -> WaitReason | None:
    """What a search waits for beside its devices and people."""
    if needs_walls(search) and not is_walled(search.device_class):
        return WaitReason.DEVICE
    if search.calls_until is not None and search.calls_until > timezone.now():
        return WaitReason.RATE_LIMIT
    if search.calls_closed and search.steps.filter(state=StepState.ASKED, lease_until__isnull=True).exists():
        return WaitReason.BUDGET
    return None


def move_caps(search: Search, tokens: int | None, cost_usd: float | None, who: str) -> None:
    """Move the caps; the next call is held against the new ones. The caller holds the search locked."""
    for name, was, now in (
        ("tokens", search.tokens_cap, tokens),
        ("money in USD", search.cost_usd_cap, cost_usd),
    ):
        if was != now:
            change = f"from {_amount(was)} to {_amount(now)}"
            events.append(search, EventKind.BUDGET, f"{who} moved the cap on {name} {change}")
    search.tokens_cap, search.cost_usd_cap, search.calls_closed = tokens, cost_usd, ""
    if search.state == SearchState.WAITING and search.wait_reason == WaitReason.BUDGET:
        release(search)
    dispatch.advance_later(search.pk)


def _amount(cap: float | None) -> str:
    return "no limit" if cap is None else f"{cap:,}"


def engine_budget(search: Search, history: Iterable[steps.Step]) -> Budget:
    """The budget as the engine must see it: once the ledger has refused a call, what was spent is all there is."""
    budget = search.caps
    if not search.calls_closed:
        return budget
    used = [step.outcome.usage for step in history if step.outcome is not None]
    tokens = sum(usage.prompt_tokens + usage.completion_tokens for usage in used)
    if search.calls_closed == "tokens":
        return budget.model_copy(update={"tokens": max(1, tokens)})
    spent_usd = sum(usage.cost_usd for usage in used)
    # With nothing told yet the smallest number still ends the drafts at the first told one.
    return budget.model_copy(update={"cost_usd": spent_usd or 1e-9})
