from __future__ import annotations

from dataclasses import replace

import pytest
from django.contrib.auth import get_user_model
from django.utils import timezone

from kernelsite.accounts.models import Membership, Team
from kernelsite.catalog.models import LibraryVersion, WorkloadVersion, sync_shipped
from kernelsite.compare.launch import ComparisonOrder, launch_comparison
from kernelsite.fleet.models import Device
from kernelsite.searches import dispatch, models
from kernelsite.searches.launch import Options, Order
from kernelsite.searches.models import Search
from search.records import Environment, Interval
from search.settings import Budget


@pytest.fixture
def sent(monkeypatch):
    sent = []
    monkeypatch.setattr(dispatch.app, "send_task", lambda name, args=(), **_: sent.append((name, args)))
    return sent


@pytest.fixture
def alice(db):
    return get_user_model().objects.create_user("alice", password="alice's own")


@pytest.fixture
def base(alice):
    team = Team.objects.create(name="Kernels", slug="kernels")
    Membership.objects.create(team=team, user=alice, role="admin")
    sync_shipped()
    Device.objects.create(
        name="synthetic", device_class="cpu", model="s", cores=1, last_seen_at=timezone.now()
    )
    workload = WorkloadVersion.objects.filter(slug="softmax").latest("version")
    library = LibraryVersion.objects.filter(slug="core").latest("version")
    return Order(team, alice, workload, library, Options(budget=Budget(evaluations=20)), key="k1")


@pytest.fixture
def reader(client, alice):
    client.force_login(alice)
    return client


ENVIRONMENT = Environment(device_class="cpu", device="A processor", driver="linux 6", workload="0" * 64)


def finish(search, speedups, *, structures=(1,), environment=ENVIRONMENT):
    """Writes the rows of a search that has ended: one charged evaluation per speed-up, None for a failure."""
    source = models.SourceText.objects.create(search=search, hash="a", files=[])
    rows = [_structure(search, number) for number in structures]
    candidates, steps, evaluations = [], [], []
    for order, speedup in enumerate(speedups, start=1):
        structure = rows[(order - 1) % len(rows)]
        candidates.append(_candidate(search, structure, source, order))
        steps.append(_step(search, structure, candidates[-1], order))
        evaluations.append(_evaluation(search, steps[-1], order, speedup, environment))
    models.Candidate.objects.bulk_create(candidates)
    models.Step.objects.bulk_create(steps)
    models.Evaluation.objects.bulk_create(evaluations)
    _end(search, len(speedups), max(evaluations, key=lambda row: row.speedup or 0.0))
    return Search.objects.get(pk=search.pk)


def _structure(search, number):
    return models.Structure.objects.create(
        search=search, number=number, fingerprint=f"{number:016x}", blueprint={"actions": []},
        title=f"structure {number}", step=number, created_seq=number,
    )  # fmt: skip


def _candidate(search, structure, source, order):
    return models.Candidate(
        search=search, structure=structure, number=order, hash=f"{search.pk}-{order}", language="cpp",
        entry_point="run", knobs={"T": order}, source=source, step=order,
    )  # fmt: skip


def _step(search, structure, candidate, order):
    return models.Step(
        search=search, number=order, item={}, kind="variant" if order > 1 else "explore", stage="tune",
        state="done", outcome={}, structure=structure, candidate=candidate, done_at=timezone.now(),
    )  # fmt: skip


def _evaluation(search, step, order, speedup, environment):
    interval = Interval(value=speedup, low=speedup * 0.9, high=speedup * 1.1).dump() if speedup else None
    cases = [{"case": name, "speedup": interval} for name in ("small", "large")] if speedup else []
    return models.Evaluation(
        search=search, candidate=step.candidate, step=step, purpose="search", tier="full", state="done",
        counted=True, charged=True, order=order, environment_key=environment.key, speedup=speedup,
        status="PASSED" if speedup else "COMPILE_ERROR", median_us=10.0 / speedup if speedup else None,
        device_seconds=2.0, spent_device_seconds=2.0 * order, finished_at=timezone.now(),
        result={"environment": environment.dump(), "cases": cases},
    )  # fmt: skip


def _end(search, spent, best):
    Search.objects.filter(pk=search.pk).update(
        state="finished", finished_at=timezone.now(), started_at=timezone.now(), evaluations_spent=spent,
        best_speedup=best.speedup, best_candidate=best.key, best_structure=best.candidate.structure.key,
        best_confirmed=True, best_baseline="torch eager", last_event_at=timezone.now(),
    )  # fmt: skip


@pytest.fixture
def finished(base, sent):
    """Two arms of six seeds at 20 evaluations, the first faster in every seed."""
    order = ComparisonOrder(base, strategies=("two_stage", "mixed"), seeds=tuple(range(6)))
    comparison, _ = launch_comparison(order)
    for search in comparison.searches.order_by("pk"):
        factor = 2.0 if search.strategy == "two_stage" else 1.0
        curve = [0.5, None, 0.8 * factor + 0.01 * search.seed, factor + 0.02 * search.seed]
        finish(search, [*curve, *[0.5] * 16], structures=(1, 2))
    return comparison


@pytest.fixture
def other_budget(base, sent):
    """Two seeds of the first arm's strategy with another budget, library and seeds alike."""
    options = base.options.model_copy(update={"budget": Budget(evaluations=24)})
    order = ComparisonOrder(replace(base, options=options, key="k2"), strategies=("two_stage",), seeds=(0, 1))
    comparison, _ = launch_comparison(order)
    return [finish(search, [0.5, 1.0]) for search in comparison.searches.order_by("pk")]
