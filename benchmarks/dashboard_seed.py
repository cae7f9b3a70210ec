"""A large search made of rows, for the measurements of the dashboard: no agent, no device, nothing is timed here.

    KERNELSITE_VAR=/tmp/site python benchmarks/dashboard_seed.py [--structures 200] [--candidates 5000]

Structures are those that the core library makes of softmax; speeds are drawn from a seed. The search is left
paused, so that no driver takes it up. The folder's site must have been started once. The last line is its number.
"""

from __future__ import annotations

import argparse
import math
import os
import random
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import islice
from typing import TYPE_CHECKING

if __name__ == "__main__":
    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kernelsite.settings")
    django.setup()

from django.db import transaction
from django.utils import timezone

from kernelsite.accounts.models import Membership
from kernelsite.catalog.models import LibraryVersion, WorkloadVersion
from kernelsite.searches import rows
from kernelsite.searches.launch import Options, Order, new_key
from kernelsite.searches.models import Candidate, Evaluation, Event, Search, SourceText, Step, Structure
from search.compose import structures as all_structures
from search.records import EvaluationStatus, EventKind, Language, SearchState
from search.settings import Budget

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from django.db import models

    from search.blueprint import Blueprint

SOURCE = {"kernel.cpp": "// KNOBS {}\n" + "// a line of a program that nobody runs here\n" * 80}
FAILURES = (EvaluationStatus.COMPILE_ERROR, EvaluationStatus.INCORRECT_NUMERICAL, EvaluationStatus.TIMEOUT)
FAILURE_SHARE = 0.12
BATCH = 500
FEWEST = 4
"""Smallest budget that settings allow."""


@dataclass
class Size:
    """How large a search is made."""

    structures: int = 200
    candidates: int = 5000
    seed: int = 1
    events_per_candidate: int = 2


@dataclass
class Seeding:
    """One search while it is written; every list is in the order of its rows' numbers."""

    search: Search
    size: Size
    blueprints: Sequence[Blueprint]
    dice: random.Random
    began: datetime
    structures: list[Structure] = field(default_factory=list)
    evaluations: list[Evaluation] = field(default_factory=list)


def seed_search(size: Size, blueprints: Sequence[Blueprint], title: str = "Seeded") -> Search:
    """Write one paused search of a size, with its whole log."""
    with transaction.atomic():
        search = _search(size, title)
        dice = random.Random(size.seed)
        seeding = Seeding(search, size, blueprints, dice, timezone.now() - timedelta(hours=3))
        _structures(seeding)
        _evaluations(seeding)
        _log(seeding)
        search.save()
    return search


def blueprints_of(count: int) -> list[Blueprint]:
    """Different structures of softmax on a CPU, repeated when the library has fewer."""
    workload = WorkloadVersion.objects.filter(slug="softmax").latest("version").record
    library = LibraryVersion.objects.filter(slug="core").latest("version").record
    found = list(islice(all_structures(workload, library, Language.CPP), count))
    return [found[k % len(found)] for k in range(count)]


def _search(size: Size, title: str) -> Search:
    member = Membership.objects.select_related("team", "user").order_by("pk")[0]
    order = Order(
        team=member.team,
        user=member.user,
        workload=WorkloadVersion.objects.filter(slug="softmax").latest("version"),
        library=LibraryVersion.objects.filter(slug="core").latest("version"),
        options=Options(budget=Budget(evaluations=max(size.candidates, FEWEST)), seed=size.seed),
        key=new_key(),
        title=title,
    )
    settings = order.settings
    return Search.objects.create(
        team=order.team, created_by=order.user, title=title, workload=order.workload, library=order.library,
        idempotency_key=order.key, settings=settings.dump(), strategy=settings.strategy, agent=settings.agent,
        language=settings.language, device_class=settings.device_class, seed=settings.seed,
        evaluations_cap=settings.budget.evaluations, state=SearchState.PAUSED,
    )  # fmt: skip


def _structures(seeding: Seeding) -> None:
    """A tree that grows as a search's does: mostly below recent structures, now and then below the first."""
    dice = seeding.dice
    for k in range(seeding.size.structures):
        blueprint = seeding.blueprints[k]
        parent = seeding.structures[int(k * dice.betavariate(3, 1.5))] if k else None
        row = Structure(
            search=seeding.search, number=k + 1, fingerprint=f"{k + 1:04x}{blueprint.fingerprint[4:]}",
            parent=parent, blueprint=blueprint.dump(), title=blueprint.title[:400], step=k + 1,
            created_seq=k + 1, status="dropped",
        )  # fmt: skip
        row.save()
        seeding.structures.append(row)


def _evaluations(seeding: Seeding) -> None:
    source = SourceText.objects.create(search=seeding.search, hash="0" * 64, files=SOURCE)
    drawn = [_draw(seeding, source, k) for k in range(seeding.size.candidates)]
    _write(Candidate, (candidate for candidate, _, _ in drawn))
    _write(Step, (step for _, step, _ in drawn))
    _write(Evaluation, (evaluation for _, _, evaluation in drawn))
    seeding.evaluations = [evaluation for _, _, evaluation in drawn]
    _bests(seeding)


def _write(model: type[models.Model], instances: Iterable[models.Model]) -> None:
    model._default_manager.bulk_create(instances, batch_size=BATCH)


def _draw(seeding: Seeding, source: SourceText, k: int) -> tuple[Candidate, Step, Evaluation]:
    """The k-th candidate: the structure's worth, times what tuning has found so far, times luck."""
    dice, search, first = seeding.dice, seeding.search, k < len(seeding.structures)
    index = k if first else int(len(seeding.structures) * dice.random() ** 3)
    structure = seeding.structures[index]
    structure.candidate_count += 1
    failed = dice.random() < FAILURE_SHARE
    status = dice.choice(FAILURES) if failed else EvaluationStatus.PASSED
    worth = 0.6 + 1.8 * ((index * 37) % 100) / 100
    speedup = worth * (1 + 0.5 * math.log1p(structure.candidate_count) / 4) * dice.lognormvariate(0, 0.12)
    at = seeding.began + timedelta(seconds=2 * k)
    candidate = Candidate(
        search=search, structure=structure, number=structure.candidate_count, hash=f"{search.pk:032d}{k:032d}",
        source=source, language=Language.CPP, entry_point="run", step=k + 1,
        knobs={"ROWS": 2 ** dice.randrange(5), "LANES": 8, "UNROLL": dice.choice([1, 2, 4])},
    )  # fmt: skip
    step = Step(
        search=search, number=k + 1, item={}, kind="explore" if first else "variant", state="done",
        stage="explore" if first else "tune", outcome={}, structure=structure, candidate=candidate, done_at=at,
    )  # fmt: skip
    evaluation = Evaluation(
        search=search, candidate=candidate, step=step, purpose="search", tier="fast", state="done",
        charged=True, counted=True, environment_key="seeded", status=status, order=k + 1, device_seconds=1.5,
        spent_device_seconds=1.5 * (k + 1), baseline="seeded baseline", finished_at=at,
        speedup=None if failed else speedup, low=None if failed else speedup * 0.98,
        high=None if failed else speedup * 1.02, median_us=None if failed else 800 / speedup,
        result={"message": f"seeded {status}"} if failed else None,
    )  # fmt: skip
    return candidate, step, evaluation


def _bests(seeding: Seeding) -> None:
    search = seeding.search
    for row in seeding.evaluations:
        structure = row.candidate.structure
        structure.evaluation_count += 1
        if row.speedup is not None:
            structure.passed_count += 1
            if row.speedup > (structure.best_speedup or 0):
                structure.best_candidate, structure.best_speedup = row.key, row.speedup
                structure.best_low, structure.best_high = row.low, row.high
                structure.best_median_us = row.median_us
    for structure in seeding.structures:
        structure.status = "dropped" if structure.passed_count else "failed"
    ranked = sorted(seeding.structures, key=lambda each: -(each.best_speedup or 0))
    for structure in ranked[:8]:
        structure.retained, structure.status = True, "tuned"
    Structure.objects.bulk_update(
        seeding.structures,
        ["candidate_count", "evaluation_count", "passed_count", "best_candidate", "best_speedup", "best_low",
         "best_high", "best_median_us", "status", "retained"],
    )  # fmt: skip
    _crown(search, ranked[0], seeding)


def _crown(search: Search, best: Structure, seeding: Seeding) -> None:
    passed = sum(row.status == EvaluationStatus.PASSED for row in seeding.evaluations)
    count = len(seeding.evaluations)
    search.best_candidate, search.best_structure = best.best_candidate, best.key
    search.best_speedup, search.best_low, search.best_high = best.best_speedup, best.best_low, best.best_high
    search.best_median_us, search.best_baseline = best.best_median_us, "seeded baseline"
    search.passed_count, search.failed_count = passed, count - passed
    search.evaluations_spent, search.step_count, search.structure_count = (
        count,
        count,
        len(seeding.structures),
    )
    search.device_seconds_spent = 1.5 * count
    search.started_at, search.last_event_at = seeding.began, seeding.evaluations[-1].finished_at


def _log(seeding: Seeding) -> None:
    """Two events of a candidate, each as large as in use: both carry the search's and the candidate's row."""
    search = seeding.search
    live = rows.live_row(search)
    kinds = (EventKind.RECORDED, EventKind.QUEUED)[: seeding.size.events_per_candidate][::-1]
    written = []
    for row in seeding.evaluations:
        at = row.finished_at or seeding.began
        candidate = rows.candidate_row(row)
        for kind in kinds:
            search.event_seq += 1
            text = f"C-{row.key} {row.status} {row.speedup or 0:.2f}x"
            payload = {"text": text, "search": live, "candidate": candidate}
            written.append(Event(search=search, seq=search.event_seq, kind=kind, payload=payload, at=at))
    _write(Event, written)


def main() -> None:
    """Write one search."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--structures", type=int, default=200)
    parser.add_argument("--candidates", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    size = Size(options.structures, options.candidates, options.seed)
    print(seed_search(size, blueprints_of(size.structures), f"Seeded: {size.candidates} candidates").pk)


if __name__ == "__main__":
    main()
