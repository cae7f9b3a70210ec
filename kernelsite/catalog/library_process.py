"""`python -m kernelsite.catalog.library_process`: checks a library in a process of its own.

Files by name come as JSON on stdin, a report goes to stdout as JSON. Whether actions can be reached is a search whose
length a hostile library decides, so it runs where it can be ended.
"""

from __future__ import annotations

import json
import re
import resource
import sys
from typing import TYPE_CHECKING, Any

import yaml

from search.compose import CompositionError, compose
from search.library import LibraryError, load_files, shipped_workloads, traits
from search.reachability import LANGUAGES, path_to

if TYPE_CHECKING:
    from collections.abc import Mapping

    from search.actions import Action, ActionLibrary

CPU_SECONDS = 15
MEMORY_BYTES = 1 << 30
PROBLEM_LIMIT = 100
_ORIGIN = re.compile(r"(?P<file>[\w\-]+\.yaml)(?:, [\w\-]+\.yaml)*: (?P<rest>.*)", re.DOTALL)
_PLACE = re.compile(
    r"(?:(?P<kind>action|decision) (?P<name>[^:]*): )?(?:field (?P<field>[^:]*): )?", re.DOTALL
)
_LINE = re.compile(r"line (?P<line>\d+): ")


def main() -> None:
    """Read, check, answer."""
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS + 1))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    json.dump(report(json.load(sys.stdin)), sys.stdout)


def report(files: Mapping[str, str]) -> dict[str, Any]:
    """What is wrong with the files; where nothing is, the document and where its actions apply.

    Returns:
        `problems`: each with `file`, `kind`, `name`, `field`, `line`, `text`. `document`: the library's dump, or
        None. `applies`: by action, the shipped workloads with the languages in which a structure takes it.
    """
    try:
        library = load_files({name: files[name] for name in sorted(files)}, "library")
    except LibraryError as error:
        return {"problems": _problems(str(error), files), "document": None, "applies": {}}
    return {"problems": [], "document": library.dump(), "applies": applies(library)}


def applies(library: ActionLibrary) -> dict[str, dict[str, list[str]]]:
    """Slugs of shipped workloads and languages in which some structure takes an action, by action."""
    return {action.id: _where(library, action) for action in library.actions}


def _where(library: ActionLibrary, action: Action) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for slug, workload in shipped_workloads().items():
        for language in LANGUAGES:
            path = path_to(library, action, traits(workload), language)
            try:
                if path and compose(workload, library, path, language):
                    found.setdefault(slug, []).append(language.value)
            except CompositionError:  # no plan of this kind of work has such a structure
                continue
    return found


def _problems(message: str, files: Mapping[str, str]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for text in message.split("\n"):
        if match := _ORIGIN.fullmatch(text):
            found.append(_problem(match["file"], match["rest"], files))
        elif text.startswith("library: "):
            found.append(_problem("", text.removeprefix("library: "), files))
        elif found:
            # YAML's own messages have several lines.
            found[-1]["text"] += f" {text.strip()}"
    return found[:PROBLEM_LIMIT]


def _problem(file: str, text: str, files: Mapping[str, str]) -> dict[str, Any]:
    place = _PLACE.match(text)
    kind, name, field = (place[part] or "" for part in ("kind", "name", "field")) if place else ("", "", "")
    rest = text[place.end() :] if place else text
    line = None
    if told := _LINE.match(rest):
        line, rest = int(told["line"]), rest[told.end() :]
    elif file:
        line = line_of(files.get(file, ""), kind, name, field)
    return {"file": file, "kind": kind, "name": name, "field": field, "line": line, "text": rest[:500]}


def line_of(text: str, kind: str, name: str, field: str) -> int | None:
    """Line, from 1, of a field of an entry in a file; of the entry where it lacks the field."""
    try:
        node = yaml.compose(text, yaml.SafeLoader)
    except (yaml.YAMLError, RecursionError):
        return None
    path = field.split(".") if field and field != "(all)" else []
    steps = [f"{kind}s", name, *path] if kind else path
    line = None
    for step in steps:
        found = _step(node, step)
        if found is None:
            break
        line, node = found
    return line


def _step(node: yaml.Node | None, step: str) -> tuple[int, yaml.Node] | None:
    """Line and value of a key of a mapping, or of an entry of a list by its position, id or name."""
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if key.value == step:
                return key.start_mark.line + 1, value
    if isinstance(node, yaml.SequenceNode):
        for position, each in enumerate(node.value):
            if step in {str(position), _label(each)}:
                return each.start_mark.line + 1, each
    return None


def _label(node: yaml.Node) -> str | None:
    if not isinstance(node, yaml.MappingNode):
        return None
    words = {key.value: value.value for key, value in node.value if isinstance(value, yaml.ScalarNode)}
    return words.get("id") or words.get("name")


if __name__ == "__main__":
    main()
