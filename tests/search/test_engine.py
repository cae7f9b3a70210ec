"""Rules of ask, tell, replay and result, and every way a search ends."""

from __future__ import annotations

import time

import pytest
from factories import Player, World, history, infra, lost, play, settings

from search.archive import INFRA_RETRIES
from search.budget import Ending
from search.engine import INFRA_STREAK, Search
from search.records import DraftKind, EvaluationStatus, Stage
from search.steps import Draft, Outcome, Variant
from search.strategies import moves
from search.usage import Usage

WORLD = World(seed=3, clumsy=0, broken=0, failing=0)
PLAIN = World(words=(2, 2), points=(2, 2), clumsy=0, broken=0, failing=0)


def advance(search: Search, player: Player, steps: int) -> None:
    for _ in range(steps):
        (item,) = search.ask(1)
        search.tell(item.number, player.answer(item))


def run(search: Search, answer) -> Search:
    while asked := search.ask(1):
        search.tell(asked[0].number, answer(asked[0]))
    return search


def test_it_works():
    search, result = play(settings(), WORLD)
    assert result.finished
    assert result.reason == Ending.EVALUATIONS
    assert result.spent.evaluations == 24
    assert result.spent.device_seconds == 24
    assert result.passed == 24
    assert sum(stage.evaluations for stage in result.by_stage.values()) == 24
    assert result.structures == len(search.archive.structures)


def test_an_unknown_strategy_is_refused_with_the_names():
    with pytest.raises(ValueError, match="two_stage"):
        Search(settings("guess"))


def test_ask_waits_for_the_direct_implementation():
    search = Search(settings(parallel=4))
    assert len(search.ask(4)) == 1
    assert search.ask(4) == []
    assert not search.result().finished


def test_at_most_parallel_steps_are_in_flight():
    search, player = Search(settings(parallel=3)), Player(WORLD)
    advance(search, player, 1)
    assert len(search.ask(10)) == 3
    assert search.ask(1) == []


def test_ask_gives_no_more_than_it_is_asked_for():
    search, player = Search(settings(parallel=3)), Player(WORLD)
    advance(search, player, 1)
    assert [item.number for item in search.ask(2)] == [2, 3]


def test_looking_at_the_result_changes_nothing():
    looked, blind, player = Search(settings()), Search(settings()), Player(WORLD)
    for _ in range(10):
        looked.result()
        assert looked.result() == looked.result()
        (item,) = looked.ask(1)
        assert blind.ask(1) == [item]
        outcome = player.answer(item)
        looked.tell(item.number, outcome)
        blind.tell(item.number, outcome)


def test_telling_an_unasked_step_is_an_error():
    with pytest.raises(ValueError, match="never asked"):
        Search(settings()).tell(1, Outcome())


def test_the_same_outcome_again_is_ignored():
    search, player = Search(settings()), Player(WORLD)
    (item,) = search.ask(1)
    search.tell(1, player.answer(item))
    before = search.result()
    search.tell(1, player.answer(item))
    assert search.result() == before


def test_another_outcome_for_a_told_step_is_an_error():
    search, player = Search(settings()), Player(WORLD)
    (item,) = search.ask(1)
    search.tell(1, player.answer(item))
    with pytest.raises(ValueError, match="another outcome"):
        search.tell(1, Outcome(failure="lost"))


def test_a_number_twice_in_the_history_is_an_error():
    search, _ = play(settings(), WORLD)
    with pytest.raises(ValueError, match="step 1 occurs twice"):
        Search.replay(settings(), [*history(search), history(search)[0]])


def test_a_replayed_step_in_flight_is_waited_for():
    search = Search(settings())
    search.ask(1)
    resumed = Search.replay(settings(), history(search))
    assert resumed.ask(1) == []
    resumed.tell(1, Player(WORLD).answer(search.archive.steps[1].item))
    assert len(resumed.ask(1)) == 1


# Failures ----------------------------------------------------------------------------------------


def test_a_device_failure_is_free_and_its_program_is_sent_again_without_the_agent():
    search, player = Search(settings()), Player(WORLD)
    (draft,) = search.ask(1)
    search.tell(1, infra(player.answer(draft)))
    (again,) = search.ask(1)
    assert isinstance(again, Variant)
    assert (again.number, again.base, again.knobs) == (2, 1, {"K0": 1, "K1": 1})
    assert search.result().spent.evaluations == 0
    assert search.result().spent.device_seconds == 0
    search.tell(2, player.answer(again))
    assert search.archive.structures[again.structure].base == 1


def test_a_candidate_lost_on_its_way_is_sent_again():
    search, player = Search(settings()), Player(WORLD)
    advance(search, player, 3)
    (item,) = search.ask(1)
    found = player.answer(item)
    search.tell(item.number, found.model_copy(update={"status": None, "charged": False, "speedup": None}))
    (again,) = search.ask(1)
    assert again.base == item.number


def test_one_program_that_breaks_the_device_is_given_up():
    search, player = Search(settings("local_only")), Player(WORLD)
    (draft,) = search.ask(1)
    search.tell(draft.number, player.answer(draft))
    (victim,) = search.ask(1)
    search.tell(victim.number, infra(player.answer(victim)))
    for _ in range(INFRA_RETRIES):
        (again,) = search.ask(1)
        assert again.knobs == victim.knobs
        search.tell(again.number, infra(player.answer(again)))
    (other,) = search.ask(1)
    assert other.knobs != victim.knobs


def test_a_device_that_always_fails_ends_the_search():
    player = Player(WORLD)
    search = run(Search(settings()), lambda item: infra(player.answer(item)))
    assert search.result().reason == Ending.DEVICE_ERRORS
    assert len(search.archive.steps) == INFRA_STREAK


def test_a_device_that_fails_now_and_then_does_not():
    player = Player(WORLD)
    search = run(
        Search(settings()),
        lambda item: infra(player.answer(item)) if item.number % 3 else player.answer(item),
    )
    assert search.result().reason == Ending.EVALUATIONS


def test_an_agent_that_never_answers_ends_the_search():
    search = run(Search(settings(stages={"repairs": 2})), lambda item: Outcome(failure="no"))
    assert search.result().reason == Ending.NOTHING_CORRECT
    assert len(search.archive.steps) == 3
    assert search.result().best is None


def test_a_broken_source_is_repaired_at_most_as_often_as_set():
    world = World(words=(4,), clumsy=0, broken=1.0)
    search, _ = play(settings(stages={"repairs": 1}), world)
    steps = history(search)
    repairs = [step.item for step in steps if getattr(step.item, "kind", "") == DraftKind.REPAIR]
    assert [repair.base for repair in repairs] == [repair.number - 1 for repair in repairs]
    assert len(repairs) == 3
    assert len({repair.structure for repair in repairs}) == 3


def test_a_structure_without_a_source_is_written_again():
    search, player = Search(settings()), Player(WORLD)
    advance(search, player, 1)
    (draft,) = search.ask(1)
    found = player.answer(draft)
    search.tell(draft.number, Outcome(blueprint=found.blueprint, failure="the reply was cut off"))
    (again,) = search.ask(1)
    assert (again.kind, again.structure) == (DraftKind.INSTANTIATE, found.structure)


def test_a_structure_from_which_nothing_new_comes_is_closed():
    search, player = Search(settings("structure_only")), Player(WORLD)
    advance(search, player, 1)
    for _ in range(moves.REFUSALS):
        (draft,) = search.ask(1)
        search.tell(draft.number, Outcome(failure="nothing new from here"))
    (item,) = search.ask(1)
    assert item.stage is Stage.CONFIRM


def test_an_agent_that_repeats_a_known_structure_does_not_loop():
    search, player = Search(settings("structure_only")), Player(WORLD)
    (draft,) = search.ask(1)
    found = player.answer(draft)
    search.tell(1, found)
    run(search, lambda item: found.model_copy(update={"reused": True, "charged": False}))
    assert search.result().finished
    assert len(search.archive.steps) == 1 + moves.REFUSALS + 1


def test_a_search_that_is_never_charged_ends():
    player = Player(World(words=(9, 9, 9), points=(8, 8)))
    search = run(Search(settings(evaluations=4)), lambda item: _free(player.answer(item)))
    assert search.result().reason == Ending.STEPS


def _free(outcome: Outcome) -> Outcome:
    return outcome.model_copy(update={"charged": False})


def test_a_failed_confirmation_is_replaced_by_the_next_finalist():
    search, player = Search(settings(evaluations=40)), Player(PLAIN)
    wrong = {"status": EvaluationStatus.INCORRECT_NUMERICAL, "speedup": None, "median_us": None}
    failed: list[int] = []

    def answer(item):
        outcome = player.answer(item)
        if item.stage is Stage.CONFIRM and not failed:
            failed.append(item.number)
            return outcome.model_copy(update=wrong)
        return outcome

    run(search, answer)
    confirmed = [step for step in history(search) if step.item.stage is Stage.CONFIRM]
    assert len(confirmed) == 3
    assert search.result().best in {step.number for step in confirmed} - set(failed)


def test_correct_programs_without_a_time_do_not_break_the_stages():
    untimed = {"status": EvaluationStatus.UNTIMED, "speedup": None, "median_us": None}
    player = Player(PLAIN)
    search = run(Search(settings()), lambda item: player.answer(item).model_copy(update=untimed))
    result = search.result()
    assert len(result.retained) == 2
    assert (result.best, result.speedup, result.best_confirmed) == (None, None, False)


# Budgets -----------------------------------------------------------------------------------------


def test_device_seconds_end_a_search_with_their_reason():
    _, result = play(settings(evaluations=100, budget={"device_seconds": 20.0}), WORLD)
    assert result.reason == Ending.DEVICE_SECONDS
    assert result.spent.device_seconds == 20
    assert result.best_confirmed


def test_tokens_end_the_drafts_but_not_the_tuning():
    large = World(points=(8, 8), clumsy=0, broken=0)
    search, result = play(settings(evaluations=30, budget={"tokens": 3500}), large)
    drafts = [step for step in history(search) if isinstance(step.item, Draft)]
    assert len(drafts) == 4
    assert result.spent.tokens == 4000
    assert result.spent.evaluations == 30


def test_tokens_end_a_search_that_has_nothing_but_drafts():
    _, result = play(settings("structure_only", budget={"tokens": 3500}), WORLD)
    assert result.reason == Ending.TOKENS


def test_cost_ends_a_search_that_has_nothing_but_drafts():
    _, result = play(settings("structure_only", budget={"cost_usd": 0.05}), WORLD)
    assert result.reason == Ending.COST


def test_the_smallest_budget_is_searched_and_confirmed():
    _, result = play(settings(evaluations=4, stages={"finalists": 8}), WORLD)
    assert result.spent.evaluations == 4
    assert result.best_confirmed


def test_a_failed_call_of_the_agent_costs_its_tokens():
    search = Search(settings())
    search.ask(1)
    search.tell(1, lost(Outcome(usage=Usage(calls=1, prompt_tokens=7, completion_tokens=3))))
    assert search.result().spent.tokens == 10


def test_asking_stays_below_a_millisecond_after_two_thousand_trials():
    world = World(words=(4, 4), points=(40, 40), broken=0, clumsy=0, failing=0)
    chosen = settings(evaluations=3000, stages={"sampler": "random", "explore_share": 0.1})
    search, player = Search(chosen), Player(world)
    advance(search, player, 2000)
    took = []
    for _ in range(20):
        begun = time.perf_counter()
        (item,) = search.ask(1)
        took.append(time.perf_counter() - begun)
        search.tell(item.number, player.answer(item))
    assert min(took) < 1e-3
