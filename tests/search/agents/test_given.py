"""A search may begin with programs from before it: each is a structure of its own, tuned by the knobs it names."""

from __future__ import annotations

import pytest
from test_playbook_agent import DIRECT, LIBRARY, PLAYBOOK, WORKLOAD, draft, scene

from search.agents.beginning import Beginning
from search.agents.playbook.given import choices, source_problem
from search.library import compose
from search.local import evaluation_request, one_by_one, run_search
from search.records import (
    Candidate,
    CaseTiming,
    DraftKind,
    Environment,
    Evaluation,
    EvaluationStatus,
    Interval,
    Language,
    SourceFile,
    TimingMethod,
)
from search.settings import Budget, SearchSettings, StageSettings
from search.steps import DraftFailure

SORT = WORKLOAD.model_copy(update={"op_type": "sort", "name": "sort"})


def program(text='// KNOBS {"BLOCK": 8, "FAST": true, "KIND": "plain"}\nint run() { return 0; }\n', **fields):
    language = fields.pop("language", Language.CPP)
    return Candidate(language=language, sources=(SourceFile(path="mine.cpp", content=text),), **fields)


OTHER = program("int run() { return 1; }\n")


def first(starting, **fields):
    return PLAYBOOK.propose(
        draft(DraftKind.INSTANTIATE), scene(blueprints=(), starting=starting, workload=SORT, **fields)
    )


def test_the_first_draft_gets_the_first_program_with_its_own_knobs():
    proposal = first((program(), OTHER))
    assert proposal.candidate.sources == program().sources
    assert proposal.candidate.knobs == {"BLOCK": 8, "FAST": True, "KIND": "plain"}
    assert proposal.candidate.structure == proposal.blueprint.fingerprint
    assert proposal.blueprint.title.startswith("given ")
    assert proposal.blueprint.contract.clauses == ()
    offered = {knob.name: knob.choices for knob in proposal.blueprint.knobs}
    assert offered == {"BLOCK": (2, 4, 8, 16, 32), "FAST": (False, True), "KIND": ("plain",)}


def test_the_other_programs_follow_and_then_nothing_is_left_of_an_unknown_family():
    root = first((program(), OTHER)).blueprint

    def explored(known, exclude=()):
        here = scene(blueprints=known, starting=(program(), OTHER), workload=SORT)
        return PLAYBOOK.propose(draft(DraftKind.EXPLORE, structure=root.fingerprint, exclude=exclude), here)

    second = explored([root])
    assert second.candidate.sources == OTHER.sources
    assert second.blueprint.fingerprint != root.fingerprint
    assert explored([root], exclude=(second.blueprint.fingerprint,)).cause is DraftFailure.NOTHING_LEFT
    assert explored([root, second.blueprint]).cause is DraftFailure.NOTHING_LEFT


def test_of_a_known_family_structures_of_the_library_follow():
    here = scene(blueprints=(), starting=(program(),))
    root = PLAYBOOK.propose(draft(DraftKind.INSTANTIATE), here).blueprint
    here = scene(blueprints=[root], starting=(program(),))
    grown = PLAYBOOK.propose(draft(DraftKind.EXPLORE, structure=root.fingerprint), here).blueprint
    assert len(grown.actions) == 1
    assert grown == compose(WORKLOAD, LIBRARY, grown.actions, Language.CPP)


@pytest.mark.parametrize(
    ("value", "expected"),
    [(1, (1, 2, 4)), (0, (0,)), (6, (3, 6, 12, 24)), (True, (False, True)), ("row", ("row",))],
)
def test_choices_lie_around_the_value(value, expected):
    assert choices(value) == expected


def test_a_program_in_another_language_is_no_use():
    triton = program("import triton\n", language=Language.TRITON)
    assert "written in triton" in source_problem(triton, Language.CPP)
    assert first((triton,)).cause is DraftFailure.IMPOSSIBLE
    assert source_problem(program(), Language.CPP) == ""


def test_a_number_that_no_knob_has_is_said():
    huge = program(f'// KNOBS {{"BLOCK": {10**400}}}\n')
    assert source_problem(huge, Language.CPP) == f"BLOCK is {2**31} or more"
    assert first((huge,)).cause is DraftFailure.IMPOSSIBLE


def test_broken_knobs_are_said():
    assert "cannot be read" in source_problem(program("// KNOBS [1]\n"), Language.CPP)


def settings(starting, **fields):
    values = {
        "workload": SORT.name,
        "workload_hash": SORT.hash,
        "library": LIBRARY.name,
        "library_hash": LIBRARY.hash,
        "strategy": "two_stage",
        "language": Language.CPP,
        "device_class": "cpu",
        "budget": Budget(evaluations=12),
        "stages": StageSettings(sampler="random"),
        "starting": tuple(one.hash for one in starting),
    }
    return SearchSettings(**(values | fields))


def judged(request):
    """Faster with larger blocks."""
    block = float(request.candidate.knobs.get("BLOCK", 1))
    speedup = Interval(value=block, low=block, high=block)
    timing = CaseTiming(
        case="main", median_us=9, p10_us=9, p90_us=9, samples=5, baseline_us=9 * block, speedup=speedup
    )
    return Evaluation(
        status=EvaluationStatus.PASSED,
        tier=request.tier,
        purpose=request.purpose,
        candidate=request.candidate.hash,
        environment=Environment(device_class="cpu", device="made up", workload=SORT.hash),
        cases=(timing,),
        speedup=speedup,
        median_us=9.0,
        baseline="made up",
        method=TimingMethod.SLOPE,
    )


def test_a_whole_search_tunes_the_program():
    starting = (program(), OTHER)
    found = []
    result = run_search(
        settings(starting), SORT, LIBRARY, Beginning(PLAYBOOK, starting), one_by_one(judged), found.append
    )
    assert result.finished
    assert result.structures == 2
    assert result.speedup.value == 32
    assert {step.outcome.knobs.get("BLOCK") for step in found} >= {8, 32}


def test_strangers_programs_need_a_sandbox():
    item = draft(DraftKind.INSTANTIATE)
    asked = evaluation_request(settings((program(),)), WORKLOAD, item, program(), DIRECT)
    assert asked.needs_walls
    assert not evaluation_request(settings(()), WORKLOAD, item, program(), DIRECT).needs_walls
