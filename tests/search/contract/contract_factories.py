"""Small sources written by hand, and the verdicts of a structure's contract on them."""

from __future__ import annotations

from search.contract import check
from search.library import compose, shipped_library, shipped_workload
from search.records import Candidate, ClauseKind, Language, SourceFile, Verdict


def blueprint(slug: str, *actions: str, language: Language = Language.CPP):
    return compose(shipped_workload(slug), shipped_library(), actions, language)


def candidate(source: str, language: Language = Language.CPP) -> Candidate:
    return Candidate(language=language, sources=(SourceFile(path="kernel.txt", content=source),))


def verdicts(structure, source: str, language: Language = Language.CPP):
    return check(structure.contract, candidate(source, language))


def refused(found, verdict: Verdict = Verdict.VIOLATED) -> set[ClauseKind]:
    """Kinds of clauses with this verdict."""
    return {one.clause.kind for one in found if one.verdict is verdict}


def passes(found) -> bool:
    return all(one.verdict is Verdict.PASS for one in found)


def cpp_rows(kernel: str, before: str = "", call: str = "softmax_rows(x, y, M, N);", host: str = "") -> str:
    """A softmax file with one kernel body; `kernel` is what happens to row `i`."""
    return f"""\
// KNOBS {{}}
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>
#include <omp.h>
{before}
static void softmax_rows(const float* x, float* y, int64_t M, int64_t N) {{
{kernel}
}}

extern "C" int run(void** buffers, const int64_t* axes, void*) {{
  const int64_t M = axes[0];
  const int64_t N = axes[1];
  const float* x = static_cast<const float*>(buffers[0]);
  float* y = (float*)buffers[1];
  {host}
  {call}
  return 0;
}}
"""


MAXIMUM = """\
    float m = -INFINITY;
    for (int64_t j = 0; j < N; ++j) m = std::max(m, row[j]);
"""
SUM = """\
    float s = 0.0f;
    for (int64_t j = 0; j < N; ++j) s += std::exp(row[j] - m);
"""
WRITE = """\
    for (int64_t j = 0; j < N; ++j) out[j] = std::exp(row[j] - m) / s;
"""
ONLINE = """\
    float m = -INFINITY, s = 0.0f;
    for (int64_t j = 0; j < N; ++j) {
      const float larger = row[j] > m ? row[j] : m;
      s = s * std::exp(m - larger) + std::exp(row[j] - larger);
      m = larger;
    }
"""
ROW = """\
    const float* row = x + i * N;
    float* out = y + i * N;
"""


def grid(body: str, pragma: str = "#pragma omp parallel for", head: str = "int64_t i = 0; i < M; ++i") -> str:
    """A parallel loop over rows."""
    return f"  {pragma}\n  for ({head}) {{\n{ROW}{body}  }}"


def triton(
    kernel: str,
    run: str = "    M, N = x.shape\n    softmax_rows[(M,)](x, y, M, N, BLOCK=1024)",
    more: str = "",
) -> str:
    """A softmax module with one jitted function body."""
    return f"""\
import torch
import triton
import triton.language as tl

KNOBS = {{"BLOCK": 1024, "SPLITS": 4, "PROGRAMS": 132}}


@triton.jit
def softmax_rows(x_ptr, y_ptr, M, N, BLOCK: tl.constexpr):
{kernel}

{more}

def run(x, y):
{run}
"""


TRITON_THREE = """\
    i = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    m = -float("inf")
    for start in range(0, N, BLOCK):
        v = tl.load(x_ptr + i * N + start + cols, mask=start + cols < N, other=-float("inf"))
        m = tl.maximum(m, tl.max(v, axis=0))
    s = 0.0
    for start in range(0, N, BLOCK):
        v = tl.load(x_ptr + i * N + start + cols, mask=start + cols < N, other=-float("inf"))
        s += tl.sum(tl.exp(v - m), axis=0)
    for start in range(0, N, BLOCK):
        v = tl.load(x_ptr + i * N + start + cols, mask=start + cols < N, other=0.0)
        tl.store(y_ptr + i * N + start + cols, tl.exp(v - m) / s, mask=start + cols < N)
"""
TRITON_ONLINE = """\
    i = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    m = -float("inf")
    s = 0.0
    for start in range(0, N, BLOCK):
        v = tl.load(x_ptr + i * N + start + cols, mask=start + cols < N, other=-float("inf"))
        new = tl.maximum(m, tl.max(v, axis=0))
        s = s * tl.exp(m - new) + tl.sum(tl.exp(v - new), axis=0)
        m = new
    for start in range(0, N, BLOCK):
        v = tl.load(x_ptr + i * N + start + cols, mask=start + cols < N, other=0.0)
        tl.store(y_ptr + i * N + start + cols, tl.exp(v - m) / s, mask=start + cols < N)
"""
TRITON_RESIDENT = """\
    i = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    v = tl.load(x_ptr + i * N + cols, mask=cols < N, other=-float("inf"))
    e = tl.exp(v - tl.max(v, axis=0))
    tl.store(y_ptr + i * N + cols, e / tl.sum(e, axis=0), mask=cols < N)
"""
