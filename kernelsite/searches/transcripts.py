"""Transcripts that ship with the search core: what `replay` answers from without any search of one's own."""

from __future__ import annotations

from pathlib import Path

from search.agents import llm

FOLDER = Path(llm.__file__).parent / "transcripts"
SUFFIXES = (".jsonl", ".jsonl.gz")


def shipped_transcripts() -> dict[str, Path]:
    """Files by name, e.g. `cpu_softmax`."""
    found = {path.name.partition(".")[0]: path for path in FOLDER.glob("*") if path.name.endswith(SUFFIXES)}
    return dict(sorted(found.items()))
