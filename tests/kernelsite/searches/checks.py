"""Invariants that hold for a search at any moment, whatever happened to it."""

from __future__ import annotations

from django.db.models import Count

from kernelsite.searches.models import OPEN_ATTEMPTS, AttemptState, Evaluation, Event, Search, StepState
from kernelsite.searches.snapshot import take


def check_invariants(search_id):
    search = Search.objects.get(pk=search_id)
    check_events(search)
    check_counts(search)
    check_steps(search)
    check_fold(search)
    return search


def check_events(search):
    seqs = list(Event.objects.filter(search=search).order_by("id").values_list("seq", flat=True))
    assert seqs == list(range(1, search.event_seq + 1))


def check_counts(search):
    rows = Evaluation.objects.filter(search=search)
    counted = rows.filter(counted=True)
    doubles = counted.values("candidate", "environment_key", "tier", "purpose").annotate(n=Count("id"))
    assert all(double["n"] == 1 for double in doubles)
    charged = counted.filter(charged=True)
    assert charged.count() == search.evaluations_spent <= search.evaluations_cap
    orders = list(charged.order_by("order").values_list("order", flat=True))
    assert orders == list(range(1, search.evaluations_spent + 1))
    assert search.queued_count == rows.filter(state=AttemptState.QUEUED).count()
    assert search.running_count == rows.filter(state=AttemptState.LEASED).count()
    assert search.passed_count == counted.filter(status="PASSED").count()
    assert search.failed_count == counted.exclude(status="PASSED").count()
    spent = sum(counted.values_list("device_seconds", flat=True))
    assert abs(search.device_seconds_spent - spent) < 1e-6
    for structure in search.structures.all():
        own = rows.filter(candidate__structure=structure)
        assert structure.open_count == own.filter(state__in=OPEN_ATTEMPTS).count()
        assert structure.evaluation_count == own.filter(charged=True).count()
        assert structure.passed_count == own.filter(counted=True, status="PASSED").count()


def check_steps(search):
    steps = list(search.steps.order_by("number"))
    assert [step.number for step in steps] == list(range(1, search.step_count + 1))
    for step in steps:
        charged = step.evaluations.filter(charged=True).count()
        assert charged <= 1
        if step.state == StepState.DONE:
            assert step.outcome["charged"] == bool(charged)
    if search.is_final:
        assert all(step.state == StepState.DONE for step in steps)


def check_fold(search):
    """A browser that folds the log from 0 sees what a reload shows."""
    snapshot = take(search.pk)
    structures, candidates, live = {}, {}, {}
    for payload in Event.objects.filter(search=search).order_by("seq").values_list("payload", flat=True):
        live |= payload.get("search", {})
        if row := payload.get("structure"):
            structures[row["id"]] = row
        if row := payload.get("candidate"):
            candidates[row["id"]] = row
    assert structures == {row["id"]: row for row in snapshot["structures"]}
    assert candidates == {row["id"]: row for row in snapshot["candidates"]}
    moving = {"eta_s", "budget"}
    assert {k: v for k, v in live.items() if k not in moving} == {
        k: snapshot["search"][k] for k in live if k not in moving
    }
