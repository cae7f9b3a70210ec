"""Pure parts of the GPU benchmark: figures, targets, programs, and what a failed section leaves."""

from __future__ import annotations

import ast
import sys
from argparse import Namespace
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))

import gpu_judge
import gpu_judge_fib
import gpu_judge_figures as figures
import gpu_judge_programs as programs
import gpu_judge_work as work

from search.knobs import read_knobs, with_knobs
from search.records import Language


def seconds(median):
    return {"n": 10, "median": median, "p10": median, "p90": median}


RESULTS = {
    "ours": {"wall_s": seconds(1.5), "device_s": seconds(0.8)},
    "ours_batch": {"wall_s": seconds(0.5)},
    "fib_isolated": {"wall_s": seconds(16.0)},
    "fresh": {"error": "exit code 1: boom"},
}


def test_it_works():
    judged = {target.title: target.judge(RESULTS) for target in figures.TARGETS}
    assert judged["fast tier, wall s per candidate"]["met"] is True
    assert judged["batch, wall s per variant"]["met"] is False
    assert judged["flashinfer-bench isolated / ours"]["found"] == pytest.approx(16 / 1.5)
    assert judged["flashinfer-bench isolated / ours"]["met"] is True
    assert judged["flashinfer-bench isolated / batch"]["met"] is False


def test_a_section_without_figures_meets_no_target():
    judged = {target.title: target.judge(RESULTS) for target in figures.TARGETS}
    assert judged["fresh Python / ours"]["found"] is None
    assert judged["fresh Python / ours"]["met"] is None


def test_ratios_are_over_our_fast_tier():
    assert figures.ratios(RESULTS) == pytest.approx(
        {
            "ours.wall_s": 1.0,
            "ours.device_s": 0.8 / 1.5,
            "ours_batch.wall_s": 0.5 / 1.5,
            "fib_isolated.wall_s": 16 / 1.5,
        }
    )


def test_the_table_tells_why_a_section_has_no_figures():
    lines = figures.table(RESULTS).splitlines()
    assert any(line.startswith("fresh Python ") and "boom" in line for line in lines)
    assert any(line.startswith("ours, isolated, fast tier") and "1.500" in line for line in lines)


def test_summary_of_nothing_has_no_median():
    assert figures.summary([]) == {"n": 0}
    assert figures.summary([2.0])["median"] == 2.0
    assert figures.summary([1.0, 2.0, 3.0])["p90"] == pytest.approx(2.8)


def test_clocks_are_compared_with_trusted_launches():
    results = {
        "accuracy": {
            "large": {"median_us": [100.0] * 9 + [103.0]},
            "large_slope": {"median_us": [101.0, None]},
        },
        "clocks": {"large": {"do_bench": [98.0, 98.0, 120.0], "graph": []}},
    }
    figures.derive(results)
    found = results["accuracy"]
    assert found["large_spread"] == pytest.approx(0.03)
    assert found["large_tenth_off"] == pytest.approx(0.03)
    assert found["large_slope_off"] == pytest.approx(0.01)
    assert found["large_do_bench_off"] == pytest.approx(0.02)
    assert "large_graph_off" not in found
    assert "small_spread" not in found


def test_every_program_is_another_and_takes_its_knobs():
    sources = [*programs.triton_programs(), programs.tuned_program()]
    assert len(set(programs.triton_programs())) == 11
    for source in sources:
        read = read_knobs(Language.TRITON, source)
        assert read
        used = {node.slice.value for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Subscript)
                and isinstance(node.value, ast.Name) and node.value.id == "KNOBS"}  # fmt: skip
        assert used == set(read)


def test_twenty_variants_are_twenty_programs():
    source = programs.tuned_program()
    variants = {with_knobs(Language.TRITON, source, knobs) for knobs in programs.knob_settings()}
    assert len(variants) == 20


def test_the_hosted_program_differs_only_on_the_host():
    plain, hosted = programs.plain_program(), programs.hosted_program()
    assert hosted != plain
    assert (
        hosted.split("@triton.jit")[1].split("def run")[0]
        == plain.split("@triton.jit")[1].split("def run")[0]
    )
    assert "torch.ones(1) + 1" in hosted


def test_the_workload_times_three_shapes_and_hides_one():
    workload = work.workload()
    assert [case.axes["M"] for case in workload.cases if case.timed] == list(programs.ROWS)
    assert any(case.hidden for case in workload.cases)


def test_a_solution_is_clocked_even_when_it_raises():
    class Worker:
        def run_solution(self, solution, baseline, config):
            raise RuntimeError

    class Solution:
        name = "one"

    noted = gpu_judge_fib.timed(Worker)
    with pytest.raises(RuntimeError):
        Worker().run_solution(Solution(), None, None)
    assert len(noted["one"]) == 1


ARGUMENTS = Namespace(smoke=True, device="cpu", flashinfer_bench=Path("/nowhere"))


def section(tmp_path, monkeypatch, text, seconds=20.0):
    monkeypatch.setattr(gpu_judge, "_HERE", tmp_path)
    (tmp_path / "part.py").write_text(text)
    return gpu_judge.Section("part.py", ("x",), seconds, ("first", "second"))


def test_a_failed_section_leaves_what_it_had_and_why(tmp_path, monkeypatch):
    text = "import sys; open(sys.argv[2], 'w').write('{\"first\": {\"n\": 1}}'); sys.exit('out of luck')"
    results = gpu_judge.run(section(tmp_path, monkeypatch, text), ARGUMENTS, 100.0)
    assert results["first"] == {"n": 1}
    assert results["second"]["error"].startswith("exit code 1")
    assert "out of luck" in results["second"]["error"]


def test_a_section_that_hangs_is_killed(tmp_path, monkeypatch):
    text = "import time; time.sleep(60)"
    results = gpu_judge.run(section(tmp_path, monkeypatch, text, 0.5), ARGUMENTS, 100.0)
    assert results["first"]["error"].startswith("killed after")


def test_a_section_cut_off_while_writing_leaves_nothing(tmp_path, monkeypatch):
    text = "import sys; open(sys.argv[2], 'w').write('{\"first\": {\"n'); sys.exit(3)"
    results = gpu_judge.run(section(tmp_path, monkeypatch, text), ARGUMENTS, 100.0)
    assert results == {"first": {"error": "exit code 3: "}}


def test_no_section_starts_without_time(tmp_path, monkeypatch):
    text = "raise SystemExit('must not start')"
    results = gpu_judge.run(section(tmp_path, monkeypatch, text), ARGUMENTS, 1.0)
    assert results == {"first": {"error": "no time was left"}}
