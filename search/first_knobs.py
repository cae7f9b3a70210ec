"""The knobs with which a structure is tried first: those that its plan promises most of, not the library's defaults.

A structure is judged by its first measurements, and defaults of a library fit no size in particular. The cost model
prices every setting of the knobs that the plan names; a setting at which a thread keeps more than its registers hold is
priced up, and of equals the one nearest to the defaults is taken. On the nine recorded landscapes of the H200 such a first try
reaches 0.78 of the structure's best on average, the defaults 0.62, a point drawn from the grid 0.56
(`python -m search landscape NAME`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from search.cost import names_of, priced, settings
from search.expressions import evaluate_expression

if TYPE_CHECKING:
    from collections.abc import Mapping

    from search.blueprint import Blueprint
    from search.devices import DeviceModel
    from search.records import KnobValue
    from search.workload import Case, Workload

WARPS = "NUM_WARPS"
REGISTER_BYTES = 512
"""What a thread keeps beside one other program in its unit; a CUDA thread has at most 1020."""
MOST_SETTINGS = 2_000


def first_knobs(
    blueprint: Blueprint, workload: Workload, case: Case, device: DeviceModel
) -> dict[str, KnobValue]:
    """A value of every knob of the structure.

    Raises:
        ValueError: the plan cannot be priced.
    """
    defaults = {knob.name: knob.default for knob in blueprint.knobs}
    if not blueprint.kernels:
        return defaults
    sizes = workload.sizes(case)

    def price(changed: Mapping[str, KnobValue]) -> tuple[float, int]:
        values = defaults | dict(changed)
        numbers = {**sizes, **_numbers(values)}
        floor = sum(kernel.floor_us for kernel in priced(blueprint, workload, device, numbers))
        pressure = thread_bytes(blueprint, sizes, values) / REGISTER_BYTES
        # Rounded, so that what the model cannot tell apart is left to the defaults.
        return round(floor * max(1.0, pressure), 2), sum(values[name] != defaults[name] for name in changed)

    named = names_of(blueprint) | {WARPS}
    longest = max((len(knob.choices) for knob in blueprint.knobs), default=0)
    return defaults | min(settings(blueprint, named, longest, MOST_SETTINGS), key=price)


def thread_bytes(blueprint: Blueprint, sizes: Mapping[str, int], values: Mapping[str, KnobValue]) -> int:
    """Bytes that a thread keeps on chip by the plan; 0 where the plan does not say, or is not of warps.

    Args:
        blueprint: of the structure.
        sizes: of the axes, in the case.
        values: of the knobs.
    """
    numbers = {**sizes, **_numbers(values)}
    if WARPS not in numbers:
        return 0
    told = [kernel.chip_bytes for kernel in blueprint.kernels if kernel.chip_bytes]
    return max((evaluate_expression(text, numbers) for text in told), default=0) // (32 * numbers[WARPS])


def _numbers(values: Mapping[str, KnobValue]) -> dict[str, int]:
    return {name: value for name, value in values.items() if type(value) is int}
