"""Which tensor of a decoding workload plays which part, and the constants of its reference."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from search.plans.paged_decode import decode_shapes
from search.workload import ConstAxis, DType

if TYPE_CHECKING:
    from search.workload import Workload

_BASE_TWO = re.compile(r"log\(\s*2(\.0)?\s*\)|log2|LOG2|1\.4426")
_WHOLE = {DType.INT32, DType.INT64}


@dataclass(frozen=True)
class DecodeTensors:
    """Parameters of `run` by the names that the templates use, in the workload's order."""

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    axes: dict[str, str]
    """Letters of the templates to axes: sequences, query heads, head dimension, tokens of a page, key heads."""
    scale: str
    """Expression of the factor of the scores."""
    base_two: bool
    """The logarithm of the sum is to the base two, as FlashInfer's."""

    @classmethod
    def of(cls, workload: Workload) -> DecodeTensors:
        """Read them from a workload.

        Raises:
            ValueError: a tensor plays no known part, or a size is not one that the templates take.
        """
        query, cache = decode_shapes(workload)
        inputs = tuple(_input(workload, name) for name in workload.inputs)
        if missing := {"q", "k_cache", "v_cache", "kv_indptr", "kv_indices"} - set(inputs):
            raise ValueError(f"{workload.name} has no input for {', '.join(sorted(missing))}")
        scale = "sm_scale" if "sm_scale" in inputs else f"{_size(workload, query[2]) ** -0.5!r}"
        letters = dict(zip("BHD", query, strict=True)) | {"P": cache[1], "K": cache[2]}
        _check_sizes(workload, letters)
        return cls(
            inputs=inputs,
            outputs=tuple(_output(workload, name) for name in workload.outputs),
            axes=letters,
            scale=scale,
            base_two=bool(_BASE_TWO.search(workload.reference)),
        )


def _input(workload: Workload, name: str) -> str:
    tensor = workload.inputs[name]
    rank, whole = len(tensor.shape or ()), tensor.dtype in _WHOLE
    match rank, whole:
        case 3, False:
            return "q"
        case 4, False:
            return "v_cache" if name.startswith("v") else "k_cache"
        case 1, True if "indptr" in name:
            return "kv_indptr"
        case 1, True if "last" in name:
            return "kv_last_page_len"
        case 1, True if "ind" in name:
            return "kv_indices"
        case 0, False if "scale" in name:
            return "sm_scale"
    raise ValueError(f"the playbook does not know what {name} of {workload.name} is")


def _output(workload: Workload, name: str) -> str:
    rank = len(workload.outputs[name].shape or ())
    if rank not in {2, 3}:
        raise ValueError(f"the playbook does not know what {name} of {workload.name} is")
    return "output" if rank == 3 else "lse"


def _size(workload: Workload, axis: str) -> int:
    held = workload.axes[axis]
    if not isinstance(held, ConstAxis):
        raise ValueError(f"axis {axis} of {workload.name} must be constant")
    return held.value


def _check_sizes(workload: Workload, letters: dict[str, str]) -> None:
    """Page and head dimension are constants, the latter a power of two; a key head serves whole groups."""
    _size(workload, letters["P"])
    width = _size(workload, letters["D"])
    if width < 16 or width & (width - 1):
        raise ValueError(f"the playbook writes head dimensions of a power of two from 16, not {width}")
    for case in workload.cases:
        sizes = workload.sizes(case)
        heads, keys = sizes[letters["H"]], sizes[letters["K"]]
        if keys < 1 or heads % keys:
            raise ValueError(f"case {case.name}: {heads} query heads do not share {keys} key heads evenly")
