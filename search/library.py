"""The action library: loading with errors that name file, action and field, and what ships.

The records are in `search/actions.py`, preconditions in `search/predicates.py`, composition in
`search/compose.py`; this module checks a library as a whole and re-exports what others use.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml
from pydantic import ValidationError

from search.actions import Action, ActionFamily, ActionLibrary, Decision, LibraryKnob
from search.compose import CompositionError, applicable, compose, structures
from search.library_check import problems
from search.traits import traits
from search.workload import shipped_workload, shipped_workloads

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping

__all__ = [
    "Action",
    "ActionFamily",
    "ActionLibrary",
    "CompositionError",
    "Decision",
    "LibraryError",
    "LibraryKnob",
    "applicable",
    "compose",
    "load_files",
    "load_library",
    "load_path",
    "shipped_library",
    "shipped_workload",
    "shipped_workloads",
    "structures",
    "traits",
]

TEXT_LIMIT_BYTES = 512 * 1024


class LibraryError(ValueError):
    """A library text that cannot be used; the message is one line per problem, `file: place: problem`."""

    def __init__(self, source: str, found: list[str], origins: Mapping[str, str] | None = None) -> None:
        """Join the problems, each with the file in front.

        Args:
            source: Name of the library.
            found: The problems; those of an entry start with its place, e.g. `action split_row: `.
            origins: Which file a place is in, where the library has several.
        """
        super().__init__("\n".join(f"{_origin(one, origins or {}) or source}: {one}" for one in found))
        self.source = source
        self.problems = tuple(found)


def load_library(text: str, source: str) -> ActionLibrary:
    """Read a library of one file from YAML or JSON.

    Args:
        text: The document.
        source: Name of the file, for messages.

    Raises:
        LibraryError: every problem found, with file, action and field.
    """
    return load_files({source: text}, source)


def load_files(texts: Mapping[str, str], source: str) -> ActionLibrary:
    """Read a library of several files, each adding decisions, knobs and actions.

    Args:
        texts: The documents by file name; merged in this order.
        source: Name of the whole, for problems that belong to no single file.

    Raises:
        LibraryError: every problem found, with file, action and field.
    """
    document, origins = _merged({name: _read(text, name) for name, text in texts.items()}, source)
    try:
        library = ActionLibrary.load(document)
    except ValidationError as error:
        raise LibraryError(source, [_located(document, one) for one in error.errors()], origins) from error
    except (TypeError, ValueError) as error:
        raise LibraryError(source, [f"holds a value that JSON does not know: {error}"]) from error
    if found := problems(library):
        raise LibraryError(source, found, origins)
    return library


def load_path(path: Path) -> ActionLibrary:
    """A library from a file, or from the YAML files of a folder in name order.

    Raises:
        LibraryError: it cannot be read, or is wrong.
    """
    files = sorted(path.glob("*.yaml")) if path.is_dir() else [path]
    try:
        texts = {
            f"{path.name}/{file.name}" if path.is_dir() else file.name: file.read_text("utf-8")
            for file in files
        }
    except (OSError, UnicodeDecodeError) as error:
        raise LibraryError(str(path), [f"cannot be read: {error}"]) from error
    return load_files(texts, path.name)


@cache
def shipped_library(name: str = "core") -> ActionLibrary:
    """A library that comes with the package.

    Raises:
        KeyError: there is no such library.
    """
    folder = Path(__file__).parent / "libraries" / name
    if not name.isidentifier() or not folder.is_dir():
        raise KeyError(f"no shipped library {name!r}")
    return load_path(folder)


class _PlainLoader(yaml.SafeLoader):
    """Safe YAML that also refuses aliases (they can blow up) and repeated keys (one would be lost)."""

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            mark = parent.start_mark if parent else None
            raise yaml.constructor.ConstructorError(None, None, "aliases are not allowed", mark)
        return super().compose_node(parent, index)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        mapping = super().construct_mapping(node, deep=deep)
        if len(mapping) != len(node.value):
            raise yaml.constructor.ConstructorError(None, None, "a key stands twice", node.start_mark)
        return mapping


def _merged(documents: Mapping[str, dict[str, Any]], source: str) -> tuple[dict[str, Any], dict[str, str]]:
    """One document of all files, and the file of each action, decision and library knob."""
    if len(documents) == 1:
        return next(iter(documents.values())), {}
    whole: dict[str, Any] = {}
    origins: dict[str, str] = {}
    for file, document in documents.items():
        for field, value in document.items():
            if field not in _LISTS:
                if field in whole:
                    raise LibraryError(file, [f"field {field}: stands in another file of {source} too"])
                whole[field] = value
                continue
            if not isinstance(value, list):
                raise LibraryError(file, [f"field {field}: must be a list"])
            whole.setdefault(field, []).extend(value)
            for entry in value:
                place = _place(field, entry)
                origins[place] = ", ".join(dict.fromkeys([*filter(None, [origins.get(place)]), file]))
    return whole, origins


_LISTS = {"decisions": "decision ", "knobs": "field knobs.", "actions": "action "}
"""Fields that every file of a library may add to, with how a problem names an entry."""


def _place(field: str, entry: object) -> str:
    name = entry.get("id") or entry.get("name") if isinstance(entry, dict) else None
    return f"{_LISTS[field]}{name}"


def _origin(problem: str, origins: Mapping[str, str]) -> str:
    """File of the entry that a problem names: `action ID: …`, `decision NAME: …` or `field knobs.NAME.…`."""
    place = problem.split(": ")[0]
    return origins.get(".".join(place.split(".")[:2]), "")


def _read(text: str, source: str) -> dict[str, Any]:
    if len(text.encode()) > TEXT_LIMIT_BYTES:
        raise LibraryError(source, [f"is longer than {TEXT_LIMIT_BYTES} bytes"])
    try:
        document = yaml.load(text, Loader=_PlainLoader)
    except yaml.MarkedYAMLError as error:
        line = f"line {error.problem_mark.line + 1}: " if error.problem_mark else ""
        raise LibraryError(source, [f"{line}{error.problem or 'is no YAML'}"]) from error
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise LibraryError(source, [f"is no YAML: {error}"]) from error
    if not isinstance(document, dict):
        raise LibraryError(source, ["must be a mapping with name, version, title, decisions, actions"])
    return document


def _located(document: object, problem: Any) -> str:
    """`action split_row: field knobs.SPLITS.choices: …` instead of positions in lists."""
    place: list[str] = []
    node: Any = document
    for step in problem["loc"]:
        node = node[step] if _has(node, step) else None
        label = str(node.get("id") or node.get("name") or step) if isinstance(node, dict) else str(step)
        place.append(label if isinstance(step, int) else str(step))
    if len(place) > 1 and place[0] in {"actions", "decisions"}:
        return f"{place[0][:-1]} {place[1]}: field {'.'.join(place[2:]) or '(all)'}: {problem['msg']}"
    return f"field {'.'.join(place) or '(all)'}: {problem['msg']}"


def _has(node: Any, step: object) -> bool:
    if isinstance(node, dict):
        return step in node
    return isinstance(node, list) and isinstance(step, int) and step < len(node)
