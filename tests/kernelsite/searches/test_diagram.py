"""Diagrams of blueprints, and the geometry of charts: no database."""

from __future__ import annotations

import pytest

from kernelsite.searches.pages import timings, tuning
from kernelsite.searches.pages.diagram import HEIGHT, WIDTH, diagram
from kernelsite.searches.pages.lineage import added
from search.compose import compose
from search.library import shipped_library, shipped_workloads
from search.records import CaseTiming, Interval, Language

WORKLOADS = shipped_workloads()
OPEN = {"trimul": ("two_launches",)}
"""Actions that lead to a structure that says what is launched."""


def drawn(workload, actions=(), language=Language.TRITON, parent=None, **options):
    record = WORKLOADS[workload]
    before = compose(record, shipped_library(), parent, language) if parent is not None else None
    blueprint = compose(record, shipped_library(), actions, language)
    return diagram(blueprint, record, record.cases[0], parent=before, **options)


@pytest.mark.parametrize("name", WORKLOADS)
def test_every_shipped_workload_is_drawn_from_memory_to_memory(name):
    # The direct structure of work of no known kind leaves its launches open.
    picture = drawn(name, OPEN.get(name, ()), device_class="h200")
    assert picture.launches[-1].writes[0].kind == "output"
    assert any(box.kind == "input" for launch in picture.launches for box in launch.reads)
    for launch in picture.launches:
        for box in (*launch.reads, *launch.writes):
            share = box.share
            assert share.x >= 0
            assert share.x + share.width <= WIDTH + 1e-9
            assert share.y >= 0
            assert share.y + share.height <= HEIGHT + 1e-9
            assert box.name in box.told


def test_a_structure_that_leaves_its_launches_open_has_an_empty_diagram():
    picture = drawn("trimul", device_class="h200")
    assert picture.launches == ()
    assert picture.model_us is None


def test_a_product_shows_tiles_steps_and_how_often_operands_move():
    picture = drawn("gemm_fp16", knobs={"BLOCK_M": 128, "BLOCK_N": 128, "BLOCK_K": 32}, device_class="h200")
    (launch,) = picture.launches
    a, b = launch.reads
    (c,) = launch.writes
    assert [(axis.name, axis.role) for axis in a.axes] == [("M", "parallel"), ("K", "walked")]
    assert [(axis.name, axis.role) for axis in c.axes] == [("M", "parallel"), ("N", "parallel")]
    assert launch.programs == (4096 // 128) ** 2
    assert (a.times_value, b.times_value) == (32, 32)
    assert a.size_bytes == 4096 * 4096 * 2
    assert not c.share.path
    assert a.share.path
    assert picture.model_us > 0


def test_a_split_row_is_cut_walked_in_parts_and_told_against_the_parent():
    picture = drawn("softmax", ("split_row",), parent=())
    partials, combine = picture.launches
    assert (partials.change, combine.change) == ("new", "new")
    (x,) = partials.reads
    assert [axis.role for axis in x.axes] == ["parallel", "part"]
    assert {box.name for box in partials.writes if box.is_new} == {"partial_max", "partial_sum"}
    assert "softmax_rows" in picture.gone
    assert drawn("softmax", (), parent=("split_row",)).gone


def test_what_the_plan_does_not_say_is_not_drawn_as_known():
    (launch,) = drawn("gqa_paged_decode").launches
    boxes = {box.name: box for box in launch.reads}
    assert boxes["k_cache"].is_untold
    assert "does not say" in boxes["k_cache"].told
    assert not boxes["q"].is_untold
    (launch,) = drawn("top_k").launches
    assert [box.told for box in launch.reads][1:] == ["k: one value"]


def test_a_plan_without_moves_knows_only_the_axes_of_its_programs():
    record = WORKLOADS["gqa_paged_decode"]
    known = compose(record, shipped_library(), (), Language.TRITON)
    kernels = tuple(one.model_copy(update={"reads": (), "writes": ()}) for one in known.kernels)
    (launch,) = diagram(known.model_copy(update={"kernels": kernels}), record, record.cases[0]).launches
    untold = {box.name for box in launch.reads if box.is_untold}
    assert {"k_cache", "v_cache"} <= untold
    assert not {"q", "sm_scale"} & untold


def test_a_structure_like_its_parent_is_no_change():
    assert [launch.change for launch in drawn("softmax", (), parent=()).launches] == [""]
    assert drawn("softmax", device_class="quantum").model_us is None


def test_a_name_says_what_came_and_what_went():
    assert added("a + b", "a") == "+ b"
    assert added("a + c", "a + b") == "+ c \N{MINUS SIGN} b"
    assert added("direct", "direct") == "direct"
    assert added("a", "direct") == "+ a"


# Charts ----------------------------------------------------------------------------------------------


def point(speedup, **knobs):
    return tuning.Point(f"1.1.{len(knobs)}", knobs, speedup)


def test_axes_hold_numbers_by_size_and_true_is_not_one():
    points = [point(1.0, N=16, FLAG=True), point(2.0, N=4, FLAG=False), point(3.0, N=128, FLAG=True)]
    picture = tuning.parallel_coordinates(points, ["N", "FLAG"])
    assert [tick.text for tick in picture.axes[0].ticks] == ["4", "16", "128"]
    assert [tick.text for tick in picture.axes[1].ticks] == ["false", "true"]
    assert [line.is_best for line in picture.lines] == [False, False, True]
    assert picture.lines[0].shade < picture.lines[-1].shade


def test_of_many_lines_the_fastest_are_drawn():
    points = [point(1.0 + number / 1000, N=number % 7) for number in range(5_000)]
    picture = tuning.parallel_coordinates(points, ["N"])
    assert (len(picture.lines), picture.count) == (tuning.MOST_LINES, 5_000)
    assert picture.lines[-1].is_best


def test_nothing_varies_means_no_chart():
    points = [point(1.0, N=4), point(2.0, N=4)]
    assert tuning.importances(points) == []
    assert tuning.importances([]) == []
    assert tuning.heat_map(points, ["N"], "N", "N") is None
    assert tuning.parallel_coordinates(points[:1], ["N"]) is None


def test_a_map_of_a_knob_with_itself_takes_another():
    points = [point(1.0, A=1, B=1), point(3.0, A=2, B=1), point(2.0, A=2, B=1)]
    heat = tuning.heat_map(points, ["A", "B"], "A", "A")
    assert (heat.across, heat.down) == ("A", "B")
    ((_, cells),) = heat.rows
    assert [(cell.best, cell.count) for cell in cells] == [(1.0, 1), (3.0, 2)]


def timed(samples, **values):
    figures = {"median_us": 10.0, "p10_us": 9.0, "p90_us": 11.0, "baseline_us": 12.0} | values
    speedup = Interval(value=1.2, low=1.1, high=1.3)
    return CaseTiming(
        case="main", samples=max(1, len(samples)), samples_us=tuple(samples), speedup=speedup, **figures
    )


@pytest.mark.parametrize("samples", [(), (10.0,), (10.0,) * 8, (9.0, 10.0, 11.0, 10.5)])
def test_few_or_equal_samples_are_drawn_inside_the_picture(samples):
    row = timings._row(timed(samples, median_us=10.0), {"passes_us": "nonsense", "throttles": 3})
    assert sum(1 for _ in row.dots) == len(samples)
    for bar in row.bars:
        assert 0 <= bar.x <= timings.WIDTH
        assert 0 < bar.height <= timings.HEIGHT
    assert bool(row.steps) == bool(samples)


def test_a_far_baseline_does_not_squeeze_the_samples():
    row = timings._row(timed((9.9, 10.0, 10.1), baseline_us=5_000.0), {})
    assert row.baseline_x is None
    assert row.scale.high_us < 20


def test_outliers_need_company():
    assert timings.outliers([1.0, 1.0, 50.0]) == set()
    assert timings.outliers([10.0, 10.1, 9.9, 10.05, 30.0]) == {4}
    assert timings.outliers([10.0] * 6) == set()
