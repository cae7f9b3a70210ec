"""What two versions of an action library differ in: entries added, removed and changed, field by field."""

from __future__ import annotations

import json
from collections import Counter
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from pydantic import JsonValue

from search.records import Record

if TYPE_CHECKING:
    from collections.abc import Iterator

    from search.actions import ActionLibrary

_SHOWN = 160
"""Characters of a value that a line shows."""


class EntryKind(StrEnum):
    """What a library consists of."""

    ACTION = "action"
    DECISION = "decision"
    KNOB = "knob"


class FieldChange(Record):
    """One field of an entry that both versions have."""

    field: str
    """Path inside the entry, e.g. `knobs.SPLITS.choices`."""
    old: JsonValue
    """None: the old version has no such field."""
    new: JsonValue


class EntryChange(Record):
    """An entry with every field in which it differs."""

    kind: EntryKind
    name: str
    fields: tuple[FieldChange, ...]


class Entry(Record):
    """An entry that one version has and the other has not."""

    kind: EntryKind
    name: str
    """Id of an action, name of a decision or knob; with its preconditions where several share the name."""
    title: str = ""


class LibraryDiff(Record):
    """The way from an old version to a new one."""

    old: str
    """`name version`."""
    new: str
    added: tuple[Entry, ...] = ()
    removed: tuple[Entry, ...] = ()
    changed: tuple[EntryChange, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Nothing but perhaps name, version and title differs."""
        return not (self.added or self.removed or self.changed)


def diff(old: ActionLibrary, new: ActionLibrary) -> LibraryDiff:
    """Entries that differ, in the order of the new version, removed ones in that of the old."""
    before, after = _entries(old), _entries(new)
    if unlike := _names_used_twice(old) | _names_used_twice(new):
        before, after = _entries(old, unlike), _entries(new, unlike)
    changes = ((key, _changes(before[key], after[key])) for key in after if key in before)
    return LibraryDiff(
        old=f"{old.name} {old.version}",
        new=f"{new.name} {new.version}",
        added=tuple(_entry(key, entry) for key, entry in after.items() if key not in before),
        removed=tuple(_entry(key, entry) for key, entry in before.items() if key not in after),
        changed=tuple(EntryChange(kind=k[0], name=k[1], fields=found) for k, found in changes if found),
    )


def render(found: LibraryDiff) -> str:
    """The difference as text: `+` added, `-` removed, `~` changed with a line per field."""
    lines = [f"{found.old} → {found.new}"]
    lines += [f"- {one.kind} {one.name}{_titled(one)}" for one in found.removed]
    lines += [f"+ {one.kind} {one.name}{_titled(one)}" for one in found.added]
    for change in found.changed:
        lines.append(f"~ {change.kind} {change.name}")
        lines += [f"    {one.field}: {_short(one.old)} → {_short(one.new)}" for one in change.fields]
    if found.is_empty:
        lines.append("no action, decision or knob differs")
    return "\n".join(lines)


_Key = tuple[EntryKind, str]


def _listed(library: ActionLibrary) -> Iterator[tuple[EntryKind, str, dict[str, Any]]]:
    for action in library.actions:
        yield EntryKind.ACTION, action.id, action.dump()
    for decision in library.decisions:
        yield EntryKind.DECISION, decision.name, decision.dump()
    for knob in library.knobs:
        yield EntryKind.KNOB, knob.name, knob.dump()


def _names_used_twice(library: ActionLibrary) -> frozenset[_Key]:
    counted = Counter((kind, name) for kind, name, _ in _listed(library))
    return frozenset(key for key, count in counted.items() if count > 1)


def _entries(library: ActionLibrary, unlike: frozenset[_Key] = frozenset()) -> dict[_Key, dict[str, Any]]:
    """Entries by kind and name; names in `unlike` are told apart by languages and preconditions."""
    found: dict[_Key, dict[str, Any]] = {}
    for kind, name, entry in _listed(library):
        conditions = ", ".join([*entry["languages"], *entry["when"]])
        found[kind, f"{name} ({conditions})" if (kind, name) in unlike else name] = entry
    return found


def _entry(key: _Key, entry: dict[str, Any]) -> Entry:
    return Entry(kind=key[0], name=key[1], title=entry.get("title", ""))


def _changes(old: dict[str, Any], new: dict[str, Any]) -> tuple[FieldChange, ...]:
    one, other = dict(_flat(old)), dict(_flat(new))
    return tuple(
        FieldChange(field=field, old=one.get(field), new=other.get(field))
        for field in dict.fromkeys([*one, *other])
        if one.get(field) != other.get(field)
    )


def _flat(entry: dict[str, Any], path: str = "") -> Iterator[tuple[str, JsonValue]]:
    """Fields by path; lists of named things by their names, other lists as one value."""
    for field, value in entry.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{path}{field}.")
        elif field == "knobs":
            for knob in value:
                spoken = ",".join(knob["languages"])
                yield from _flat(knob, f"{path}knobs.{knob['name']}{f'[{spoken}]' if spoken else ''}.")
        else:
            yield f"{path}{field}", value


def _titled(entry: Entry) -> str:
    return f": {entry.title}" if entry.title else ""


def _short(value: JsonValue) -> str:
    text = "nothing" if value is None else value if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"
