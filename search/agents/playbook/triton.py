"""Triton pieces every family uses: the module around the kernels, and exponentials."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from search.agents.playbook.text import fill, rename

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from search.blueprint import Blueprint, Intermediate
    from search.workload import Workload

_FILE = """\
KNOBS = @knobs@

# @workload@: @title@
import torch
import triton
import triton.language as tl

@functions@


@kernels@


def run(@parameters@):
    @sizes@
    @workspace@
    @launches@
"""

_KERNEL = """\
@triton.jit
def @name@(
    @parameters@
):
    # @computes@
    @body@
"""

_LAUNCH = """\
@name@[@grid@](
    @arguments@,
    @options@
)
"""


@dataclass(frozen=True)
class Kernel:
    """A jitted function launched once from `run`."""

    name: str
    tensors: tuple[str, ...]
    """What it reads, then what it writes."""
    grid: str
    body: str
    constants: Mapping[str, str]
    """Compile-time parameters, in capitals, with the expression `run` passes; only those the body uses count."""
    options: Mapping[str, str]
    """Launch options, e.g. `num_warps`, with their expression."""


@dataclass(frozen=True)
class Program:
    """All that differs between two modules of one family."""

    functions: Sequence[str]
    kernels: Sequence[Kernel]
    inputs: Sequence[str]
    outputs: Sequence[str]
    sizes: str
    """Lines of `run` that name the axis sizes."""
    axes: Mapping[str, str]
    """Axis letters of the templates to the names of the workload's axes."""
    like: Mapping[str, str] = field(default_factory=dict)
    """Intermediates that are not float32, with the tensor whose element type they share."""
    copies: Mapping[str, int] = field(default_factory=dict)
    """Intermediates that are allocated several times over, as one tensor with a leading axis."""


def knob(name: str) -> str:
    """Expression of a knob's value in `run`."""
    return f'KNOBS["{name}"]'


def source_file(blueprint: Blueprint, workload: Workload, program: Program) -> str:
    """The whole module."""
    head, rest = fill(
        _FILE,
        knobs=repr({knob.name: knob.default for knob in blueprint.knobs}),
        workload=workload.title,
        title=blueprint.title,
        functions="\n\n".join(program.functions),
        kernels="\n\n".join(_function(blueprint, kernel, program) for kernel in program.kernels),
        parameters=", ".join([*program.inputs, *program.outputs]),
        sizes=program.sizes,
        workspace="\n".join(_workspace(tensor, program) for tensor in blueprint.intermediates),
        launches="".join(_launch(kernel, program) for kernel in program.kernels),
    ).split("\n", 1)
    return head + "\n" + rename(rest, program.axes)


def _function(blueprint: Blueprint, kernel: Kernel, program: Program) -> str:
    plan = next(plan for plan in blueprint.kernels if plan.name == kernel.name)
    parameters = [", ".join([*kernel.tensors, *program.axes])]
    parameters += [f"{name}: tl.constexpr" for name in _used(kernel)]
    return fill(
        _KERNEL,
        name=kernel.name,
        parameters="\n".join(f"{parameter}," for parameter in parameters),
        computes=plan.computes,
        body=kernel.body,
    )


def _used(kernel: Kernel) -> dict[str, str]:
    return {name: value for name, value in kernel.constants.items() if re.search(rf"\b{name}\b", kernel.body)}


def _workspace(tensor: Intermediate, program: Program) -> str:
    letters = {name: letter for letter, name in program.axes.items()}
    sizes = [letters[size] if size in letters else knob(size) for size in tensor.shape]
    copies = program.copies.get(tensor.name)
    shape = ", ".join([str(copies), *sizes] if copies else sizes)
    dtype = f"{program.like[tensor.name]}.dtype" if tensor.name in program.like else "torch.float32"
    return f"{tensor.name} = torch.empty(({shape}), dtype={dtype}, device={program.outputs[0]}.device)"


def _launch(kernel: Kernel, program: Program) -> str:
    named = {**_used(kernel), **kernel.options}
    return fill(
        _LAUNCH,
        name=kernel.name,
        grid=kernel.grid,
        arguments=", ".join([*kernel.tensors, *program.axes]),
        options="\n".join(f"{name}={value}," for name, value in named.items()),
    )


# Exponentials --------------------------------------------------------------------------------------

LIBM_EXPONENTIAL = """\
@triton.jit
def exponential(x, EXP2: tl.constexpr):
    if EXP2:
        return tl.exp2(x * 1.4426950408889634)
    return tl.exp(x)
"""

# The same polynomials as in C++ (`cpp.py`): least greatest relative error of 2^f on [-1/2, 1/2].
POLYNOMIAL_EXPONENTIAL = """\
@triton.jit
def exponential(x, DEGREE: tl.constexpr):
    # exp(x) for x <= 0 as 2^n * 2^f: n goes into the exponent bits, 2^f is a polynomial of DEGREE.
    bounded = tl.where(x < -87.0, -87.0, x)
    n = tl.floor(bounded * 1.4426950408889634 + 0.5)
    f = tl.fma(bounded, 1.4426950408889634, -n)
    if DEGREE == 4:
        power = 0.0095701022 * f + 0.055917859
        power = power * f + 0.24024744
        power = power * f + 0.69312179
        power = power * f + 0.99999928
    elif DEGREE == 5:
        power = 0.0013276472 * f + 0.0096755410
        power = power * f + 0.055507131
        power = power * f + 0.24022120
        power = power * f + 0.69314694
        power = power * f + 1.0000001
    elif DEGREE == 6:
        power = 0.00015345812 * f + 0.0013399931
        power = power * f + 0.0096184891
        power = power * f + 0.055503286
        power = power * f + 0.24022646
        power = power * f + 0.69314718
        power = power * f + 1.0
    else:
        power = 1.520192e-05 * f + 0.00015469291
        power = power * f + 0.0013333922
        power = power * f + 0.0096180271
        power = power * f + 0.055504102
        power = power * f + 0.24022651
        power = power * f + 0.69314718
        power = power * f + 1.0
    scale = ((n.to(tl.int32) + 127) << 23).to(tl.float32, bitcast=True)
    return tl.where(x < -87.0, 0.0, power * scale)
"""

EXPONENTIALS = {"libm": LIBM_EXPONENTIAL, "polynomial": POLYNOMIAL_EXPONENTIAL}

EXP_KNOBS = {"libm": "EXP2", "polynomial": "DEGREE"}
"""The knob that `exponential` takes as its second argument."""

LOWEST = """\
# Where a maximum is merged with others it starts here, not at -inf: -inf - -inf would be NaN.
LOWEST = tl.constexpr(-3.4028234663852886e38)
"""
