"""C++ pieces every family uses: the file around the kernels, and exponentials."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from search.agents.playbook.text import fill, rename

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from search.blueprint import Blueprint, Intermediate
    from search.workload import Workload

_HEAD = """\
// KNOBS @knobs@
// @workload@: @title@
@includes@
"""

_CODE = """\
@functions@

@kernels@

extern "C" int run(void** buffers, const int64_t* axes, void*) {
  @axes@
  @buffers@
  @workspace@
  @launches@
  return 0;
}
"""

# Each header costs 10 to 300 ms of every build, so only what the code uses is included.
_HEADERS = {
    "algorithm": r"std::(min|fill_n)",
    "cmath": r"std::(exp|exp2|sqrt|tanh)|INFINITY",
    "cstdint": r"int64_t",
    "cstring": r"std::memcpy",
    "limits": r"numeric_limits",
    "vector": r"std::vector",
    "omp.h": r"omp_get",
}

_KERNEL = """\
// @computes@
static void @name@(@parameters@) {
  @body@
}
"""

_WORKSPACE = """\
static std::vector<float> @name@;
if (static_cast<int64_t>(@name@.size()) < @size@) @name@.resize(@size@);
"""


@dataclass(frozen=True)
class Kernel:
    """One parallel loop nest: a function called once from `run`."""

    name: str
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    body: str


@dataclass(frozen=True)
class Program:
    """All that differs between two source files of one family."""

    functions: Sequence[str]
    kernels: Sequence[Kernel]
    inputs: Sequence[str]
    """What the templates call the inputs, in the definition's order."""
    output: str
    axes: Mapping[str, str]
    """Axis letters of the templates to the names of the workload's axes."""


def source_file(blueprint: Blueprint, workload: Workload, program: Program) -> str:
    """The whole file."""
    letters = {name: letter for letter, name in program.axes.items()}
    code = fill(
        _CODE,
        functions="\n".join(program.functions),
        kernels="\n".join(_function(blueprint, kernel, program) for kernel in program.kernels),
        axes="\n".join(
            f"const int64_t {letters.get(name, name)} = axes[{i}];" for i, name in enumerate(workload.axes)
        ),
        buffers="\n".join(_buffers(program)),
        workspace="".join(_workspace(tensor, letters) for tensor in blueprint.intermediates),
        launches="\n".join(_launch(blueprint, kernel, program) for kernel in program.kernels),
    )
    head = fill(
        _HEAD,
        knobs=json.dumps({knob.name: knob.default for knob in blueprint.knobs}),
        workload=workload.title,
        title=blueprint.title,
        includes="\n".join(
            f"#include <{header}>" for header, used in _HEADERS.items() if re.search(used, code)
        ),
    )
    return head + "\n" + rename(code, program.axes)


def _function(blueprint: Blueprint, kernel: Kernel, program: Program) -> str:
    parameters = [f"const float* {name}" for name in kernel.reads]
    parameters += [f"float* {name}" for name in kernel.writes]
    parameters += [f"int64_t {axis}" for axis in program.axes]
    plan = next(plan for plan in blueprint.kernels if plan.name == kernel.name)
    return fill(
        _KERNEL, name=kernel.name, computes=plan.computes, parameters=", ".join(parameters), body=kernel.body
    )


def _buffers(program: Program) -> list[str]:
    read = [
        f"const float* {name} = static_cast<const float*>(buffers[{position}]);"
        for position, name in enumerate(program.inputs)
    ]
    return [*read, f"float* {program.output} = static_cast<float*>(buffers[{len(read)}]);"]


def _workspace(tensor: Intermediate, letters: Mapping[str, str]) -> str:
    return fill(
        _WORKSPACE, name=tensor.name, size=" * ".join(letters.get(size, size) for size in tensor.shape)
    )


def _launch(blueprint: Blueprint, kernel: Kernel, program: Program) -> str:
    held = {tensor.name for tensor in blueprint.intermediates}
    names = [f"{name}.data()" if name in held else name for name in kernel.reads + kernel.writes]
    return f"{kernel.name}({', '.join([*names, *program.axes])});"


# Exponentials --------------------------------------------------------------------------------------

LIBM_EXPONENTIAL = """\
static inline float exponential(float x) {
  return EXP2 ? std::exp2(x * 1.44269504f) : std::exp(x);
}
"""

# Adding 1.5 * 2^23 rounds to a whole number and leaves it, here with the bias of 127, in the low bits; shifted
# into the exponent they are 2^n. NaN stays NaN; far below the smallest normal result it is zero, so a masked -inf
# is exactly zero. No branch, hence it runs in lanes. Coefficients: least greatest relative error on
# [-1/2, 1/2]: 2.6e-6, 7.5e-8, 1.9e-9 and 4e-11 before rounding.
POLYNOMIAL_EXPONENTIAL = """\
constexpr float POWER_OF_TWO[4][8] = {
    {0.99999928f, 0.69312179f, 0.24024744f, 0.055917859f, 0.0095701022f},
    {1.0000001f, 0.69314694f, 0.24022120f, 0.055507131f, 0.0096755410f, 0.0013276472f},
    {1.0f, 0.69314718f, 0.24022646f, 0.055503286f, 0.0096184891f, 0.0013399931f, 0.00015345812f},
    {1.0f, 0.69314718f, 0.24022651f, 0.055504102f, 0.0096180271f, 0.0013333922f, 0.00015469291f, 1.520192e-05f},
};

// exp(x) for x <= 0 as 2^n * 2^f: n goes into the exponent bits, 2^f is a polynomial of DEGREE.
static inline float exponential(float x) {
  constexpr float log2_e = 1.44269504f, rounder = 12582912.0f + 127.0f, lowest = -87.0f;
  const float bounded = x < lowest ? lowest : x;
  const float shifted = bounded * log2_e + rounder;
  const float f = bounded * log2_e - (shifted - rounder);
  float power = POWER_OF_TWO[DEGREE - 4][DEGREE];
  for (int k = DEGREE - 1; k >= 0; --k) power = power * f + POWER_OF_TWO[DEGREE - 4][k];
  int32_t bits;
  std::memcpy(&bits, &shifted, sizeof bits);
  bits <<= 23;
  float scale;
  std::memcpy(&scale, &bits, sizeof scale);
  return x < lowest ? 0.0f : power * scale;
}
"""

EXPONENTIALS = {"libm": LIBM_EXPONENTIAL, "polynomial": POLYNOMIAL_EXPONENTIAL}
