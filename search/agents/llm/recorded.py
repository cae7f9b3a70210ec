"""Structures on a recorded device: only what was measured exists there, with the knob values that were measured.

It lets a transcript be replayed against a landscape, with neither a model nor a device.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from search.landscapes.files import LandscapeError, is_recorded, landscape_of
from search.library import CompositionError

if TYPE_CHECKING:
    from search.agents.agent import Scene
    from search.blueprint import Blueprint


def in_scene(blueprint: Blueprint, scene: Scene) -> Blueprint:
    """The blueprint itself, or its recorded form where the device is recorded.

    Raises:
        CompositionError: the device is recorded and the structure was never measured on it.
    """
    if not is_recorded(scene.device_class):
        return blueprint
    try:
        landscape = landscape_of(scene.device_class, scene.workload)
    except LandscapeError as error:
        raise CompositionError(str(error)) from error
    place = landscape.by_fingerprint.get(blueprint.fingerprint)
    if place is None:
        raise CompositionError(f"{blueprint.title} was never measured on {scene.device_class}")
    return landscape.structures[place].blueprint
