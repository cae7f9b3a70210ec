"""Repairer: from a program and the judge's evidence to a program without the fault."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from search.agents.llm.fencing import one_line
from search.agents.llm.prompts import Part
from search.agents.llm.render_evidence import evidence_text
from search.agents.llm.roles.common import memory_parts, source_text, writing_parts

if TYPE_CHECKING:
    from search.agents.agent import Scene
    from search.blueprint import Blueprint
    from search.records import Candidate, Evaluation

_CAUSE = re.compile(r"(?m)^[ \t*#>_-]{0,8}CAUSE[ \t*_]{0,4}[:-][ \t*]*(\S.*)$")


def parts(scene: Scene, blueprint: Blueprint, base: Candidate, evaluation: Evaluation | None) -> list[Part]:
    """Parts of the prompt; without an evaluation the program was lost before it was judged."""
    evidence = evidence_text(evaluation, scene.workload) if evaluation else "It was never judged."
    return [
        *writing_parts(scene, blueprint),
        Part("source", source_text(base)),
        Part("evidence", evidence, 1),
        *memory_parts(scene, blueprint.fingerprint),
    ]


def note(text: str) -> str:
    """What the repairer says was wrong, on one line."""
    found = _CAUSE.search(text)
    return one_line(found[1]) if found else ""
