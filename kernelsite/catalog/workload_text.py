"""A workload as a person writes it: a definition in YAML, where JSON is YAML too, and a reference in Python.

Plain words mean what they mean in JSON and nothing else, so `1e-5` is a number and `no` is text. The reader keeps
the line of every field, does not recurse, and refuses what grows (aliases) or gets lost (a key twice).
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import yaml

if TYPE_CHECKING:
    from collections.abc import Iterator

    from search.workload import Workload

DEFINITION_LIMIT = 256 * 1024
"""Bytes of a definition."""
_DEEPEST = 20
_MOST_VALUES = 50_000
_INTEGER = re.compile(r"[+-]?[0-9]+")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_NOT_FINITE = re.compile(r"[+-]?(?:\.?inf|\.?nan|infinity)", re.IGNORECASE)
_WORDS = {"": None, "~": None, "null": None, "true": True, "false": False}
_LONGEST_NUMBER = 40

Path = tuple[str | int, ...]


class TextError(ValueError):
    """A definition that cannot be read."""

    def __init__(self, text: str, line: int | None = None, path: Path = ()) -> None:
        """Say what is wrong, and where."""
        super().__init__(text)
        self.text = text
        self.line = line
        self.path = path


@dataclass
class Definition:
    """What was read."""

    document: Any = None
    lines: dict[Path, int] = field(default_factory=dict)
    """Line, from 1, of every field and list entry."""

    def line_of(self, path: Path) -> int | None:
        """Line of a field, or of what it would be in where it is missing."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path)


def read(text: str) -> Definition:
    """Read a definition.

    Raises:
        TextError: it is none; names the line and, inside a document, the field.
    """
    if len(text.encode("utf-8", "surrogatepass")) > DEFINITION_LIMIT:
        raise TextError(f"The definition is longer than {DEFINITION_LIMIT // 1024} KiB.")
    reader = _Reader()
    try:
        for event in yaml.parse(text, Loader=yaml.CSafeLoader):
            reader.take(event)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else None
        raise TextError(f"Not YAML: {error.problem or 'cannot be read'}.", line) from error
    except (yaml.YAMLError, UnicodeError) as error:
        raise TextError("Not YAML: holds a character that YAML does not allow.") from error
    return reader.found


class _Reader:
    """Builds the document from events, which come one after another however deep they nest."""

    def __init__(self) -> None:
        self.found = Definition()
        self._open: list[tuple[Any, str | None]] = []
        """Mappings and lists that are not finished, each mapping with the key whose value comes next."""
        self._path: list[str | int] = []
        self._values = 0
        self._documents = 0

    def take(self, event: yaml.Event) -> None:
        match event:
            case yaml.DocumentStartEvent():
                self._documents += 1
                if self._documents > 1:
                    raise TextError("A second document begins here; write one.", _line(event))
            case yaml.NodeEvent(anchor=str()) if not isinstance(event, yaml.AliasEvent):
                raise TextError("An anchor (&), which is not allowed here.", _line(event))
            case yaml.ScalarEvent(tag=str()) | yaml.CollectionStartEvent(tag=str()):
                raise TextError("A tag (!), which is not allowed here.", _line(event))
            case yaml.AliasEvent():
                raise TextError("An alias (*), which is not allowed here.", _line(event))
            case yaml.ScalarEvent():
                self._scalar(event)
            case yaml.MappingStartEvent() | yaml.SequenceStartEvent():
                self._begin({} if isinstance(event, yaml.MappingStartEvent) else [], event)
            case yaml.MappingEndEvent() | yaml.SequenceEndEvent():
                self._open.pop()
                self._leave()

    def _begin(self, container: Any, event: yaml.Event) -> None:
        self._put(container, event)
        if len(self._open) >= _DEEPEST:
            raise TextError(f"Nested deeper than {_DEEPEST} levels.", _line(event))
        self._open.append((container, None))

    def _scalar(self, event: yaml.ScalarEvent) -> None:
        if self._open and isinstance(self._open[-1][0], dict) and self._open[-1][1] is None:
            self._key(event)
            return
        path = (*self._path, *self._here())
        self._put(_value(event, path), event)
        self._leave()

    def _key(self, event: yaml.ScalarEvent) -> None:
        mapping, _ = self._open[-1]
        if event.value in mapping:
            raise TextError(f"{event.value[:80]} stands twice.", _line(event), (*self._path, event.value))
        mapping[event.value] = None
        self.found.lines[(*self._path, event.value)] = _line(event)
        self._open[-1] = (mapping, event.value)

    def _here(self) -> Path:
        """Step from the innermost open container to the value that comes next."""
        if not self._open:
            return ()
        container, key = self._open[-1]
        return (len(container),) if isinstance(container, list) else (key or "",)

    def _put(self, value: Any, event: yaml.Event) -> None:
        self._values += 1
        if self._values > _MOST_VALUES:
            raise TextError(f"More than {_MOST_VALUES} values.", _line(event))
        if not self._open:
            self.found.document = value
            return
        container, key = self._open[-1]
        if isinstance(container, dict) and key is None:
            raise TextError("A key must be a word.", _line(event), tuple(self._path))
        self._path += self._here()
        self.found.lines.setdefault(tuple(self._path), _line(event))
        if isinstance(container, list):
            container.append(value)
        else:
            container[key] = value

    def _leave(self) -> None:
        """The value is complete: the next key, or the next entry, comes."""
        if self._open:
            container, _ = self._open[-1]
            self._open[-1] = (container, None)
            self._path.pop()


def _line(event: yaml.Event) -> int:
    assert event.start_mark is not None, "parsed from text"
    return int(event.start_mark.line) + 1


def _value(event: yaml.ScalarEvent, path: Path) -> Any:
    text: str = event.value
    if event.style:
        return text
    if text in _WORDS:
        return _WORDS[text]
    if _NOT_FINITE.fullmatch(text):
        raise TextError(f"{text} is not a finite number.", _line(event), path)
    if not _NUMBER.fullmatch(text):
        return text
    if len(text) > _LONGEST_NUMBER:
        raise TextError("A number with too many digits.", _line(event), path)
    if _INTEGER.fullmatch(text):
        return int(text)
    if not math.isfinite(number := float(text)):
        raise TextError(f"{text} is not a finite number.", _line(event), path)
    return number


# Writing ------------------------------------------------------------------------------------------


def write(workload: Workload) -> str:
    """The definition of a workload, without its reference; reading it gives the same workload.

    What is as it would be anyway is left out.
    """
    document = _brief(workload.dump(), workload.model_dump(mode="json", exclude_defaults=True))
    del document["reference"]
    return yaml.dump(document, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100)


def quoted(text: str) -> str:
    """One line of text as a YAML value."""
    return json.dumps(text, ensure_ascii=False)


def _brief(whole: Any, filled: Any) -> Any:
    """The whole without its defaults, but with the word that tells what kind of thing each is."""
    if isinstance(whole, dict):
        inner = filled if isinstance(filled, dict) else {}
        return {
            key: _brief(value, inner.get(key))
            for key, value in whole.items()
            if key in inner or key == "type"
        }
    if isinstance(whole, list) and isinstance(filled, list):
        return [_brief(*pair) for pair in zip(whole, filled, strict=True)]
    return whole


class _Dumper(yaml.SafeDumper):
    """Short things stay on a line, as people write them."""

    def ignore_aliases(self, data: object) -> bool:
        return True

    def resolve(self, kind: type[yaml.Node], value: Any, implicit: Any) -> str:
        """What a plain word would be read as: the reader's rules, not those of YAML 1.1."""
        if kind is not yaml.ScalarNode or not implicit[0]:
            return str(super().resolve(kind, value, implicit))  # type: ignore[no-untyped-call]  # its stub has none
        return f"tag:yaml.org,2002:{_word_kind(value)}"


def _word_kind(text: str) -> str:
    if text in _WORDS:
        return "null" if _WORDS[text] is None else "bool"
    if _INTEGER.fullmatch(text):
        return "int"
    return "float" if _NUMBER.fullmatch(text) or _NOT_FINITE.fullmatch(text) else "str"


def _float(dumper: yaml.SafeDumper, number: float) -> yaml.Node:
    return dumper.represent_scalar("tag:yaml.org,2002:float", repr(number))


def _is_flat(values: list[Any]) -> bool:
    """Whether these fit on a line: words and numbers, or a few things of words and numbers."""
    return len(json.dumps(values)) <= 80 and not any("\n" in word for word in _strings(values))


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for pair in value.items():
            yield from (word for part in pair for word in _strings(part))
    elif isinstance(value, list):
        for each in value:
            yield from _strings(each)


def _list(dumper: yaml.SafeDumper, items: list[Any]) -> yaml.Node:
    plain = not any(isinstance(item, dict | list) for item in items)
    return dumper.represent_sequence("tag:yaml.org,2002:seq", items, flow_style=plain)


def _mapping(dumper: yaml.SafeDumper, items: dict[str, Any]) -> yaml.Node:
    simple = not any(isinstance(item, dict) and len(item) > 3 for item in items.values())
    flat = bool(items) and simple and "name" not in items and _is_flat([items])
    return dumper.represent_mapping("tag:yaml.org,2002:map", items, flow_style=flat)


_Dumper.add_representer(list, _list)
_Dumper.add_representer(dict, _mapping)
_Dumper.add_representer(float, _float)
