"""The review gate: where it stands, what a decision may say, and that a replay takes it at the same place."""

from __future__ import annotations

import pytest
from factories import Player, World, history, play, settings
from pydantic import ValidationError

from search.engine import Search
from search.records import DraftKind, EvaluationStatus, Stage, WaitReason
from search.review import Decision, Ruling, Verdict
from search.steps import Draft, Outcome

WORLD = World(seed=3, clumsy=0, broken=0, failing=0, points=(6, 6))
GATED = {"review": True}


def at_gate(**changes) -> tuple[Search, Player]:
    """A search that waits for a reviewer."""
    search, player = Search(settings(evaluations=40, stages=GATED | changes)), Player(WORLD)
    go_on(search, player)
    assert search.result().stage == "review"
    return search, player


def go_on(search: Search, player: Player) -> list:
    asked = []
    while items := search.ask(1):
        asked += items
        search.tell(items[0].number, player.answer(items[0]))
    return asked


def ruling(structure: str, verdict: Verdict, **more) -> Ruling:
    return Ruling(structure=structure, verdict=verdict, reason="seen on the page", **more)


def decision(search: Search, *rulings: Ruling) -> Decision:
    return Decision(after=search.archive.last, rulings=rulings)


def known(search: Search) -> list[str]:
    return [each.fingerprint for each in search.archive.structures.values() if each.base is not None]


def test_stage_one_ends_in_waiting():
    search, _ = at_gate()
    result = search.result()
    assert (result.waiting, result.finished, result.retained) == (WaitReason.REVIEW, False, ())
    assert search.ask(5) == []
    assert {step.item.stage for step in history(search)} == {Stage.EXPLORE}


def test_without_the_gate_nothing_waits():
    _, result = play(settings(evaluations=40), WORLD)
    assert (result.waiting, result.finished) == (None, True)


def test_the_strategy_proposes_what_it_would_keep_itself():
    search, _ = at_gate()
    alone, _ = play(settings(evaluations=40), WORLD)
    assert search.proposed()
    assert search.proposed() == alone.result().retained
    assert alone.proposed() == ()


def test_a_decision_stands_although_a_later_budget_would_bring_the_gate_elsewhere():
    search, player = at_gate()
    told = decision(search, ruling(known(search)[0], Verdict.RETAINED))
    search.decide(told)
    go_on(search, player)
    wider = search.settings.budget.model_copy(update={"evaluations": 80})
    again = Search.replay(search.settings.model_copy(update={"budget": wider}), history(search), [told])
    assert again.result().retained == told.retained


def test_what_the_reviewer_retains_is_tuned_and_nothing_else():
    search, player = at_gate()
    first, second, *_ = known(search)
    search.decide(decision(search, ruling(second, Verdict.RETAINED), ruling(first, Verdict.DROPPED)))
    assert search.result().retained == (second,)
    tuned = {item.structure for item in go_on(search, player) if item.stage is Stage.TUNE}
    assert tuned == {second}
    assert search.result().finished


def test_more_probes_are_given_before_the_gate_is_reached_again():
    search, player = at_gate()
    structure = known(search)[0]
    before = len(search.archive.structures[structure].points)
    search.decide(decision(search, ruling(structure, Verdict.PROBED, probes=3)))
    asked = go_on(search, player)
    assert [(item.stage, item.structure) for item in asked] == [(Stage.EXPLORE, structure)] * 3
    assert len(search.archive.structures[structure].points) == before + 3
    assert search.result().waiting is WaitReason.REVIEW


def test_a_structure_added_by_hand_is_written_and_can_then_be_retained():
    search, player = at_gate(explore_share=0.1)
    blueprint = next(each for each in WORLD.structures() if each.fingerprint not in search.archive.structures)
    search.decide(decision(search, ruling(blueprint.fingerprint, Verdict.ADDED, blueprint=blueprint)))
    (draft,) = go_on(search, player)
    assert isinstance(draft, Draft)
    assert (draft.kind, draft.structure) == (DraftKind.INSTANTIATE, blueprint.fingerprint)
    search.decide(decision(search, ruling(blueprint.fingerprint, Verdict.RETAINED)))
    assert search.result().retained == (blueprint.fingerprint,)


def test_a_replay_with_the_decisions_equals_the_unbroken_search_at_every_step():
    search, player = at_gate(explore_share=0.2)
    told = [
        decision(search, ruling(known(search)[0], Verdict.PROBED, probes=2)),
    ]
    search.decide(told[0])
    go_on(search, player)
    told.append(decision(search, ruling(known(search)[1], Verdict.RETAINED)))
    search.decide(told[1])
    while items := search.ask(1):
        search.tell(items[0].number, player.answer(items[0]))
        again = Search.replay(search.settings, history(search), told)
        assert again.result() == search.result()
        assert again.ask(3) == search.ask(3)
        for item in list(search.archive.in_flight.values()):
            search.tell(item.number, player.answer(item))
    assert Search.replay(search.settings, history(search), told).result() == search.result()


def test_a_history_beyond_the_gate_needs_its_decision():
    search, player = at_gate()
    search.decide(decision(search, ruling(known(search)[0], Verdict.RETAINED)))
    go_on(search, player)
    with pytest.raises(ValueError, match="beyond the review gate"):
        Search.replay(search.settings, history(search))


def test_a_decision_survives_json():
    blueprint = WORLD.structures()[0]
    made = Decision(
        after=3, by="ada", rulings=(ruling(blueprint.fingerprint, Verdict.ADDED, blueprint=blueprint),)
    )
    assert Decision.model_validate_json(made.model_dump_json()) == made


def test_decisions_that_do_not_fit_are_refused():
    search, _ = at_gate()
    first = known(search)[0]
    with pytest.raises(ValueError, match="after step 1, but"):
        search.decide(Decision(after=1, rulings=(ruling(first, Verdict.RETAINED),)))
    with pytest.raises(ValueError, match="not one of this search"):
        search.decide(decision(search, ruling("f" * 16, Verdict.RETAINED)))
    blueprint = search.archive.structures[first].blueprint
    with pytest.raises(ValueError, match="the search has it"):
        search.decide(decision(search, ruling(first, Verdict.ADDED, blueprint=blueprint)))
    assert search.result().waiting is WaitReason.REVIEW


def test_a_structure_that_never_worked_cannot_be_retained():
    search, player = Search(settings(evaluations=40, stages=GATED | {"repairs": 0})), Player(WORLD)
    while items := search.ask(1):
        outcome = player.answer(items[0])
        if items[0].number == 2:
            broken = {"status": EvaluationStatus.COMPILE_ERROR, "speedup": None, "median_us": None}
            outcome = outcome.model_copy(update=broken)
        search.tell(items[0].number, outcome)
    structure = search.archive.steps[2].outcome.structure
    with pytest.raises(ValueError, match="no program of it works"):
        search.decide(decision(search, ruling(structure, Verdict.RETAINED)))


def test_a_decision_outside_the_gate_is_refused():
    search = Search(settings(stages=GATED))
    with pytest.raises(ValueError, match="waits for no decision"):
        search.decide(Decision(after=1, rulings=(ruling("a", Verdict.RETAINED),)))


@pytest.mark.parametrize(
    ("rulings", "problem"),
    [
        ([{"structure": "a", "verdict": "dropped", "reason": "slow"}], "retains a structure"),
        ([{"structure": "a", "verdict": "retained", "reason": " "}], "at least 1 character"),
        (
            [{"structure": "a", "verdict": "retained", "reason": "x", "probes": 2}],
            "belong to the verdict probed",
        ),
        ([{"structure": "a", "verdict": "added", "reason": "x"}], "belongs to the verdict added"),
        ([{"structure": "a", "verdict": "retained", "reason": "x"}] * 2, "two rulings"),
    ],
)
def test_a_decision_that_contradicts_itself_is_refused(rulings, problem):
    with pytest.raises(ValidationError, match=problem):
        Decision.model_validate_json(__import__("json").dumps({"after": 1, "rulings": rulings}))


def test_a_search_in_which_nothing_works_passes_by_the_gate():
    search = Search(settings(stages=GATED))
    while items := search.ask(1):
        search.tell(items[0].number, Outcome(failure="no"))
    assert (search.result().finished, search.result().waiting) == (True, None)
