"""Beliefs of a search as a timeline: which structures were inserted, rated anew and pruned, step by step.

A strategy that holds beliefs writes the worth of its open structures into every step that it asks for; what is
told here is read off the differences between one step and the next.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

from search.strategies.world_model import RECORDED

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from kernelsite.searches.models import Search

HOLDERS = frozenset({"world_model"})
"""Strategies that hold beliefs."""
CHANGES_SHOWN = 200
LEAST_CHANGE = 0.005
"""Worths that moved less count as unmoved."""


class Change(TypedDict):
    """One belief that a step changed."""

    step: int
    structure: int
    name: str
    kind: str
    """`inserted`, `rated` or `pruned`."""
    was: float | None
    now: float | None
    why: str
    """What the step was asked for."""


class Line(TypedDict):
    """Worth of one structure over the steps; only the steps at which it moved, None where it was pruned."""

    structure: int
    name: str
    points: list[tuple[int, float | None]]


class Timeline(TypedDict):
    """Beliefs of a search."""

    steps: int
    lines: list[Line]
    changes: list[Change]
    """The latest, newest first."""
    change_count: int


def timeline(search: Search) -> Timeline:
    """Beliefs of a search up to now, in two queries."""
    names = {
        fingerprint: (number, title)
        for number, fingerprint, title in search.structures.values_list("number", "fingerprint", "title")
    }
    asked = search.steps.order_by("number").values_list("number", "item__beliefs", "item__why")
    steps = [(number, beliefs or {}, why or "") for number, beliefs, why in asked]
    changes = list(_changes(steps, names))
    return {
        "steps": steps[-1][0] if steps else 0,
        "lines": _lines(changes),
        "changes": changes[: -CHANGES_SHOWN - 1 : -1],
        "change_count": len(changes),
    }


def _changes(
    steps: Iterable[tuple[int, Mapping[str, float], str]], names: Mapping[str, tuple[int, str]]
) -> Iterator[Change]:
    known: dict[str, float] = {}
    for step, beliefs, why in steps:
        if not beliefs:  # a step that was asked without looking at beliefs says nothing of them
            continue
        gone = set(known) - set(beliefs) if len(beliefs) < RECORDED else set()
        for fingerprint in [*beliefs, *sorted(gone)]:
            was, now = known.get(fingerprint), beliefs.get(fingerprint)
            if was is not None and now is not None and abs(was - now) < LEAST_CHANGE:
                continue
            number, name = names.get(fingerprint, (0, fingerprint))
            kind = "inserted" if was is None else "pruned" if now is None else "rated"
            yield {
                "step": step, "structure": number, "name": name, "kind": kind, "was": was, "now": now, "why": why
            }  # fmt: skip
            if now is None:
                del known[fingerprint]
            else:
                known[fingerprint] = now


def _lines(changes: Iterable[Change]) -> list[Line]:
    lines: dict[int, Line] = {}
    for change in changes:
        line = lines.setdefault(
            change["structure"], {"structure": change["structure"], "name": change["name"], "points": []}
        )
        line["points"].append((change["step"], change["now"]))
    return list(lines.values())
