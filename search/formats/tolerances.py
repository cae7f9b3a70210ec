"""Allowed error of outputs in short types, where a format brings none: rounding alone exceeds what float32 is held to.

The figures are those of the shipped workloads, whose margins `python -m gpuworker selftest` measures: about two units in the
last place for an element, and 1.23 of them, in the mean square, for the whole.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from search.workload import DType, Tolerance

if TYPE_CHECKING:
    from search.workload import Workload

OF_TYPE: dict[DType, Tolerance] = {
    DType.FLOAT16: Tolerance(scale=1.0, relative=0.002, frobenius=0.0012),
    DType.BFLOAT16: Tolerance(scale=1.0, relative=0.016, frobenius=0.0096),
    DType.FLOAT8_E4M3FN: Tolerance(scale=1.0, relative=0.25, frobenius=0.15),
    DType.FLOAT8_E5M2: Tolerance(scale=1.0, relative=0.5, frobenius=0.3),
}


def fitted(workload: Workload) -> Workload:
    """The workload with a tolerance for each output in a short type that has none."""
    outputs = {
        name: tensor.model_copy(update={"tolerance": tensor.tolerance or OF_TYPE.get(tensor.dtype)})
        for name, tensor in workload.outputs.items()
    }
    return workload.model_copy(update={"outputs": outputs})
