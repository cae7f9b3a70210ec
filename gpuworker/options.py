"""Operator's choices for one worker, as given on the command line."""

from __future__ import annotations

from search.records import Record


class Options(Record):
    """What a worker is started with."""

    device: str = "cpu"
    """`cpu`, `interpret`, `cuda:1`, or the class that a GPU must be of: `h200` for the first one, `h200:1`."""
    cores: tuple[int, ...] = ()
    """Cores for candidates; empty: the last usable one."""
    unsandboxed: bool = False
    state: str
    """Private folder for builds and locks."""

    @property
    def traces(self) -> bool:
        """Whether Triton candidates are compiled for a GPU."""
        return self.device != "cpu"

    @property
    def cuda_index(self) -> int:
        """Number of the GPU; -1 for a CPU."""
        kind, _, number = self.device.partition(":")
        return -1 if kind in {"cpu", "interpret"} else int(number or 0)

    @property
    def device_class(self) -> str:
        """The class that the device must be of; empty where any will do."""
        kind = self.device.partition(":")[0]
        return "" if kind in {"cpu", "interpret", "cuda"} else kind

    @property
    def slot(self) -> str:
        """The device under one name, however it was asked for: `cpu`, `interpret`, `cuda:0`."""
        return f"cuda:{self.cuda_index}" if self.cuda_index >= 0 else self.device
