"""Checks of a library as a whole: what no single record can know.

Each check yields `action ID: field F: problem` or `decision NAME: field F: problem`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from search.predicates import Choice, Trait, parse
from search.reachability import LANGUAGES, clashes, unreachable
from search.traits import TRAIT_SETS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from search.actions import ActionLibrary


def problems(library: ActionLibrary) -> list[str]:
    """Everything wrong with a library; reachability only once the rest is right."""
    found = [
        *_repeated(library),
        *_dangling(library),
        *_unknown_words(library),
        *_unknown_choices(library),
        *_cycles(library),
    ]
    return found or _reachability(library)


def _repeated(library: ActionLibrary) -> Iterator[str]:
    ids = [action.id for action in library.actions]
    for action_id in sorted({action_id for action_id in ids if ids.count(action_id) > 1}):
        yield f"action {action_id}: field id: stands {ids.count(action_id)} times"
    for language in LANGUAGES:
        for known in TRAIT_SETS:
            names = [
                decision.name
                for decision in library.decisions
                if (not decision.languages or language in decision.languages)
                and all(_trait(text) in known for text in decision.when)
            ]
            for name in sorted({name for name in names if names.count(name) > 1}):
                yield f"decision {name}: field when: two apply to {', '.join(sorted(known))} in {language}"


def _trait(text: str) -> str:
    """Trait a predicate names; empty for other predicates."""
    predicate = parse(text)
    return predicate.name if isinstance(predicate, Trait) else ""


def _dangling(library: ActionLibrary) -> Iterator[str]:
    ids = {action.id for action in library.actions}
    for action in library.actions:
        for field, others in (("requires", action.requires), ("conflicts", action.conflicts)):
            for other in others:
                if other not in ids:
                    yield f"action {action.id}: field {field}: no action {other!r}"
                elif other == action.id:
                    yield f"action {action.id}: field {field}: names itself"


def _words(library: ActionLibrary) -> dict[str, set[str]]:
    words: dict[str, set[str]] = {}
    for decision in library.decisions:
        words.setdefault(decision.name, set()).update(decision.words)
    return words


def _unknown_words(library: ActionLibrary) -> Iterator[str]:
    words = _words(library)
    for action in library.actions:
        for decision, word in action.sets.items():
            if decision not in words:
                yield f"action {action.id}: field sets: no decision {decision!r}"
            elif word not in words[decision]:
                yield f"action {action.id}: field sets: {decision} has no word {word!r}"


def _unknown_choices(library: ActionLibrary) -> Iterator[str]:
    words = _words(library)
    for place, texts in _places(library):
        for predicate in map(parse, texts):
            if not isinstance(predicate, Choice):
                continue
            if predicate.decision not in words:
                yield f"{place}: no decision {predicate.decision!r}"
            elif unknown := sorted(set(predicate.words) - words[predicate.decision]):
                yield f"{place}: {predicate.decision} has no word {', '.join(map(repr, unknown))}"


def _places(library: ActionLibrary) -> Iterator[tuple[str, Iterable[str]]]:
    for decision in library.decisions:
        yield f"decision {decision.name}: field when", decision.when
    for knob in library.knobs:
        yield f"field knobs.{knob.name}.when", knob.when
    for action in library.actions:
        yield f"action {action.id}: field when", action.when
        for knob in action.knobs:
            yield f"action {action.id}: field knobs.{knob.name}.when", knob.when


def _cycles(library: ActionLibrary) -> Iterator[str]:
    """Two actions that require each other can only be taken together, which one step at a time cannot do."""
    requires = {action.id: action.requires for action in library.actions}
    for start in requires:
        path = [start]
        if _returns(start, path, requires) and start == min(path):
            yield f"action {start}: field requires: cycle {' → '.join([*path, start])}"


def _returns(start: str, path: list[str], requires: dict[str, tuple[str, ...]]) -> bool:
    """Extends `path` until it comes back to `start`."""
    for needed in requires.get(path[-1], ()):
        if needed == start:
            return True
        if needed in path:
            continue
        path.append(needed)
        if _returns(start, path, requires):
            return True
        path.pop()
    return False


def _reachability(library: ActionLibrary) -> list[str]:
    """Actions that no structure can take, and knobs that two places open in one structure."""
    lost = [f"action {name}: field when: no structure can ever take it" for name in unreachable(library)]
    return [*lost, *clashes(library)]
