"""GPUs of this machine, by the driver's own program: the site loads no GPU library."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass

_QUERY = ("nvidia-smi", "--query-gpu=index,name", "--format=csv,noheader")
_PATIENCE_S = 15.0


@dataclass(frozen=True)
class Gpu:
    """One device."""

    index: int
    device_class: str
    """The word by which `gpuworker` calls its model, e.g. `h200`."""


def gpus() -> list[Gpu]:
    """All of them; none where there is no driver, or it does not answer."""
    try:
        found = subprocess.run(_QUERY, capture_output=True, text=True, timeout=_PATIENCE_S, check=True)
    except (OSError, subprocess.SubprocessError):
        return []
    lines = [line.split(",", 1) for line in found.stdout.splitlines() if "," in line]
    return [Gpu(int(index), _class_of(name.strip())) for index, name in lines if index.strip().isdigit()]


def _class_of(name: str) -> str:
    return name.removeprefix("NVIDIA ").lower().replace(" ", "-")
