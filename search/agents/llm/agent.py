"""The model agent: answers every kind of draft by asking a language model in the role that fits.

========== ============================================================ ===================================
draft      what is asked                                                answer
========== ============================================================ ===================================
explore    planner, unless a structure it proposed before is unused;    blueprint and program
           then coder
instantiate coder                                                       program of the blueprint
repair     repairer, with the judge's evidence                          program
refine     tuner, one hypothesis                                        program
judge      analyst                                                      beliefs
========== ============================================================ ===================================

The agent keeps nothing that a restart could lose: planners' answers come back in `Scene.planner_replies`, and the
ones it heard in this process are only a shorter way to the same. What a model says never counts as a verdict.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from search.agents.expected import expected
from search.agents.llm import memory
from search.agents.llm.duplicates import duplicate_of
from search.agents.llm.failing import Failure
from search.agents.llm.fencing import one_line
from search.agents.llm.ledger import added
from search.agents.llm.prompts import PROMPT_TOKENS, PromptError, budget, build
from search.agents.llm.recorded import in_scene
from search.agents.llm.roles import analyst, coder, planner, repairer, tuner
from search.agents.llm.schema import ANALYST_SCHEMA, PLANNER_SCHEMA
from search.agents.llm.talk import Talk
from search.agents.llm.writing import Written, written
from search.library import CompositionError, compose
from search.records import DraftKind
from search.steps import DraftFailure, Proposal

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pydantic import JsonValue

    from search.agents.agent import Scene
    from search.agents.llm.outcomes import Caller
    from search.agents.llm.prompts import Part
    from search.agents.llm.roles.planner import Plan
    from search.blueprint import Blueprint
    from search.records import Candidate, Evaluation
    from search.steps import Draft

NOTE = 480
"""Characters of a note for people."""


class LlmAgent:
    """See `search.agents.agent.Agent`. Exceptions of the caller, which is the site's, pass through."""

    name = "llm"

    def __init__(self, caller: Caller, prompt_tokens: int = PROMPT_TOKENS) -> None:
        """Answer through a caller.

        Args:
            caller: reaches the model, keeps the budget, stores the calls.
            prompt_tokens: most tokens of a prompt, unless a long program needs more; less where the model's
                context is small.
        """
        self._caller = caller
        self._tokens = budget(caller.context_tokens, prompt_tokens)
        self._most = budget(caller.context_tokens, caller.context_tokens)
        self._heard: dict[str, list[str]] = {}

    def propose(self, draft: Draft, scene: Scene) -> Proposal:
        """Answer a draft; a refusal is a `Proposal` with `failure`."""
        try:
            return self._answer(draft, scene)
        except planner.NothingLeftError as error:
            return Proposal(failure=str(error), cause=DraftFailure.NOTHING_LEFT)
        except CompositionError as error:
            return Proposal(failure=str(error), cause=DraftFailure.IMPOSSIBLE)
        except PromptError as error:
            return Proposal(failure=str(error), cause=DraftFailure.NO_ROOM)

    def _answer(self, draft: Draft, scene: Scene) -> Proposal:
        match draft.kind:
            case DraftKind.EXPLORE:
                return self._explore(draft, scene)
            case DraftKind.INSTANTIATE:
                return self._instantiate(draft, scene)
            case DraftKind.REPAIR:
                return self._change(draft, scene, "repairer")
            case DraftKind.REFINE:
                return self._change(draft, scene, "tuner")
            case DraftKind.JUDGE:
                return self._judge(draft, scene)

    def _instantiate(self, draft: Draft, scene: Scene) -> Proposal:
        if not draft.structure:
            direct = compose(scene.workload, scene.library, (), scene.language)
            blueprint = in_scene(direct, scene)
            return self._write(draft, scene, blueprint, "the direct implementation")
        known = scene.blueprints.get(draft.structure)
        if known is None:
            return Proposal(failure=f"structure {draft.structure} is not known here")
        return self._write(draft, scene, known, f"{known.title}, written anew")

    def _explore(self, draft: Draft, scene: Scene) -> Proposal:
        parent = scene.blueprints.get(draft.structure)
        if parent is None:
            return Proposal(failure=f"structure {draft.structure} is not known here")
        told = (*scene.planner_replies.get(draft.structure, ()), *self._heard.get(draft.structure, ()))
        plan = planner.remembered(told, draft, scene)
        if plan is not None:
            return self._write(draft, scene, plan.blueprint, _planned(plan))
        parts = planner.parts(scene, parent, _result(draft, scene))
        talk = self._talk(draft, "planner", parts, PLANNER_SCHEMA)
        try:
            plan, failure = talk.answered(self._reader(draft, scene), planner.CORRECTION)
        except planner.NothingLeftError as error:
            plan, failure = None, Failure(str(error), DraftFailure.NOTHING_LEFT)
        if plan is None:
            return Proposal(failure=failure.text, cause=failure.cause, usage=talk.spent)
        answer = self._write(draft, scene, plan.blueprint, _planned(plan))
        return answer.model_copy(update={"usage": added(talk.spent, answer.usage)})

    def _write(self, draft: Draft, scene: Scene, blueprint: Blueprint, note: str) -> Proposal:
        relative = _relative(draft, scene)
        try:
            talk = self._talk(draft, "coder", coder.parts(scene, blueprint, relative))
        except PromptError as error:
            return Proposal(blueprint=blueprint, failure=str(error), cause=DraftFailure.NO_ROOM)
        result = self._written(talk, blueprint, scene)
        parent = relative[0].hash if relative else ""
        return _proposal(result, talk, blueprint, scene, note=note, parent=parent)

    def _change(self, draft: Draft, scene: Scene, role: str) -> Proposal:
        """A repair or a refinement of the draft's base."""
        base = scene.candidates.get(draft.base) if draft.base is not None else None
        blueprint = scene.blueprints.get(draft.structure or (base.structure if base else ""))
        if base is None or blueprint is None:
            return Proposal(failure="there is no candidate to start from")
        asked = repairer if role == "repairer" else tuner
        evaluation = scene.evaluations.get(draft.base) if draft.base is not None else None
        talk = self._talk(draft, role, asked.parts(scene, blueprint, base, evaluation))
        result = self._written(talk, blueprint, scene)
        if asked is tuner:
            result = _at_the_knobs_of(base, result, blueprint)
        return _proposal(result, talk, blueprint, scene, note=asked.note(result.text), parent=base.hash)

    def _judge(self, draft: Draft, scene: Scene) -> Proposal:
        talk = self._talk(draft, "analyst", analyst.parts(draft, scene), ANALYST_SCHEMA)
        beliefs, failure = talk.answered(lambda text: analyst.read_beliefs(text, scene), analyst.CORRECTION)
        return Proposal(beliefs=beliefs or {}, failure=failure.text, cause=failure.cause, usage=talk.spent)

    def _reader(self, draft: Draft, scene: Scene) -> Callable[[str], Plan]:
        """Reads a planner's answer and remembers it."""

        def read(text: str) -> Plan:
            self._heard.setdefault(draft.structure, []).append(text)
            return planner.read_plan(text, draft, scene)

        return read

    def _talk(
        self, draft: Draft, role: str, parts: Sequence[Part], schema: dict[str, JsonValue] | None = None
    ) -> Talk:
        prompt = build(role, parts, self._tokens, self._most)
        return Talk(self._caller, role, draft.number, prompt, schema)

    def _written(self, talk: Talk, blueprint: Blueprint, scene: Scene) -> Written:
        return written(talk, blueprint, scene.language, keeps_contract=scene.keeps_contract)


# What the agent reads and makes ----------------------------------------------------------------------


def _proposal(
    result: Written, talk: Talk, blueprint: Blueprint, scene: Scene, *, note: str, parent: str = ""
) -> Proposal:
    """The answer; a program that is known already is proposed as the one that was measured."""
    predicted = expected(blueprint, scene.workload, scene.device_class)
    answer = Proposal(blueprint=blueprint, usage=talk.spent, prior=predicted)
    if result.candidate is None:
        why = result.failure
        return answer.model_copy(update={"failure": one_line(why.text, NOTE), "cause": why.cause})
    candidate = result.candidate.model_copy(update={"parent": parent})
    same = duplicate_of(candidate, scene.candidates)
    if same is not None:
        candidate = scene.candidates[same]
        if problem := _unusable(candidate, blueprint, scene):
            failure = f"the same program as step {same}: {problem}"
            return answer.model_copy(update={"failure": failure, "cause": DraftFailure.DUPLICATE})
        candidate = candidate.model_copy(update={"structure": blueprint.fingerprint})
        note = f"the same program as step {same}. {note}"
    return answer.model_copy(update={"candidate": candidate, "note": one_line(note, NOTE)})


def _at_the_knobs_of(base: Candidate, result: Written, blueprint: Blueprint) -> Written:
    """An edit is one change: it is measured at the knob values of the program that it changes."""
    if result.candidate is None:
        return result
    kept = {knob.name: base.knobs[knob.name] for knob in blueprint.knobs if knob.name in base.knobs}
    knobs = {**result.candidate.knobs, **kept}
    return replace(result, candidate=result.candidate.model_copy(update={"knobs": knobs}))


def _unusable(earlier: Candidate, blueprint: Blueprint, scene: Scene) -> str:
    """Why a duplicate is no answer; empty where the earlier verdict is simply taken again."""
    if earlier.structure != blueprint.fingerprint and scene.keeps_contract:
        # Its verdict was found under another contract.
        return "it is of another structure"
    count = memory.repeats(memory.tried(scene)) + 1
    return f"{count} duplicates in a row" if count >= memory.MOST_REPEATS else ""


def _planned(plan: Plan) -> str:
    expected = f" Expected: {plan.expectation}" if plan.expectation else ""
    return f"{plan.reason}{expected}" or plan.blueprint.title


def _result(draft: Draft, scene: Scene) -> Evaluation | None:
    """Of the parent's best program, else of its latest."""
    own = [
        scene.evaluations[number]
        for number in sorted(scene.evaluations)
        if number in scene.candidates and scene.candidates[number].structure == draft.structure
    ]
    return max(own, key=_speed, default=None) if any(map(_speed, own)) else (own[-1] if own else None)


def _relative(draft: Draft, scene: Scene) -> tuple[Candidate, Evaluation] | None:
    """The fastest correct program of the draft's structure, else of any."""
    correct = [
        (scene.candidates[number], evaluation)
        for number, evaluation in sorted(scene.evaluations.items())
        if number in scene.candidates and evaluation.status.is_correct
    ]
    own = [pair for pair in correct if pair[0].structure == draft.structure]
    return max(own or correct, key=lambda pair: _speed(pair[1]), default=None)


def _speed(evaluation: Evaluation) -> float:
    return evaluation.speedup.value if evaluation.speedup else 0.0
