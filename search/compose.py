"""From actions to a blueprint: which may be taken, and what structure they make.

The order of actions never matters: choices are the initial words overwritten by what the actions set, two
actions may not set one decision to different words, and every precondition is judged on the finished choices.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

from search.actions import Action, ActionLibrary, Decision, speaks
from search.blueprint import Blueprint
from search.plans.registry import NoPlanError, plan_of
from search.predicates import Choice, Facts, holds, parse
from search.records import Knob, Language, Signature
from search.traits import traits

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

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
    space = _space(library, known, language)
    choices = _chosen(space, taken)
    plan = _plan(library, workload, choices, language)
    return Blueprint(
        workload=workload.name,
        actions=tuple(action.id for action in taken),
        choices=_said(space, choices),
        kernels=plan.kernels,
        intermediates=plan.intermediates,
        clauses=plan.clauses,
        knobs=open_knobs(library, Facts(known, choices), language),
        signature=signature_of(workload),
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
    space = _space(library, traits(workload), language, device_class)
    taken = _in_canonical_order(library, blueprint.actions)
    return tuple(
        action
        for action in library.actions
        if (not allowed or action.id in allowed)
        and _extended(space, taken, action) not in (None, blueprint.choices)
    )


def structures(
    workload: Workload, library: ActionLibrary, language: Language, allowed: Sequence[str] = ()
) -> Iterator[Blueprint]:
    """Every structure that can be reached by adding one action at a time, each once, shortest first.

    Args:
        workload: What is computed.
        library: Where the actions are from.
        language: What candidates are written in.
        allowed: Ids of the actions to take; empty is every action that sets no optional decision, because the
            product of all optional ones is too large to walk.
    """
    optional = {decision.name for decision in library.decisions if decision.optional}
    offered = [
        action
        for action in library.actions
        if (action.id in allowed if allowed else not optional & set(action.sets))
    ]
    for taken in _walk(library, offered, traits(workload), language):
        yield compose(workload, library, [action.id for action in taken], language)


def _walk(
    library: ActionLibrary, offered: Sequence[Action], known: frozenset[str], language: Language
) -> Iterator[list[Action]]:
    """Actions of every reachable structure, breadth first; nothing if there is no direct one."""
    space = _space(library, known, language)
    if not space.decided:
        return
    queue: deque[list[Action]] = deque([[]])
    seen = {frozenset(_said(space, _initial(space)).items())}
    while queue:
        taken = queue.popleft()
        yield taken
        for action in offered:
            longer = _extended(space, taken, action)
            if longer and frozenset(longer.items()) not in seen:
                seen.add(frozenset(longer.items()))
                queue.append([*taken, action])


def choose(
    library: ActionLibrary,
    actions: Sequence[Action],
    known: frozenset[str],
    language: Language,
    device_class: str = "",
) -> dict[str, str]:
    """Choices that the actions lead to, in the order of the library's decisions, optional ones included.

    Raises:
        CompositionError: an action does not apply, or conflicts with another.
    """
    return _chosen(_space(library, known, language, device_class), actions)


def asked(library: ActionLibrary, known: frozenset[str], language: Language) -> dict[str, Decision]:
    """The decisions that such a workload answers in this language, in the order of the library."""
    facts = Facts(known, {})
    return {
        decision.name: decision
        for decision in library.decisions
        if decision.initial_word(language)
        and speaks(decision.languages, language)
        and all(holds(predicate, facts) for predicate in decision.when)
    }


def initial_choices(library: ActionLibrary, known: frozenset[str], language: Language) -> dict[str, str]:
    """Choices of the direct implementation; empty if the library decides nothing for such a workload."""
    return _initial(_space(library, known, language))


def is_buildable(
    library: ActionLibrary, actions: Sequence[Action], known: frozenset[str], language: Language
) -> bool:
    """Whether the actions can be taken one after the other, in some order, each step making a structure."""
    space = _space(library, known, language)
    taken: list[Action] = []
    rest = list(actions)
    while rest:
        following = next((one for one in rest if _extended(space, taken, one)), None)
        if following is None:
            return False
        rest.remove(following)
        taken.append(following)
    return True


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


@dataclass(frozen=True)
class _Space:
    """What stays the same while structures of one workload in one language are composed."""

    library: ActionLibrary
    known: frozenset[str]
    language: Language
    device_class: str
    decided: Mapping[str, Decision]


def _space(
    library: ActionLibrary, known: frozenset[str], language: Language, device_class: str = ""
) -> _Space:
    return _Space(library, known, language, device_class, asked(library, known, language))


def _initial(space: _Space) -> dict[str, str]:
    return {name: decision.initial_word(space.language) or "" for name, decision in space.decided.items()}


def _said(space: _Space, choices: Mapping[str, str]) -> dict[str, str]:
    """The choices that a structure is known by: without optional decisions that keep their initial word."""
    return {
        name: word
        for name, word in choices.items()
        if not space.decided[name].optional or word != space.decided[name].initial_word(space.language)
    }


def _chosen(space: _Space, actions: Sequence[Action]) -> dict[str, str]:
    """See `choose`."""
    if not space.decided:
        library = space.library.name
        raise CompositionError(f"library {library} knows no decision for this workload in {space.language}")
    choices = _initial(space)
    for action in actions:
        _refuse_wrong_place(action, choices, space.known, space.language)
        _refuse_wrong_company(action, actions)
        choices |= action.sets
    facts = Facts(space.known, choices, space.device_class)
    for action in actions:
        for predicate in action.when:
            if not holds(predicate, facts):
                raise CompositionError(f"needs `{predicate}`", action.id)
    return choices


def _in_canonical_order(library: ActionLibrary, ids: Sequence[str]) -> list[Action]:
    known = {action.id for action in library.actions}
    for action_id in ids:
        if action_id not in known:
            raise CompositionError(f"library {library.name} {library.version} has no such action", action_id)
    return [action for action in library.actions if action.id in ids]


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


def _extended(space: _Space, taken: list[Action], action: Action) -> dict[str, str] | None:
    """What a structure is known by with one more action; None where it does not apply."""
    if any(one.id == action.id for one in taken):
        return None
    try:
        return _said(space, _chosen(space, [action, *taken]))
    except CompositionError:
        return None


def _plan(library: ActionLibrary, workload: Workload, choices: Mapping[str, str], language: Language) -> Plan:
    try:
        return plan_of(workload, choices, language)
    except KeyError as error:
        # A library of one's own may leave out a question that every plan of such a workload answers.
        raise CompositionError(
            f"library {library.name} knows no decision {error} for this workload"
        ) from error
    except NoPlanError as error:
        raise CompositionError(str(error)) from error


def signature_of(workload: Workload) -> Signature:
    """Axes and arguments of the entry point of every program for a workload."""
    return Signature(
        axes=tuple(workload.axes),
        inputs={name: tensor.shape or () for name, tensor in workload.inputs.items()},
        outputs={name: tensor.shape or () for name, tensor in workload.outputs.items()},
        dtypes={
            name: tensor.dtype.value for name, tensor in [*workload.inputs.items(), *workload.outputs.items()]
        },
    )
