"""A model that knows the playbook: it reads a prompt as a model would and answers with real kernels, and mistakes.

    python -m tests.fakes.model_server --port 8901 --script tests.fakes.scripted_kernels:softmax

Every answer follows from the prompt alone, so that a search with it is the same each time. On the way it makes the
mistakes that models make, each once per structure: prose without code, another structure than was asked for, a
program that does not compile, a planner's answer that is no JSON.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from search.agents.agent import Scene
from search.agents.playbook.moves import moves
from search.agents.playbook.writers import write_source
from search.library import compose, shipped_library, shipped_workload
from search.records import Language
from tests.fakes.model_server import Answer

if TYPE_CHECKING:
    from search.blueprint import Blueprint
    from search.workload import Workload
    from tests.fakes.model_server import Conversation

PLANS: tuple[tuple[str, ...], ...] = (
    ("vector_lanes", "polynomial_exp"),
    ("stored_exponentials", "polynomial_exp"),
    ("resident_row",),
    ("online_softmax",),
    ("row_groups",),
    ("persistent_rows", "polynomial_exp"),
    ("dynamic_rows",),
)
"""Structures of a softmax in the order in which they are proposed; all are in the landscape `cpu_softmax`."""

PROSE_FIRST = ("resident_row",)
OTHER_STRUCTURE_FIRST = ("stored_exponentials", "polynomial_exp")
OTHER_STRUCTURE = ("polynomial_exp",)
BROKEN_FIRST = ("vector_lanes", "polynomial_exp")
BROKEN_LINE = "  return zero;  // there is no such name"

_ROLES = re.compile(r"You are the (planner|coder|analyst)\b|You (repair|refine) one\b")
_ROLE_NAMES = {"repair": "repairer", "refine": "tuner"}
_ACTIONS = re.compile(r"(?m)^Actions: (.+)$")
_WORKLOAD = re.compile(r'<data kind="workload" id="\w+">\n(\w+): ')
_TRIED = re.compile(r"(?m)^- ([\w +]+): (?:\d|never right)")
_LABEL = re.compile(r"(?m)^(S\d+), open: ")


def softmax(conversation: Conversation) -> Answer:
    """Answers in all roles, with all mistakes."""
    return Answer(answer(_texts(conversation)))


def softmax_without_build_errors(conversation: Conversation) -> Answer:
    """The same, but everything compiles: a recorded device knows no program that does not."""
    return Answer(answer(_texts(conversation), broken=None))


def answer(messages: list[str], broken: tuple[str, ...] | None = BROKEN_FIRST) -> str:
    """What the model says.

    Args:
        messages: texts of the conversation, the system's first.
        broken: actions of the structure whose first program does not compile; None: every one does.
    """
    system, question = messages[:2]
    found = _ROLES.search(system)
    role = (found[1] or _ROLE_NAMES[found[2]]) if found else ""
    is_second = len(messages) > 2
    match role:
        case "planner":
            return _plan(question, is_second=is_second)
        case "analyst":
            return _beliefs(question)
        case "coder":
            return _code(system, question, broken, is_second=is_second)
        case "repairer":
            return f"CAUSE: a name was used that is not there.\n\n{_fenced(*_asked_for(system, question))}"
        case "tuner":
            return _refined(system, question)
    return "I do not know what I am asked for."


def _texts(conversation: Conversation) -> list[str]:
    return [str(message["content"]) for message in conversation.body["messages"]]


# Planner and analyst ---------------------------------------------------------------------------------


def _plan(question: str, *, is_second: bool) -> str:
    workload, language = _workload(question), Language.CPP
    taken = {tuple(title.split(" + ")) for title in _TRIED.findall(question)}
    plans = [
        list(plan) for plan in _plans(workload, question) if _canonical(plan, workload, language) not in taken
    ]
    parent = _ACTIONS.search(question)
    if parent and parent[1].startswith("stored_exponentials") and not is_second:
        return "I would look at the row as a whole first. Shall I go on?"
    structures = [
        {"actions": plan, "reason": f"{plan[0]} changes what bounds the time.", "expectation": "10 % less"}
        for plan in plans[:3]
    ]
    return f"Three directions:\n\n```json\n{json.dumps({'structures': structures}, indent=1)}\n```"


def _plans(workload: Workload, question: str) -> list[tuple[str, ...]]:
    """Fixed ones for a softmax, else the playbook's own moves from the structure in the prompt."""
    if workload.op_type == "softmax":
        return list(PLANS)
    parent = compose(workload, shipped_library(), _actions(question), Language.CPP)
    scene = Scene(workload, shipped_library(), Language.CPP, "cpu", {parent.fingerprint: parent}, {}, {})
    return [child.actions for _, child in moves(scene, parent, seed=0)]


def _canonical(plan: tuple[str, ...], workload: Workload, language: Language) -> tuple[str, ...]:
    return compose(workload, shipped_library(), plan, language).actions


def _beliefs(question: str) -> str:
    found = _LABEL.findall(question)
    beliefs = [
        {"structure": label, "worth": round(1 - place / len(found), 2), "reason": "by its order"}
        for place, label in enumerate(found)
    ]
    return json.dumps({"beliefs": beliefs})


# Code --------------------------------------------------------------------------------------------------


def _code(system: str, question: str, broken: tuple[str, ...] | None, *, is_second: bool) -> str:
    blueprint, workload, language = _asked_for(system, question)
    if is_second:
        return f"You are right, here it is.\n\n{_fenced(blueprint, workload, language)}"
    if blueprint.actions == PROSE_FIRST:
        return (
            "The row should be copied to a buffer that stays in the cache, and all steps should work on it."
        )
    if set(blueprint.actions) == set(OTHER_STRUCTURE_FIRST):
        other = compose(workload, shipped_library(), OTHER_STRUCTURE, language)
        return _fenced(other, workload, language)
    text = _fenced(blueprint, workload, language)
    if blueprint.actions == broken:
        return text.replace("  return 0;", BROKEN_LINE)
    return text


def _refined(system: str, question: str) -> str:
    """A loop over the columns is told that its pointers do not overlap."""
    blueprint, workload, language = _asked_for(system, question)
    text = _fenced(blueprint, workload, language).replace(
        "const float* row =", "const float* __restrict row ="
    )
    said = "HYPOTHESIS: the compiler must assume that input and output overlap.\nEXPECTATION: 5 % less time."
    return f"{said}\n\n{text}"


def _asked_for(system: str, question: str) -> tuple[Blueprint, Workload, Language]:
    language = Language.TRITON if "```python" in system else Language.CPP
    workload = _workload(question)
    return compose(workload, shipped_library(), _actions(question), language), workload, language


def _actions(question: str) -> tuple[str, ...]:
    found = _ACTIONS.search(question)
    if found is None or found[1].startswith("none"):
        return ()
    return tuple(found[1].split(", "))


def _workload(question: str) -> Workload:
    found = _WORKLOAD.search(question)
    if found is None:
        raise ValueError("the prompt names no workload")
    return shipped_workload(found[1])


def _fenced(blueprint: Blueprint, workload: Workload, language: Language) -> str:
    word = "python" if language is Language.TRITON else "cpp"
    return f"```{word}\n{write_source(blueprint, workload, language).content}```"
