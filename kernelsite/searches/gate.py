"""The review gate of a search: what stands there to be decided, and a reviewer's decision.

The decision is written in one transaction with what follows of it: the structures added by hand, the event, the
state in which a driver takes the search up again. A process killed after that changes nothing: the sweeper finds a
running search that nobody drives.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelsite.searches import dispatch, events, holds
from kernelsite.searches.models import GateDecision, Search, Structure
from search import engine
from search.compose import CompositionError, applicable, compose
from search.records import EventKind, Language, SearchState
from search.review import Decision, Ruling, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable

    from django.contrib.auth.models import User

    from search.actions import Action
    from search.blueprint import Blueprint
    from search.steps import Step


class GateError(Exception):
    """The search waits for no decision, or the decision does not fit; the message is for people."""


def engine_of(search: Search, history: list[Step]) -> engine.Search:
    """The engine as it stands after these steps and the decisions that were taken."""
    budget = holds.engine_budget(search, history)
    decisions = [row.record for row in search.decisions.order_by("number")]
    settings = search.record.model_copy(update={"budget": budget})
    return engine.Search.replay(settings, history, decisions)


def decide(search_id: int, rulings: Iterable[Ruling], user: User, key: str) -> tuple[GateDecision, bool]:
    """Take a reviewer's decision; the same key again gives the first one.

    Returns:
        The decision, and whether this call took it.

    Raises:
        GateError: the search is not at its gate, or the decision does not fit.
    """
    with events.locked(search_id) as search:
        known = search.decisions.filter(key=key).first()
        if known is not None:
            return known, False
        if not search.is_at_gate:
            raise GateError(f"{search.short} waits for no decision: it is {search.state}")
        decision = _checked(search, tuple(rulings), user.get_username())
        row = GateDecision.objects.create(
            search=search,
            number=search.decisions.count() + 1,
            document=decision.dump(),
            key=key,
            decided_by=user,
        )
        _plant(search, decision)
        search.move(SearchState.RUNNING)
        events.append(search, EventKind.REVIEWED, _told(search, decision))
        dispatch.advance_later(search_id)
    return row, True


def proposed(search: Search) -> tuple[str, ...]:
    """Fingerprints of the structures that the strategy itself would keep."""
    return _now(search).proposed()


def _now(search: Search) -> engine.Search:
    return engine_of(search, [row.record for row in search.steps.order_by("number")])


def _checked(search: Search, rulings: tuple[Ruling, ...], by: str) -> Decision:
    machine = _now(search)
    try:
        decision = Decision(after=machine.archive.last, by=by, rulings=rulings)
        machine.decide(decision)
    except ValueError as error:
        raise GateError(_said(error)) from error
    return decision


def _said(error: ValueError) -> str:
    """A record's complaint without what pydantic writes around it."""
    errors = getattr(error, "errors", None)
    return str(errors()[0]["msg"]).removeprefix("Value error, ") if errors else str(error)


def _plant(search: Search, decision: Decision) -> None:
    """Rows of the structures that were added by hand: the agent is shown them, the page as well."""
    for ruling in decision.rulings:
        if ruling.blueprint is None:
            continue
        search.structure_count += 1
        structure = Structure.objects.create(
            search=search,
            number=search.structure_count,
            fingerprint=ruling.structure,
            parent=_parent(search, ruling.blueprint),
            blueprint=ruling.blueprint.dump(),
            title=ruling.blueprint.title[:400],
            step=decision.after,
            created_seq=search.event_seq + 1,
        )
        text = f"structure {structure.key} added by {decision.by}: {structure.title}"
        events.append(search, EventKind.STRUCTURE, text, structure=structure)


def _parent(search: Search, blueprint: Blueprint) -> Structure | None:
    """The structure with the most of its actions and no other ones."""
    actions = set(blueprint.actions)
    rows = [row for row in search.structures.select_related("parent") if set(row.actions) <= actions]
    return max(rows, key=lambda row: (len(row.actions), -row.number), default=None)


def _told(search: Search, decision: Decision) -> str:
    keys = dict(search.structures.values_list("fingerprint", "number"))
    parts = [f"{ruling.verdict} {search.pk}.{keys[ruling.structure]}" for ruling in decision.rulings]
    return f"{decision.by} decided: {', '.join(parts)}"


def extensions(search: Search) -> list[tuple[Structure, Action]]:
    """What a person may add by hand: a structure of the search and an action that makes a new one of it."""
    known = set(search.structures.values_list("fingerprint", flat=True))
    found = []
    for row in search.structures.select_related("search__workload", "search__library").order_by("number"):
        for action in _next_actions(search, row.record):
            blueprint = extended(search, row.record, action.id)
            if blueprint is not None and blueprint.fingerprint not in known:
                known.add(blueprint.fingerprint)
                found.append((row, action))
    return found


def _next_actions(search: Search, blueprint: Blueprint) -> tuple[Action, ...]:
    return applicable(
        search.workload.record,
        search.library.record,
        blueprint,
        Language(search.language),
        search.record.allowed_actions,
        search.device_class,
    )


def extended(search: Search, blueprint: Blueprint, action: str) -> Blueprint | None:
    """The blueprint with one action more; None where these actions make no structure."""
    actions = [*blueprint.actions, action]
    try:
        return compose(search.workload.record, search.library.record, actions, Language(search.language))
    except CompositionError:
        return None


def added(search: Search, choice: str, reason: str) -> Ruling:
    """The ruling that adds a structure by hand.

    Args:
        search: which waits at its gate.
        choice: `<number of a structure>:<action>`, as `extensions` offers them.
        reason: in the reviewer's words.

    Raises:
        GateError: there is no such structure, or the action does not extend it.
    """
    number, _, action = choice.partition(":")
    row = search.structures.filter(number=int(number)).first() if number.isdecimal() else None
    if row is None:
        raise GateError("choose a structure of this search to extend")
    blueprint = extended(search, row.record, action)
    if blueprint is None:
        raise GateError(f"{action} does not extend {row.title}")
    try:
        return Ruling(
            structure=blueprint.fingerprint, verdict=Verdict.ADDED, reason=reason, blueprint=blueprint
        )
    except ValueError as error:
        raise GateError(_said(error)) from error
