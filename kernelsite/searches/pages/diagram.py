"""A blueprint as a diagram: for every launch what one program reads, keeps on chip and writes, with sizes of one case.

The template `searches/_diagram.html` draws it; positions are in the units of a picture of 96 x 64.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from search.cost import structure_cost
from search.devices import device_model
from search.expressions import evaluate_expression
from search.records import ClauseKind
from search.workload import ITEM_BYTES, DType

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from search.blueprint import Blueprint, KernelPlan, Move
    from search.cost import KernelCost
    from search.records import KnobValue
    from search.workload import Case, Workload

WIDTH, HEIGHT, PIECES = 96, 64, 4
"""Size of a tensor's picture, and into how many pieces an axis is cut there, whatever its real number is."""
THIN = 0.45
"""Share of a piece that is drawn for a program that owns one index instead of a block."""
PARTS = "SPLITS"
"""Axis of the parts into which a reduction is cut."""


@dataclass(frozen=True)
class AxisRole:
    """One axis of a tensor as a kernel meets it."""

    name: str
    size: int | None
    role: str
    """`parallel` (dealt to programs), `walked` (by each program, in steps), `part` (each program walks its part)
    or `whole`."""


@dataclass(frozen=True)
class Share:
    """What one program touches of a tensor: a rectangle, the cuts between programs, and the way it walks."""

    x: float
    y: float
    width: float
    height: float
    columns: tuple[float, ...]
    rows: tuple[float, ...]
    path: str
    """`d` of an SVG path; empty when nothing is walked."""


@dataclass(frozen=True)
class TensorBox:
    """A tensor beside a kernel."""

    name: str
    kind: str
    """`input`, `output` or `intermediate`."""
    dtype: str
    axes: tuple[AxisRole, ...]
    size_bytes: int | None
    times: str
    """How often each element is moved, as the plan says it; empty for once or not told."""
    times_value: int | None
    is_new: bool
    is_untold: bool
    """The plan does not say which part of it a program touches: an index decides, or nobody wrote it down."""
    share: Share

    @property
    def told(self) -> str:
        """The picture in words."""
        if self.is_untold:
            return f"{self.name}: the plan does not say which part a program touches"
        parts = [f"{axis.name} {_ROLES[axis.role]}" for axis in self.axes]
        return f"{self.name}: " + (", ".join(parts) or "one value")


_ROLES = {
    "parallel": "is dealt to programs",
    "walked": "is walked by each program",
    "part": "is cut into parts, each walked by one program",
    "whole": "is touched whole",
}


@dataclass(frozen=True)
class Operations:
    """Work of one kind."""

    kind: str
    expression: str
    count: int | None


@dataclass(frozen=True)
class LaunchBox:
    """One launch with its memory on both sides."""

    number: int
    plan: KernelPlan
    reads: tuple[TensorBox, ...]
    writes: tuple[TensorBox, ...]
    programs: int | None
    form: str
    chip_bytes: int | None
    operations: tuple[Operations, ...]
    change: str
    """`new`, `changed` or empty, against the parent."""
    cost: KernelCost | None


@dataclass(frozen=True)
class Diagram:
    """The whole picture."""

    case: str
    launches: tuple[LaunchBox, ...]
    gone: tuple[str, ...]
    """Kernels and intermediates that the parent had."""
    model_us: float | None
    """What the cost model says of all launches; rough, and no bound on a measured time."""
    device: str


@dataclass(frozen=True)
class Scene:
    """What sizes and changes are read from."""

    blueprint: Blueprint
    workload: Workload
    parent: Blueprint | None
    sizes: Mapping[str, int]


def diagram(
    blueprint: Blueprint,
    workload: Workload,
    case: Case,
    *,
    parent: Blueprint | None = None,
    knobs: Mapping[str, KnobValue] | None = None,
    device_class: str = "",
) -> Diagram:
    """The diagram at the sizes of one case.

    Args:
        blueprint: of the structure.
        workload: that it computes.
        case: whose sizes are shown.
        parent: what changes are told against; None for the direct structure.
        knobs: values for sizes that depend on them; missing ones are at their defaults.
        device_class: whose cost model is asked; an unknown class has none.
    """
    values = {knob.name: knob.default for knob in blueprint.knobs} | dict(knobs or {})
    whole = {name: value for name, value in values.items() if type(value) is int}
    scene = Scene(blueprint, workload, parent, {**workload.sizes(case), **whole})
    costs, device = _costs(blueprint, workload, case, device_class)
    launches = tuple(
        _launch(scene, number, plan, costs.get(plan.name))
        for number, plan in enumerate(blueprint.kernels, start=1)
    )
    model_us = sum(cost.floor_us for cost in costs.values()) if costs else None
    return Diagram(case.name, launches, tuple(_gone(blueprint, parent)), model_us, device)


def _costs(
    blueprint: Blueprint, workload: Workload, case: Case, device_class: str
) -> tuple[dict[str, KernelCost], str]:
    model = device_model(device_class)
    if model is None:
        return {}, ""
    try:
        found = structure_cost(blueprint, workload, case, model)
    except ValueError:
        # A plan of an older library may name what no longer is; the diagram is whole without a model.
        return {}, ""
    return {cost.name: cost for cost in found.kernels}, model.title


def _launch(scene: Scene, number: int, plan: KernelPlan, cost: KernelCost | None) -> LaunchBox:
    reads, writes = _moves(scene, plan)
    return LaunchBox(
        number=number,
        plan=plan,
        reads=tuple(_tensor(scene, plan, name, times) for name, times in reads),
        writes=tuple(_tensor(scene, plan, name, times) for name, times in writes),
        programs=_programs(scene, plan),
        form=_form(scene.blueprint, plan.name),
        chip_bytes=_value(plan.chip_bytes, scene.sizes),
        operations=tuple(
            Operations(kind, text, _value(text, scene.sizes)) for kind, text in plan.operations.items()
        ),
        change=_change(scene, plan),
        cost=cost,
    )


def _moves(scene: Scene, plan: KernelPlan) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Names and times of what a kernel reads and writes; a plan that does not say moves everything once."""
    if plan.reads or plan.writes:
        return _told(plan.reads), _told(plan.writes)
    kept = scene.blueprint.intermediates
    read = [tensor.name for tensor in kept if tensor.read_by == plan.name]
    written = [tensor.name for tensor in kept if tensor.written_by == plan.name]
    inputs = [*scene.workload.inputs] if not read else []
    return (
        [(name, "") for name in (*inputs, *read)],
        [(name, "") for name in (written or scene.workload.outputs)],
    )


def _told(moves: tuple[Move, ...]) -> list[tuple[str, str]]:
    return [(move.tensor, "" if move.times == "1" else move.times) for move in moves]


def _tensor(scene: Scene, plan: KernelPlan, name: str, times: str) -> TensorBox:
    kind, dtype, shape = _kind(scene, name)
    axes = tuple(AxisRole(axis, scene.sizes.get(axis), _role(plan, axis)) for axis in shape)
    known = [axis.size for axis in axes if axis.size is not None]
    before = {tensor.name for tensor in scene.parent.intermediates} if scene.parent else set()
    return TensorBox(
        name=name,
        kind=kind,
        dtype=dtype,
        axes=axes,
        size_bytes=ITEM_BYTES[DType(dtype)] * math.prod(known) if len(known) == len(axes) else None,
        times=times,
        times_value=_value(times, scene.sizes),
        is_untold=bool(axes) and all(axis.role == "whole" for axis in axes) and not _says_where(plan, name),
        is_new=scene.parent is not None and kind == "intermediate" and name not in before,
        share=_share(axes, single=_unit(scene.blueprint, plan.name) == "single"),
    )


def _says_where(plan: KernelPlan, name: str) -> bool:
    moved = {move.tensor: move for move in (*plan.reads, *plan.writes)}
    return bool(moved) and not (name in moved and moved[name].gathered)


def _kind(scene: Scene, name: str) -> tuple[str, str, tuple[str, ...]]:
    if tensor := scene.workload.inputs.get(name):
        return "input", tensor.dtype, tensor.shape or ()
    if tensor := scene.workload.outputs.get(name):
        return "output", tensor.dtype, tensor.shape or ()
    kept = next((one for one in scene.blueprint.intermediates if one.name == name), None)
    return ("intermediate", kept.dtype, kept.shape) if kept else ("intermediate", DType.FLOAT32, ())


def _role(plan: KernelPlan, axis: str) -> str:
    walked = [name for name in plan.sequential if name != PARTS]
    if axis in plan.sequential:
        return "part" if PARTS in plan.parallel and walked and axis == walked[-1] else "walked"
    return "parallel" if axis in plan.parallel else "whole"


def _share(axes: tuple[AxisRole, ...], *, single: bool) -> Share:
    """The last axis runs to the right, the one before it down; others are not drawn."""
    down, right = (axes[-2] if len(axes) > 1 else None), (axes[-1] if axes else None)
    x, width, columns = _extent(right, WIDTH, single=single)
    y, height, rows = _extent(down, HEIGHT, single=single)
    return Share(x, y, width, height, columns, rows, _path(right, down, (x, y, width, height)))


def _extent(axis: AxisRole | None, length: int, *, single: bool) -> tuple[float, float, tuple[float, ...]]:
    """Start and length of a program's share along one side, and the cuts."""
    if axis is None or axis.role in ("whole", "walked"):
        return 0.0, float(length), ()
    piece = length / PIECES
    cuts = tuple(piece * count for count in range(1, PIECES))
    share = piece * THIN if single and axis.role == "parallel" else piece
    return piece + (piece - share) / 2, share, cuts


def _path(right: AxisRole | None, down: AxisRole | None, box: tuple[float, float, float, float]) -> str:
    """An arrow along the walked axis, with its head."""
    x, y, width, height = box
    if right is not None and right.role in ("walked", "part"):
        start, end, middle = x + 4, x + width - 4, y + height / 2
        return f"M{start:.1f} {middle:.1f}H{end:.1f}m-4 -3l4 3l-4 3"
    if down is not None and down.role in ("walked", "part"):
        start, end, middle = y + 4, y + height - 4, x + width / 2
        return f"M{middle:.1f} {start:.1f}V{end:.1f}m-3 -4l3 4l3 -4"
    return ""


def _grid(blueprint: Blueprint, kernel: str) -> dict[str, str]:
    """Words of the kernel's grid clause; empty where no clause says how the work is dealt out."""
    for clause in blueprint.clauses:
        if clause.kind is ClauseKind.GRID and clause.subject == kernel and isinstance(clause.value, dict):
            return {name: str(word) for name, word in clause.value.items()}
    return {}


def _unit(blueprint: Blueprint, kernel: str) -> str:
    return _grid(blueprint, kernel).get("unit", "block")


def _form(blueprint: Blueprint, kernel: str) -> str:
    grid = _grid(blueprint, kernel)
    owned = {"single": "one index each", "block": "a block each"}.get(grid.get("unit", ""), "")
    order = grid.get("order", "").replace("_", " ")
    return ", ".join(
        word for word in (grid.get("form", ""), owned, f"{order} order" if order else "") if word
    )


def _programs(scene: Scene, plan: KernelPlan) -> int | None:
    if plan.programs:
        return _value(plan.programs, scene.sizes)
    known = [scene.sizes.get(axis) for axis in plan.parallel]
    return None if None in known else math.prod(size for size in known if size is not None)


def _value(text: str, sizes: Mapping[str, int]) -> int | None:
    """Value of an expression of the plan; None for none, or where it names what has no size here."""
    if not text:
        return None
    try:
        return evaluate_expression(text, sizes)
    except ValueError:
        return None


def _change(scene: Scene, plan: KernelPlan) -> str:
    if scene.parent is None:
        return ""
    before = next((one for one in scene.parent.kernels if one.name == plan.name), None)
    if before is None:
        return "new"
    is_same = before == plan and _grid(scene.parent, plan.name) == _grid(scene.blueprint, plan.name)
    return "" if is_same else "changed"


def _gone(blueprint: Blueprint, parent: Blueprint | None) -> Iterator[str]:
    if parent is None:
        return
    kernels = {kernel.name for kernel in blueprint.kernels}
    tensors = {tensor.name for tensor in blueprint.intermediates}
    yield from (kernel.name for kernel in parent.kernels if kernel.name not in kernels)
    yield from (tensor.name for tensor in parent.intermediates if tensor.name not in tensors)
