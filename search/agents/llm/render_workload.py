"""A workload and a device in words: the one rendering that every role is shown. Hidden cases never appear."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

from search.agents.llm.fencing import fence, one_line, shortened
from search.agents.llm.wording import counted, number, size
from search.devices import device_model
from search.traits import TRAITS, traits
from search.workload import ITEM_BYTES, ConstAxis, ExprAxis, RandomInput, ScalarInput

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from search.agents.agent import Scene
    from search.workload import Axis, Case, Generator, Tensor, Workload

REFERENCE_CAP = 6000
DESCRIPTION_CAP = 1200
MOST_CASES = 12
"""Cases listed; a workload may have hundreds."""


def workload_text(workload: Workload) -> str:
    """Definition, cases, exactness and reference, fenced."""
    return "\n".join([fence(_definition(workload), "workload", 5000), _reference(workload)])


def workload_brief(workload: Workload) -> str:
    """The same without description, cases but the timed ones, and notes on axes."""
    lines = [_head(workload), *_tensors(workload, described=False), *_cases(workload, timed_only=True)]
    return "\n".join([fence("\n".join(lines), "workload", 3000), _reference(workload)])


def device_text(scene: Scene) -> str:
    """What is known of the device: its class, facts of the fleet, and figures of the cost model."""
    lines = [f"class: {one_line(scene.device_class, 80)}"]
    lines += [f"{one_line(name, 40)}: {one_line(fact)}" for name, fact in scene.device_facts.items()]
    model = device_model(scene.device_class)
    if model is not None:
        lines += [
            f"modelled as: {model.title}, {counted(model.units, 'unit')}",
            f"memory: {number(model.memory_bytes_per_us / 1e3)} GB/s; "
            f"shared cache: {size(model.cache_size_bytes)} at {number(model.cache_bytes_per_us / 1e3)} GB/s",
            f"on chip per unit: {size(model.chip_size_bytes)}; one launch: {number(model.launch_us)} us",
        ]
    return fence("\n".join(lines), "device", 1500)


def shown_cases(workload: Workload) -> list[Case]:
    """Cases that an agent may know of."""
    return [case for case in workload.cases if not case.hidden]


def without_hidden(text: str, workload: Workload) -> str:
    """A text without the names of hidden cases: they may tell what is tested."""
    for case in workload.cases:
        if case.hidden:
            text = re.sub(rf"\b{re.escape(case.name)}\b", "a hidden case", text)
    return text


def _definition(workload: Workload) -> str:
    lines = [_head(workload)]
    if workload.description:
        lines.append(shortened(workload.description, DESCRIPTION_CAP))
    known = sorted(traits(workload))
    lines += [f"trait {name}: {TRAITS[name]}" for name in known]
    lines += ["axes:", *(f"  {name}: {_axis(axis)}" for name, axis in workload.axes.items())]
    lines += _tensors(workload, described=True)
    lines += [f"constraint: {one_line(text)}" for text in workload.constraints]
    lines += _cases(workload, timed_only=False)
    lines += [_exactness(workload), _policy(workload)]
    return "\n".join(lines)


def _head(workload: Workload) -> str:
    return f"{workload.name}: {one_line(workload.title)} ({workload.op_type or 'operation not named'})"


def _axis(axis: Axis) -> str:
    match axis:
        case ConstAxis():
            size = f"always {axis.value}"
        case ExprAxis():
            size = f"= {axis.expression}"
        case _:
            size = "differs from case to case"
    return f"{size}; {one_line(axis.description)}" if axis.description else size


def _tensors(workload: Workload, *, described: bool) -> list[str]:
    groups = (("inputs, in order:", workload.inputs), ("outputs, in order:", workload.outputs))
    return [line for title, tensors in groups for line in (title, *_listed(tensors, described=described))]


def _listed(tensors: Mapping[str, Tensor], *, described: bool) -> Iterator[str]:
    for name, tensor in tensors.items():
        shape = "scalar" if tensor.shape is None else f"[{', '.join(tensor.shape)}], contiguous"
        note = f"; {one_line(tensor.description)}" if described and tensor.description else ""
        compared = f"; compared by {tensor.comparator.type}" if tensor.comparator else ""
        yield f"  {name}: {tensor.dtype} {shape}{note}{compared}"


def _cases(workload: Workload, *, timed_only: bool) -> list[str]:
    cases = [case for case in shown_cases(workload) if case.timed or not timed_only]
    lines = ["cases (more shapes are checked than are shown):"]
    lines += [f"  {_case(workload, case)}" for case in cases[:MOST_CASES]]
    if len(cases) > MOST_CASES:
        lines.append(f"  and {len(cases) - MOST_CASES} more")
    return lines


def _case(workload: Workload, case: Case) -> str:
    sizes = workload.sizes(case)
    shape = " ".join(f"{axis}={size}" for axis, size in sizes.items())
    tensors = [*workload.inputs.values(), *workload.outputs.values()]
    moved = sum(ITEM_BYTES[one.dtype] * math.prod(workload.shape(one, sizes)) for one in tensors)
    values = ", ".join(f"{name} {_values(source)}" for name, source in case.inputs.items())
    timed = "timed" if case.timed else "checked"
    return f"{case.name}: {shape}; {timed}; {size(moved)} in and out" + (f"; {values}" if values else "")


def _values(source: Generator) -> str:
    match source:
        case RandomInput(low=int(low), high=int(high)):
            return f"integers {low} to {high - 1}"
        case RandomInput():
            return f"{source.distribution} x {source.scale:g}"
        case ScalarInput():
            return f"= {source.value}"
    return f"{source.type}"


def _exactness(workload: Workload) -> str:
    allowed = workload.tolerance
    return (
        f"allowed error of an element: {allowed.scale:g} * eps(dtype) * RMS of its row"
        f" + {allowed.relative:g} * |reference|; of a whole output: {allowed.frobenius:g} of its norm"
    )


def _policy(workload: Workload) -> str:
    policy = workload.policy
    words = [
        "torch operations may be called" if policy.torch_ops else "torch operations must not be called",
        "TF32 is allowed" if policy.tf32 else "TF32 is not allowed",
        "the same bits in every run" if policy.deterministic else "bits may differ from run to run",
    ]
    return "; ".join(words)


def _reference(workload: Workload) -> str:
    return fence(workload.reference, "reference in PyTorch", REFERENCE_CAP)
