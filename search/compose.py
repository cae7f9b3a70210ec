"""From actions to a blueprint: which may be taken, and what structure they make.

The order of actions never matters: choices are the initial words overwritten by what the actions set, two
actions may not set one decision to different words, and every precondition is judged on the finished choices.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from search.actions import Action, ActionLibrary, speaks
from search.blueprint import Blueprint
from search.plans.contraction import plan_contraction
from search.plans.rows import plan_rows
from search.predicates import Choice, Facts, holds, parse
from search.records import Knob, Language, Signature
from search.traits import contracted_axis, traits

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from search.plans.plan import Plan
    from search.workload import Workload


class CompositionError(ValueError):
    """Actions that cannot make a structure of a workload; `action` is the one at fault, if one is."""

    def __init__(self, problem: str, action: str = "") -> None:
        """Say the problem, with the action's id in front when there is one."""
        super().__init__(f"{action}: {problem}" if action else problem)
        self.action = action


def compose(
    workload: Workload, library: ActionLibrary, actions: Sequence[str], language: Language
) -> Blueprint:
    """The structure that these actions make; no actions give the direct implementation.

    Raises:
        CompositionError: an action is unknown, does not apply, or conflicts with another.
    """
    known = traits(workload)
    taken = _in_canonical_order(library, actions)
    choices = choose(library, taken, known, language)
    plan = _plan(workload, known, choices, language)
    return Blueprint(
        workload=workload.name,
        actions=tuple(action.id for action in taken),
        choices=choices,
        kernels=plan.kernels,
        intermediates=plan.intermediates,
        clauses=plan.clauses,
        knobs=open_knobs(library, Facts(known, choices), language),
        signature=_signature(workload),
    )


def applicable(
    workload: Workload,
    library: ActionLibrary,
    blueprint: Blueprint,
    language: Language,
    allowed: Sequence[str] = (),
    device_class: str = "",
) -> tuple[Action, ...]:
    """Actions that extend a blueprint to another structure, in library order.

    Args:
        workload: What is computed.
        library: Where the actions are from.
        blueprint: The structure to extend.
        language: What candidates are written in.
        allowed: Ids to choose from; empty is all of the library.
        device_class: Judges device predicates; empty lets them hold.
    """
    known = traits(workload)
    taken = _in_canonical_order(library, blueprint.actions)
    return tuple(
        action
        for action in library.actions
        if (not allowed or action.id in allowed)
        and _extended(library, taken, action, known, language, device_class) not in (None, blueprint.choices)
    )


def structures(workload: Workload, library: ActionLibrary, language: Language) -> Iterator[Blueprint]:
    """Every structure that can be reached by adding one action at a time, each once, shortest first."""
    for taken, _ in walk(library, traits(workload), language):
        yield compose(workload, library, [action.id for action in taken], language)


def walk(
    library: ActionLibrary, known: frozenset[str], language: Language
) -> Iterator[tuple[list[Action], dict[str, str]]]:
    """Actions and choices of every reachable structure, breadth first; nothing if there is no direct one."""
    first = _initial_choices(library, known, language)
    if not first:
        return
    queue: list[tuple[list[Action], dict[str, str]]] = [([], first)]
    seen = {frozenset(first.items())}
    while queue:
        taken, choices = queue.pop(0)
        yield taken, choices
        for action in library.actions:
            longer = _extended(library, taken, action, known, language)
            if longer and frozenset(longer.items()) not in seen:
                seen.add(frozenset(longer.items()))
                queue.append(([*taken, action], longer))


def choose(
    library: ActionLibrary,
    actions: Sequence[Action],
    known: frozenset[str],
    language: Language,
    device_class: str = "",
) -> dict[str, str]:
    """Choices that the actions lead to, in the order of the library's decisions.

    Raises:
        CompositionError: an action does not apply, or conflicts with another.
    """
    choices = _initial_choices(library, known, language)
    if not choices:
        raise CompositionError(f"library {library.name} knows no decision for this workload in {language}")
    for action in actions:
        _refuse_wrong_place(action, choices, known, language)
        _refuse_wrong_company(action, actions)
        choices |= action.sets
    facts = Facts(known, choices, device_class)
    for action in actions:
        for predicate in action.when:
            if not holds(predicate, facts):
                raise CompositionError(f"needs `{predicate}`", action.id)
    return choices


def open_knobs(library: ActionLibrary, facts: Facts, language: Language) -> tuple[Knob, ...]:
    """Knobs of a structure: those of the library, then those of every action whose words it has.

    They follow from the choices alone, so that two ways to one structure open the same knobs.
    """
    found: dict[str, Knob] = {}
    for knob in offered_knobs(library, facts, language):
        found.setdefault(knob.name, knob)
    return tuple(found.values())


def offered_knobs(library: ActionLibrary, facts: Facts, language: Language) -> list[Knob]:
    """Knobs that the library and the actions open; a sound library offers no name twice."""
    offered = list(library.knobs)
    for action in library.actions:
        shown = action.sets.items() <= facts.choices.items() and speaks(action.languages, language)
        if shown and all(holds(predicate, facts) for predicate in action.when):
            offered += action.knobs
    return [
        knob.knob
        for knob in offered
        if speaks(knob.languages, language) and all(holds(predicate, facts) for predicate in knob.when)
    ]


def _in_canonical_order(library: ActionLibrary, ids: Sequence[str]) -> list[Action]:
    known = {action.id for action in library.actions}
    for action_id in ids:
        if action_id not in known:
            raise CompositionError(f"library {library.name} {library.version} has no such action", action_id)
    return [action for action in library.actions if action.id in ids]


def _initial_choices(library: ActionLibrary, known: frozenset[str], language: Language) -> dict[str, str]:
    choices: dict[str, str] = {}
    facts = Facts(known, choices)
    for decision in library.decisions:
        word = decision.initial_word(language)
        if word and speaks(decision.languages, language) and all(holds(p, facts) for p in decision.when):
            choices[decision.name] = word
    return choices


def _refuse_wrong_place(
    action: Action, choices: dict[str, str], known: frozenset[str], language: Language
) -> None:
    if not speaks(action.languages, language):
        raise CompositionError(f"is not for {language}", action.id)
    facts = Facts(known, choices)
    for predicate in action.when:
        if not isinstance(parse(predicate), Choice) and not holds(predicate, facts):
            raise CompositionError(f"needs `{predicate}`", action.id)
    for decision in action.sets:
        if decision not in choices:
            raise CompositionError(f"sets {decision}, which this workload does not decide", action.id)


def _refuse_wrong_company(action: Action, actions: Sequence[Action]) -> None:
    ids = {other.id for other in actions}
    if missing := [needed for needed in action.requires if needed not in ids]:
        raise CompositionError(f"requires {', '.join(missing)}", action.id)
    for other in actions:
        if other.id in action.conflicts:
            raise CompositionError(f"conflicts with {other.id}", action.id)
        for decision, word in action.sets.items():
            if other.sets.get(decision, word) != word:
                raise CompositionError(f"conflicts with {other.id}: both set {decision}", action.id)


def _extended(
    library: ActionLibrary,
    taken: list[Action],
    action: Action,
    known: frozenset[str],
    language: Language,
    device_class: str = "",
) -> dict[str, str] | None:
    """Choices with one more action; None where it does not apply."""
    if action in taken:
        return None
    try:
        return choose(library, [*taken, action], known, language, device_class)
    except CompositionError:
        return None


def _plan(workload: Workload, known: frozenset[str], choices: dict[str, str], language: Language) -> Plan:
    rows, columns = (next(iter(workload.outputs.values())).shape or ())[:2]
    contracted = contracted_axis(workload)
    if "contraction" in known and contracted:
        return plan_contraction(choices, (rows, columns, contracted), language)
    return plan_rows(workload.op_type, choices, (rows, columns))


def _signature(workload: Workload) -> Signature:
    return Signature(
        axes=tuple(workload.axes),
        inputs={name: tensor.shape or () for name, tensor in workload.inputs.items()},
        outputs={name: tensor.shape or () for name, tensor in workload.outputs.items()},
        dtypes={
            name: tensor.dtype.value for name, tensor in [*workload.inputs.items(), *workload.outputs.items()]
        },
    )
