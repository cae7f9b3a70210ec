"""Tuner: one edit of a correct program under its contract, with a hypothesis and what should be seen."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from search.agents.llm.fencing import one_line
from search.agents.llm.prompts import Part
from search.agents.llm.render_evidence import evidence_text
from search.agents.llm.render_structure import cost_text
from search.agents.llm.roles.common import memory_parts, source_text, writing_parts

if TYPE_CHECKING:
    from search.agents.agent import Scene
    from search.blueprint import Blueprint
    from search.records import Candidate, Evaluation

_HYPOTHESIS = re.compile(r"(?m)^[ \t*#>_-]{0,8}HYPOTHESIS[ \t*_]{0,4}[:-][ \t*]*(\S.*)$")
_EXPECTATION = re.compile(r"(?m)^[ \t*#>_-]{0,8}EXPECTATION[ \t*_]{0,4}[:-][ \t*]*(\S.*)$")


def parts(scene: Scene, blueprint: Blueprint, base: Candidate, evaluation: Evaluation | None) -> list[Part]:
    """Parts of the prompt."""
    evidence = evidence_text(evaluation, scene.workload) if evaluation else ""
    return [
        *writing_parts(scene, blueprint),
        Part("source", source_text(base)),
        Part("evidence", evidence, 1),
        Part("cost", cost_text(blueprint, scene), 6),
        *memory_parts(scene, blueprint.fingerprint),
    ]


def note(text: str) -> str:
    """Hypothesis and expectation on one line; empty where the tuner gave none."""
    hypothesis, expectation = _HYPOTHESIS.search(text), _EXPECTATION.search(text)
    told = one_line(hypothesis[1]) if hypothesis else ""
    return f"{told} Expected: {one_line(expectation[1])}" if expectation else told
