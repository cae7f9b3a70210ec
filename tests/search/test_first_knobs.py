"""The knobs of a first try: what the plan says of them, and that they are better than defaults where it was measured."""

from __future__ import annotations

import statistics

import pytest

from search.agents.agent import Scene
from search.agents.expected import tried_first
from search.agents.playbook.agent import PlaybookAgent
from search.commands.landscape import described
from search.cost import priced
from search.devices import CPU, H200
from search.first_knobs import REGISTER_BYTES, first_knobs, thread_bytes
from search.landscapes.files import find_landscape, landscape_files
from search.library import compose, shipped_library, shipped_workload, shipped_workloads
from search.records import DraftKind, Language, Stage
from search.steps import Draft
from search.workload import Case

LIBRARY = shipped_library()
RECORDED = [name for name in landscape_files() if name.startswith("h200")]


def chosen(slug, sizes, *actions, device=H200, language=Language.TRITON):
    workload = shipped_workload(slug)
    blueprint = compose(workload, LIBRARY, actions, language)
    case = Case(name="made_up", axes=sizes)
    return blueprint, workload.sizes(case), first_knobs(blueprint, workload, case, device)


@pytest.mark.parametrize("slug", shipped_workloads())
@pytest.mark.parametrize(("device", "language"), [(H200, Language.TRITON), (CPU, Language.CPP)])
def test_every_knob_has_one_of_its_choices(slug, device, language):
    workload = shipped_workload(slug)
    blueprint = compose(workload, LIBRARY, (), language)
    case = next(case for case in workload.cases if case.timed)
    first = first_knobs(blueprint, workload, case, device)
    assert list(first) == [knob.name for knob in blueprint.knobs]
    for knob in blueprint.knobs:
        assert first[knob.name] in knob.choices
        assert type(first[knob.name]) is type(knob.default)


@pytest.mark.parametrize("columns", [1024, 8192, 32000])
def test_a_row_on_chip_is_spread_over_enough_warps(columns):
    blueprint, sizes, first = chosen("softmax_fp16", {"M": 2048, "N": columns}, "resident_row")
    assert thread_bytes(blueprint, sizes, first) <= REGISTER_BYTES


def test_wider_rows_have_more_warps():
    _, _, narrow = chosen("softmax_fp16", {"M": 2048, "N": 1024}, "resident_row")
    _, _, wide = chosen("softmax_fp16", {"M": 2048, "N": 32000}, "resident_row")
    assert narrow["NUM_WARPS"] < wide["NUM_WARPS"]


def test_a_large_product_has_larger_tiles_than_a_skinny_one():
    _, _, square = chosen("gemm_fp16", {"M": 4096, "N": 4096, "K": 4096}, "grouped_tile_order")
    _, _, skinny = chosen("gemm_fp16", {"M": 32, "N": 8192, "K": 8192}, "grouped_tile_order")
    assert square["BLOCK_M"] >= 128 > skinny["BLOCK_M"]
    assert square["BLOCK_M"] * square["BLOCK_N"] > skinny["BLOCK_M"] * skinny["BLOCK_N"]


def test_what_the_model_cannot_tell_apart_is_left_to_the_defaults():
    blueprint, _, first = chosen("softmax_fp16", {"M": 2048, "N": 32000}, "resident_row")
    defaults = {knob.name: knob.default for knob in blueprint.knobs}
    assert {name for name in first if first[name] != defaults[name]} <= {"NUM_WARPS"}


def test_too_large_a_grid_is_thinned(monkeypatch):
    asked = []

    def counted(*setting):
        asked.append(setting)
        return priced(*setting)

    monkeypatch.setattr("search.first_knobs.priced", counted)
    monkeypatch.setattr("search.first_knobs.MOST_SETTINGS", 64)
    blueprint, _, thin = chosen("gemm_fp16", {"M": 512, "N": 512, "K": 512}, "grouped_tile_order")
    assert 2 <= len(asked) <= 64
    assert all(thin[knob.name] in knob.choices for knob in blueprint.knobs)


def test_a_device_without_a_model_has_the_defaults():
    workload = shipped_workload("softmax_fp16")
    blueprint = compose(workload, LIBRARY, ("resident_row",), Language.TRITON)
    defaults = {knob.name: knob.default for knob in blueprint.knobs}
    assert tried_first(blueprint, workload, "abacus") == defaults
    tried_first(blueprint, workload, "abacus")["NUM_WARPS"] = -1
    assert tried_first(blueprint, workload, "abacus") == defaults


def test_the_playbook_begins_with_them():
    workload = shipped_workload("gemm_fp16")
    scene = Scene(workload, LIBRARY, Language.TRITON, "h200", {}, {}, {})
    draft = Draft(number=1, kind=DraftKind.INSTANTIATE, stage=Stage.EXPLORE, seed=1)
    made = PlaybookAgent().propose(draft, scene)
    assert made.candidate.knobs == tried_first(made.blueprint, workload, "h200")
    assert made.candidate.knobs != {knob.name: knob.default for knob in made.blueprint.knobs}


@pytest.mark.parametrize("name", RECORDED)
def test_on_a_recorded_landscape_they_are_no_worse_than_the_defaults(name):
    first = described(find_landscape(name))["first_try"]
    assert first["by_plan"] >= first["by_defaults"]


def test_over_the_recorded_landscapes_a_first_try_has_three_quarters_of_what_tuning_finds():
    shares = [described(find_landscape(name))["first_try"] for name in RECORDED]
    assert statistics.fmean(one["by_plan"] for one in shares) > 0.75
    assert statistics.fmean(one["by_defaults"] for one in shares) < 0.7
