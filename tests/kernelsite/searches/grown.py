"""A search with structures, candidates and results written as rows, for tests of pages: no engine, no device."""

from __future__ import annotations

import itertools
import random

from synthetic_device import BASELINE_US

from kernelsite.searches.models import Candidate, Evaluation, SourceText, Step, Structure
from search import records
from search.compose import compose
from search.library import shipped_library
from search.records import EvaluationStage, EvaluationStatus, Interval, Language, Purpose, Tier

PATH = ((), ("online_softmax",), ("online_softmax", "vector_lanes"))
"""Actions of the structures, each the parent of the next."""
SAMPLES_US = (50.0, 51.0, 49.5, 50.4, 50.1, 49.9, 80.0)
"""The last one is an outlier."""


def source_text(knobs):
    named = ", ".join(f'"{name}": {str(value).lower()}' for name, value in knobs.items())
    uses = "\n".join(f"static int use_{name.lower()} = {name};" for name in knobs)
    return (
        f'// KNOBS {{{named}}}\n{uses}\nextern "C" int run(void** b, const long* a, void*) {{ return 0; }}\n'
    )


def record_of(candidate, status, speedup, purpose):
    """The judge's answer in full, with all that pages show."""
    environment = records.Environment(device_class="cpu", device="synthetic", workload="0" * 64)
    details = {
        EvaluationStage.CORRECTNESS: {"calls": 39, "hidden_calls": 9},
        EvaluationStage.TIMING: {
            "case": "main",
            "passes_us": [[100.0, 200.0]] * len(SAMPLES_US),
            "sm_clock_mhz": [1980, 1965],
            "temperature_c": [41, 44],
        },
    }
    passed = status is EvaluationStatus.PASSED
    stages = [stage for stage in EvaluationStage if stage is not EvaluationStage.PROMOTION]
    seen = tuple(
        records.StageEvidence(stage=stage, passed=True, seconds=0.01, details=details.get(stage, {}))
        for stage in (stages if passed else stages[:3])
    )
    common = {
        "status": status,
        "tier": Tier.FULL if purpose is Purpose.CONFIRM else Tier.FAST,
        "purpose": purpose,
        "candidate": candidate.hash,
        "environment": environment,
        "stages": seen,
        "device_seconds": 0.5,
    }
    if not passed:
        return records.Evaluation(message=f"{status} on purpose", log="a log", **common)
    interval = Interval(value=speedup, low=speedup * 0.98, high=speedup * 1.02)
    case = records.CaseTiming(
        case="main",
        median_us=BASELINE_US / speedup,
        p10_us=49.0,
        p90_us=60.0,
        samples=len(SAMPLES_US),
        baseline_us=BASELINE_US,
        speedup=interval,
        samples_us=SAMPLES_US,
        floor_us=20.0,
    )
    return records.Evaluation(
        cases=(case,),
        speedup=interval,
        median_us=case.median_us,
        baseline="synthetic baseline",
        method=records.TimingMethod.SLOPE,
        **common,
    )


def grow(search, count=12):
    """Three structures in a line; the last has `count` candidates, every fifth failed, and one confirmation."""
    numbers = itertools.count(1)
    chance = random.Random(search.pk)
    structures = []
    for number, actions in enumerate(PATH, start=1):
        blueprint = compose(search.workload.record, shipped_library(), actions, Language.CPP)
        structure = Structure.objects.create(
            search=search,
            number=number,
            fingerprint=blueprint.fingerprint,
            parent=structures[-1] if structures else None,
            blueprint=blueprint.dump(),
            title=blueprint.title,
            step=number,
            created_seq=number,
        )
        structures.append(structure)
        fill(structure, count if number == len(PATH) else 1, numbers, chance)
    search.best_candidate = structures[-1].best_candidate
    search.save()
    return structures


def fill(structure, count, numbers, chance):
    blueprint = structure.record
    first = {knob.name: knob.default for knob in blueprint.knobs}
    text = SourceText.objects.create(
        search=structure.search,
        hash=f"{structure.number:064d}",
        files=[{"path": "kernel.cpp", "content": source_text(first)}],
    )
    rows, best = [], None
    for number in range(1, count + 1):
        knobs = first if number == 1 else {knob.name: chance.choice(knob.choices) for knob in blueprint.knobs}
        candidate = Candidate(
            search=structure.search,
            structure=structure,
            number=number,
            hash=f"{structure.number:032d}{number:032d}",
            source=text,
            language=Language.CPP,
            entry_point="run",
            knobs=knobs,
            step=number,
        )
        status = EvaluationStatus.CRASH if number % 5 == 0 else EvaluationStatus.PASSED
        rows.append((candidate, status, structure.number + chance.random(), Purpose.SEARCH))
    best = max((row for row in rows if row[1] is EvaluationStatus.PASSED), key=lambda row: row[2])
    rows.append((best[0], EvaluationStatus.PASSED, best[2] * 0.9, Purpose.CONFIRM))
    Candidate.objects.bulk_create([row[0] for row in rows[:-1]])
    write_results(structure, rows, numbers)
    structure.candidate_count, structure.evaluation_count = count, len(rows)
    structure.passed_count = sum(row[1] is EvaluationStatus.PASSED for row in rows)
    structure.best_candidate = f"{best[0].key}c"
    structure.best_speedup = best[2] * 0.9
    structure.best_median_us = BASELINE_US / structure.best_speedup
    structure.save()


def write_results(structure, rows, numbers):
    search = structure.search
    steps, evaluations = [], []
    for candidate, status, speedup, purpose in rows:
        number = next(numbers)
        step = Step(
            search=search, number=number, item={}, kind="variant", stage="tune", state="done", outcome={}
        )
        steps.append(step)
        record = record_of(candidate, status, speedup, purpose)
        evaluations.append(
            Evaluation(
                search=search,
                candidate=candidate,
                step=step,
                purpose=purpose,
                tier=record.tier,
                state="done",
                counted=True,
                charged=True,
                order=number,
                environment_key=record.environment.key,
                status=status,
                speedup=record.speedup.value if record.speedup else None,
                low=record.speedup.low if record.speedup else None,
                high=record.speedup.high if record.speedup else None,
                median_us=record.median_us,
                baseline=record.baseline,
                device_seconds=0.5,
                result=record.dump(),
            )
        )
    Step.objects.bulk_create(steps)
    Evaluation.objects.bulk_create(evaluations)
