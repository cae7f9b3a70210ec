"""Launch records convict structures that a source hides, and never acquit one."""

from __future__ import annotations

import pytest

from search.contract import check, overall
from search.contract.launches import (
    Launch,
    LaunchRecord,
    Pass,
    Scratch,
    check_launches,
    plain_name,
    with_launches,
)
from search.records import Clause, ClauseKind, Contract, Language, Verdict
from tests.search.contract.contract_factories import (
    TRITON_RESIDENT,
    blueprint,
    candidate,
    refused,
    triton,
)

AXES = {"M": 512, "N": 4096}
RESIDENT = blueprint("softmax", "resident_row", language=Language.TRITON).contract
SPLIT = blueprint("softmax", "split_row", language=Language.TRITON).contract
PERSISTENT = blueprint("softmax", "persistent_rows", language=Language.TRITON).contract
GEMM = blueprint("gemm_bias_gelu", "fused_epilogue", language=Language.TRITON).contract


def record(*launches: Launch, **more) -> LaunchRecord:
    return LaunchRecord(launches=launches, **more)


def rows(programs: int, name: str = "softmax_rows") -> Launch:
    return Launch(name=name, grid=(programs, 1, 1), threads=128)


def split(splits: int = 4, scratch: tuple[int, ...] = (8192, 8192)) -> LaunchRecord:
    return record(
        Launch(name="softmax_partials", grid=(512, splits, 1)),
        Launch(name="softmax_combine", grid=(512, splits, 1)),
        scratch=tuple(Scratch(size_bytes=size) for size in scratch),
        high_water_bytes=sum(scratch),
    )


def test_an_honest_record_convicts_nothing_and_acquits_nothing():
    found = check_launches(RESIDENT, record(rows(512)), AXES)
    assert {one.verdict for one in found} == {Verdict.UNDECIDABLE}
    assert tuple(one.clause for one in found) == RESIDENT.clauses
    assert {one.verdict for one in check_launches(SPLIT, split(), AXES, knobs={"SPLITS": 4})} == {
        Verdict.UNDECIDABLE
    }


@pytest.mark.parametrize(
    ("contract", "seen", "knobs", "kind"),
    [
        (RESIDENT, record(rows(512, "other")), {}, ClauseKind.KERNELS),
        (RESIDENT, record(rows(512), rows(512)), {}, ClauseKind.KERNELS),
        (RESIDENT, record(Launch(kind="copy"), rows(512)), {}, ClauseKind.KERNELS),
        (RESIDENT, record(), {}, ClauseKind.KERNELS),
        (RESIDENT, record(rows(256)), {}, ClauseKind.GRID),
        (RESIDENT, record(rows(4096)), {}, ClauseKind.GRID),
        (PERSISTENT, record(rows(512)), {"PROGRAMS": 132}, ClauseKind.GRID),
        (SPLIT, split(8), {"SPLITS": 4}, ClauseKind.GRID),
        (SPLIT, split(scratch=()), {"SPLITS": 4}, ClauseKind.REDUCTION),
        (SPLIT, record(rows(512)), {"SPLITS": 4}, ClauseKind.REDUCTION),
        (SPLIT, split(scratch=(8192, 1 << 20)), {"SPLITS": 4}, ClauseKind.INTERMEDIATES),
        (SPLIT, split(scratch=(8192, 8192, 16)), {"SPLITS": 4}, ClauseKind.INTERMEDIATES),
        (RESIDENT, record(rows(512), scratch=(Scratch(size_bytes=4),), high_water_bytes=4), {}, ClauseKind.INTERMEDIATES),
    ],
)  # fmt: skip
def test_launches_that_break_a_clause(contract, seen, knobs, kind):
    assert kind in refused(check_launches(contract, seen, AXES, knobs=knobs))


@pytest.mark.parametrize(("programs", "kept"), [(64, True), (8 * 16, True), (7, False), (65, False)])
def test_a_blocked_grid_is_a_number_of_blocks(programs, kept):
    axes = {"M": 512, "N": 512, "K": 512}
    seen = record(Launch(name="gemm", grid=(programs, 1, 1)))
    knobs = {"BLOCK_M": 64, "BLOCK_N": 64}
    assert (ClauseKind.GRID not in refused(check_launches(GEMM, seen, axes, knobs=knobs))) == kept


def test_a_grid_that_follows_the_axes_is_not_persistent():
    other = Pass(record=record(rows(256)), axes={"M": 300, "N": 64})
    found = check_launches(PERSISTENT, record(rows(512)), {"M": 600, "N": 64}, others=(other,))
    assert ClauseKind.GRID in refused(found)
    few = Pass(record=record(rows(100)), axes={"M": 100, "N": 64})
    kept = check_launches(PERSISTENT, record(rows(132)), {"M": 600, "N": 64}, others=(few,))
    assert ClauseKind.GRID not in refused(kept)


def test_a_tensor_without_a_stated_size_may_have_any():
    partials = Clause(kind=ClauseKind.INTERMEDIATES, value={"partials": [], "product": ["M", "N"]})
    contract = Contract(structure="x", clauses=(partials,))
    held = record(
        scratch=(Scratch(size_bytes=1 << 21), Scratch(size_bytes=64)), high_water_bytes=(1 << 21) + 64
    )
    assert refused(check_launches(contract, held, {"M": 4, "N": 4})) == set()


def test_library_calls_and_foreign_kernels_break_no_torch_compute():
    contract = Contract(
        structure="x",
        clauses=(
            Clause(kind=ClauseKind.KERNELS, value=["gemm"]),
            Clause(kind=ClauseKind.NO_TORCH_COMPUTE, value=True),
        ),
    )
    called = record(Launch(name="gemm"), library_calls=("aten::mm",))
    assert refused(check_launches(contract, called, {})) == {ClauseKind.NO_TORCH_COMPUTE}
    foreign = record(Launch(name="void cutlass::Kernel2<cutlass_80_tensorop>(Params)"))
    assert ClauseKind.NO_TORCH_COMPUTE in refused(check_launches(contract, foreign, {}))


def test_descriptors_where_there_must_be_none():
    contract = Contract(structure="x", clauses=(Clause(kind=ClauseKind.DESCRIPTORS, value=False),))
    assert refused(check_launches(contract, LaunchRecord(descriptors=2), {})) == {ClauseKind.DESCRIPTORS}
    assert refused(check_launches(contract, LaunchRecord(), {})) == set()


@pytest.mark.parametrize(
    ("name", "plain"),
    [
        ("softmax_rows", "softmax_rows"),
        ("softmax_rows_0d1d2d", "softmax_rows"),
        ("_Z12softmax_rowsPKfPfll", "softmax_rows"),
        ("_Z12softmax_rowsILi4EEvPKfPfll", "softmax_rows"),
        ("_ZN5inner12softmax_rowsEPKf", "softmax_rows"),
        ("void inner::softmax_rows<4>(float const*, float*)", "softmax_rows"),
    ],
)
def test_names_are_compared_as_the_source_has_them(name, plain):
    assert plain_name(name) == plain


def test_a_conviction_overrules_a_pass_on_the_source_and_nothing_else_does():
    source = check(RESIDENT, candidate(triton(TRITON_RESIDENT), Language.TRITON))
    honest = with_launches(source, check_launches(RESIDENT, record(rows(512)), AXES))
    assert honest == source
    caught = with_launches(source, check_launches(RESIDENT, record(rows(512), rows(512)), AXES))
    assert overall(caught) is Verdict.VIOLATED
    with pytest.raises(ValueError, match="same clauses"):
        with_launches(source, ())


def test_hostile_names_stay_short_and_on_one_line():
    seen = record(*[Launch(name="x\n" * 900)] * 50)
    (verdict, *_) = check_launches(RESIDENT, seen, AXES)
    assert len(verdict.evidence) <= 600
    assert "\n" not in verdict.evidence
