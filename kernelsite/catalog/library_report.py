"""Checks of drafts: runs `library_process` and keeps what it says as records."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.core.cache import cache

from kernelsite.catalog.library_files import to_files
from kernelsite.catalog.plain import hidden_count, visible
from search.records import Record

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from kernelsite.catalog.models import LibraryVersion

DEADLINE_S = 30.0


class Problem(Record):
    """One thing that is wrong with a draft."""

    file: str
    """Empty: the library as a whole."""
    kind: str = ""
    """`action` or `decision`, where the problem is in one."""
    name: str = ""
    field: str = ""
    line: int | None = None
    text: str


class Report(Record):
    """What a check found."""

    problems: tuple[Problem, ...] = ()
    document: dict[str, Any] | None = None
    """The library, where it is sound."""
    applies: dict[str, dict[str, list[str]]] = {}
    """By action: shipped workloads, and the languages in which a structure takes it."""


def check(files: Mapping[str, str], name: str) -> Report:
    """Check the files of a library that must be called `name`."""
    report = _told(files)
    problems = [*_invisible(files), *map(_readable, report.problems)]
    # YAML can write such characters as escapes, which the text does not show.
    if not problems and (hidden := next(_hidden(report.document), None)):
        problems.append(Problem(file="", text=f"holds an escaped character that cannot be seen: {hidden}"))
    if report.document and report.document["name"] != name:
        text = f"must be {name}, as the draft is called"
        problems.append(Problem(file=_home_of("name", files), field="name", text=text))
    document = None if problems else report.document
    return Report(problems=tuple(problems), document=document, applies=report.applies)


def applies(row: LibraryVersion) -> dict[str, dict[str, list[str]]]:
    """Where the actions of a version apply; kept, because versions never change."""
    key = f"library-applies:{row.hash}"
    found: dict[str, dict[str, list[str]]] | None = cache.get(key)
    if found is None:
        report = _told(to_files(row.record))
        found = report.applies
        if not report.problems:  # else the check was ended, and may have better luck
            cache.set(key, found, 24 * 3600)
    return found


def _told(files: Mapping[str, str]) -> Report:
    command = [sys.executable, "-m", "kernelsite.catalog.library_process"]
    try:
        done = subprocess.run(
            command,
            input=json.dumps(dict(files)),
            cwd=settings.BASE_DIR,
            env={"PATH": "/usr/bin:/bin"},
            capture_output=True,
            text=True,
            timeout=DEADLINE_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return _unanswered()
    return Report.load(json.loads(done.stdout)) if done.returncode == 0 else _unanswered()


def _unanswered() -> Report:
    text = "could not be checked within the limits of time and memory; make preconditions and requirements shorter"
    return Report(problems=(Problem(file="", text=text),))


def _invisible(files: Mapping[str, str]) -> list[Problem]:
    """Characters that cannot be seen would make the text that people review another one than agents read."""
    return [
        Problem(file=name, line=number, text=f"holds a character that cannot be seen: {visible(line)[:100]}")
        for name in sorted(files)
        if hidden_count(files[name])
        for number, line in enumerate(files[name].split("\n"), 1)
        if hidden_count(line)
    ][:20]


def _hidden(value: object) -> Iterator[str]:
    """Strings of a document, keys among them, that hold what cannot be seen or stored, made visible."""
    if isinstance(value, str) and hidden_count(value):
        yield visible(value)[:100]
    elif isinstance(value, dict):
        yield from (hidden for item in value.items() for part in item for hidden in _hidden(part))
    elif isinstance(value, list):
        yield from (hidden for each in value for hidden in _hidden(each))


def _readable(problem: Problem) -> Problem:
    """A problem that a database takes: it may quote any character that YAML can write."""
    parts = {part: visible(getattr(problem, part)) for part in ("file", "kind", "name", "field", "text")}
    return problem.model_copy(update=parts)


def _home_of(field: str, files: Mapping[str, str]) -> str:
    return next((name for name in sorted(files) if f"\n{field}:" in f"\n{files[name]}"), "")
