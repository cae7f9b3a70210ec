"""What a family's templates expect of a workload: shapes, element types and constants of the reference."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from search.agents.playbook.decode_tensors import DecodeTensors
from search.records import Language
from search.traits import PAGED_DECODES, traits
from search.workload import DType

if TYPE_CHECKING:
    from search.workload import Workload

SHAPES: dict[str, tuple[tuple[str, ...], ...]] = {
    "softmax": (("MN", "MN"),),
    "rmsnorm": (("MN", "N", "MN"),),
    "layernorm": (("MN", "N", "N", "MN"),),
    "add_rmsnorm": (("MN", "MN", "N", "MN", "MN"),),
    "cross_entropy": (("MN", "M", "M"),),
    "stencil": (("MN", "MN"),),
    "gemm": (("MK", "KN", "N", "MN"), ("MK", "KN", "MN")),
}
"""By operation type: possible shapes of the inputs and the outputs, in axis letters."""

INDICES: dict[str, frozenset[int]] = {"cross_entropy": frozenset({1})}
"""By operation type: positions of the inputs that hold whole numbers."""

WIDEST = 8
"""Radius of the widest window that is written out line by line."""

_BOX = re.compile(r"avg_pool2d\([^()]*, (\d+), stride=1, padding=(\d+)\)")
_WITH_EPSILON = {"rmsnorm", "layernorm", "add_rmsnorm"}
_WHOLE = {DType.INT32, DType.INT64}

_SMALL_NUMBER = re.compile(r"\b\d+(?:\.\d+)?e-\d+\b")
_TANH_FORM = re.compile(r"approximate\s*=\s*[\"']tanh[\"']")


def axes_of(workload: Workload) -> dict[str, str]:
    """Axis letters of the templates (in the order M, N, K) to the names of the workload's axes.

    Raises:
        ValueError: the workload's shapes are not those of its family.
    """
    tensors = [*workload.inputs.values(), *workload.outputs.values()]
    shapes = [tensor.shape or () for tensor in tensors]
    for pattern in SHAPES.get(workload.op_type, ()):
        letters, names = "".join(pattern), [name for shape in shapes for name in shape]
        fits = [len(shape) for shape in shapes] == [len(word) for word in pattern]
        pairs = set(zip(letters, names, strict=False))
        if fits and len(pairs) == len(set(letters)) == len(set(names)):
            named = dict(pairs)
            return {letter: named[letter] for letter in "MNK" if letter in named}
    raise ValueError(f"the shapes of {workload.name} are not those of a {workload.op_type}")


def epsilon(workload: Workload) -> str:
    """The one small number in the reference, as it is written there.

    Raises:
        ValueError: the reference holds none, or several.
    """
    found: set[str] = set(_SMALL_NUMBER.findall(workload.reference))
    if len(found) != 1:
        raise ValueError(
            f"the reference of {workload.name} must state one epsilon, it states {sorted(found)}"
        )
    return found.pop()


def sum_output(workload: Workload) -> int:
    """Which of the two outputs of an add + RMSNorm is the sum, told by its name.

    Raises:
        ValueError: no name tells, or both do.
    """
    telling = ("residual", "sum", "added", "total")
    found = [at for at, name in enumerate(workload.outputs) if any(word in name for word in telling)]
    if len(found) != 1:
        raise ValueError(f"the names of the outputs of {workload.name} do not tell which one is the sum")
    return found[0]


def radius(workload: Workload) -> int:
    """Radius of the window that the reference averages over, zero outside of the image.

    Raises:
        ValueError: the reference states no such window, or one wider than the templates write out.
    """
    found = [(int(width), int(padding)) for width, padding in _BOX.findall(workload.reference)]
    if len(found) != 1 or found[0][0] != 2 * found[0][1] + 1 or not 1 <= found[0][1] <= WIDEST:
        raise ValueError(
            f"the reference of {workload.name} must average over one centred window of radius 1 to {WIDEST}"
        )
    return found[0][1]


def check(workload: Workload, language: Language) -> None:
    """Whether the family's templates compute this workload in this language.

    Raises:
        ValueError: they do not; says why.
    """
    if workload.op_type in PAGED_DECODES:
        _check_decode(workload)
        return
    axes_of(workload)
    if workload.op_type in _WITH_EPSILON:
        epsilon(workload)
    if workload.op_type == "add_rmsnorm":
        sum_output(workload)
    if workload.op_type == "stencil":
        radius(workload)
    if "gelu" in workload.tags and not _TANH_FORM.search(workload.reference):
        raise ValueError("the playbook knows the tanh form of GELU only")
    for position, (name, tensor) in enumerate({**workload.inputs, **workload.outputs}.items()):
        whole = position in INDICES.get(workload.op_type, ())
        if whole and tensor.dtype in _WHOLE:
            continue
        if not tensor.dtype.is_float or (language is Language.CPP and tensor.dtype is not DType.FLOAT32):
            raise ValueError(f"the playbook does not write {tensor.dtype} ({name}) in {language}")


def _check_decode(workload: Workload) -> None:
    if "paged_decode" not in traits(workload):
        raise ValueError(f"the shapes of {workload.name} are not those of a {workload.op_type}")
    DecodeTensors.of(workload)
