"""Python that allocates the outputs of a workload from its inputs, for programs that are called with both."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from search.formats.format import FormatError
from search.workload import ConstAxis, ExprAxis

if TYPE_CHECKING:
    from search.workload import Tensor, Workload


def wrapper(workload: Workload, name: str, entry: str) -> str:
    """A function `name` that takes the inputs, allocates the outputs, calls `entry` and returns the outputs.

    Raises:
        FormatError: a size that no input has.
    """
    inputs = ", ".join(workload.inputs)
    outputs = ", ".join(workload.outputs)
    device = next((name for name, tensor in workload.inputs.items() if tensor.shape is not None), "")
    lines = [f"def {name}({inputs}):", f'    """{_words(workload.title)}; returns {outputs}."""']
    lines += [f"    {line}" for line in _sizes(workload)]
    for output, tensor in workload.outputs.items():
        where = f", device={device}.device" if device else ""
        lines.append(f"    {output} = torch.empty({_shape(tensor)}, dtype=torch.{tensor.dtype}{where})")
    lines += [f"    {entry}({inputs}{', ' if inputs else ''}{outputs})", f"    return {outputs}"]
    return "\n".join(lines) + "\n"


def _words(text: str) -> str:
    return text.replace("\\", "").replace('"', "'").replace("\n", " ")


def _local(axis: str) -> str:
    return f"size_{axis.strip('_')}"


def _shape(tensor: Tensor) -> str:
    return f"({''.join(f'{_local(axis)}, ' for axis in tensor.shape or ())})"


def _sizes(workload: Workload) -> list[str]:
    """Assignments of every size that the outputs have."""
    found: dict[str, str] = {}
    for name, tensor in workload.inputs.items():
        for place, axis in enumerate(tensor.shape or ()):
            found.setdefault(axis, f"{name}.shape[{place}]")
    needed = {axis for output in workload.outputs.values() for axis in output.shape or ()}
    for axis in list(needed):
        made = workload.axes[axis]
        if axis not in found and isinstance(made, ExprAxis):
            needed |= set(re.findall(r"[A-Za-z_]\w*", made.expression))
    return [f"{_local(axis)} = {_value(workload, axis, found)}" for axis in workload.axes if axis in needed]


def _value(workload: Workload, axis: str, found: dict[str, str]) -> str:
    made = workload.axes[axis]
    if isinstance(made, ConstAxis):
        return str(made.value)
    if axis in found:
        return found[axis]
    if isinstance(made, ExprAxis):
        formula = re.sub(r"[A-Za-z_]\w*", lambda word: _local(word.group()), made.expression)
        return f"int({formula})"
    raise FormatError(
        "no input has this size, so the outputs cannot be allocated", workload.name, field=f"axes.{axis}"
    )
