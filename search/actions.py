"""Records of an action library: decisions with their words, knobs, and actions that set decisions."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Self

from pydantic import Field, StringConstraints, model_validator

from search.predicates import Predicate
from search.records import Knob, Language, Record, content_hash

Word = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]*$")]


class ActionFamily(StrEnum):
    """What an action reorganises."""

    DECOMPOSITION = "decomposition"
    FUSION = "fusion"
    REDUCTION = "reduction"
    MAPPING = "mapping"
    MOVEMENT = "movement"
    PIPELINING = "pipelining"
    SCHEDULING = "scheduling"
    NUMERICS = "numerics"
    REWRITE = "rewrite"


class Decision(Record):
    """One question that every structure of a kind of workload answers with one word."""

    name: Word
    when: tuple[Predicate, ...]
    """Trait predicates only: for which workloads the question exists."""
    languages: tuple[Language, ...] = ()
    """Empty: every language."""
    initial: Word | dict[Language, Word]
    """The answer of the direct implementation."""
    words: Annotated[dict[Word, str], Field(min_length=1)]
    """Possible answers with their meaning."""
    optional: Annotated[bool, Field(exclude_if=lambda value: not value)] = False
    """Stays out of a structure's choices while it has its initial word, so that a library may come to ask it
    without giving the structures it had new fingerprints."""

    def initial_word(self, language: Language) -> str | None:
        """Answer of the direct implementation; None if there is none in this language."""
        return self.initial if isinstance(self.initial, str) else self.initial.get(language)

    @model_validator(mode="after")
    def _initial_is_a_word(self) -> Self:
        given = [self.initial] if isinstance(self.initial, str) else list(self.initial.values())
        if unknown := set(given) - set(self.words):
            raise ValueError(f"initial: {sorted(unknown)} not among the words")
        return self


class LibraryKnob(Knob):
    """A knob and the structures in which it is open."""

    when: tuple[Predicate, ...] = ()
    languages: tuple[Language, ...] = ()
    """Empty: every language."""

    @property
    def knob(self) -> Knob:
        """The plain knob."""
        return Knob(name=self.name, choices=self.choices, default=self.default, note=self.note)


class Action(Record):
    """A structural step with its preconditions, its effect and what an expert knows about it."""

    id: Word
    family: ActionFamily
    title: str
    summary: str
    when: tuple[Predicate, ...]
    requires: tuple[Word, ...] = ()
    """Ids of actions that must be taken too."""
    conflicts: tuple[Word, ...] = ()
    """Ids of actions that cannot be taken too, besides those that set a decision to another word."""
    languages: tuple[Language, ...] = ()
    """Empty: every language."""
    sets: Annotated[dict[Word, Word], Field(min_length=1)]
    """Decision name to word."""
    knobs: tuple[LibraryKnob, ...] = ()
    contract: str
    """For people: what tuning must keep from now on."""
    notes: str
    """For people and models: when it pays, pitfalls, sizes."""
    sources: tuple[str, ...] = ()


class ActionLibrary(Record):
    """An immutable version of a library; its identity is its content hash."""

    name: Word
    version: str
    title: str
    decisions: Annotated[tuple[Decision, ...], Field(min_length=1)]
    knobs: tuple[LibraryKnob, ...] = ()
    actions: Annotated[tuple[Action, ...], Field(min_length=1)]

    @property
    def hash(self) -> str:
        """Content hash of the version."""
        return content_hash(self.dump())

    def action(self, action_id: str) -> Action:
        """The action of this id.

        Raises:
            KeyError: there is none.
        """
        for action in self.actions:
            if action.id == action_id:
                return action
        raise KeyError(f"library {self.name} {self.version} has no action {action_id!r}")


def speaks(languages: tuple[Language, ...], language: Language) -> bool:
    """Whether something limited to `languages` exists in `language`; no limit is every language."""
    return not languages or language in languages
