"""Scenes, evaluations and a caller in memory for tests of the model agent."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from search.agents.agent import Experience, Scene, Tried
from search.agents.llm.outcomes import CallOutcome, ModelReply, ModelRequest
from search.agents.llm.tokens import estimate_messages, estimate_tokens
from search.agents.playbook.writers import write_source
from search.library import compose, shipped_library, shipped_workload
from search.records import (
    Candidate,
    CaseTiming,
    DraftKind,
    Environment,
    Evaluation,
    EvaluationStage,
    EvaluationStatus,
    Interval,
    Language,
    Purpose,
    Stage,
    StageEvidence,
    Tier,
    TimingMethod,
)
from search.steps import Draft
from search.usage import Usage

if TYPE_CHECKING:
    from collections.abc import Callable

    from search.blueprint import Blueprint

LIBRARY = shipped_library()


@dataclass
class MemoryCaller:
    """Answers by a function from the texts of a conversation; texts are replies, outcomes are faults."""

    script: Callable[[list[str]], str | ModelReply]
    context_tokens: int = 32_768
    json_schema: bool = True
    requests: list[ModelRequest] = field(default_factory=list)

    def call(self, request: ModelRequest) -> ModelReply:
        self.requests.append(request)
        said = self.script([message.content for message in request.messages])
        if isinstance(said, ModelReply):
            return said
        prompt, answer = estimate_messages(request.messages), estimate_tokens(said)
        spent = Usage(calls=1, prompt_tokens=prompt, completion_tokens=answer, cost_usd=0.001)
        return ModelReply(outcome=CallOutcome.OK, text=said, spent=spent)

    @property
    def turns(self) -> list[str]:
        return [request.turn for request in self.requests]


def in_turn(*said: str | ModelReply) -> MemoryCaller:
    """Answers in this order, whatever is asked; one call more than answers is an error."""
    left = list(said)
    return MemoryCaller(lambda texts: left.pop(0))


def fault(outcome: CallOutcome, text: str = "", detail: str = "") -> ModelReply:
    return ModelReply(outcome=outcome, text=text, detail=detail, spent=Usage(calls=1, prompt_tokens=100))


def blueprint(*actions: str, slug: str = "softmax", language: Language = Language.CPP) -> Blueprint:
    return compose(shipped_workload(slug), LIBRARY, actions, language)


def program(*actions: str, slug: str = "softmax", language: Language = Language.CPP) -> Candidate:
    made = blueprint(*actions, slug=slug, language=language)
    return Candidate(
        language=language,
        sources=(write_source(made, shipped_workload(slug), language),),
        knobs={knob.name: knob.default for knob in made.knobs},
        structure=made.fingerprint,
    )


def code(*actions: str, slug: str = "softmax", language: Language = Language.CPP) -> str:
    """An answer with the playbook's program."""
    word = "python" if language is Language.TRITON else str(language)
    return f"```{word}\n{program(*actions, slug=slug, language=language).sources[0].content}```\n"


def passed(candidate: Candidate, speedup: float = 2.0, floor_us: float | None = 50.0) -> Evaluation:
    gain = Interval(value=speedup, low=speedup * 0.95, high=speedup * 1.05)
    median_us = 1000.0 / speedup
    timing = CaseTiming(
        case="main",
        median_us=median_us,
        p10_us=median_us * 0.98,
        p90_us=median_us * 1.04,
        samples=20,
        baseline_us=1000.0,
        speedup=gain,
        floor_us=floor_us,
    )
    build = StageEvidence(
        stage=EvaluationStage.BUILD,
        passed=True,
        seconds=0.4,
        details={"cached": False, "kernels": [{"name": "softmax_rows", "registers": 40, "spills": 0}]},
    )
    return Evaluation(
        status=EvaluationStatus.PASSED,
        stages=(build,),
        cases=(timing,),
        speedup=gain,
        median_us=median_us,
        baseline="torch eager",
        method=TimingMethod.SLOPE,
        **_shared(candidate),
    )


def failed(candidate: Candidate, status: EvaluationStatus, message: str, log: str = "") -> Evaluation:
    stage = StageEvidence(stage=EvaluationStage.BUILD, passed=False, seconds=0.4, message=message)
    return Evaluation(status=status, stages=(stage,), message=message, log=log, **_shared(candidate))


def _shared(candidate: Candidate):
    environment = Environment(device_class="cpu", device="a core", workload="0" * 64)
    return {
        "tier": Tier.FAST,
        "purpose": Purpose.SEARCH,
        "candidate": candidate.hash,
        "environment": environment,
    }


def scene(
    *blueprints: Blueprint, slug: str = "softmax", language: Language = Language.CPP, **changes
) -> Scene:
    values = {
        "workload": shipped_workload(slug),
        "library": LIBRARY,
        "language": language,
        "device_class": "cpu" if language is Language.CPP else "h200",
        "blueprints": {each.fingerprint: each for each in blueprints},
        "candidates": {},
        "evaluations": {},
    }
    return Scene(**(values | changes))


def draft(kind: DraftKind, structure: str = "", number: int = 7, **changes) -> Draft:
    stage = Stage.TUNE if kind is DraftKind.REFINE else Stage.EXPLORE
    return Draft(number=number, kind=kind, stage=stage, seed=5, structure=structure, **changes)


def full_scene() -> Scene:
    """A search under way: three structures, one of them broken, with both memories."""
    direct, lanes, online = blueprint(), blueprint("vector_lanes"), blueprint("online_softmax")
    programs = {1: program(), 2: program("vector_lanes"), 3: program("online_softmax")}
    evaluations = {
        1: passed(programs[1], 0.5),
        2: passed(programs[2], 1.5),
        3: failed(programs[3], EvaluationStatus.COMPILE_ERROR, "kernel.cpp:60:10: error: no `zero` here"),
    }
    steps = tuple(
        Tried(
            number=number,
            structure=candidate.structure,
            title=made.title,
            status=evaluations[number].status,
            speedup=evaluations[number].speedup.value if evaluations[number].speedup else None,
            failure=evaluations[number].message,
            note="as planned" if number > 1 else "the direct implementation",
            knobs=candidate.knobs,
        )
        for (number, candidate), made in zip(programs.items(), (direct, lanes, online), strict=True)
    )
    experience = (
        Experience("polynomial_exp", "exponentials", "cpu", 2.1, 6, 6),
        Experience("online_softmax", "wide_rows", "h200", 1.2, 4, 3),
        Experience("split_k", "deep_contraction", "cpu", 3.0, 9, 9),
    )
    return scene(
        direct,
        lanes,
        online,
        candidates=programs,
        evaluations=evaluations,
        tried=steps,
        experience=experience,
        device_facts={"name": "AMD EPYC", "cores for candidates": "1", "second-level cache": "1 MiB"},
    )
