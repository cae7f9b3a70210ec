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
    from collections.abc import Hashable

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
    "load_library",
    "shipped_library",
    "shipped_workload",
    "shipped_workloads",
    "structures",
    "traits",
]

TEXT_LIMIT_BYTES = 512 * 1024


class LibraryError(ValueError):
    """A library text that cannot be used; the message is one line per problem, `file: place: problem`."""

    def __init__(self, source: str, found: list[str]) -> None:
        """Join the problems, each with the file in front."""
        super().__init__("\n".join(f"{source}: {problem}" for problem in found))
        self.source = source
        self.problems = tuple(found)


def load_library(text: str, source: str) -> ActionLibrary:
    """Read a library from YAML or JSON.

    Args:
        text: The document.
        source: Name of the file, for messages.

    Raises:
        LibraryError: every problem found, with file, action and field.
    """
    document = _read(text, source)
    try:
        library = ActionLibrary.load(document)
    except ValidationError as error:
        raise LibraryError(source, [_located(document, problem) for problem in error.errors()]) from error
    except (TypeError, ValueError) as error:
        raise LibraryError(source, [f"holds a value that JSON does not know: {error}"]) from error
    if found := problems(library):
        raise LibraryError(source, found)
    return library


@cache
def shipped_library(name: str = "core") -> ActionLibrary:
    """A library that comes with the package.

    Raises:
        KeyError: there is no such library.
    """
    file = Path(__file__).parent / "libraries" / f"{name}.yaml"
    if not name.isidentifier() or not file.is_file():
        raise KeyError(f"no shipped library {name!r}")
    return load_library(file.read_text("utf-8"), f"{name}.yaml")


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


def _read(text: str, source: str) -> object:
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
