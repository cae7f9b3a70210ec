"""Measurements that a person asks for beside a search: the promotion tier, or the same again in a fresh session.

They are attempts like any other, with lease, sweeper and retries, and shown with the candidate. They are neither
counted nor charged: a search's budget, counts and best stay what the search made of them, also after its end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.utils import timezone

from kernelsite.searches import dispatch, events, fold
from kernelsite.searches.models import OPEN_ATTEMPTS, AttemptState, Evaluation, Search, Step
from search.records import EventKind, Purpose, Tier

if TYPE_CHECKING:
    from kernelsite.searches.models import Candidate


def measure(candidate: Candidate, purpose: Purpose) -> tuple[Evaluation, bool]:
    """Have a candidate measured at the full tier; one that is on its way already is not asked for twice.

    Args:
        candidate: of any search, running or ended.
        purpose: `promote` or `remeasure`.

    Returns:
        The attempt, and whether this call asked for it.
    """
    with events.locked(candidate.search_id) as search:
        rows = Evaluation.objects.filter(candidate=candidate, purpose=purpose)
        known = rows.filter(current=True, state__in=OPEN_ATTEMPTS).first()
        if known is not None:
            return known, False
        step = Step.objects.get(search=search, number=candidate.step)
        return queue(search, step, candidate, purpose), True


def queue(search: Search, step: Step, candidate: Candidate, purpose: Purpose) -> Evaluation:
    """Write the next attempt and give it to the broker on commit; the caller holds the search locked."""
    Evaluation.objects.filter(candidate=candidate, purpose=purpose, current=True).update(current=False)
    evaluation = Evaluation.objects.create(
        search=search,
        candidate=candidate,
        step=step,
        purpose=purpose,
        tier=Tier.FULL,
        attempt=step.evaluations.count() + 1,
    )
    events.append(search, EventKind.QUEUED, f"{evaluation.key} queued by a person", evaluation=evaluation)
    dispatch.evaluate_later(evaluation.pk)
    return evaluation


def keep(search: Search, evaluation: Evaluation, told: str) -> None:
    """Close an attempt that has its answer; the caller holds the search locked."""
    fold.shift(search, evaluation, AttemptState.DONE)
    evaluation.finished_at = timezone.now()
    evaluation.save()
    events.append(search, EventKind.RECORDED, told, evaluation=evaluation)
