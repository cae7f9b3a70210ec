"""Structures in words: a blueprint with the meaning of its choices, its knobs, and the actions that lead on."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from search.actions import speaks
from search.agents.llm.fencing import fence, one_line
from search.agents.llm.wording import number, size
from search.compose import asked
from search.cost import structure_cost
from search.devices import device_model
from search.library import CompositionError, compose, traits
from search.predicates import Choice, Facts, holds, parse

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from search.agents.agent import Scene
    from search.blueprint import Blueprint, KernelPlan
    from search.library import Action
    from search.records import Knob


def blueprint_text(blueprint: Blueprint, scene: Scene) -> str:
    """Actions, choices with their meaning, kernels and intermediates."""
    decided = asked(scene.library, traits(scene.workload), scene.language)
    lines = [f"Actions: {', '.join(blueprint.actions) or 'none (the direct implementation)'}", "", "Choices:"]
    for name, word in blueprint.choices.items():
        meaning = decided[name].words.get(word, "") if name in decided else ""
        lines.append(f"- {name} = {word}: {one_line(meaning, 300)}")
    lines += ["", *_kernels(blueprint.kernels)]
    if blueprint.intermediates:
        lines += ["", "Tensors in memory between kernels:"]
    for tensor in blueprint.intermediates:
        shape = ", ".join(tensor.shape)
        lines.append(
            f"- {tensor.name}: {tensor.dtype} [{shape}], from {tensor.written_by} to {tensor.read_by}"
        )
    return fence("\n".join(lines), "structure", 8000)


def knobs_text(knobs: Sequence[Knob]) -> str:
    """The knobs that a source must have, with the values that tuning will try."""
    if not knobs:
        return "This structure has no knobs: KNOBS is empty."
    return fence("\n".join(f"- {_knob(knob)}" for knob in knobs), "knobs", 8000)


def actions_text(scene: Scene, parent: Blueprint, *, with_notes: bool) -> str:
    """Actions that lead from a structure to others, by family."""
    lines: list[str] = []
    family = ""
    for offer in sorted(offers(scene, parent), key=lambda offer: offer.action.family):
        if offer.action.family != family:
            family = offer.action.family
            lines.append(f"{family}:")
        lines += _offer(offer, with_notes=with_notes)
    return fence("\n".join(lines) or "none is left", "actions of the library", 60_000)


def cost_text(blueprint: Blueprint, scene: Scene) -> str:
    """What a cost model says of the structure on the first timed case: a floor per kernel and what bounds it."""
    model = device_model(scene.device_class)
    timed = [case for case in scene.workload.cases if case.timed and not case.hidden]
    if model is None or not timed:
        return ""
    try:
        cost = structure_cost(blueprint, scene.workload, timed[0], model)
    except ValueError:
        return ""  # a library of one's own may speak of what the model does not know
    parts = [
        f"{kernel.name} {number(kernel.floor_us)} us, bound by {kernel.bound}"
        f" ({size(kernel.memory_bytes)} from memory)"
        for kernel in cost.kernels
    ]
    return f"A rough cost model expects {number(cost.floor_us)} us at best in case {cost.case}: {'; '.join(parts)}."


@dataclass(frozen=True)
class Offer:
    """An action with what happens to the others when it is taken."""

    action: Action
    instead_of: tuple[str, ...]
    """Actions of the structure that cannot stand beside it."""
    missing: str
    """Why it cannot be taken alone; empty if it can."""


def offers(scene: Scene, parent: Blueprint) -> list[Offer]:
    """Actions that fit workload, language, device and scope, in library order.

    An action that needs another choice first is offered too, with the reason: a planner may take both.
    """
    known = traits(scene.workload)
    facts = Facts(known, {}, scene.device_class)
    decided = asked(scene.library, known, scene.language)
    return [
        _offered(scene, parent, action)
        for action in scene.library.actions
        if action.id not in parent.actions
        and (not scene.allowed_actions or action.id in scene.allowed_actions)
        and speaks(action.languages, scene.language)
        and action.sets.keys() <= decided.keys()
        and all(isinstance(parse(one), Choice) or holds(one, facts) for one in action.when)
    ]


def _offered(scene: Scene, parent: Blueprint, action: Action) -> Offer:
    kept = tuple(one for one in parent.actions if not _clash(scene.library.action(one), action))
    problem = ""
    while True:
        try:
            compose(scene.workload, scene.library, (*kept, action.id), scene.language)
        except CompositionError as error:
            if error.action not in kept:
                problem = str(error)
                break
            kept = tuple(one for one in kept if one != error.action)
        else:
            break
    return Offer(action, tuple(one for one in parent.actions if one not in kept), problem)


def _clash(one: Action, other: Action) -> bool:
    if one.id in other.conflicts or other.id in one.conflicts:
        return True
    return any(one.sets.get(decision, word) != word for decision, word in other.sets.items())


def _offer(offer: Offer, *, with_notes: bool) -> Iterator[str]:
    action = offer.action
    beside = f" Instead of {', '.join(offer.instead_of)}." if offer.instead_of else ""
    alone = f" Not alone: {one_line(offer.missing)}." if offer.missing else ""
    sets = ", ".join(f"{name} = {word}" for name, word in action.sets.items())
    yield f"- {action.id}: {one_line(action.summary, 300)} [sets {sets}]{beside}{alone}"
    if with_notes and action.notes:
        yield f"  {one_line(action.notes, 600)}"


def _kernels(kernels: Sequence[KernelPlan]) -> list[str]:
    if not kernels:
        return ["Kernels: as many as you find right, under names of your own."]
    return ["Kernels, in launch order:", *(f"- {_kernel(kernel)}" for kernel in kernels)]


def _kernel(kernel: KernelPlan) -> str:
    inside = f"; walks {', '.join(kernel.sequential)} inside" if kernel.sequential else ""
    return f"{kernel.name}: {one_line(kernel.computes)}; parallel over {', '.join(kernel.parallel)}{inside}"


def _knob(knob: Knob) -> str:
    choices = ", ".join(json.dumps(value) for value in knob.choices)
    note = f": {one_line(knob.note)}" if knob.note else ""
    return f"{knob.name}{note}. One of {choices}; default {json.dumps(knob.default)}"
