"""What single strategies add: policies of stage 2, stop rules, beliefs, cells, islands, children per expansion."""

from __future__ import annotations

from collections import Counter

import pytest
from factories import Player, World, history, play, settings

from search.budget import Ending
from search.engine import Search
from search.records import DraftKind, Interval, Stage
from search.steps import Draft, Item, Outcome, Variant
from search.strategies import islands, map_elites, moves

WORLD = World(seed=3, clumsy=0, broken=0, failing=0, points=(6, 6))
FLAT = World(seed=3, clumsy=0, broken=0, failing=0, points=(12, 12), words=(4,), spread=0.05)


def items(search: Search) -> list[Item]:
    return [step.item for step in history(search)]


def tuned(search: Search) -> Counter[str]:
    return Counter(item.structure for item in items(search) if item.stage is Stage.TUNE)


# Policies ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("policy", ["equal", "halving", "bandit"])
def test_every_policy_spends_the_whole_budget_on_kept_structures(policy):
    sampler = "shared" if policy == "bandit" else "random"
    search, result = play(
        settings(evaluations=60, stages={"policy": policy, "retain": 4, "sampler": sampler}), FLAT
    )
    assert result.spent.evaluations == 60
    assert set(tuned(search)) <= set(result.retained)


def test_equal_shares_are_equal_and_metered_by_structure():
    search, result = play(settings(evaluations=60, stages={"retain": 4}), FLAT)
    counts = tuned(search)
    assert max(counts.values()) - min(counts.values()) <= 1
    assert sum(spent.evaluations for spent in result.by_structure.values()) == 60
    in_vain = sum(each.refusals for each in search.archive.structures.values())
    assert sum(spent.tokens for spent in result.by_structure.values()) == result.spent.tokens - 1000 * in_vain
    assert sum(spent.device_seconds for spent in result.by_structure.values()) == result.spent.device_seconds


def test_where_device_seconds_are_capped_shares_are_equal_in_seconds():
    search, player = Search(settings(evaluations=80, budget={"device_seconds": 100.0})), Player(FLAT)
    while asked := search.ask(1):
        outcome = player.answer(asked[0])
        first = search.result().retained[:1] == (outcome.structure,)
        search.tell(asked[0].number, outcome.model_copy(update={"device_seconds": 3.0 if first else 1.0}))
    first, second = (
        search.archive.structures[each].device_us[Stage.TUNE] for each in search.result().retained
    )
    assert abs(first - second) <= 3e6
    counts = tuned(search)
    assert counts[search.result().retained[1]] > 2 * counts[search.result().retained[0]]


def test_halving_gives_the_better_half_more():
    search, result = play(settings(evaluations=80, stages={"policy": "halving", "retain": 4}), FLAT)
    counts = sorted((tuned(search)[each] for each in result.retained), reverse=True)
    assert counts[0] > 1.5 * counts[-1]
    assert counts[0] - counts[1] <= 1
    assert counts[2] - counts[3] <= 1
    assert search.archive.best.structure in [
        each for each in result.retained if tuned(search)[each] >= counts[1]
    ]


# Source edits ------------------------------------------------------------------------------------


def edits_of(search: Search) -> dict[str, list[int]]:
    """Numbers of the steps that asked for an edit, by structure."""
    found: dict[str, list[int]] = {}
    for item in items(search):
        if moves.refines(item):
            found.setdefault(item.structure, []).append(item.number)
    return found


def test_kept_structures_get_their_edits_between_knob_trials():
    search, result = play(settings(evaluations=60, stages={"retain": 2, "edits": 2}), WORLD)
    edits = edits_of(search)
    assert {structure: len(numbers) for structure, numbers in edits.items()} == dict.fromkeys(
        result.retained, 2
    )
    asked = {item.number: item for item in items(search)}
    for structure, (first, second) in edits.items():
        own = [
            each.number for each in asked.values() if each.stage is Stage.TUNE and each.structure == structure
        ]
        assert [own.index(first), own.index(second)] == [2, 5]
        assert asked[first].stage is Stage.TUNE
    assert result.spent.evaluations == 60
    assert not edits_of(play(settings(evaluations=60), WORLD)[0])


def test_an_edit_starts_from_the_fastest_program_and_knobs_follow_the_source_that_helped():
    search, player = Search(settings(evaluations=60, stages={"retain": 1, "edits": 1})), Player(WORLD)
    edit, after = None, []
    while asked := search.ask(1):
        (item,) = asked
        outcome = player.answer(item)
        if moves.refines(item):
            edit = item
            known = search.archive.structures[item.structure]
            assert item.base == known.best.number
            much = Interval(value=50.0, low=49.0, high=51.0)
            outcome = outcome.model_copy(update={"speedup": much})
        elif edit is not None and isinstance(item, Variant) and item.structure == edit.structure:
            after.append(item)
        search.tell(item.number, outcome)
    assert after
    assert {item.base for item in after if item.stage is Stage.TUNE} == {edit.number}
    assert search.archive.best.base == edit.number


def test_an_edit_in_vain_is_not_asked_for_again_and_costs_no_evaluation():
    search, player = Search(settings(evaluations=40, stages={"retain": 1, "edits": 3})), Player(WORLD)
    while asked := search.ask(1):
        (item,) = asked
        outcome = player.answer(item)
        if moves.refines(item):
            outcome = Outcome(structure=item.structure, failure="no idea", usage=outcome.usage)
        search.tell(item.number, outcome)
    bases = [asked.base for asked in items(search) if moves.refines(asked)]
    assert len(bases) == len(set(bases)) <= 3
    assert search.result().spent.evaluations == 40


# Stop rules --------------------------------------------------------------------------------------


def test_a_search_that_reaches_the_floor_confirms_and_ends():
    search, result = play(settings(evaluations=80, stages={"floor_speedup": 1.0}), WORLD)
    assert result.reason == Ending.FLOOR
    assert result.spent.evaluations < 40
    assert result.best_confirmed
    assert search.archive.best.low >= 0.95


def test_a_floor_that_is_far_away_changes_nothing():
    plain, _ = play(settings(evaluations=40), WORLD)
    far, result = play(settings(evaluations=40, stages={"floor_speedup": 1000.0}), WORLD)
    assert items(far) == items(plain)
    assert result.reason == Ending.EVALUATIONS


@pytest.mark.parametrize("name", ["two_stage", "mixed"])
def test_stagnation_ends_a_stage(name):
    search, result = play(settings(name, 200, stages={"stagnation": 8}), WORLD)
    assert result.reason == Ending.STAGNATION
    assert result.best_confirmed
    last = max(item.number for item in items(search) if item.stage is not Stage.CONFIRM)
    assert last - search.archive.best.number >= 8


# Priors ------------------------------------------------------------------------------------------


def test_what_a_cost_model_rules_out_is_not_raced():
    world = World(seed=1, words=(6,), points=(6, 6), spread=0.05, broken=0, clumsy=0, failing=0)
    player, search = Player(world), Search(settings(evaluations=60, stages={"sampler": "shared"}))
    ruled_out = world.structures()[3].fingerprint
    while asked := search.ask(1):
        outcome = player.answer(asked[0])
        prior = -3.0 if outcome.structure == ruled_out else 3.0
        search.tell(asked[0].number, outcome.model_copy(update={"prior": prior}))
    raced = {
        item.structure for item in items(search) if item.stage is Stage.EXPLORE and isinstance(item, Variant)
    }
    assert ruled_out in search.archive.structures
    assert ruled_out not in raced
    assert len(raced) > 2
    explored = [item for item in items(search) if isinstance(item, Draft) and item.kind is DraftKind.EXPLORE]
    assert all("prior" in item.priority for item in explored)


def test_a_prior_is_held_against_measurements_through_the_structures_that_have_both():
    """A prior is over the direct structure, a speed-up over the baseline: a slow baseline rules nothing out."""
    world = World(seed=1, words=(6,), points=(6, 6), spread=0.05, broken=0, clumsy=0, failing=0)
    player, search = Player(world), Search(settings(evaluations=60))
    while asked := search.ask(1):
        outcome = player.answer(asked[0])
        if speedup := outcome.speedup:
            fast = Interval(value=50 * speedup.value, low=50 * speedup.low, high=50 * speedup.high)
            outcome = outcome.model_copy(update={"speedup": fast})
        search.tell(asked[0].number, outcome.model_copy(update={"prior": 0.1}))
    raced = {item.structure for item in items(search) if isinstance(item, Variant)}
    assert len(raced) > 2


def told_of_the_second(count: int, **told: object) -> Search:
    """A search of so many steps, in which the second structure's outcome says more than was measured."""
    search, player = Search(settings(evaluations=60)), Player(WORLD)
    while len(history(search)) < count and (asked := search.ask(1)):
        outcome = player.answer(asked[0])
        more = told if asked[0].number == 2 else {}
        search.tell(asked[0].number, outcome.model_copy(update=more))
    return search


def test_a_slow_structure_one_move_before_a_great_one_is_grown_from_at_once():
    slow = Interval(value=0.01, low=0.009, high=0.011)
    search = told_of_the_second(3, speedup=slow, prior=-2.0, promise=4.0)
    stone = search.archive.steps[2].outcome.structure
    assert search.archive.steps[3].item.kind is DraftKind.EXPLORE
    assert search.archive.steps[3].item.structure == stone
    assert told_of_the_second(3, speedup=slow, prior=-2.0).archive.steps[3].item.structure != stone


def test_a_stepping_stone_is_used_once():
    search = told_of_the_second(12, prior=-2.0, promise=4.0)
    stone = search.archive.steps[2].outcome.structure
    assert [getattr(item, "kind", None) and item.structure for item in items(search)].count(stone) == 1


def test_a_promise_that_measurements_have_outrun_changes_nothing():
    outrun = told_of_the_second(12, prior=-9.0, promise=-9.0)
    assert items(outrun) == items(told_of_the_second(12, prior=-9.0))


def test_a_search_with_priors_goes_on_the_same_in_whatever_order_its_history_comes():
    chosen = settings(evaluations=40)
    search, player = Search(chosen), Player(WORLD)
    while asked := search.ask(1):
        number = asked[0].number
        hopes = {"prior": number % 5 - 2.0, "promise": number % 7 - 3.0}
        search.tell(number, player.answer(asked[0]).model_copy(update=hopes))
        forwards, backwards = (
            Search.replay(chosen, history(search)),
            Search.replay(chosen, reversed(history(search))),
        )
        assert forwards.ask(9) == backwards.ask(9)


def test_what_a_prior_can_reach_is_held_against_the_fastest_by_the_direct_structure():
    """A prior is over the direct structure; the baseline may be ten times slower than that."""
    search, player = Search(settings(evaluations=60)), Player(WORLD)
    while len(search.archive.structures) < 3 and (asked := search.ask(1)):
        outcome = player.answer(asked[0])
        if outcome.speedup:
            slow = Interval(**{name: 100 * value for name, value in outcome.speedup.dump().items()})
            outcome = outcome.model_copy(update={"speedup": slow, "prior": 0.0})
        search.tell(asked[0].number, outcome)
    asked = next(item for item in iter(lambda: search.ask(1)[0], None) if isinstance(item, Draft))
    assert asked.priority["prior"] > 0.01


def test_kept_structures_that_are_used_up_make_room_for_the_rest():
    world = World(seed=3, words=(6, 4), clumsy=0, broken=0, failing=0, points=(3, 2))
    search, result = play(settings(evaluations=60), world)
    beyond = {item.structure for item in items(search) if item.stage is Stage.TUNE} - set(result.retained)
    assert beyond


# Mixed -------------------------------------------------------------------------------------------


def test_mixed_goes_on_with_the_next_best_once_the_incumbent_is_used_up():
    world = World(seed=3, words=(4,), clumsy=0, broken=0, failing=0, points=(2, 2))
    search, _ = play(settings("mixed", 60), world)
    assert len(tuned(search)) > 1
    working = [each for each in search.archive.structures.values() if each.base is not None]
    assert all(len(each.points) == 4 for each in working)


# Shared moves ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["two_stage", "structure_only", "mixed", "world_model"])
def test_no_structure_is_expanded_more_than_three_times_in_a_row(name):
    world = World(seed=4, words=(9, 3), clumsy=0, broken=0)
    search, _ = play(settings(name, 40), world)
    parents = [
        item.structure for item in items(search) if isinstance(item, Draft) and item.kind is DraftKind.EXPLORE
    ]
    runs = [parents[at : at + moves.CHILDREN + 1] for at in range(1, len(parents) - moves.CHILDREN)]
    assert runs
    assert all(len(set(run)) > 1 for run in runs)


# world_model -------------------------------------------------------------------------------------


def test_beliefs_are_written_into_every_step_once_there_are_any():
    search, _ = play(settings("world_model", 40), WORLD)
    searched = [item for item in items(search) if item.stage is not Stage.CONFIRM][3:]
    assert all(set(item.beliefs) <= set(search.archive.structures) for item in searched)
    assert sum(bool(item.beliefs) for item in searched) > len(searched) / 2
    refined = [item for item in searched if isinstance(item, Variant) and item.beliefs]
    assert any(item.structure == max(item.beliefs, key=item.beliefs.get) for item in refined)


def test_an_agent_without_beliefs_is_asked_for_them_once():
    search, _ = play(settings("world_model", 60), WORLD)
    kinds = [item.kind for item in items(search) if isinstance(item, Draft)]
    assert kinds.count(DraftKind.JUDGE) == 1


def test_what_the_agent_believes_decides_where_to_refine():
    search, player = Search(settings("world_model", 60)), Player(WORLD)
    favourite, after = "", []
    while asked := search.ask(1):
        (item,) = asked
        outcome = player.answer(item)
        if isinstance(item, Draft) and item.kind is DraftKind.JUDGE and not favourite:
            worths = search.archive.structures
            favourite = next(each for each, known in worths.items() if known.best and len(known.points) == 1)
            outcome = outcome.model_copy(
                update={"failure": "", "beliefs": dict.fromkeys(worths, 0.6) | {favourite: 1.0}}
            )
        elif favourite and isinstance(item, Variant):
            after.append(item.structure)
        search.tell(item.number, outcome)
    assert after[0] == favourite


# map_elites and islands --------------------------------------------------------------------------


def test_every_cell_keeps_its_fastest_structure():
    search, _ = play(settings("map_elites", 60), WORLD)
    elites = map_elites.elites(search)
    assert len(elites) > 1
    direct = search.archive.structures[search.archive.steps[1].outcome.structure].blueprint
    for each in search.archive.structures.values():
        held = elites[map_elites.cell_of(each.blueprint, direct)]
        assert held.best.value >= each.best.value


def test_every_island_has_a_population_of_its_own():
    search, _ = play(settings("islands", 60), WORLD)
    natives = [{each.fingerprint for each in islands.population(search, at)} for at in range(islands.ISLANDS)]
    assert all(len(each) > 1 for each in natives)
    assert len(set.intersection(*natives)) == 1
    assert set.union(*natives) == set(search.archive.structures)
