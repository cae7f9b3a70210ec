"""One search in one process: with the playbook and a made-up judge, then rule by rule."""

from __future__ import annotations

import pytest

from search.agents.playbook.agent import PlaybookAgent
from search.budget import Ending
from search.engine import INFRA_STREAK
from search.library import shipped_library, shipped_workload
from search.local import one_by_one, run_search, variant_candidate
from search.records import (
    Candidate,
    CaseTiming,
    DraftKind,
    Environment,
    Evaluation,
    EvaluationRequest,
    EvaluationStage,
    EvaluationStatus,
    Interval,
    Language,
    SourceFile,
    Stage,
    StageEvidence,
    Tier,
    TimingMethod,
)
from search.settings import Budget, SearchSettings, StageSettings
from search.steps import Draft, Proposal, Variant
from search.strategies import STRATEGIES

WORKLOAD = shipped_workload("softmax")
LIBRARY = shipped_library()


def settings(strategy: str = "two_stage", evaluations: int = 16, **budget) -> SearchSettings:
    return SearchSettings(
        workload="softmax",
        workload_hash=WORKLOAD.hash,
        library="core",
        library_hash=LIBRARY.hash,
        strategy=strategy,
        language=Language.CPP,
        device_class="cpu",
        budget=Budget(evaluations=evaluations, **budget),
        stages=StageSettings(sampler="random"),
    )


class Judge:
    """Gives every program a speed-up drawn from its hash, and remembers what it was asked."""

    def __init__(self, status: EvaluationStatus = EvaluationStatus.PASSED) -> None:
        self.status = status
        self.requests: list[EvaluationRequest] = []

    def __call__(self, request: EvaluationRequest) -> Evaluation:
        self.requests.append(request)
        value = 1 + int(request.candidate.hash[:4], 16) / 0xFFFF
        speedup = Interval(value=value, low=value, high=value)
        timing = CaseTiming(
            case="c", median_us=9, p10_us=9, p90_us=9, samples=5, baseline_us=9 * value, speedup=speedup
        )
        time = {
            "cases": (timing,),
            "speedup": speedup,
            "median_us": 9.0,
            "baseline": "made up",
            "method": TimingMethod.SLOPE,
        }
        return Evaluation(
            status=self.status,
            tier=request.tier,
            purpose=request.purpose,
            candidate=request.candidate.hash,
            environment=Environment(device_class="cpu", device="made up", workload=WORKLOAD.hash),
            stages=(StageEvidence(stage=EvaluationStage.BUILD, passed=True, seconds=0.1),),
            message="" if self.status is EvaluationStatus.PASSED else "it did not",
            device_seconds=0.5,
            **(time if self.status is EvaluationStatus.PASSED else {}),
        )


def search(chosen: SearchSettings, agent=None, judge=None):
    steps = []
    judge = judge or Judge()
    result = run_search(chosen, WORKLOAD, LIBRARY, agent or PlaybookAgent(), one_by_one(judge), steps.append)
    return result, steps, judge


@pytest.mark.parametrize("name", STRATEGIES)
def test_it_works(name):
    result, steps, judge = search(settings(name))
    assert result.finished
    assert result.spent.evaluations == len(judge.requests) == 16
    assert [step.number for step in steps] == list(range(1, len(steps) + 1))
    assert result.best_confirmed


def test_it_is_the_same_twice():
    (one, steps, _), (other, again, _) = search(settings()), search(settings())
    assert one == other
    assert steps == again


def test_candidates_are_held_to_their_contract():
    _, steps, judge = search(settings())
    for step, request in zip(steps, judge.requests, strict=True):
        assert request.contract.structure == step.outcome.structure
        assert request.contract.clauses


def test_a_mixed_search_has_no_contract():
    _, _, judge = search(settings("mixed"))
    assert all(request.contract is None for request in judge.requests)


def test_variants_have_the_source_of_their_base():
    _, steps, judge = search(settings("local_only"))
    assert len({request.candidate.source_hash for request in judge.requests}) == 1
    for step, request in zip(steps[1:], judge.requests[1:], strict=True):
        assert request.candidate.knobs == step.item.knobs
        assert request.candidate.parent == judge.requests[0].candidate.hash


def test_finalists_are_asked_for_at_the_full_tier():
    _, _, judge = search(settings())
    assert [request.tier for request in judge.requests[-3:]] == [Tier.FAST, Tier.FULL, Tier.FULL]


def test_settings_of_another_version_are_refused():
    other = settings().model_copy(update={"library_hash": "0" * 64})
    with pytest.raises(ValueError, match="another version"):
        search(other)


def test_a_device_that_always_fails_ends_the_search_with_that_reason():
    result, _steps, judge = search(settings(), judge=Judge(EvaluationStatus.INFRA_ERROR))
    assert result.finished
    assert result.reason == Ending.DEVICE_ERRORS
    assert len(judge.requests) == INFRA_STREAK
    assert result.spent.evaluations == 0


def test_an_agent_that_refuses_ends_the_search():
    class Refuses:
        name = "refuses"

        def propose(self, draft, scene):
            return Proposal(failure="not today")

    result, steps, judge = search(settings(), agent=Refuses())
    assert result.reason == Ending.NOTHING_CORRECT
    assert judge.requests == []
    assert {step.outcome.failure for step in steps} == {"not today"}


def test_a_duplicate_takes_the_earlier_verdict_and_costs_nothing():
    class Repeats(PlaybookAgent):
        def propose(self, draft, scene):
            first = draft.model_copy(update={"kind": DraftKind.INSTANTIATE, "structure": ""})
            return super().propose(first, scene)

    _result, steps, judge = search(settings("structure_only"), agent=Repeats())
    explored = [step.outcome for step in steps[1:] if isinstance(step.item, Draft)]
    assert explored
    assert all(outcome.reused and not outcome.charged for outcome in explored)
    assert [request.tier for request in judge.requests] == [Tier.FAST, Tier.FULL]


def test_wall_seconds_end_a_search():
    result, steps, _ = search(settings(wall_seconds=1e-9))
    assert (result.finished, result.reason) == (True, Ending.WALL_SECONDS)
    assert len(steps) == 1


def test_the_agent_sees_what_was_measured():
    seen = []

    class Looks(PlaybookAgent):
        def propose(self, draft, scene):
            seen.append((draft, set(scene.blueprints), set(scene.candidates), set(scene.evaluations)))
            return super().propose(draft, scene)

    _, _steps, _ = search(settings("structure_only"), agent=Looks())
    for draft, blueprints, candidates, evaluations in seen[1:]:
        assert draft.structure in blueprints
        assert candidates == evaluations == set(range(1, draft.number))


def test_a_variant_changes_nothing_but_knobs():
    source = (SourceFile(path="k.cpp", content="// KNOBS {}"),)
    base = Candidate(language=Language.CPP, sources=source, knobs={"A": 1, "B": 2}, structure="s")
    item = Variant(number=2, stage=Stage.TUNE, structure="s", base=1, knobs={"B": 3})
    made = variant_candidate(item, base)
    assert made.knobs == {"A": 1, "B": 3}
    assert (made.source_hash, made.structure, made.parent) == (base.source_hash, "s", base.hash)


def test_a_review_gate_is_refused_where_nobody_reviews():
    gated = settings().model_copy(update={"stages": StageSettings(review=True)})
    with pytest.raises(ValueError, match="needs a reviewer"):
        run_search(gated, WORKLOAD, LIBRARY, PlaybookAgent(), one_by_one(Judge()))


def test_steps_that_are_in_flight_are_judged_together_and_duplicates_once():
    asked = []

    def judged(requests):
        asked.append([request.candidate.hash for request in requests])
        return map(Judge(), requests)

    steps = []
    result = run_search(
        settings().model_copy(update={"parallel": 4}),
        WORKLOAD,
        LIBRARY,
        PlaybookAgent(),
        judged,
        steps.append,
    )
    assert result.finished
    assert max(map(len, asked)) > 1
    assert all(len(set(one)) == len(one) <= 4 for one in asked)
    by_candidate = {step.outcome.candidate for step in steps if step.outcome.candidate}
    assert by_candidate == {one for many in asked for one in many}


def test_the_order_of_answers_is_that_of_requests():
    """What a step is told is the verdict on its own candidate."""
    steps = []
    run_search(
        settings().model_copy(update={"parallel": 8}),
        WORKLOAD,
        LIBRARY,
        PlaybookAgent(),
        one_by_one(Judge()),
        steps.append,
    )
    for step in steps:
        if step.outcome.speedup:
            assert step.outcome.speedup.value == 1 + int(step.outcome.candidate[:4], 16) / 0xFFFF
