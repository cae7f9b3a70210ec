"""Operators of a profiled program, ranked by Amdahl's law, and the top ones as workloads.

A program whose operator takes the share `s` of its time can become at most `1 / (1 - s)` times faster by a better
kernel for it (AutoKernel, phase A). What is told of an operator comes from a cell, so every field is checked.
"""

from __future__ import annotations

import keyword
import re
from typing import TYPE_CHECKING, Annotated

from pydantic import Field, JsonValue, StringConstraints

from search.formats.convert import identifier
from search.formats.format import FormatError
from search.formats.tolerances import fitted
from search.records import Record
from search.workload import Case, ConstAxis, DType, RandomInput, Size, Tensor, Workload

if TYPE_CHECKING:
    from collections.abc import Sequence

_MOST_DIMENSIONS = 16
_MOST_ARGUMENTS = 64
_VIEWS = re.compile(
    r"^aten\.(view|t|transpose|permute|expand|slice|select|unsqueeze|squeeze|detach|alias|as_strided)\b"
)


class Argument(Record):
    """A tensor, a plain value, or the name of a type that is neither."""

    shape: Annotated[tuple[Size, ...] | None, Field(max_length=_MOST_DIMENSIONS)] = None
    dtype: DType | None = None
    value: bool | int | float | None = None
    low: int | None = None
    high: int | None = None
    plain: bool | int | float | str | tuple[bool | int | float, ...] | None = None
    strange: Annotated[str, StringConstraints(max_length=100)] = ""


class Operator(Record):
    """One operator with its arguments, as often as it is called with such."""

    name: Annotated[
        str, StringConstraints(pattern=r"^aten\.[a-z_][a-z0-9_]{0,80}\.[A-Za-z_][A-Za-z0-9_]{0,80}$")
    ]
    args: Annotated[tuple[Argument, ...], Field(max_length=_MOST_ARGUMENTS)]
    named: dict[Annotated[str, StringConstraints(pattern=r"^[a-z_][a-z0-9_]{0,60}$")], Argument] = {}
    outputs: Annotated[tuple[Argument, ...], Field(max_length=_MOST_ARGUMENTS)]
    calls: Annotated[float, Field(ge=0)]
    seconds: Annotated[float, Field(ge=0)]

    @property
    def microseconds(self) -> float:
        """Of all its calls in one call of the program."""
        return self.seconds * 1e6

    @property
    def takes(self) -> str:
        """Shapes and types of its tensors, for people."""
        arguments = [*self.args, *self.named.values()]
        told = [(one.shape, one.dtype) for one in arguments if one.shape is not None and one.dtype]
        return ", ".join(f"{'x'.join(map(str, shape)) or 'scalar'} {dtype}" for shape, dtype in told)

    @property
    def is_view(self) -> bool:
        """Whether it computes nothing."""
        return bool(_VIEWS.match(self.name))


class Ranked(Record):
    """An operator with what a better kernel for it could bring."""

    operator: Operator
    share: float
    """Of the program's time."""
    limit: float
    """Largest speed-up of the whole program by this operator alone."""
    offered: str = ""
    """Name of the workload; empty where it cannot become one."""
    why: str = ""
    """Why not."""

    @property
    def twice(self) -> float:
        """Speed-up of the whole program by a kernel that is twice as fast."""
        return 1 / (1 - self.share / 2)


def rank(told: Sequence[JsonValue], name: str, most: int = 5) -> tuple[list[Ranked], list[Workload]]:
    """Operators by their share of the time, and workloads of the first `most` that can become some.

    Raises:
        pydantic.ValidationError: what was told is no list of operators.
    """
    operators = sorted((Operator.load(one) for one in told), key=lambda one: -one.seconds)
    total = sum(one.seconds for one in operators) or 1.0
    ranked: list[Ranked] = []
    workloads: dict[str, Workload] = {}
    for one in operators:
        share = min(one.seconds / total, 0.999999)
        row = Ranked(operator=one, share=share, limit=1 / (1 - share))
        try:
            made = workload_of(one, name)
        except (FormatError, ValueError) as error:
            ranked.append(row.model_copy(update={"why": str(error)[:300]}))
            continue
        if len(workloads) < most or made.name in workloads:
            workloads[made.name] = made
            row = row.model_copy(update={"offered": made.name})
        ranked.append(row)
    return ranked, list(workloads.values())


def workload_of(operator: Operator, program: str) -> Workload:
    """The operator on the shapes that it was met with; its tensors are inputs, everything else is fixed.

    Raises:
        FormatError: it computes nothing, writes into its inputs, or takes or makes what is no tensor or number.
        pydantic.ValidationError: a shape or type that our records do not take.
    """
    short = operator.name.split(".")[1]
    if operator.is_view:
        raise FormatError("it computes nothing", operator.name)
    if short.endswith("_"):
        raise FormatError("it writes into its inputs", operator.name)
    axes: dict[str, ConstAxis] = {}
    inputs: dict[str, Tensor] = {}
    made: dict[str, RandomInput] = {}
    words = []
    for word, argument in [*(("", one) for one in operator.args), *operator.named.items()]:
        prefix = f"{word}=" if word else ""
        if argument.dtype is not None and argument.shape is not None:
            name = f"x{len(inputs)}"
            inputs[name] = _tensor(argument, axes)
            made[name] = RandomInput(low=argument.low, high=argument.high)
            words.append(f"{prefix}{name}")
        else:
            words.append(f"{prefix}{_literal(argument, operator.name)}")
    outputs = {f"y{place}": _output(one, axes, operator.name) for place, one in enumerate(operator.outputs)}
    if not inputs or not outputs:
        raise FormatError("it takes or makes no tensor", operator.name)
    call = f"torch.ops.{operator.name}({', '.join(words)})"
    dimensions = "_".join("x".join(map(str, one.shape)) for one in operator.args if one.shape) or "scalar"
    workload = Workload(
        name=identifier(f"{program}_{short}_{dimensions}")[:60],
        title=f"{short} of {program}"[:200],
        description=f"{operator.name}, {operator.calls:g} times a call of {program}."[:500],
        op_type=short,
        axes=dict(axes),
        inputs=inputs,
        outputs=outputs,
        reference=f"import torch\n\n\ndef run({', '.join(inputs)}):\n    return {call}\n",
        cases=(Case(name="main", axes={}, inputs=dict(made)),),
    )
    return fitted(workload)


def _tensor(argument: Argument, axes: dict[str, ConstAxis]) -> Tensor:
    names = tuple(f"n{size}" for size in argument.shape or ())
    axes.update({f"n{size}": ConstAxis(value=size) for size in argument.shape or ()})
    assert argument.dtype is not None
    return Tensor(shape=names, dtype=argument.dtype)


def _output(argument: Argument, axes: dict[str, ConstAxis], where: str) -> Tensor:
    if argument.dtype is None or argument.shape is None:
        raise FormatError("a result is no tensor", where)
    return _tensor(argument, axes)


def _literal(argument: Argument, where: str) -> str:
    """A plain value as Python; words could be anything, so none is written that is no name of a mode."""
    if argument.strange:
        raise FormatError(f"it takes a {argument.strange}", where)
    plain = argument.plain if argument.value is None else argument.value
    if isinstance(plain, str) and (not plain.isidentifier() or keyword.iskeyword(plain)):
        raise FormatError("it takes a word that is no name", where)
    return repr(list(plain) if isinstance(plain, tuple) else plain)
