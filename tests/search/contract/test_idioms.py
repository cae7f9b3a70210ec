"""Ways to write the same structure that must all pass, and ways to hide another one that must not."""

from __future__ import annotations

import pytest

from search.records import ClauseKind, Language
from tests.search.contract.contract_factories import (
    MAXIMUM,
    ONLINE,
    ROW,
    SUM,
    TRITON_THREE,
    WRITE,
    blueprint,
    cpp_rows,
    grid,
    passes,
    refused,
    triton,
    verdicts,
)

THREE = MAXIMUM + SUM + WRITE
PLAIN = cpp_rows(grid(THREE))
ON_CHIP = THREE.replace("row[j]", "kept[j]")
AVX = """\
    __m256 lanes = _mm256_set1_ps(-INFINITY);
    int64_t j = 0;
    for (; j + 8 <= N; j += 8) lanes = _mm256_max_ps(lanes, _mm256_loadu_ps(row + j));
    alignas(32) float lane[8];
    _mm256_store_ps(lane, lanes);
    float m = -INFINITY;
    for (int l = 0; l < 8; ++l) m = std::max(m, lane[l]);
    for (; j < N; ++j) m = std::max(m, row[j]);
"""

HONEST = {
    "restrict": ((), PLAIN.replace("const float* x, float* y,", "const float* __restrict__ x, float* __restrict y,")),
    "a namespace": ((), PLAIN.replace("static void", "namespace {\nvoid").replace('extern "C"', '}\nextern "C"')),
    "a template": (
        (),
        PLAIN.replace("static void", "template <int R>\nstatic void").replace("  softmax_rows(x", "  softmax_rows<4>(x"),
    ),
    "a lambda": (
        (),
        cpp_rows(
            grid(
                "    auto top = [&](const float* p) { float m = -INFINITY; for (int64_t j = 0; j < N; ++j) m = std::max(m, p[j]); return m; };\n"
                "    const float m = top(row);\n" + SUM + WRITE
            )
        ),
    ),
    "a reduction clause": ((), PLAIN.replace("++j) s +=", "++j) s +=").replace("    float s = 0.0f;\n", "    float s = 0.0f;\n    #pragma omp simd reduction(+:s)\n")),
    "a pointer that walks": (
        (),
        cpp_rows(grid("    float m = -INFINITY;\n    for (const float* p = row; p < row + N; ++p) m = std::max(m, *p);\n" + SUM + WRITE)),
    ),
    "while": ((), cpp_rows(grid("    float m = -INFINITY;\n    int64_t j = 0;\n    while (j < N) { m = std::max(m, row[j]); ++j; }\n" + SUM + WRITE))),
    "do": ((), cpp_rows(grid("    float m = -INFINITY;\n    int64_t q = 0;\n    do { m = std::max(m, row[q]); ++q; } while (q < N);\n" + SUM + WRITE))),
    "library algorithms": ((), cpp_rows(grid("    const float m = *std::max_element(row, row + N);\n" + SUM + WRITE))),
    "a region around the loop": (
        (),
        cpp_rows("  #pragma omp parallel\n  {\n    #pragma omp for schedule(static)\n    for (int64_t i = 0; i < M; ++i) {\n" + ROW + THREE + "    }\n  }"),
    ),
    "vector registers": (("vector_lanes",), cpp_rows(grid(AVX + SUM + WRITE), before="#include <immintrin.h>")),
    "rescaling only when the maximum grows": (
        ("online_softmax",),
        cpp_rows(
            grid(
                "    float m = -INFINITY, s = 0.0f;\n    for (int64_t j = 0; j < N; ++j) {\n"
                "      if (row[j] > m) { s *= std::exp(m - row[j]); m = row[j]; }\n      s += std::exp(row[j] - m);\n    }\n" + WRITE
            )
        ),
    ),
    "unique_ptr": (("resident_row",), cpp_rows(grid("    std::unique_ptr<float[]> kept(new float[N]);\n    for (int64_t j = 0; j < N; ++j) kept[j] = row[j];\n" + ON_CHIP))),
    "alloca and memcpy": (
        ("resident_row",),
        cpp_rows(grid("    float* kept = static_cast<float*>(alloca(N * sizeof(float)));\n    std::memcpy(kept, row, N * sizeof(float));\n" + ON_CHIP)),
    ),
    "an array as long as the row": (("resident_row",), cpp_rows(grid("    float kept[N];\n    for (int64_t j = 0; j < N; ++j) kept[j] = row[j];\n" + ON_CHIP))),
}  # fmt: skip

AGAIN = MAXIMUM.replace("row[j]", "again[j]") + (SUM + WRITE).replace("row[j]", "kept[j]")
KEPT = "    float kept[N];\n    for (int64_t j = 0; j < N; ++j) kept[j] = row[j];\n"
LAUNDERED = {
    "through an integer": "    const float* again = reinterpret_cast<const float*>(reinterpret_cast<uintptr_t>(row));\n",
    "through memcpy": "    const float* again;\n    std::memcpy(&again, &row, sizeof row);\n",
    "through an array": "    const float* both[2];\n    both[0] = kept;\n    both[1] = row;\n    const float* again = both[1];\n",
    "through a parameter": "    const float* again;\n    give(&again, row);\n",
    "through a reference": "    const float* const& again = row;\n",
    "through a global": "    spare = row;\n    const float* again = spare;\n",
    "through const_cast": "    float* again = const_cast<float*>(row);\n",
}
HELPERS = (
    "static const float* spare;\nstatic void give(const float** to, const float* from) { *to = from; }\n"
)


@pytest.mark.parametrize("name", HONEST)
def test_style_does_not_matter(name):
    actions, source = HONEST[name]
    found = verdicts(blueprint("softmax", *actions), source)
    assert passes(found), [(v.clause.text, v.verdict, v.evidence) for v in found if v.verdict != "pass"]


@pytest.mark.parametrize("name", LAUNDERED)
def test_a_second_read_of_the_row_shows_whatever_the_pointer_is_called(name):
    source = cpp_rows(grid(KEPT + LAUNDERED[name] + AGAIN), before=HELPERS)
    found = verdicts(blueprint("softmax", "resident_row"), source)
    assert ClauseKind.REDUCTION in refused(found)


STRIDES = TRITON_THREE.replace("i * N", "i * stride")
MANY = "    for i in range(tl.program_id(0), M, tl.num_programs(0)):\n" + "".join(
    f"    {line}\n" for line in TRITON_THREE.splitlines()[1:]
)
TRITON_HONEST = {
    "a row pointer": ((), triton(TRITON_THREE.replace("    cols =", "    row = x_ptr + i * N\n    cols =").replace("x_ptr + i * N +", "row +"))),
    "autotune": ((), triton(TRITON_THREE).replace("@triton.jit", "@triton.autotune(configs=[triton.Config({}, num_warps=4)], key=['N'])\n@triton.jit")),
    "strides": ((), triton(STRIDES, "    M, N = x.shape\n    softmax_rows[(M,)](x, y, M, N, x.stride(0))").replace("M, N, BLOCK: tl.constexpr", "M, N, stride, BLOCK: tl.constexpr = 1024")),
    "as many programs as the device holds": (
        ("persistent_rows",),
        triton(
            MANY,
            "    M, N = x.shape\n    sms = torch.cuda.get_device_properties(x.device).multi_processor_count\n"
            "    softmax_rows[(sms * 4,)](x, y, M, N, BLOCK=1024)",
        ),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", TRITON_HONEST)
def test_style_does_not_matter_in_triton(name):
    actions, source = TRITON_HONEST[name]
    found = verdicts(blueprint("softmax", *actions, language=Language.TRITON), source, Language.TRITON)
    assert passes(found), [(v.clause.text, v.verdict, v.evidence) for v in found if v.verdict != "pass"]


def test_online_is_not_three_passes():
    assert ClauseKind.REDUCTION in refused(verdicts(blueprint("softmax"), cpp_rows(grid(ONLINE + WRITE))))


ROUNDED = {
    "a variable that is assigned later": "    float s = 0.0f;\n    _Float16 h;\n    for (int64_t j = 0; j < N; ++j) { h = std::exp(row[j] - m); s += h; }\n",
    "an array": "    float s = 0.0f;\n    _Float16 kept[64];\n    for (int64_t j = 0; j < N; ++j) { kept[j % 64] = std::exp(row[j] - m); s += kept[j % 64]; }\n",
    "a parameter": "    float s = 0.0f;\n    for (int64_t j = 0; j < N; ++j) s = added(s, std::exp(row[j] - m));\n",
    "a result": "    float s = 0.0f;\n    for (int64_t j = 0; j < N; ++j) s += rounded(std::exp(row[j] - m));\n",
    "a cast": "    float s = 0.0f;\n    for (int64_t j = 0; j < N; ++j) s += (_Float16)std::exp(row[j] - m);\n",
}  # fmt: skip
ROUNDING = "static float added(float s, _Float16 v) { return s + v; }\nstatic _Float16 rounded(float v) { return v; }\n"


@pytest.mark.parametrize("name", ROUNDED)
def test_a_term_that_was_rounded_shows_wherever_it_was_kept(name):
    source = cpp_rows(grid(MAXIMUM + ROUNDED[name] + WRITE), before=ROUNDING)
    assert ClauseKind.NUMERICS in refused(verdicts(blueprint("softmax"), source))


RUN = "    M, N = x.shape\n    softmax_rows[(M,)]({}, y, M, N, BLOCK=1024)"


def test_a_view_is_no_work_but_a_copy_is():
    direct = blueprint("softmax", language=Language.TRITON)
    assert passes(verdicts(direct, triton(TRITON_THREE, RUN.format("x.view(M, N)")), Language.TRITON))
    copied = verdicts(direct, triton(TRITON_THREE, RUN.format("x.t().reshape(M, N)")), Language.TRITON)
    assert ClauseKind.NO_TORCH_COMPUTE in refused(copied)


def test_a_type_behind_a_name_is_told():
    source = triton(
        TRITON_THREE, "    part = torch.empty((4,), dtype=KIND)\n" + RUN.format("x"), "KIND = pick()\n"
    )
    found = verdicts(blueprint("softmax", language=Language.TRITON), source, Language.TRITON)
    assert not passes(found)


def test_a_row_that_stays_on_chip_is_resident_even_if_its_statistics_are_online():
    body = (
        "    float kept[N];\n    float m = -INFINITY, s = 0.0f;\n    for (int64_t j = 0; j < N; ++j) {\n"
        "      kept[j] = row[j];\n      const float larger = kept[j] > m ? kept[j] : m;\n"
        "      s = s * std::exp(m - larger) + std::exp(kept[j] - larger);\n      m = larger;\n    }\n"
        + WRITE.replace("row[j]", "kept[j]")
    )
    assert passes(verdicts(blueprint("softmax", "resident_row"), cpp_rows(grid(body))))
    assert ClauseKind.REDUCTION in refused(
        verdicts(blueprint("softmax", "online_softmax"), cpp_rows(grid(body)))
    )
