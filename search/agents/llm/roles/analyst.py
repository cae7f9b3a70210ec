"""Analyst: what structures may still become, for strategies that hold beliefs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from search.agents.llm import memory
from search.agents.llm.fencing import fence, one_line
from search.agents.llm.prompts import Part
from search.agents.llm.render_structure import cost_text
from search.agents.llm.roles.common import task_parts
from search.agents.llm.schema import AnalystAnswer, UnusableError, read_answer
from search.agents.llm.wording import counted

if TYPE_CHECKING:
    from search.agents.agent import Scene, Tried
    from search.steps import Draft

CORRECTION = "Answer again, with the JSON object alone."
MOST = 30
"""Structures that are shown."""


def parts(draft: Draft, scene: Scene) -> list[Part]:
    """Parts of the prompt."""
    return [
        *task_parts(scene),
        Part("structures", _structures(draft, scene)),
        Part("experience", memory.experience_text(scene), 7),
    ]


def read_beliefs(text: str, scene: Scene) -> dict[str, float]:
    """Worth by fingerprint; labels that were not given out are passed over.

    Raises:
        AnswerError: not the JSON that was asked for.
        UnusableError: it is about no structure of this search.
    """
    answer = read_answer(text, AnalystAnswer)
    known = labels(scene)
    found = {
        known[belief.structure]: round(belief.worth, 4)
        for belief in answer.beliefs
        if belief.structure in known
    }
    if not found:
        raise UnusableError(f"no belief is about one of {', '.join(known)}")
    return found


def labels(scene: Scene) -> dict[str, str]:
    """`S1`, `S2`, … to fingerprints: in the order in which steps brought them, then by fingerprint."""
    order = dict.fromkeys(
        step.structure for step in memory.tried(scene) if step.structure in scene.blueprints
    )
    order |= dict.fromkeys(sorted(scene.blueprints))
    return {f"S{number}": fingerprint for number, fingerprint in enumerate(order, start=1)}


def _structures(draft: Draft, scene: Scene) -> str:
    steps = memory.tried(scene)
    known = labels(scene)
    shown = [name for name in known if not draft.beliefs or known[name] in draft.beliefs] or list(known)
    return "\n".join(_structure(name, known[name], draft, scene, steps) for name in shown[:MOST])


def _structure(name: str, fingerprint: str, draft: Draft, scene: Scene, steps: tuple[Tried, ...]) -> str:
    blueprint = scene.blueprints[fingerprint]
    own = [step for step in steps if step.structure == fingerprint]
    speeds = [step.speedup for step in own if step.speedup]
    measured = f"best {max(speeds):.3g}x, first {speeds[0]:.3g}x" if speeds else "no correct program yet"
    belief = draft.beliefs.get(fingerprint)
    before = f"; worth {belief:.2f} before" if belief is not None else ""
    lines = [f"{name}, open: {one_line(blueprint.title)}; {measured} in {counted(len(own), 'trial')}{before}"]
    if cost := cost_text(blueprint, scene):
        lines.append(cost)
    if failures := [one_line(step.failure) for step in own if step.failure]:
        lines.append(f"last failure: {failures[-1]}")
    return fence("\n".join(lines), f"structure {name}", 1500)
