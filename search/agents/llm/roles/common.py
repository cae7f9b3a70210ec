"""Parts that several roles share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from search.agents.llm import memory
from search.agents.llm.fencing import fence
from search.agents.llm.parsing import FENCE_WORD
from search.agents.llm.prompts import Part, read_template
from search.agents.llm.render_contract import contract_text
from search.agents.llm.render_structure import blueprint_text, knobs_text
from search.agents.llm.render_workload import device_text, workload_brief, workload_text
from search.knobs import KnobError, with_knobs
from search.records import SOURCE_LIMIT_BYTES, Language

if TYPE_CHECKING:
    from search.agents.agent import Scene
    from search.blueprint import Blueprint
    from search.records import Candidate

LANGUAGE_TITLES: dict[Language, str] = {
    Language.CPP: "C++",
    Language.CUDA: "CUDA C++",
    Language.TRITON: "Triton",
    Language.PYTORCH: "PyTorch",
}


def task_parts(scene: Scene) -> list[Part]:
    """Workload and device; the workload never gives way wholly."""
    return [
        Part("workload", workload_text(scene.workload), 5, workload_brief(scene.workload), stays=True),
        Part("device", device_text(scene), 6),
    ]


def writing_parts(scene: Scene, blueprint: Blueprint) -> list[Part]:
    """What everybody who writes code is told: task, language, structure, contract, knobs."""
    return [
        *task_parts(scene),
        Part("language", LANGUAGE_TITLES[scene.language]),
        Part("fence_word", FENCE_WORD[scene.language]),
        Part("rules", rules(scene.language)),
        Part("structure", blueprint_text(blueprint, scene)),
        Part("contract", contract_text(blueprint.contract) if scene.keeps_contract else ""),
        Part("knobs", knobs_text(blueprint.knobs)),
    ]


def memory_parts(scene: Scene, structure: str) -> list[Part]:
    """Trials of a structure, and a word against repeating."""
    steps = memory.tried(scene)
    return [
        Part(
            "trials",
            memory.trials_text(steps, structure),
            4,
            memory.trials_text(steps, structure, most=4),
        ),
        Part("diversity", memory.diversity_text(steps), 2),
    ]


def rules(language: Language) -> str:
    """How a program in this language has to look."""
    name = Language.TRITON if language is Language.PYTORCH else language
    return read_template(f"language_{name}").strip()


def source_text(candidate: Candidate) -> str:
    """The first file of a candidate with its knob values in it, fenced and whole."""
    content = candidate.sources[0].content
    try:
        content = with_knobs(candidate.language, content, candidate.knobs)
    except KnobError:
        pass  # a source with a broken literal is shown as it is: that may be what has to be repaired
    return fence(content, f"program, {LANGUAGE_TITLES[candidate.language]}", SOURCE_LIMIT_BYTES)
