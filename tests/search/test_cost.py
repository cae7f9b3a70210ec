"""The cost model: orders that measurements on an H200 showed, and parts that add up."""

from __future__ import annotations

import math

import pytest

from search.cost import prior, structure_cost
from search.devices import CPU, DEVICES, H200, device_model
from search.library import compose, shipped_library, shipped_workload
from search.records import Language
from search.workload import Case, DType

LIBRARY = shipped_library()


def half(slug: str):
    """A shipped workload in float16, as the measured kernels were."""
    workload = shipped_workload(slug)
    inputs, outputs = (
        {name: tensor.model_copy(update={"dtype": DType.FLOAT16}) for name, tensor in tensors.items()}
        for tensors in (workload.inputs, workload.outputs)
    )
    return workload.model_copy(update={"inputs": inputs, "outputs": outputs})


SOFTMAX = half("softmax")


def rows(m: int, n: int) -> Case:
    return Case(name="rows", axes={"M": m, "N": n})


def floor(case: Case, *actions: str, workload=SOFTMAX, device=H200, language=Language.TRITON) -> float:
    blueprint = compose(workload, LIBRARY, actions, language)
    return structure_cost(blueprint, workload, case, device).floor_us


RESIDENT = ("resident_row",)
PERSISTENT = ("resident_row", "persistent_rows")
ONLINE = ("online_softmax",)
SPLIT = ("split_row",)


def test_few_very_wide_rows_are_split():
    case = rows(128, 262144)
    assert floor(case, *SPLIT) < min(floor(case, *other) for other in (RESIDENT, PERSISTENT, ONLINE, ()))


def test_square_rows_stay_on_chip():
    case = rows(8192, 8192)
    assert floor(case, *RESIDENT) < min(floor(case, *other) for other in (PERSISTENT, ONLINE, SPLIT, ()))


def test_rows_that_fill_a_processor_are_walked_by_persistent_programs_or_online():
    case = rows(2048, 32000)
    better = (PERSISTENT, ONLINE)
    assert max(floor(case, *one) for one in better) < min(floor(case, *one) for one in (RESIDENT, SPLIT, ()))


@pytest.mark.parametrize(
    ("shape", "actions", "measured_us"),
    [
        ((2048, 32000), PERSISTENT, 74.8),
        ((2048, 32000), RESIDENT, 89.8),
        ((128, 262144), SPLIT, 60.2),
        ((8192, 8192), RESIDENT, 69.3),
        ((65536, 512), RESIDENT, 36.1),
    ],
)
def test_floors_are_near_the_best_measured_times(shape, actions, measured_us):
    """Best of up to 250 knob points, softmax on an H200 (design page on the search engine, a first look)."""
    assert floor(rows(*shape), *actions) == pytest.approx(measured_us, rel=0.2)


@pytest.mark.parametrize("actions", [(), RESIDENT, PERSISTENT, ONLINE, SPLIT])
def test_no_floor_is_below_one_read_and_one_write(actions):
    for shape in ((8192, 8192), (65536, 512), (128, 262144)):
        assert floor(rows(*shape), *actions) > 4 * math.prod(shape) / H200.memory_bytes_per_us


def test_the_parts_add_up():
    blueprint = compose(SOFTMAX, LIBRARY, SPLIT, Language.TRITON)
    cost = structure_cost(blueprint, SOFTMAX, rows(128, 262144), H200)
    assert [kernel.name for kernel in cost.kernels] == ["softmax_partials", "softmax_combine"]
    assert cost.floor_us == pytest.approx(sum(kernel.floor_us for kernel in cost.kernels))
    for kernel in cost.kernels:
        outside = kernel.launch_us + kernel.ragged_us + kernel.exposed_us
        assert kernel.floor_us >= outside + max(kernel.moving_us, kernel.operations_us) - 1e-9
        assert not kernel.coarse
    assert cost.knobs.keys() == {"BLOCK_N", "SPLITS"}
    assert type(cost).load(cost.dump()) == cost


def test_a_row_read_again_comes_from_the_cache_as_long_as_it_fits():
    case = rows(2048, 32000)
    blueprint = compose(SOFTMAX, LIBRARY, ONLINE, Language.TRITON)
    (kernel,) = structure_cost(blueprint, SOFTMAX, case, H200).kernels
    one_read = 2 * 2048 * 32000
    assert kernel.cache_bytes == one_read
    assert kernel.memory_bytes == 2 * one_read
    tiny = H200.model_copy(update={"cache_size_bytes": 1e5})
    (uncached,) = structure_cost(blueprint, SOFTMAX, case, tiny).kernels
    assert uncached.cache_bytes == 0


def test_a_skinny_product_gains_by_splitting_and_a_square_one_does_not():
    workload = shipped_workload("gemm_bias_gelu")
    skinny = Case(name="skinny", axes={"M": 16, "N": 4096, "K": 16384})
    square = Case(name="square", axes={"M": 4096, "N": 4096, "K": 4096})
    fused, split = ("fused_epilogue",), ("fused_epilogue", "split_k")
    assert floor(skinny, *split, workload=workload) < floor(skinny, *fused, workload=workload)
    assert floor(square, *split, workload=workload) > floor(square, *fused, workload=workload)


def test_a_long_decode_wants_the_matrix_unit_and_enough_programs():
    workload = shipped_workload("gqa_paged_decode")
    case = next(case for case in workload.cases if case.name == "long")
    matrix, split = ("packed_heads", "matrix_decode"), ("split_sequence",)
    told = [floor(case, *one, workload=workload) for one in ((*matrix, *split), split, ("packed_heads",))]
    assert told == sorted(told), "as measured: 87, 432 and 3823 us"
    assert told[0] < 0.5 * floor(case, workload=workload)


def test_heads_that_share_keys_read_them_from_the_cache():
    workload = shipped_workload("gqa_paged_decode")
    case = next(case for case in workload.cases if case.name == "long")
    alone, packed = (
        structure_cost(compose(workload, LIBRARY, one, Language.TRITON), workload, case, H200).kernels[0]
        for one in ((), ("packed_heads",))
    )
    caches = 2 * 2 * 8192 * 16 * 4 * 128
    assert alone.memory_bytes == pytest.approx(caches, rel=0.01)
    assert packed.memory_bytes == pytest.approx(caches, rel=0.01)
    assert alone.cache_bytes == pytest.approx(7 * caches, rel=0.01), "seven more heads of each key head"
    assert packed.cache_bytes < 0.01 * caches


def test_an_epilogue_of_its_own_costs_a_launch_and_a_round_trip():
    workload = half("gemm_bias_gelu")
    case = Case(name="square", axes={"M": 4096, "N": 4096, "K": 4096})
    saved = floor(case, workload=workload) - floor(case, "fused_epilogue", workload=workload)
    assert saved > H200.launch_us


def test_the_prior_is_the_log_of_the_ratio_to_the_direct_structure():
    case = rows(2048, 32000)
    direct = compose(SOFTMAX, LIBRARY, (), Language.TRITON)
    better = compose(SOFTMAX, LIBRARY, PERSISTENT, Language.TRITON)
    assert prior(direct, SOFTMAX, case, H200) == 0.0
    assert prior(better, SOFTMAX, case, H200) == pytest.approx(
        math.log(floor(case) / floor(case, *PERSISTENT))
    )


def test_on_a_core_vector_lanes_and_a_polynomial_pay():
    workload = shipped_workload("softmax")
    case = rows(256, 2048)
    plain = compose(workload, LIBRARY, (), Language.CPP)
    fast = compose(workload, LIBRARY, ("online_softmax", "vector_lanes", "polynomial_exp"), Language.CPP)
    assert prior(plain, workload, case, CPU) == 0.0
    assert prior(fast, workload, case, CPU) > 1.0


def test_a_kernel_that_says_nothing_is_priced_coarsely():
    blueprint = compose(SOFTMAX, LIBRARY, RESIDENT, Language.TRITON)
    (kernel,) = blueprint.kernels
    empty = {"reads": (), "writes": (), "operations": {}, "chip_bytes": "", "flight_bytes": ""}
    silent = blueprint.model_copy(update={"kernels": (kernel.model_copy(update=empty),)})
    cost = structure_cost(silent, SOFTMAX, rows(8192, 8192), H200)
    assert cost.kernels[0].coarse
    assert cost.floor_us > 4 * 8192 * 8192 / H200.memory_bytes_per_us


def test_an_expression_with_an_unknown_name_is_refused():
    blueprint = compose(SOFTMAX, LIBRARY, RESIDENT, Language.TRITON)
    wrong = blueprint.kernels[0].model_copy(update={"programs": "ROWS * COLUMNS"})
    with pytest.raises(ValueError, match="ROWS"):
        structure_cost(blueprint.model_copy(update={"kernels": (wrong,)}), SOFTMAX, rows(64, 64), H200)


def test_the_fields_of_the_cost_model_are_no_part_of_the_structure():
    blueprint = compose(SOFTMAX, LIBRARY, RESIDENT, Language.TRITON)
    bare = blueprint.kernels[0].model_copy(update={"reads": (), "programs": ""})
    changed = blueprint.model_copy(update={"kernels": (bare,)})
    assert changed.fingerprint == blueprint.fingerprint
    assert changed.contract == blueprint.contract


def test_a_recorded_device_is_modelled_as_the_one_it_was_recorded_on():
    assert device_model("recorded:h200") is DEVICES["h200"]
    assert device_model("recorded:h200_softmax_main") is DEVICES["h200"]
    assert device_model("abacus") is None


@pytest.mark.parametrize("language", list(Language)[:3])
def test_a_structure_without_block_sizes_as_knobs_is_priced_too(language):
    device = CPU if language is Language.CPP else H200
    blueprint = compose(SOFTMAX, LIBRARY, ("split_row",), language)
    assert structure_cost(blueprint, SOFTMAX, rows(16, 65536), device).floor_us > 2 * device.launch_us
