"""Hand-written C++ sources that keep a contract, and their twins that break one clause of it."""

from __future__ import annotations

import pytest

from search.records import ClauseKind, Verdict
from tests.search.contract.contract_factories import (
    MAXIMUM,
    ONLINE,
    ROW,
    SUM,
    WRITE,
    blueprint,
    cpp_rows,
    grid,
    passes,
    refused,
    verdicts,
)

DIRECT = blueprint("softmax")
THREE = MAXIMUM + SUM + WRITE

KEPT = {
    "three plain passes": ((), cpp_rows(grid(THREE))),
    "an if instead of a maximum": ((), cpp_rows(grid(THREE.replace("m = std::max(m, row[j])", "if (row[j] > m) m = row[j]")))),
    "unrolled with a ragged end": (
        (),
        cpp_rows(
            grid(
                "    float m = -INFINITY;\n    int64_t j = 0;\n"
                "    for (; j + 2 <= N; j += 2) { m = std::fmax(m, row[j]); m = std::fmax(m, row[j + 1]); }\n"
                "    for (; j < N; ++j) m = std::fmax(m, row[j]);\n" + SUM + WRITE
            )
        ),
    ),
    "lanes of accumulators": (
        ("vector_lanes",),
        cpp_rows(
            grid(
                MAXIMUM + "    float part[8] = {};\n    const int64_t whole = N / 8 * 8;\n"
                "    for (int64_t j = 0; j < whole; j += 8)\n"
                "      for (int64_t l = 0; l < 8; ++l) part[l] += std::exp(row[j + l] - m);\n"
                "    float s = 0.0f;\n    for (int64_t l = 0; l < 8; ++l) s += part[l];\n"
                "    for (int64_t j = whole; j < N; ++j) s += std::exp(row[j] - m);\n" + WRITE
            )
        ),
    ),
    "helpers with references": (
        (),
        cpp_rows(
            grid(
                "    float m = -INFINITY, s = 0.0f;\n    top(row, N, m);\n    add(row, N, m, s);\n" + WRITE
            ),
            before=(
                "static void top(const float* p, int64_t n, float& m) { for (int64_t j = 0; j < n; ++j) m = p[j] > m ? p[j] : m; }\n"
                "static void add(const float* p, int64_t n, float m, float& s) { for (int64_t j = 0; j < n; ++j) s += expf(p[j] - m); }\n"
            ),
        ),
    ),
    "other names for the axes": (
        (),
        cpp_rows(grid(THREE)).replace("int64_t M", "int64_t rows").replace("int64_t N", "int64_t cols").replace("< M", "< rows")
        .replace("< N", "< cols").replace("* N", "* cols").replace("M, N)", "rows, cols)"),
    ),
    "online, element by element": (("online_softmax",), cpp_rows(grid(ONLINE + WRITE))),
    "exponentials kept in the output": (
        ("stored_exponentials",),
        cpp_rows(
            grid(
                MAXIMUM + "    float s = 0.0f;\n"
                "    for (int64_t j = 0; j < N; ++j) { out[j] = std::exp(row[j] - m); s += out[j]; }\n"
                "    const float r = 1.0f / s;\n    for (int64_t j = 0; j < N; ++j) out[j] *= r;\n"
            )
        ).replace("out[j] = std::exp(row[j] - m); s += out[j];", "const float e = std::exp(row[j] - m); out[j] = e; s += e;"),
    ),
    "a copy on the stack": (
        ("resident_row",),
        cpp_rows(
            grid(
                "    std::vector<float> kept(N);\n    std::copy(row, row + N, kept.begin());\n"
                + (MAXIMUM + SUM + WRITE).replace("row[j]", "kept[j]")
            )
        ),
    ),
    "threads with a share each": (
        ("persistent_rows",),
        cpp_rows(
            "  #pragma omp parallel\n  {\n    const int64_t t = omp_get_thread_num(), n = omp_get_num_threads();\n"
            f"    for (int64_t i = M * t / n; i < M * (t + 1) / n; ++i) {{\n{ROW}{THREE}    }}\n  }}"
        ),
    ),
    "a dynamic schedule": (("dynamic_rows",), cpp_rows(grid(THREE, "#pragma omp parallel for schedule(dynamic, 4)"))),
}  # fmt: skip

BROKEN = {
    "one pass is missing": ((), cpp_rows(grid(ONLINE + WRITE)), ClauseKind.REDUCTION),
    "a third pass over the row": (("online_softmax",), cpp_rows(grid(MAXIMUM + SUM + WRITE)), ClauseKind.REDUCTION),
    "no rescaling": (
        ("online_softmax",),
        cpp_rows(grid(ONLINE.replace("s * std::exp(m - larger) + ", "s + ") + WRITE)),
        ClauseKind.REDUCTION,
    ),
    "the row is read twice": (
        ("resident_row",),
        cpp_rows(grid("    std::vector<float> kept(N);\n    std::copy(row, row + N, kept.begin());\n" + MAXIMUM + WRITE.replace("/ s", ""))),
        ClauseKind.REDUCTION,
    ),
    "a second name for the input": (
        ("resident_row",),
        cpp_rows(grid("    const float* again = row;\n" + MAXIMUM + (SUM + WRITE).replace("row[j]", "again[j]"))),
        ClauseKind.REDUCTION,
    ),
    "the loop over columns is the parallel one": (
        (),
        cpp_rows("  for (int64_t i = 0; i < M; ++i) {\n" + ROW + MAXIMUM + SUM + "  #pragma omp parallel for\n" + WRITE + "  }"),
        ClauseKind.GRID,
    ),
    "axes are swapped under their names": (
        (),
        cpp_rows(grid(THREE)).replace("axes[0]", "axes[2]").replace("axes[1]", "axes[0]").replace("axes[2]", "axes[1]"),
        ClauseKind.GRID,
    ),
    "single rows for groups": (("row_groups",), cpp_rows(grid(THREE)), ClauseKind.GRID),
    "one accumulator for lanes": (("vector_lanes",), cpp_rows(grid(THREE)), ClauseKind.NUMERICS),
    "not parallel": ((), cpp_rows(grid(THREE, "")), ClauseKind.GRID),
    "persistent only in a comment": (
        ("persistent_rows",),
        cpp_rows("  // #pragma omp parallel, omp_get_thread_num()\n" + grid(THREE)),
        ClauseKind.GRID,
    ),
    "a kernel that is never called": (
        (),
        cpp_rows(grid(THREE), before="static void other(const float* x, float* y, int64_t M, int64_t N) {\n" + grid(THREE) + "\n}\n", call="other(x, y, M, N);"),
        ClauseKind.KERNELS,
    ),
    "two launches": ((), cpp_rows(grid(THREE), call="softmax_rows(x, y, M, N);\n  softmax_rows(x, y, M, N);"), ClauseKind.KERNELS),
    "two parallel loops in one kernel": ((), cpp_rows(grid(MAXIMUM) + "\n" + grid(THREE)), ClauseKind.KERNELS),
    "work in the entry point": ((), cpp_rows(grid(THREE), host="for (int64_t j = 0; j < M * N; ++j) y[j] = x[j];"), ClauseKind.KERNELS),
    "a workspace": ((), cpp_rows(grid(THREE), host="static std::vector<float> extra;\n  extra.resize(M * N);"), ClauseKind.INTERMEDIATES),
    "malloc": ((), cpp_rows(grid(THREE), host="float* extra = static_cast<float*>(malloc(M * N * 4));"), ClauseKind.INTERMEDIATES),
    "a global array": ((), cpp_rows(grid(THREE), before="static float extra[1 << 20];"), ClauseKind.INTERMEDIATES),
    "a double accumulator": ((), cpp_rows(grid(THREE.replace("float s", "double s"))), ClauseKind.NUMERICS),
    "a double behind a name": (
        (),
        cpp_rows(grid(THREE.replace("float s", "real s")), before="using real = double;"),
        ClauseKind.NUMERICS,
    ),
    "a half-precision store": ((), cpp_rows(grid(THREE.replace("out[j] = ", "out[j] = (_Float16)"))), ClauseKind.NUMERICS),
    "a library exponential": (("polynomial_exp",), cpp_rows(grid(THREE)), ClauseKind.NUMERICS),
    "a polynomial exponential": (
        (),
        cpp_rows(
            grid(THREE.replace("std::exp", "power")),
            before=(
                "static float power(float x) { const float t = x * 1.44269504f; const int n = (int)t; const float f = t - n;\n"
                "  union { int i; float v; } scale; int bits = (n + 127) << 23; float r; std::copy(&bits, &bits + 1, (int*)&r); return r * (1.0f + 0.69f * f); }"
            ).replace("union { int i; float v; } scale; ", ""),
        ),
        ClauseKind.NUMERICS,
    ),
}  # fmt: skip

HIDDEN = {
    "does not parse": cpp_rows("  for (int64_t i = 0; i < M; ++i) {"),
    "an unknown function": cpp_rows(grid("    vendor_softmax(row, out, N);\n")),
    "a function pointer": cpp_rows(grid(THREE), call="auto f = &softmax_rows;\n  f(x, y, M, N);"),
    "a macro for the launch": cpp_rows(grid(THREE), before="#define GO softmax_rows(x, y, M, N)", call="GO;"),
    "a macro for a type": cpp_rows(grid(THREE), before="#define float double"),
    "a launch under a condition": cpp_rows(grid(THREE), call="if (M > 4) softmax_rows(x, y, M, N);"),
    "an object with code": cpp_rows(
        grid(THREE), before="struct Work { Work(float* p, int64_t n) { for (int64_t j = 0; j < n; ++j) p[j] = 0; } };", host="Work w(y, M);"
    ),
    "a loop without an end": cpp_rows(
        grid(MAXIMUM + SUM + "    int64_t j = 0;\n    while (true) { out[j] = std::exp(row[j] - m) / s; if (++j == N) break; }\n")
    ),
    "compiler options": cpp_rows(grid(THREE), before="#pragma GCC optimize(\"fast-math\")\n").replace(
        "static void softmax_rows", "__attribute__((optimize(\"fast-math\"))) static void softmax_rows"
    ),
    "no entry point": "static int x = 1;\n",
}  # fmt: skip


@pytest.mark.parametrize("name", KEPT)
def test_an_honest_source_passes_every_clause(name):
    actions, source = KEPT[name]
    found = verdicts(blueprint("softmax", *actions), source)
    assert passes(found), [
        (v.clause.text, v.verdict, v.evidence) for v in found if v.verdict is not Verdict.PASS
    ]


@pytest.mark.parametrize("name", BROKEN)
def test_its_twin_breaks_the_named_clause(name):
    actions, source, kind = BROKEN[name]
    found = verdicts(blueprint("softmax", *actions), source)
    assert kind in refused(found), [(v.clause.text, v.verdict, v.evidence) for v in found]


@pytest.mark.parametrize("name", HIDDEN)
def test_what_is_not_understood_is_undecidable_with_a_line(name):
    found = verdicts(DIRECT, HIDDEN[name])
    unclear = [v for v in found if v.verdict is Verdict.UNDECIDABLE]
    assert unclear
    assert all(v.line and v.evidence for v in unclear)
    assert not passes(found)


def test_comments_and_strings_do_nothing():
    noise = '  // softmax_rows(x, y, M, N); double s; (_Float16)1 std::exp\n  const char* words = "#pragma omp parallel for double s";\n'
    assert passes(verdicts(DIRECT, cpp_rows(noise + grid(THREE))))


def test_code_that_the_preprocessor_drops_does_nothing():
    dead = "#if 0\n    for (int64_t j = 0; j < N; ++j) out[j] = row[j];\n#endif\n"
    assert passes(verdicts(DIRECT, cpp_rows(grid(THREE + dead))))


def test_the_line_of_a_violation_is_where_it_happens():
    source = cpp_rows(grid(THREE.replace("float s", "double s"))).replace(
        "out[j] = std", "out[j] = (_Float16)std"
    )
    (numerics,) = [v for v in verdicts(DIRECT, source) if v.clause.kind is ClauseKind.NUMERICS]
    assert "(_Float16)" in source.splitlines()[numerics.line - 1]
