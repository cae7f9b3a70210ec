"""Operator's choices for one worker, as given on the command line."""

from __future__ import annotations

from search.records import Record


class Options(Record):
    """What a worker is started with."""

    device: str = "cpu"
    """`cpu`, `interpret`, `cuda:` and the number of a GPU, or the class that GPU 0 must be of, e.g. `h200`."""
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
        return "" if self.device.partition(":")[0] in {"cpu", "interpret", "cuda"} else self.device
