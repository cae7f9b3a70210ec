"""Programs of ours whose fate is known, for the doctor to judge: a device that lets one live is not fit.

All compute `softmax`; each but the honest one does one thing wrong. The walls of the sandbox have a canary of their
own (`gpuworker/canary.py`), without which no worker starts.
"""

from __future__ import annotations

from dataclasses import dataclass

from gpuworker import requests
from search.records import Candidate, EvaluationStatus, Language, SourceFile


@dataclass(frozen=True)
class Canary:
    """A program and how its evaluation must end."""

    name: str
    candidate: Candidate
    ends: frozenset[EvaluationStatus]
    deadline_s: float = 60.0


_S = EvaluationStatus
_CORRECT = frozenset(status for status in _S if status.is_correct)
_HANG_S = 4.0


def for_device(device: str) -> tuple[Canary, ...]:
    """What a device must be tried with, the honest program last, which shows that it survived the others.

    Args:
        device: `cpu`, `interpret` or `cuda:N`.
    """
    if device.startswith("cuda"):
        return cuda_canaries()
    return cpu_canaries()


def cpu_canaries() -> tuple[Canary, ...]:
    """C++ programs."""
    lines = {
        "writes an input": ("const_cast<float*>(x)[0] = 0.0f;", {_S.INPUT_MUTATED}),
        "writes behind an output": ("y[axes[0] * axes[1]] = 0.0f;", {_S.OUT_OF_BOUNDS}),
        "touches foreign memory": ("*(volatile int*)64 = 1;", {_S.ILLEGAL_ACCESS}),
        "hangs": ("for (volatile int i = 0;;) i = 0;", {_S.HANG, _S.TIMEOUT}),
    }
    honest = requests.sample()
    source = honest.sources[0].content
    found = [
        _cpp("errs by one percent", source.replace("1.0f / sum", "1.01f / sum"), {_S.INCORRECT_NUMERICAL})
    ]
    for name, (line, ends) in lines.items():
        before = "const float* x = (const float*)buffers[0]; float* y = (float*)buffers[1]; (void)x; (void)y;"
        found.append(_cpp(name, source.replace("  return 0;", f"  {before} {line}\n  return 0;"), ends))
    return (*found, Canary("honest", honest, _CORRECT))


def _cpp(name: str, source: str, ends: set[EvaluationStatus]) -> Canary:
    candidate = Candidate(language=Language.CPP, sources=(SourceFile(path="canary.cpp", content=source),))
    return Canary(name, candidate, frozenset(ends), _HANG_S if _S.HANG in ends else Canary.deadline_s)


_TRITON = """import triton
import triton.language as tl


@triton.jit
def kernel(X, Y, N, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    top = -float("inf")
    for start in range(0, N, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        top = tl.maximum(top, tl.max(tl.load(X + row * N + columns, mask=columns < N, other=-float("inf")), 0))
    total = 0.0
    for start in range(0, N, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        total += tl.sum(tl.exp(tl.load(X + row * N + columns, mask=columns < N, other=-float("inf")) - top), 0)
    for start in range(0, N, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        power = tl.exp(tl.load(X + row * N + columns, mask=columns < N, other=-float("inf")) - top)
        tl.store(Y + row * N + columns, power / total, mask=columns < N)


def run(x, y):
    kernel[(x.shape[0],)](x, y, x.shape[1], BLOCK=1024)
"""


def cuda_canaries() -> tuple[Canary, ...]:
    """Triton programs; whoever knows the CUDA device adds its own here."""
    row = "Y + row * N + columns, power / total"
    faults = frozenset({_S.ILLEGAL_ACCESS, _S.INPUT_MUTATED, _S.RUNTIME_ERROR})
    spoiled = {
        "errs by one percent": ("power / total", "1.01 * power / total", frozenset({_S.INCORRECT_NUMERICAL})),
        "writes an input": (row, "X + row * N + columns, power / total", faults),
        "touches foreign memory": (row, "Y + (1 << 44) + columns, power / total", faults),
    }
    found = [
        Canary(name, _triton(_TRITON.replace(old, new)), ends) for name, (old, new, ends) in spoiled.items()
    ]
    return (*found, Canary("honest", _triton(_TRITON), _CORRECT))


def _triton(source: str) -> Candidate:
    return Candidate(language=Language.TRITON, sources=(SourceFile(path="canary.py", content=source),))
