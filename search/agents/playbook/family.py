"""What a family's templates expect of a workload: shapes, element types and constants of the reference."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from search.records import Language
from search.workload import DType

if TYPE_CHECKING:
    from search.workload import Workload

SHAPES: dict[str, tuple[tuple[str, ...], ...]] = {
    "softmax": (("MN", "MN"),),
    "rmsnorm": (("MN", "N", "MN"),),
    "gemm": (("MK", "KN", "N", "MN"), ("MK", "KN", "MN")),
}
"""By operation type: possible shapes of the inputs and the output, in axis letters."""

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


def check(workload: Workload, language: Language) -> None:
    """Whether the family's templates compute this workload in this language.

    Raises:
        ValueError: they do not; says why.
    """
    axes_of(workload)
    if workload.op_type == "rmsnorm":
        epsilon(workload)
    if "gelu" in workload.tags and not _TANH_FORM.search(workload.reference):
        raise ValueError("the playbook knows the tanh form of GELU only")
    for name, tensor in {**workload.inputs, **workload.outputs}.items():
        if not tensor.dtype.is_float or (language is Language.CPP and tensor.dtype is not DType.FLOAT32):
            raise ValueError(f"the playbook does not write {tensor.dtype} ({name}) in {language}")
