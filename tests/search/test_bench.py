"""The bench: traces, baselines, figures of a tournament, and the command."""

from __future__ import annotations

import json
import subprocess
import sys
from xml.etree import ElementTree as ET

import pytest
from landscape_factories import landscape

from search.bench.figure import svg
from search.bench.flat import FLAT, FlatTpe, play_flat
from search.bench.summary import SHARES, Report, entry, regret_after, report
from search.bench.table import markdown
from search.bench.tournament import HEADLINE, KNOWN, Rules, play_one, tournament
from search.bench.trace import Look, Trace, make_trace
from search.commands.bench import bench
from search.landscapes.files import write_landscape

RULES = Rules(HEADLINE, seeds=2, budget=12, failure=0.2)


@pytest.fixture(scope="module")
def played():
    """Every headline strategy, two seeds, on a landscape with noise and failures."""
    one = landscape(noise=0.02, failures=0.2)
    traces = [play_one(one, name, seed, RULES) for name in HEADLINE for seed in range(2)]
    return one, traces, report([one], RULES, traces)


# Traces ----------------------------------------------------------------------------------------------


def test_the_incumbent_is_judged_by_its_worth_not_by_luck():
    one = landscape()
    (slow, fast), worth = sorted(one.truth, key=one.truth.get)[:2], one.truth
    looks = [
        Look(fast, worth[fast], 1, tunes=False),
        Look(slow, worth[fast] * 1.1, 2, tunes=False),
        Look(fast, worth[fast] * 9, 2, tunes=False, confirms=True),
    ]
    trace = make_trace(one, "s", 0, looks, None, 2, 0.0)
    assert trace.worth == (worth[fast], worth[slow], worth[slow])
    assert trace.final == worth[slow]
    assert make_trace(one, "s", 0, looks, fast, 2, 0.0).final == worth[fast]


def test_switches_and_discarded_tuning():
    one = landscape()
    programs = {place: next(key for key in one.truth if key[0] == place) for place in range(3)}
    order = [(0, False), (0, True), (1, False), (1, True), (1, True), (0, True)]
    looks = [Look(programs[place], float(place + 1), 0, tunes=tunes) for place, tunes in order]
    trace = make_trace(one, "s", 0, looks, None, 0, 0.0)
    assert trace.switches == 2
    assert trace.discarded == 0.5
    nothing = make_trace(one, "s", 0, [], None, 0, 0.0)
    assert (nothing.worth, nothing.final, nothing.discarded) == ((), 0.0, None)


@pytest.mark.parametrize("name", KNOWN)
def test_a_search_stays_inside_its_budget_and_is_the_same_twice(name):
    one = landscape(noise=0.02, failures=0.2)
    trace = play_one(one, name, 3, RULES)
    assert 0 < len(trace.worth) == len(trace.calls) <= RULES.budget
    assert list(trace.calls) == sorted(trace.calls)
    assert trace.calls[-1] <= trace.total_calls
    assert trace == play_one(one, name, 3, RULES)


@pytest.mark.parametrize("name", FLAT)
def test_a_baseline_measures_every_point_once_when_it_may(name):
    one = landscape()
    trace = play_flat(one, name, 0, 10_000, 0.0)
    assert len(trace.worth) == len(one.rows)
    assert trace.worth[-1] == max(one.truth.values())
    assert trace.total_calls == len(one.structures)


def test_flat_tpe_learns():
    """Told that one structure is good, it asks for all eight points of that one before chance would (5 of 30)."""
    one = landscape()
    chooser = FlatTpe(one, 0)
    asked = []
    for _ in range(30):
        program = chooser.propose()
        asked.append(program[0])
        chooser.learn(program, 50.0 if program[0] == 5 else 1.0)
    assert asked.count(5) == len([place for place, _ in one.rows if place == 5]) == 8


def test_failed_instantiations_cost_calls_only():
    one = landscape()
    sure = play_one(one, "two_stage", 1, Rules(("two_stage",), 1, 12, 0.0))
    unsure = [play_one(one, "two_stage", seed, Rules(("two_stage",), 1, 12, 0.5)) for seed in range(6)]
    drafted = sure.total_calls / len(sure.worth)
    assert sum(each.total_calls / max(1, len(each.worth)) for each in unsure) / 6 > drafted
    assert all(len(each.worth) <= 12 for each in unsure)


# Figures ---------------------------------------------------------------------------------------------


def trace(worth, calls=None, total=None, seed=0) -> Trace:
    calls = calls or tuple(range(1, len(worth) + 1))
    return Trace("l", "s", seed, tuple(worth), calls, total or len(worth), worth[-1], 0, None)


def test_regret_keeps_the_last_incumbent():
    one = trace((0.0, 50.0, 100.0))
    assert [regret_after(one, count, 100.0) for count in (0, 1, 2, 3, 9)] == [1.0, 1.0, 0.5, 0.0, 0.0]


def test_expected_running_time_counts_failed_searches_in_full():
    traces = [trace((10.0, 96.0), calls=(1, 2)), trace((10.0, 20.0), calls=(1, 7), total=8)]
    made = entry(traces, 100.0, 20, ("l", "s"))
    assert made.evaluations_to_5.value == 2 + 20
    assert made.calls_to_5.value == 2 + 8
    assert made.evaluations_to_1.value is None
    assert made.reached_5 == 0.5
    assert made.final_regret.value == pytest.approx((0.04 + 0.8) / 2)


def test_a_report_covers_every_arm(played):
    _, _, made = played
    assert [each.strategy for each in made.entries] == list(HEADLINE)
    assert all(len(each.regret) == len(SHARES) for each in made.entries)
    for each in made.entries:
        assert 0 <= each.area.value <= 1
        assert each.curve[-1][0] == RULES.budget
        assert each.curve[-1][1] == pytest.approx(each.regret[-1].value)
    duels = {(each.strategy, each.against) for each in made.duels}
    assert ("two_stage", "mixed") in duels
    assert ("two_stage", "optuna_tpe_flat") in duels
    assert all(each.better_on == 0 for each in made.duels), "two seeds are too few for better"


def test_equal_arms_are_equal():
    one = landscape()
    traces = [
        Trace(one.name, name, seed, (1.0, 2.0), (1, 2), 2, 2.0, 0, None)
        for name in ("two_stage", "mixed")
        for seed in range(6)
    ]
    made = report([one], Rules(("two_stage", "mixed"), 6, 2, 0.0), traces)
    duel = made.duels[0]
    assert duel.regret_ratio == pytest.approx((1.0, 1.0, 1.0))
    assert duel.worse_on == (0, 0, 0)
    assert duel.probability_better == {one.name: 0.5}


def test_the_table_names_strategies_labels_and_the_simulated_failures(played):
    _, _, made = played
    text = markdown(made)
    for name in HEADLINE:
        assert f"| {name} |" in text
    assert "recorded on Test device, 2026-01-02" in text
    assert "probability 0.2" in text
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert {row.count("|") for row in rows} == {10, 13}


def test_the_figure_is_an_svg_with_a_line_per_strategy(played):
    _, _, made = played
    root = ET.fromstring(svg(made))
    lines = root.findall(".//{http://www.w3.org/2000/svg}polyline")
    assert len(lines) == len(HEADLINE)
    for line in lines:
        for pair in line.get("points").split():
            x, y = map(float, pair.split(","))
            assert 0 <= x <= 300
            assert 0 <= y <= 190


# The command -----------------------------------------------------------------------------------------


def test_the_tournament_over_processes_is_the_one_in_this_process():
    one, rules = landscape(noise=0.02), Rules(("two_stage", "random"), 2, 8, 0.1)
    here = [play_one(one, name, seed, rules) for name in rules.strategies for seed in range(2)]
    assert tournament([one], rules, processes=2) == here


def test_the_command_ends_with_one_json_line(tmp_path, capsys):
    file = tmp_path / "made_up.json.gz"
    write_landscape(file, landscape())
    figure, table = tmp_path / "f.svg", tmp_path / "t.md"
    words = ["--landscape", str(file), "--seeds", "1", "--budget", "8", "--processes", "1", "--json"]
    words += ["--strategies", "mixed", "random", "--figure", str(figure), "--markdown", str(table)]
    assert bench(words) == 0
    made = Report.load(json.loads(capsys.readouterr().out.splitlines()[-1]))
    assert [each.strategy for each in made.entries] == ["mixed", "random"]
    assert figure.read_text().startswith("<svg")
    assert "| mixed |" in table.read_text()


def test_a_landscape_that_is_not_there_is_told(capsys):
    assert bench(["--landscape", "nothing"]) == 2
    assert "no landscape 'nothing'" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words", [["--seeds", "0"], ["--budget", "3"], ["--failure", "1"], ["--strategies", "x"]]
)
def test_wrong_words_end_with_2(words, capsys):
    with pytest.raises(SystemExit) as ended:
        bench(words)
    assert ended.value.code == 2
    assert words[0] in capsys.readouterr().err


def test_it_needs_no_torch_and_no_django():
    code = (
        "import sys, search.commands.bench, search.commands.record\n"
        "print([name for name in ('torch', 'triton', 'django', 'celery') if name in sys.modules])"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stdout.strip() == "[]"


def test_unknown_commands_are_told_with_those_there_are():
    ended = subprocess.run(
        [sys.executable, "-m", "search", "nothing"], capture_output=True, text=True, check=False
    )
    assert ended.returncode == 2
    assert "bench" in ended.stderr
    assert "record" in ended.stderr
