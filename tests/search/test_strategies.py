"""What every strategy must do, run over the whole `STRATEGIES` dictionary; then what is two-stage's own."""

from __future__ import annotations

import random
from types import SimpleNamespace

import pytest
from factories import Player, World, history, infra, lost, play, settings
from hypothesis import HealthCheck, given
from hypothesis import settings as budget_of
from hypothesis import strategies as st
from pydantic import TypeAdapter

from search.archive import INFRA_RETRIES, program_of
from search.blueprint import Blueprint
from search.budget import Ending
from search.engine import Search
from search.records import DraftKind, EvaluationStatus, Interval, Purpose, Stage, Tier
from search.settings import StageSettings
from search.steps import Draft, Item, Variant
from search.strategies import STRATEGIES, ranking
from search.structure import Structure, Trial

WORLD = World(seed=3)
FIRST = {"K0": 1, "K1": 1}
RANDOM = {"sampler": "random"}
every_strategy = pytest.mark.parametrize("name", STRATEGIES)
few_examples = budget_of(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))


def items(search: Search) -> list[Item]:
    return [step.item for step in history(search)]


def play_out_of_order(chosen, world: World, seed: int, trouble: float = 0.0):
    """Tell outcomes in random order, some as device failures and some as lost; yield the search in between."""
    search, player, source = Search(chosen), Player(world), random.Random(seed)
    waiting: list[Item] = []
    while True:
        waiting += search.ask(source.randint(1, 5))
        yield search
        if not waiting:
            return
        item = waiting.pop(source.randrange(len(waiting)))
        outcome, dice = player.answer(item), source.random()
        if dice < trouble:
            outcome = infra(outcome) if outcome.candidate and dice < trouble / 2 else lost(outcome)
        search.tell(item.number, outcome)


@every_strategy
@pytest.mark.parametrize("sampler", ["shared", "random"])
def test_it_works(name, sampler):
    search, result = play(settings(name, stages={"sampler": sampler}), WORLD)
    assert result.finished
    assert result.reason in {Ending.EVALUATIONS, Ending.EXHAUSTED}
    assert result.best_confirmed
    assert result.speedup.value > 0
    assert search.archive.steps[result.best].item.purpose is Purpose.CONFIRM


@every_strategy
def test_first_step_is_the_direct_implementation(name):
    (draft,) = Search(settings(name)).ask(5)
    assert (draft.type, draft.kind, draft.structure) == ("draft", DraftKind.INSTANTIATE, "")


@every_strategy
def test_the_same_seed_asks_the_same(name):
    one, _ = play(settings(name, seed=5), WORLD)
    other, _ = play(settings(name, seed=5), WORLD)
    assert items(one) == items(other)


@every_strategy
def test_another_seed_asks_something_else(name):
    strip = {"number", "seed"}
    asked = [
        [item.model_dump(exclude=strip) for item in items(play(settings(name, seed=seed), WORLD)[0])]
        for seed in (5, 6, 7)
    ]
    assert asked[0] != asked[1] or asked[0] != asked[2]


@every_strategy
def test_steps_survive_json(name):
    search, _ = play(settings(name, stages=RANDOM), WORLD)
    adapter = TypeAdapter(Item)
    for item in items(search):
        assert adapter.validate_json(adapter.dump_json(item)) == item
        assert item.why.endswith(".")


@every_strategy
def test_finalists_are_measured_again_at_the_full_tier(name):
    search, _ = play(settings(name, stages={"finalists": 3}), WORLD)
    confirmed = [item for item in items(search) if item.stage is Stage.CONFIRM]
    assert len(confirmed) == 3
    assert {(item.tier, item.purpose) for item in confirmed} == {(Tier.FULL, Purpose.CONFIRM)}
    surest = {program_of(trial) for trial in search.archive.surest(3)}
    assert {program_of(item) for item in confirmed} == surest


@every_strategy
def test_no_program_is_measured_twice(name):
    search, _ = play(settings(name, evaluations=60), WORLD)
    variants = [program_of(item) for item in items(search) if isinstance(item, Variant)]
    assert len(variants) == len(set(variants))


@every_strategy
@few_examples
@given(evaluations=st.integers(4, 40), parallel=st.integers(1, 6), seed=st.integers(0, 99))
def test_the_budget_is_never_passed(name, evaluations, parallel, seed):
    chosen = settings(name, evaluations, parallel=parallel, seed=seed, stages=RANDOM)
    for search in play_out_of_order(chosen, World(seed=seed % 7), seed):
        assert len(search.archive.in_flight) <= parallel
        assert search.result().spent.evaluations + len(search.archive.in_flight) <= evaluations
    assert search.result().finished


@every_strategy
@few_examples
@given(seed=st.integers(0, 9999), trouble=st.sampled_from([0.1, 0.3, 0.9]))
def test_lost_failed_and_reordered_outcomes_do_not_stop_it(name, seed, trouble):
    chosen = settings(name, 20, parallel=4, seed=seed, stages=RANDOM)
    for search in play_out_of_order(chosen, World(seed=seed % 5), seed, trouble):
        result = search.result()
        assert result.spent.evaluations + len(search.archive.in_flight) <= 20
    assert result.finished
    assert result.reason in set(Ending)
    retried = [program_of(item) for item in items(search) if isinstance(item, Variant)]
    assert all(retried.count(program) <= 1 + INFRA_RETRIES for program in retried)


@every_strategy
@pytest.mark.parametrize(("parallel", "sampler"), [(1, "tpe"), (1, "shared"), (3, "random")])
def test_a_resumed_search_equals_the_unbroken_one_at_every_prefix(name, parallel, sampler):
    chosen = settings(name, 26, parallel=parallel, stages={"sampler": sampler})
    for search in play_out_of_order(chosen, WORLD, seed=1, trouble=0.15):
        resumed = Search.replay(chosen, reversed(history(search)))
        assert resumed.result() == search.result()
        assert Search.replay(chosen, history(search)).ask(9) == resumed.ask(9)


@every_strategy
@few_examples
@given(orders=st.lists(st.permutations(range(4)), min_size=1, max_size=6))
def test_the_order_of_arrival_does_not_matter(name, orders):
    chosen = settings(name, 30, parallel=4, stages=RANDOM)
    straight, shuffled, player = Search(chosen), Search(chosen), Player(WORLD)
    for order in orders:
        asked = straight.ask(4)
        assert shuffled.ask(4) == asked
        outcomes = {item.number: player.answer(item) for item in asked}
        for number in outcomes:
            straight.tell(number, outcomes[number])
        for place in order:
            if place < len(asked):
                shuffled.tell(asked[place].number, outcomes[asked[place].number])
        assert shuffled.result() == straight.result()


@pytest.mark.parametrize("name", sorted(set(STRATEGIES) - {"structure_only", "local_only"}))
@pytest.mark.parametrize("seed", range(4))
def test_the_optimum_of_a_tiny_space_is_found(name, seed):
    # Independent samples repair nothing, so there every first source must compile.
    clumsy = 0 if name == "best_of_n" else 0.2
    world = World(seed=seed, words=(2, 2), points=(3, 2), broken=0, failing=0, clumsy=clumsy)
    _, result = play(settings(name, 40, seed=seed, stages={"retain": 4, "sampler": "shared"}), world)
    assert result.speedup.value > 0.95 * world.best()


def test_structure_only_finds_the_best_structure_at_default_knobs():
    world = World(seed=2, words=(2, 3), broken=0)
    _, result = play(settings("structure_only", 30), world)
    default = {"K0": 1, "K1": 1}
    best = max(world.speedup(world.choice(each.fingerprint), default) for each in world.structures())
    assert result.structures == 6
    assert result.speedup.value == pytest.approx(best, rel=0.05)


def test_local_only_finds_the_best_knobs_of_the_direct_implementation():
    _, result = play(settings("local_only", 30), WORLD)
    points = [{"K0": one, "K1": two} for one in (1, 2, 4, 8) for two in (1, 2, 4)]
    best = max(WORLD.speedup((0, 0, 0), point) or 0 for point in points)
    assert result.structures == 1
    assert result.reason == Ending.EXHAUSTED
    assert result.speedup.value == pytest.approx(best, rel=0.05)


# two_stage ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(6))
def test_two_stage_keeps_as_many_structures_as_it_is_told_to(seed):
    search, result = play(settings(evaluations=40, seed=seed, stages={"retain": 3}), World(seed=seed))
    assert len(result.retained) == len(set(result.retained)) == 3
    assert result.retained[0] in search.archive.structures


def test_kept_structures_are_tuned_alone_with_equal_shares():
    world = World(words=(3, 3), points=(6, 6), broken=0, clumsy=0)
    search, result = play(settings(evaluations=42), world)
    tuned = [item.structure for item in items(search) if item.stage is Stage.TUNE]
    assert set(tuned) == set(result.retained)
    assert abs(tuned.count(result.retained[0]) - tuned.count(result.retained[1])) <= 1


def test_stage_one_stays_inside_its_share():
    _, result = play(settings(evaluations=42, stages={"explore_share": 0.3}), WORLD)
    assert result.by_stage[Stage.EXPLORE].evaluations == 12
    assert result.by_stage[Stage.CONFIRM].evaluations == 2


def test_stages_follow_each_other():
    search, _ = play(settings(evaluations=40), WORLD)
    order = [Stage.EXPLORE, Stage.TUNE, Stage.CONFIRM]
    places = [order.index(item.stage) for item in items(search)]
    assert places == sorted(places)
    assert set(places) == {0, 1, 2}


def test_an_unused_share_of_stage_one_goes_to_stage_two():
    world = World(words=(2,), points=(8, 8), broken=0, clumsy=0)
    _, result = play(settings(evaluations=60, stages={"probes": ()}), world)
    assert result.by_stage[Stage.EXPLORE].evaluations == 2
    assert result.spent.evaluations == 60


def test_nothing_is_kept_before_stage_two():
    search, player = Search(settings(evaluations=40)), Player(WORLD)
    while search.result().stage is Stage.EXPLORE:
        assert search.result().retained == ()
        (item,) = search.ask(1)
        search.tell(item.number, player.answer(item))
    assert len(search.result().retained) == 2


def test_exploration_says_what_its_priority_is_made_of():
    search, _ = play(settings(), WORLD)
    drafts = [each for each in items(search) if isinstance(each, Draft) and each.kind is DraftKind.EXPLORE]
    assert drafts
    assert all(set(draft.priority) == {"quality", "novelty", "uncertainty"} for draft in drafts)


def test_a_clear_loser_gets_no_knob_trials():
    world = World(seed=1, words=(6,), points=(5, 5), spread=2.0, gain=0.1, broken=0, clumsy=0, failing=0)
    search, result = play(settings(evaluations=40), world)
    tried = {fingerprint: len(each.points) for fingerprint, each in search.archive.structures.items()}
    assert [tried[each] > 5 for each in result.retained] == [True, True]
    assert min(tried.values()) == 1


def test_a_structure_whose_first_time_was_unstable_gets_another_chance():
    world = World(seed=1, words=(6,), points=(5, 5), spread=1.0, gain=0.1, broken=0, clumsy=0, failing=0)
    best = max(world.structures(), key=lambda each: world.speedup(world.choice(each.fingerprint), FIRST))
    search, player = Search(settings(evaluations=40)), Player(world)
    while asked := search.ask(1):
        outcome = player.answer(asked[0])
        if outcome.structure == best.fingerprint and outcome.knobs == FIRST:
            unstable = {"status": EvaluationStatus.UNSTABLE_TIMING, "speedup": None, "median_us": None}
            outcome = outcome.model_copy(update=unstable)
        search.tell(asked[0].number, outcome)
    assert best.fingerprint in search.result().retained


def test_structures_tuned_side_by_side_do_not_copy_each_other():
    world = World(words=(3, 3), points=(30, 30), broken=0, clumsy=0, failing=0)
    search, result = play(settings(evaluations=60), world)
    points = [set(search.archive.structures[each].points) for each in result.retained]
    assert len(points[0] & points[1]) <= 4


# ranking -----------------------------------------------------------------------------------------


def turn_over(
    speedups: dict[tuple[str, ...], tuple[float, float, float] | None], keep: int = 2
) -> SimpleNamespace:
    """What the ranking looks at: one structure per tuple of words, with one measured interval or none."""
    structures = {}
    for number, (words, interval) in enumerate(speedups.items(), start=1):
        choices = {f"d{place}": word for place, word in enumerate(words)}
        blueprint = Blueprint(workload="w", actions=(), choices=choices, kernels=())
        made = Structure(blueprint.fingerprint, number, blueprint=blueprint, bases={number})
        speedup = Interval(value=interval[1], low=interval[0], high=interval[2]) if interval else None
        status = EvaluationStatus.PASSED if interval else EvaluationStatus.UNSTABLE_TIMING
        made.note(Trial(number, Stage.EXPLORE, "", number, {}, status, speedup, None), charged=True)
        structures["".join(words)] = structures[blueprint.fingerprint] = made
    archive = SimpleNamespace(structures={each.fingerprint: each for each in structures.values()})
    return SimpleNamespace(archive=archive, stages=StageSettings(retain=keep), named=structures)


def contending(turn: SimpleNamespace) -> set[str]:
    found = {each.structure.fingerprint for each in ranking.contenders(ranking.estimates(turn), 2)}
    return {name for name, each in turn.named.items() if each.fingerprint in found and len(name) < 16}


def test_only_structures_whose_intervals_overlap_across_the_line_contend():
    turn = turn_over(
        {("a",): (9, 10, 11), ("b",): (4, 5, 6), ("c",): (4, 4.5, 5), ("d",): (0.9, 1, 1.1)},
    )
    assert contending(turn) == {"b", "c"}


def test_nothing_contends_where_everything_is_kept_or_apart():
    assert contending(turn_over({("a",): (9, 10, 11), ("b",): (4, 5, 6)})) == set()
    assert contending(turn_over({("a",): (9, 10, 11), ("b",): (4, 5, 6), ("c",): (1, 1, 1)})) == set()


def test_a_structure_that_was_never_timed_contends():
    turn = turn_over({("a",): (9, 10, 11), ("b",): (4, 5, 6), ("c",): None})
    assert "c" in contending(turn)
    assert "a" not in contending(turn)


def test_of_equally_fast_structures_the_more_different_one_is_kept():
    turn = turn_over({("a", "a"): (2, 2, 2), ("a", "b"): (1.9, 1.9, 1.9), ("b", "b"): (1.85, 1.85, 1.85)})
    assert ranking.retain(turn) == (turn.named["aa"].fingerprint, turn.named["bb"].fingerprint)


def test_a_slow_structure_is_not_kept_for_being_different():
    turn = turn_over({("a", "a"): (2, 2, 2), ("a", "b"): (1.9, 1.9, 1.9), ("b", "b"): (1, 1, 1)})
    assert ranking.retain(turn) == (turn.named["aa"].fingerprint, turn.named["ab"].fingerprint)


def test_finalists_are_chosen_by_the_lower_end_of_their_intervals():
    search, player = Search(settings(evaluations=40, stages={"finalists": 1})), Player(WORLD)
    search.tell(1, player.answer(search.ask(1)[0]))
    sure = None
    while asked := search.ask(1):
        outcome = player.answer(asked[0])
        if outcome.speedup and asked[0].stage is not Stage.CONFIRM:
            value = outcome.speedup.value
            width = {"low": 0.1} if sure else {"value": 0.9 * value, "low": 0.9 * value}
            outcome = outcome.model_copy(update={"speedup": outcome.speedup.model_copy(update=width)})
            sure = sure or asked[0].number
        search.tell(asked[0].number, outcome)
    confirmed = search.archive.steps[search.result().best].item
    sure_step = search.archive.steps[sure]
    assert (confirmed.structure, confirmed.knobs) == (sure_step.outcome.structure, sure_step.outcome.knobs)
