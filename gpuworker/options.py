"""Operator's choices for one worker, as given on the command line."""

from __future__ import annotations

from search.records import Record


class Options(Record):
    """What a worker is started with."""

    device: str = "cpu"
    """`cpu` or `interpret`."""
    cores: tuple[int, ...] = ()
    """Cores for candidates; empty: the last usable one."""
    unsandboxed: bool = False
    state: str
    """Private folder for builds and locks."""
