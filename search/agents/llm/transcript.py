"""Call records as JSON lines: a first line that says what the file is, then one line per attempt.

What looks like a secret is masked before it is written, in prompts too: people paste keys into workloads.
"""

from __future__ import annotations

import gzip
import json
import threading
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from pydantic import ValidationError

from search.agents.llm import texts
from search.agents.llm.outcomes import CallRecord
from search.records import Record

if TYPE_CHECKING:
    from pathlib import Path

_R = TypeVar("_R", bound=Record)


class TranscriptError(ValueError):
    """A file is no transcript; the message names the line."""


class Header(Record):
    """First line of a transcript. Prompts depend on both numbers, so a replay has to know them."""

    format: Literal["kernelsite-transcript"] = "kernelsite-transcript"
    version: Literal[1] = 1
    context_tokens: int
    json_schema: bool
    note: str = ""


class JsonLinesTranscript:
    """A `Transcript` that appends to a file, which is begun if it is not there. Safe under threads."""

    def __init__(self, path: Path, header: Header) -> None:
        self._path = path
        self._lock = threading.Lock()
        if not path.exists():
            self._append(header.model_dump_json())

    def store(self, record: CallRecord) -> None:
        """Append one attempt."""
        self._append(record_line(record))

    def _append(self, line: str) -> None:
        with self._lock, self._path.open("a", encoding="utf-8") as file:
            file.write(line + "\n")


def record_line(record: CallRecord) -> str:
    """One record as one masked line of JSON, without its end."""
    return json.dumps(_masked(record.dump()), ensure_ascii=False)


def _masked(value: Any) -> Any:
    """A JSON value without what looks like a secret."""
    if isinstance(value, dict):
        return {name: _masked(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_masked(inner) for inner in value]
    return texts.without_secrets(value) if isinstance(value, str) else value


def read_transcript(path: Path) -> tuple[Header, list[CallRecord]]:
    """Header and records of a file, which may be packed (`.gz`).

    Raises:
        TranscriptError: a line is no record. A last line without its end, left by a crash, is passed over.
    """
    data = path.read_bytes()
    text = (gzip.decompress(data) if path.suffix == ".gz" else data).decode("utf-8", "replace")
    lines = text.split("\n")[:-1]
    if not lines:
        raise TranscriptError(f"{path.name}: no header")
    header = _parsed(Header, path, 1, lines[0])
    return header, [_parsed(CallRecord, path, number, line) for number, line in enumerate(lines[1:], start=2)]


def _parsed(kind: type[_R], path: Path, number: int, line: str) -> _R:
    try:
        return kind.model_validate_json(line)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"]) or "line"
        raise TranscriptError(f"{path.name}: line {number}: {where}: {first['msg']}") from error
