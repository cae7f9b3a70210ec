"""Workloads of other formats can be searched: a program that somebody had is judged and tuned by its knobs.

Programs are in `tests/search/formats/fixtures/programs`. Kernelsite's own two need none: the playbook writes them
(`test_playbook_cpp.py`). Of workloads with empty cases only the others are timed; none has nothing but empty ones.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from conftest import TRIES

from search.agents.beginning import Beginning
from search.agents.playbook.agent import PlaybookAgent
from search.formats.single_file import candidate_of_file
from search.library import shipped_library
from search.local import one_by_one, run_search
from search.records import EvaluationStatus, Language
from search.settings import Budget, SearchSettings, StageSettings

sys.path.append(str(Path(__file__).parents[1] / "search" / "formats"))
from format_fixtures import PROGRAMS, all_items

ITEMS = [
    (form, workload) for form, found in all_items().items() if form != "kernelsite" for workload in found
]
FEW = {"gqa_paged_decode_h8_kv2_d64_ps1", "blockwise_in_place"}
"""Recorded indices and an empty batch; a tolerance and inputs of its own."""
LIBRARY = shipped_library()
PATIENCE = 3 * TRIES
"""Programs of a microsecond can seldom be timed on a machine that is busy; on a quiet one the first try is enough."""
TIMED_OR_BUSY = {EvaluationStatus.PASSED, EvaluationStatus.UNSTABLE_TIMING}
"""What an honest program is told here; a setting that is timed in no try is spent."""


def settings(workload, program, evaluations):
    return SearchSettings(
        workload=workload.name,
        workload_hash=workload.hash,
        library=LIBRARY.name,
        library_hash=LIBRARY.hash,
        strategy="two_stage",
        language=Language.CPP,
        device_class="cpu",
        budget=Budget(evaluations=evaluations),
        stages=StageSettings(finalists=1),
        starting=(program.hash,),
    )


def judge_of(runner):
    """The real judge, asked again where the machine was too busy to time."""

    def evaluate(request):
        for _ in range(PATIENCE):
            (evaluation,) = runner.evaluate([request], lambda: None)
            if evaluation.status is not EvaluationStatus.UNSTABLE_TIMING:
                break
        return evaluation

    return evaluate


def search(runner, workload, evaluations):
    path = PROGRAMS / f"{workload.name}.cpp"
    program = candidate_of_file(path.name, path.read_bytes())
    steps = []
    frozen = settings(workload, program, evaluations)
    agent = Beginning(PlaybookAgent(), (program,))
    result = run_search(frozen, workload, LIBRARY, agent, one_by_one(judge_of(runner)), steps.append)
    return program, result, [step.outcome for step in steps]


def check(runner, workload, evaluations):
    """It ends, no setting is wrong, and at least two settings of the program's own knobs were timed."""
    program, result, outcomes = search(runner, workload, evaluations)
    assert result.finished
    assert result.structures == 1
    assert outcomes[0].blueprint.title.startswith("given ")
    assert outcomes[0].source_hash == program.source_hash
    judged = [one for one in outcomes if one.status is not None]
    assert {one.structure for one in judged} == {outcomes[0].structure}
    assert [(one.status, one.knobs, one.failure) for one in judged if one.status not in TIMED_OR_BUSY] == []
    timed = {tuple(sorted(one.knobs.items())) for one in judged if one.speedup}
    assert len(timed) >= 2, [(one.status, one.knobs, one.failure) for one in outcomes]
    assert result.speedup
    assert result.median_us > 0


@pytest.mark.parametrize("workload", [one for _, one in ITEMS if one.name in FEW], ids=lambda one: one.name)
def test_a_few_are_searched(runner, workload):
    check(runner, workload, evaluations=4)


@pytest.mark.exhaustive
@pytest.mark.parametrize(("form", "workload"), ITEMS, ids=[f"{form}-{one.name}" for form, one in ITEMS])
def test_every_one_is_searched(runner, form, workload):
    check(runner, workload, evaluations=6)


def test_every_imported_workload_has_a_program():
    assert {path.stem for path in PROGRAMS.glob("*.cpp")} == {workload.name for _, workload in ITEMS}
    assert len(ITEMS) >= 25
