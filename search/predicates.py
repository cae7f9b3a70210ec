"""Preconditions as data: `trait NAME`, `choice DECISION is WORD or WORD`, `device cpu`, `device sm>=90`.

Choice predicates speak of the finished structure, so it does not matter in which order actions were taken.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Annotated

from pydantic import AfterValidator

from search.traits import TRAITS

if TYPE_CHECKING:
    from collections.abc import Mapping

DEVICES = ("cpu", "gpu")

ARCHITECTURES: dict[str, int] = {
    "a100": 80,
    "a10": 86,
    "rtx3090": 86,
    "l4": 89,
    "l40s": 89,
    "rtx4090": 89,
    "h100": 90,
    "h200": 90,
    "gh200": 90,
    "b200": 100,
    "gb200": 100,
    "rtx5090": 120,
}
"""NVIDIA compute capability, times ten, by device class. What is not in the table passes no gate."""


@dataclass(frozen=True)
class Trait:
    """The workload has a trait."""

    name: str


@dataclass(frozen=True)
class Choice:
    """A decision of the finished structure is one of some words."""

    decision: str
    words: tuple[str, ...]


@dataclass(frozen=True)
class Device:
    """The kernel runs on the host's processor (`cpu`) or on an accelerator (`gpu`)."""

    name: str


@dataclass(frozen=True)
class Architecture:
    """The device has at least this NVIDIA compute capability, times ten."""

    least: int


@dataclass(frozen=True)
class Facts:
    """What predicates are judged on. An empty device class means it is not known: device predicates hold."""

    traits: frozenset[str]
    choices: Mapping[str, str]
    """Of every decision, optional ones with their initial word included."""
    device_class: str = ""


@lru_cache(maxsize=1024)
def parse(text: str) -> Trait | Choice | Device | Architecture:
    """Read one predicate.

    Raises:
        ValueError: the text is no predicate, or names an unknown trait or device.
    """
    match text.split():
        case ["trait", name] if name in TRAITS:
            return Trait(name)
        case ["trait", name]:
            raise ValueError(f"unknown trait {name!r}; known: {', '.join(TRAITS)}")
        case ["choice", decision, "is", word, *rest] if _alternates(rest):
            return Choice(decision, (word, *rest[1::2]))
        case ["device", name] if name in DEVICES:
            return Device(name)
        case ["device", gate] if found := re.fullmatch(r"sm>=(\d{2,3})", gate):
            return Architecture(int(found[1]))
    raise ValueError(
        f"unknown predicate {text!r}; write `trait NAME`, `choice DECISION is WORD or WORD`, `device cpu`, "
        "`device gpu` or `device sm>=90`"
    )


def holds(text: str, facts: Facts) -> bool:
    """Whether one predicate is true of the facts."""
    match parse(text):
        case Trait(name):
            return name in facts.traits
        case Choice(decision, words):
            return facts.choices.get(decision) in words
        case Device(name):
            return not facts.device_class or (name == "cpu") == (_measured(facts.device_class) == "cpu")
        case Architecture(least):
            return not facts.device_class or ARCHITECTURES.get(_measured(facts.device_class), 0) >= least


def _measured(device_class: str) -> str:
    """The device behind a recorded one: `recorded:h200` is `h200`."""
    return device_class.removeprefix("recorded:")


def _alternates(rest: list[str]) -> bool:
    """`or WORD` any number of times."""
    return len(rest) % 2 == 0 and all(word == "or" for word in rest[::2])


def _checked(text: str) -> str:
    parse(text)
    return text


Predicate = Annotated[str, AfterValidator(_checked)]
