"""A small landscape for the site's tests: real sources of the playbook, times made up here."""

from __future__ import annotations

import random

from search.landscapes.design import Design, plan
from search.landscapes.files import SUFFIX, write_landscape
from search.landscapes.landscape import Landscape, Measurements
from search.library import shipped_library, shipped_workload
from search.records import Environment, EvaluationStatus, Language, Tier, TimingMethod

NAME = "x9_softmax"
LABEL = "recorded on Test device, 2026-01-02"


def write(folder) -> Landscape:
    """Write `x9_softmax` into a folder."""
    workload, library = shipped_workload("softmax"), shipped_library()
    design = Design(structures=5, points=6, repeat_share=0.0, repeats=0, fastest=0, seed=1)
    chosen, draw = plan(workload, library, Language.CPP, "cpu", design), random.Random(1)
    rows = [(n, places) for n, points in enumerate(chosen.points) for places in points]
    worth = tuple(1 + n + draw.random() for n, _ in rows)
    count = len(rows)
    table = Measurements(
        structure=tuple(n for n, _ in rows),
        knobs=tuple(places for _, places in rows),
        status=(EvaluationStatus.PASSED,) * count,
        charged=(True,) * count,
        device_seconds=(0.5,) * count,
        message=(-1,) * count,
        median_us=tuple(100 / value for value in worth),
        p10_us=tuple(100 / value for value in worth),
        p90_us=tuple(100 / value for value in worth),
        samples=(5,) * count,
        baseline_us=(100.0,) * count,
        speedup=worth,
        low=worth,
        high=worth,
    )
    landscape = Landscape(
        name=NAME,
        workload=workload,
        workload_hash=workload.hash,
        case=workload.cases[0].name,
        language=Language.CPP,
        library=library.name,
        library_hash=library.hash,
        environment=Environment(device_class="cpu", device="Test device", workload="w"),
        date="2026-01-02",
        tier=Tier.FAST,
        method=TimingMethod.SLOPE,
        baseline="made up eager",
        design=design.text,
        seed=1,
        structures=chosen.structures,
        moves=chosen.moves,
        measurements=table,
    )
    write_landscape(folder / f"{NAME}{SUFFIX}", landscape)
    return landscape
