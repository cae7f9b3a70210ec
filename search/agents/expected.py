"""What the cost model expects of a blueprint, as agents tell it to the engine with a proposal."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from search.cost import prior
from search.devices import DeviceModel, device_model
from search.first_knobs import first_knobs

if TYPE_CHECKING:
    from collections.abc import Iterable

    from search.blueprint import Blueprint
    from search.records import KnobValue
    from search.workload import Case, Workload

_Key = tuple[str, str, str, str]
_known: dict[_Key, float | None] = {}
_first: dict[_Key, dict[str, KnobValue]] = {}
"""By structure, workload, case and device class. Structures with fewer knob choices are other keys."""
MOST_KNOWN = 20_000
ZEAL = 2.0
"""Power of the predicted gain by which one structure is tried sooner than another."""
MOST_FAVOUR = 20.0
"""No prediction makes a structure more, or less, likely than by this factor: models err."""


def expected(blueprint: Blueprint, workload: Workload, device_class: str, case: str = "") -> float | None:
    """Log of the speed-up over the direct structure that the plan promises at its best knobs.

    Args:
        blueprint: of a structure of the workload.
        workload: what is computed.
        device_class: a class without a model promises nothing.
        case: by name; otherwise the first timed one, which the fast tier measures.

    Returns:
        None where there is no model, or the plan cannot be priced.
    """
    key = _key(blueprint, workload, device_class, case)
    if key not in _known:
        if len(_known) >= MOST_KNOWN:
            _known.clear()
        _known[key] = _priced(blueprint, workload, device_class, case)
    return _known[key]


def tried_first(
    blueprint: Blueprint, workload: Workload, device_class: str, case: str = ""
) -> dict[str, KnobValue]:
    """Knobs of a structure's first candidate: the cost model's, or the defaults where it has nothing to say.

    Args:
        blueprint: of a structure of the workload.
        workload: what is computed.
        device_class: of the device that will measure it.
        case: by name; otherwise the first timed one.
    """
    key = _key(blueprint, workload, device_class, case)
    if key not in _first:
        if len(_first) >= MOST_KNOWN:
            _first.clear()
        _first[key] = _chosen(blueprint, workload, device_class, case)
    return dict(_first[key])


def highest(expectations: Iterable[float | None]) -> float | None:
    """Of those that the model has; None where it has none."""
    return max((one for one in expectations if one is not None), default=None)


def favour(parent: float | None, child: float | None) -> float:
    """Factor on the weight of a move by what the cost model expects of both ends; 1 where it expects nothing."""
    if parent is None or child is None:
        return 1.0
    bound = math.log(MOST_FAVOUR)
    return math.exp(max(-bound, min(bound, ZEAL * (child - parent))))


def _key(blueprint: Blueprint, workload: Workload, device_class: str, case: str) -> _Key:
    knobs = ";".join(f"{knob.name}={knob.choices}" for knob in blueprint.knobs)
    return f"{blueprint.fingerprint} {knobs}", workload.hash, case, device_class


def _chosen(blueprint: Blueprint, workload: Workload, device_class: str, name: str) -> dict[str, KnobValue]:
    defaults = {knob.name: knob.default for knob in blueprint.knobs}
    found = _modelled(workload, device_class, name)
    if found is None:
        return defaults
    try:
        return first_knobs(blueprint, workload, *found)
    except (ValueError, OverflowError):
        # As below: the search goes on with what the library says.
        return defaults


def _priced(blueprint: Blueprint, workload: Workload, device_class: str, name: str) -> float | None:
    found = _modelled(workload, device_class, name)
    if found is None:
        return None
    try:
        return prior(blueprint, workload, *found)
    except (ValueError, OverflowError):
        # A library of one's own may state what cannot be evaluated; a search goes on without.
        return None


def _modelled(workload: Workload, device_class: str, name: str) -> tuple[Case, DeviceModel] | None:
    model, case = device_model(device_class), _case(workload, name)
    return None if model is None or case is None else (case, model)


def _case(workload: Workload, name: str) -> Case | None:
    return next((case for case in workload.cases if (case.name == name if name else case.timed)), None)
