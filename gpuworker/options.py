"""Operator's choices for one worker, as given on the command line."""

from __future__ import annotations

from search.records import Record


class Options(Record):
    """What a worker is started with."""

    device: str = "cpu"
    """`cpu`, `interpret`, or `cuda:` and the number of a GPU."""
    cores: tuple[int, ...] = ()
    """Cores for candidates; empty: the last usable one."""
    unsandboxed: bool = False
    state: str
    """Private folder for builds and locks."""

    @property
    def cuda_index(self) -> int:
        """Number of the GPU; -1 for a CPU."""
        kind, _, number = self.device.partition(":")
        return int(number or 0) if kind == "cuda" else -1
