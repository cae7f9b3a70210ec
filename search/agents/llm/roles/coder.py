"""Coder: from a blueprint to a program with knobs and destination passing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from search.agents.llm.fencing import one_line
from search.agents.llm.frame import frame_text
from search.agents.llm.prompts import Part
from search.agents.llm.render_evidence import evidence_text
from search.agents.llm.roles.common import memory_parts, source_text, writing_parts

if TYPE_CHECKING:
    from search.agents.agent import Scene
    from search.blueprint import Blueprint
    from search.records import Candidate, Evaluation


def parts(scene: Scene, blueprint: Blueprint, relative: tuple[Candidate, Evaluation] | None) -> list[Part]:
    """Parts of the prompt.

    Args:
        scene: the search.
        blueprint: what is to be written.
        relative: a correct program of another structure with its result, if there is one.
    """
    source = source_text(relative[0]) if relative else ""
    result = _result(relative, scene) if relative else ""
    return [
        *writing_parts(scene, blueprint),
        Part("frame", frame_text(blueprint, scene.workload, scene.language), 3),
        Part("relative", source, 7),
        Part("relative_result", result, 8),
        Part("starting", "\n\n".join(source_text(one) for one in scene.starting), 6),
        *memory_parts(scene, blueprint.fingerprint),
    ]


def _result(relative: tuple[Candidate, Evaluation], scene: Scene) -> str:
    known = scene.blueprints.get(relative[0].structure)
    title = one_line(known.title) if known else "another structure"
    return f"It is `{title}`.\n{evidence_text(relative[1], scene.workload)}"
