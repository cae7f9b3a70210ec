"""Landscapes for tests: real structures and sources of the playbook with times that are made up here."""

from __future__ import annotations

import random
from functools import cache
from itertools import groupby

from search.landscapes.design import Design, Plan, plan, values_at
from search.landscapes.landscape import Landscape, Measurements
from search.library import shipped_library, shipped_workload
from search.records import (
    CaseTiming,
    Environment,
    Evaluation,
    EvaluationRequest,
    EvaluationStage,
    EvaluationStatus,
    Interval,
    Language,
    StageEvidence,
    Tier,
    TimingMethod,
)

WORKLOAD = shipped_workload("softmax")
CASE = WORKLOAD.cases[0].name
DESIGN = Design(structures=6, points=8, repeat_share=0.25, repeats=2, fastest=2, seed=3)
ENVIRONMENT = Environment(device_class="cpu", device="Test device", driver="d", runtime="r", workload="w")


@cache
def small_plan() -> Plan:
    return plan(WORKLOAD, shipped_library(), Language.CPP, "cpu", DESIGN)


def landscape(name: str = "made_up", *, noise: float = 0.0, failures: float = 0.0) -> Landscape:
    """Every point of the small plan twice; speed-up depends on structure and knob positions."""
    chosen, draw = small_plan(), random.Random(7)
    rows = []
    for structure, points in enumerate(chosen.points):
        for places in points:
            failed = places != points[0] and draw.random() < failures
            worth = 1 + structure + sum((n + 1) * place for n, place in enumerate(places)) / 50
            for _ in range(2):
                rows.append((structure, places, None if failed else worth * (1 + noise * draw.random())))
    return Landscape(
        name=name,
        workload=WORKLOAD,
        workload_hash=WORKLOAD.hash,
        case=CASE,
        language=Language.CPP,
        library="core",
        library_hash="0" * 64,
        environment=ENVIRONMENT,
        date="2026-01-02",
        tier=Tier.FAST,
        method=TimingMethod.SLOPE,
        baseline="made up eager",
        design=DESIGN.text,
        seed=DESIGN.seed,
        structures=chosen.structures,
        moves=chosen.moves,
        measurements=_columns(rows),
        messages=("it did not compile",),
    )


def _columns(rows) -> Measurements:
    speedups = [speedup for *_, speedup in rows]
    times = tuple(100 / speedup if speedup else None for speedup in speedups)
    passed = [speedup is not None for speedup in speedups]
    status = {True: EvaluationStatus.PASSED, False: EvaluationStatus.COMPILE_ERROR}
    return Measurements(
        structure=tuple(row[0] for row in rows),
        knobs=tuple(row[1] for row in rows),
        status=tuple(status[one] for one in passed),
        charged=(True,) * len(rows),
        device_seconds=(0.5,) * len(rows),
        message=tuple(-1 if one else 0 for one in passed),
        median_us=times,
        p10_us=times,
        p90_us=times,
        samples=tuple(5 if one else None for one in passed),
        baseline_us=tuple(100.0 if one else None for one in passed),
        speedup=tuple(speedups),
        low=tuple(speedups),
        high=tuple(speedups),
    )


def request_for(one: Landscape, structure: int, places=None, **fields) -> EvaluationRequest:
    """Ask for a recorded point, the default one unless positions are given."""
    chosen = one.structures[structure]
    knobs = values_at(chosen.blueprint.knobs, places) if places else {}
    return EvaluationRequest(
        id="1",
        token="t",
        workload=one.workload.dump(),
        candidate=chosen.candidate(one.language, knobs),
        device_class=f"recorded:{one.name}",
        **fields,
    )


class MadeUpDevice:
    """Judges a batch: speed-up from the candidate's hash; fails as the device does where it is told to."""

    def __init__(self, *, infra_every: int = 0, die_after: int = 10**9, killer: str = ""):
        self.seen: list[str] = []
        self.infra_every, self.die_after, self.killer = infra_every, die_after, killer

    def evaluate_batch(self, requests):
        sources = [request.candidate.source_hash for request in requests]
        assert len(list(groupby(sources))) == len(set(sources)), "variants of one source are neighbours"
        for request in requests:
            if len(self.seen) >= self.die_after or request.id == self.killer:
                raise ConnectionError("the worker is gone")
            self.seen.append(request.id)
            yield self._answer(request, len(self.seen))

    def _answer(self, request, count):
        shared = {
            "tier": request.tier,
            "purpose": request.purpose,
            "candidate": request.candidate.hash,
            "environment": ENVIRONMENT,
        }
        if self.infra_every and count % self.infra_every == 0:
            return Evaluation(status=EvaluationStatus.INFRA_ERROR, message="it is broken", **shared)
        value = 1 + int(request.candidate.hash[:4], 16) / 0xFFFF
        speedup = Interval(value=value, low=value, high=value)
        timing = CaseTiming(
            case=CASE, median_us=9, p10_us=9, p90_us=9, samples=5, baseline_us=9 * value, speedup=speedup
        )
        built = StageEvidence(
            stage=EvaluationStage.BUILD, passed=True, seconds=0.1, details={"registers": 40}
        )
        return Evaluation(
            status=EvaluationStatus.PASSED,
            stages=(built,),
            cases=(timing,),
            speedup=speedup,
            median_us=9.0,
            baseline="made up",
            method=TimingMethod.SLOPE,
            device_seconds=0.5,
            **shared,
        )
