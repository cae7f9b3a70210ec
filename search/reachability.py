"""Which actions some structure can take, and which knobs one structure could open twice.

Spaces are too large to walk, so an action is asked backwards: what must be chosen for it, and who chooses that.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

from search.actions import speaks
from search.compose import asked, initial_choices, is_buildable
from search.predicates import Choice, Facts, Trait, holds, parse
from search.records import Language
from search.traits import TRAIT_SETS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from search.actions import Action, ActionLibrary, LibraryKnob

LANGUAGES = (Language.CPP, Language.TRITON, Language.CUDA)
"""Languages in which blueprints are made."""

_DEPTH = 4
"""Actions that may be needed one for the other before a wanted one applies."""


def unreachable(library: ActionLibrary) -> Iterator[str]:
    """Ids of actions that no structure of any kind of work can take."""
    for action in library.actions:
        cells = ((known, language) for known in TRAIT_SETS for language in LANGUAGES)
        if not any(path_to(library, action, known, language) for known, language in cells):
            yield action.id


def path_to(
    library: ActionLibrary, action: Action, known: frozenset[str], language: Language
) -> tuple[str, ...] | None:
    """Ids of a shortest set of actions with this one that can be taken one after the other; None if there is none."""
    wanted = [action, *_required(library, action)]
    facts = Facts(known, {})
    if not all(_fits(library, one, facts, language) for one in wanted):
        return None
    for depth in range(_DEPTH + 1):
        if found := _completed(library, wanted, known, language, depth):
            return tuple(one.id for one in found)
    return None


def _required(library: ActionLibrary, action: Action) -> list[Action]:
    found: dict[str, Action] = {}
    queue = list(action.requires)
    while queue:
        needed = library.action(queue.pop())
        if needed.id not in found:
            found[needed.id] = needed
            queue += needed.requires
    return list(found.values())


def _fits(library: ActionLibrary, action: Action, facts: Facts, language: Language) -> bool:
    """Whether language, traits and the decisions it sets allow the action at all."""
    if not speaks(action.languages, language):
        return False
    if not all(holds(text, facts) for text in action.when if isinstance(parse(text), Trait)):
        return False
    return set(action.sets) <= set(asked(library, facts.traits, language))


def _completed(
    library: ActionLibrary, taken: Sequence[Action], known: frozenset[str], language: Language, depth: int
) -> list[Action] | None:
    """`taken` with at most `depth` further actions, so that all preconditions hold."""
    if is_buildable(library, taken, known, language):
        return list(taken)
    if depth == 0:
        return None
    for more in _remedies(library, taken, known, language):
        if found := _completed(library, [*taken, more], known, language, depth - 1):
            return found
    return None


def _remedies(
    library: ActionLibrary, taken: Sequence[Action], known: frozenset[str], language: Language
) -> Iterator[Action]:
    """Actions that make a choice which one of `taken` needs and none of them makes."""
    facts = Facts(known, {})
    choices = initial_choices(library, known, language)
    for action in taken:
        choices |= action.sets
    needed = [parse(text) for action in taken for text in action.when]
    for predicate in needed:
        if not isinstance(predicate, Choice) or choices.get(predicate.decision) in predicate.words:
            continue
        for action in library.actions:
            sets = action.sets.get(predicate.decision) in predicate.words
            if sets and action not in taken and _fits(library, action, facts, language):
                yield action


# Knobs -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Offer:
    """A knob, who opens it, and in which structures."""

    knob: LibraryKnob
    place: str
    languages: frozenset[Language]
    traits: frozenset[str]
    words: Mapping[str, frozenset[str]]
    """Words that a decision must have one of."""


def clashes(library: ActionLibrary) -> Iterator[str]:
    """Knobs that two places open in one structure."""
    offers = list(_offers(library))
    for one, other in combinations(offers, 2):
        if one.knob.name != other.knob.name:
            continue
        language = next((each for each in LANGUAGES if _meet(library, one, other, each)), None)
        if language:
            yield f"{other.place}: opened twice in {language}, by {one.place} too"


def _offers(library: ActionLibrary) -> Iterator[_Offer]:
    for knob in library.knobs:
        yield _offer(knob, f"field knobs.{knob.name}", knob.when, (), {})
    for action in library.actions:
        for knob in action.knobs:
            place = f"action {action.id}: field knobs.{knob.name}"
            yield _offer(knob, place, (*action.when, *knob.when), action.languages, action.sets)


def _offer(
    knob: LibraryKnob,
    place: str,
    when: Sequence[str],
    languages: Sequence[Language],
    sets: Mapping[str, str],
) -> _Offer:
    words = {decision: frozenset({word}) for decision, word in sets.items()}
    for predicate in map(parse, when):
        if isinstance(predicate, Choice):
            among = frozenset(predicate.words)
            words[predicate.decision] = words.get(predicate.decision, among) & among
    spoken = frozenset(languages or LANGUAGES) & frozenset(knob.languages or LANGUAGES)
    traits = frozenset(one.name for one in map(parse, when) if isinstance(one, Trait))
    return _Offer(knob, place, spoken, traits, words)


def _meet(library: ActionLibrary, one: _Offer, other: _Offer, language: Language) -> bool:
    """Whether some choices would open both."""
    if language not in one.languages & other.languages:
        return False
    for known in TRAIT_SETS:
        if not one.traits | other.traits <= known:
            continue
        decided = asked(library, known, language)
        names = set(one.words) | set(other.words)
        if names <= set(decided) and all(_common(one, other, name, decided[name].words) for name in names):
            return True
    return False


def _common(one: _Offer, other: _Offer, name: str, words: Mapping[str, str]) -> frozenset[str]:
    everything = frozenset(words)
    return one.words.get(name, everything) & other.words.get(name, everything) & everything
