"""Where numbers of this worker come from; equal keys may be ranked together."""

from __future__ import annotations

import platform
import subprocess
from importlib import metadata
from typing import TYPE_CHECKING

from search.records import Environment, TimingMethod

if TYPE_CHECKING:
    from gpuworker.devices.device import DeviceFacts


_CLOCKS = {
    True: f"{TimingMethod.SLOPE} swept",
    False: f"{TimingMethod.TRUSTED_LAUNCH} or {TimingMethod.SLOPE}, cold L2",
}
"""By whether the device is a CPU. Both clocks of a GPU must agree, so their numbers may be ranked together."""


def compiler_version() -> str:
    """First line of `g++ --version`, empty where there is none."""
    try:
        found = subprocess.run(
            ["/usr/bin/g++", "--version"], capture_output=True, text=True, timeout=20, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return found.stdout.splitlines()[0]


def runtime(compiler: str) -> str:
    """Versions that matter for a time."""
    parts = [
        compiler or "no g++",
        f"torch {metadata.version('torch')}",
        f"python {platform.python_version()}",
    ]
    return ", ".join(parts)


def environment(facts: DeviceFacts, workload_hash: str) -> Environment:
    """Environment of one evaluation."""
    return Environment(
        device_class=facts.device_class,
        device=facts.model,
        driver=facts.driver,
        runtime=facts.runtime,
        policy=f"{facts.sandbox} {_CLOCKS[facts.device_class == 'cpu']} cores={_cores(facts)}",
        workload=workload_hash,
    )


def _cores(facts: DeviceFacts) -> str:
    """Which ones a time was taken on; of a GPU's host code it matters only how many it has."""
    return facts.cores if facts.device_class == "cpu" else str(len(facts.cores.split(",")))


def baseline_name(facts: DeviceFacts) -> str:
    """What speed-ups are against."""
    where = "same cores" if facts.device_class == "cpu" else "CUDA graph, same device"
    return f"torch eager {metadata.version('torch')}, {where}"
