"""The recorded device: only what was measured is answered, and labelled; and the agent that draws from a landscape."""

from __future__ import annotations

import pytest
from landscape_factories import WORKLOAD, landscape, request_for, small_plan

from search.agents.agent import Scene
from search.agents.recorded import RecordedAgent
from search.agents.registry import default_agent
from search.landscapes.answer import NOT_RECORDED, answer
from search.library import shipped_library
from search.local import one_by_one, run_search
from search.records import DraftKind, EvaluationStatus, Language, Purpose, SourceFile, Stage, TimingMethod
from search.settings import Budget, SearchSettings
from search.steps import Draft
from search.strategies import STRATEGIES


def test_a_recorded_point_is_answered_with_its_label():
    one = landscape()
    evaluation = answer(one, request_for(one, 2))
    assert evaluation.status is EvaluationStatus.PASSED
    assert evaluation.speedup.value in one.truth.values()
    assert evaluation.method is TimingMethod.RECORDED
    assert evaluation.charged
    label = "recorded on Test device, 2026-01-02"
    assert evaluation.baseline == f"made up eager, {label}"
    assert evaluation.environment.policy.startswith(label)
    assert evaluation.environment.device_class == "recorded:made_up"


def test_repeats_are_chosen_by_seed_and_purpose():
    one = landscape(noise=0.2)
    values = {answer(one, request_for(one, 1), seed).speedup.value for seed in range(20)}
    assert len(values) == 2
    assert answer(one, request_for(one, 1), 5) == answer(one, request_for(one, 1), 5)
    again = {answer(one, request_for(one, 1, purpose=Purpose.CONFIRM), s).speedup.value for s in range(20)}
    assert again == values


def test_a_failure_is_answered_as_it_was():
    one = landscape(failures=0.5)
    row = one.measurements.status.index(EvaluationStatus.COMPILE_ERROR)
    request = request_for(one, one.measurements.structure[row], one.measurements.knobs[row])
    evaluation = answer(one, request)
    assert evaluation.status is EvaluationStatus.COMPILE_ERROR
    assert evaluation.message == "it did not compile"
    assert evaluation.charged
    assert evaluation.speedup is None


def test_what_was_never_measured_is_not_invented():
    one = landscape()
    request = request_for(one, 0)
    strange = request.candidate.model_copy(update={"sources": (SourceFile(path="k.cpp", content="int x;"),)})
    unknown_knob = request.candidate.model_copy(update={"knobs": {"UNROLL": 12345}})
    for candidate in (strange, unknown_knob):
        evaluation = answer(one, request.model_copy(update={"candidate": candidate}))
        assert evaluation.status is EvaluationStatus.INFRA_ERROR
        assert evaluation.message.startswith(NOT_RECORDED)
        assert not evaluation.charged


def test_another_version_of_the_workload_is_not_answered():
    one = landscape()
    other = WORKLOAD.model_copy(update={"title": "Another"})
    evaluation = answer(one, request_for(one, 0).model_copy(update={"workload": other.dump()}))
    assert evaluation.status is EvaluationStatus.INFRA_ERROR
    assert "another version" in evaluation.message


# The agent -------------------------------------------------------------------------------------------


def scene(**fields) -> Scene:
    return Scene(WORKLOAD, shipped_library(), Language.CPP, "recorded:made_up", {}, {}, {}, **fields)


def draft(kind, **fields) -> Draft:
    return Draft(**{"number": 1, "kind": kind, "stage": Stage.EXPLORE, "seed": 1} | fields)


def test_it_begins_with_the_direct_implementation():
    one = landscape()
    proposal = RecordedAgent(one).propose(draft(DraftKind.INSTANTIATE), scene())
    assert proposal.blueprint == one.structures[0].blueprint
    assert proposal.candidate.source_hash == one.structures[0].source_hash
    assert proposal.usage.calls == 1


def test_it_explores_recorded_structures_only_until_none_is_left():
    one = landscape()
    direct = one.structures[0].blueprint.fingerprint
    exclude, places = (direct,), set(small_plan().moves.child)
    while (
        proposal := RecordedAgent(one).propose(
            draft(DraftKind.EXPLORE, structure=direct, exclude=exclude), scene()
        )
    ).candidate:
        assert proposal.candidate.source_hash in one.by_source
        exclude = (*exclude, proposal.blueprint.fingerprint)
    children = {place for row, place in enumerate(one.moves.child) if one.moves.parent[row] == 0}
    assert len(exclude) - 1 == len(children) <= len(places)
    assert "no recorded structure" in proposal.failure


def test_seeds_draw_different_children_and_one_seed_the_same():
    one = landscape()
    direct = one.structures[0].blueprint.fingerprint

    def child(seed):
        asked = draft(DraftKind.EXPLORE, structure=direct, exclude=(direct,), seed=seed)
        return RecordedAgent(one).propose(asked, scene()).blueprint.fingerprint

    assert len({child(seed) for seed in range(12)}) > 1
    assert child(4) == child(4)


def test_actions_that_are_not_allowed_are_not_drawn():
    one = landscape()
    direct = one.structures[0].blueprint.fingerprint
    asked = draft(DraftKind.EXPLORE, structure=direct, exclude=(direct,))
    assert RecordedAgent(one).propose(asked, scene(allowed_actions=("nothing",))).candidate is None


def test_failures_are_drawn_by_the_seed():
    one = landscape()
    agent = RecordedAgent(one, failure=0.5)
    answers = [agent.propose(draft(DraftKind.INSTANTIATE, seed=seed), scene()) for seed in range(60)]
    failed = sum(each.candidate is None for each in answers)
    assert 15 < failed < 45
    assert all(each.blueprint for each in answers)


@pytest.mark.parametrize("name", STRATEGIES)
def test_every_strategy_searches_a_landscape_and_asks_for_nothing_else(name):
    one, library = landscape(failures=0.2), shipped_library()
    settings = SearchSettings(
        workload="softmax",
        workload_hash=WORKLOAD.hash,
        library=library.name,
        library_hash=library.hash,
        strategy=name,
        language=Language.CPP,
        device_class="recorded:made_up",
        budget=Budget(evaluations=16),
    )
    steps = []
    agent = RecordedAgent(one)
    result = run_search(
        settings, WORKLOAD, library, agent, one_by_one(lambda each: answer(one, each)), steps.append
    )
    assert result.finished
    statuses = {step.outcome.status for step in steps if step.outcome}
    assert EvaluationStatus.INFRA_ERROR not in statuses
    assert result.speedup.value in {value for value in one.measurements.speedup if value}


def test_the_agent_that_fits_the_device():
    assert default_agent("recorded:h200") == "recorded"
    assert default_agent("cpu") == "playbook"
