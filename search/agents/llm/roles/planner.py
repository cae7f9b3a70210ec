"""Planner: chooses and composes actions into distinct structures, several per call."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from search.agents.llm import memory
from search.agents.llm.prompts import Part
from search.agents.llm.recorded import in_scene
from search.agents.llm.render_evidence import evidence_text
from search.agents.llm.render_structure import actions_text, blueprint_text, cost_text
from search.agents.llm.roles.common import task_parts
from search.agents.llm.schema import STRUCTURES, AnswerError, PlannerAnswer, UnusableError, read_answer
from search.compose import choose
from search.library import CompositionError, compose, traits

if TYPE_CHECKING:
    from collections.abc import Iterable

    from search.agents.agent import Scene
    from search.agents.llm.schema import PlannedStructure
    from search.blueprint import Blueprint
    from search.records import Evaluation
    from search.steps import Draft

CORRECTION = "Nothing of this can be used. Answer again, with the JSON object alone."
COUNT = 3
"""Structures asked for in one call; as many as a strategy grows from one structure in a row."""


class NothingLeftError(Exception):
    """An honest answer that a second question would not change."""


@dataclass(frozen=True)
class Plan:
    """A structure that can be built, with what the planner said of it."""

    blueprint: Blueprint
    reason: str
    expectation: str


def parts(scene: Scene, parent: Blueprint, result: Evaluation | None) -> list[Part]:
    """Parts of the prompt.

    Args:
        scene: the search.
        parent: structure to start from.
        result: of its best program, if one was evaluated.
    """
    steps = memory.tried(scene)
    told = evidence_text(result, scene.workload) if result else "It was not measured."
    cost = cost_text(parent, scene)
    return [
        *task_parts(scene),
        Part("parent", blueprint_text(parent, scene)),
        Part("parent_result", "\n".join(filter(None, [told, cost])), 2),
        Part(
            "actions",
            actions_text(scene, parent, with_notes=True),
            3,
            actions_text(scene, parent, with_notes=False),
            stays=True,
        ),
        Part("tried", memory.structures_text(steps), 4, memory.structures_text(steps, most=10)),
        Part("experience", memory.experience_text(scene), 7),
        Part("diversity", memory.diversity_text(steps), 1),
        Part("task", _task(parent)),
    ]


def read_plan(text: str, draft: Draft, scene: Scene) -> Plan:
    """The first structure of an answer that can be built and is new.

    Raises:
        AnswerError: the answer is not the JSON that was asked for.
        UnusableError: none of its structures can be built and is new.
        NothingLeftError: the planner says that nothing is left to try.
    """
    answer = read_answer(text, PlannerAnswer)
    if not answer.structures:
        raise NothingLeftError("the planner sees no structure that is left to try")
    problems: list[str] = []
    for planned in answer.structures[:STRUCTURES]:
        try:
            plan = _built(planned, scene)
        except CompositionError as error:
            problems.append(f"{', '.join(planned.actions)}: {error}")
            continue
        if plan.blueprint.fingerprint not in (*draft.exclude, draft.structure):
            return plan
        problems.append(f"{plan.blueprint.title}: was tried already")
    raise UnusableError(f"no structure that can be built and is new; {'; '.join(problems)}")


def remembered(replies: Iterable[str], draft: Draft, scene: Scene) -> Plan | None:
    """The first structure of earlier answers that was not tried yet; None: a planner has to be asked.

    Raises:
        NothingLeftError: the last answer said that nothing is left, and would say so again.
    """
    said_no: NothingLeftError | None = None
    for text in replies:
        said_no = None
        try:
            return read_plan(text, draft, scene)
        except AnswerError:
            continue
        except NothingLeftError as error:
            said_no = error
    if said_no is not None:
        raise said_no
    return None


def _built(planned: PlannedStructure, scene: Scene) -> Plan:
    """Compose it under everything that limits this search.

    Raises:
        CompositionError: it cannot be built, not on this device, or not with the actions that are allowed.
    """
    library, actions = scene.library, tuple(dict.fromkeys(planned.actions))
    for action in actions:
        if scene.allowed_actions and action not in scene.allowed_actions:
            raise CompositionError("is not allowed in this search", action[:80])
    blueprint = in_scene(compose(scene.workload, library, actions, scene.language), scene)
    taken = [library.action(action) for action in blueprint.actions]
    choose(library, taken, traits(scene.workload), scene.language, scene.device_class)
    return Plan(blueprint, planned.reason, planned.expectation)


def _task(parent: Blueprint) -> str:
    return (
        f"Propose {COUNT} structures, the most promising first, each different from all others here in what bounds"
        " its time. Each `actions` lists all actions of the structure, those kept from"
        f" `{parent.title}` included. Do not propose one that was tried. If nothing is left that is worth a"
        " trial, answer with an empty list."
    )
