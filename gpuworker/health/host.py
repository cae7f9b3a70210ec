"""The machine around a device, from /proc: who is on it, how busy its cores are, what room is left."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

from gpuworker.health.finding import Finding
from gpuworker.health.gpu import Neighbours

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

_PROC = Path("/proc")
_PACKAGE = b"gpuworker"
_WATCH_S = 0.3
_BUSY_SHARE = 0.25
_MEMORY_BYTES = 2 << 30
_DISK_BYTES = 1 << 30


def neighbours(proc: Path = _PROC) -> Neighbours:
    """Everybody who can be seen from here."""
    visible = {int(entry.name): entry for entry in proc.iterdir() if entry.name.isdigit()}
    ours = {pid for pid, entry in visible.items() if _is_worker(_read(entry / "cmdline"))}
    holders = sum(any(_is_gpu(fd) for fd in _files(visible[pid])) for pid in ours)
    return Neighbours(ours=frozenset(ours), visible=frozenset(visible), holders=holders)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""  # it ended, or is somebody else's


def _files(process: Path) -> Iterator[str]:
    try:
        for entry in (process / "fd").iterdir():
            yield str(entry.readlink())
    except OSError:
        return


def _is_worker(command_line: bytes) -> bool:
    """A module of this package was started; what a zygote forks keeps its command line."""
    return any(word == _PACKAGE or word.startswith(_PACKAGE + b".") for word in command_line.split(b"\0"))


def _is_gpu(target: str) -> bool:
    name = target.removeprefix("/dev/nvidia")
    return name != target and name.isdigit()


def examine(
    cores: Collection[int], state: Path, sleep: Callable[[float], None] = time.sleep
) -> list[Finding]:
    """Findings about the machine while no candidate runs.

    Args:
        cores: those that candidates run on.
        state: the worker's folder.
        sleep: waits so many seconds while the cores are watched.
    """
    before = busy_ticks((_PROC / "stat").read_text(), cores)
    sleep(_WATCH_S)
    after = busy_ticks((_PROC / "stat").read_text(), cores)
    disk = os.statvfs(state)
    return [
        quiet(before, after, cores),
        _room("memory", available_bytes((_PROC / "meminfo").read_text()), _MEMORY_BYTES),
        _room("disk", disk.f_bavail * disk.f_frsize, _DISK_BYTES),
    ]


def busy_ticks(stat: str, cores: Collection[int]) -> tuple[int, int]:
    """Busy and all clock ticks of some cores since the machine started, from the text of /proc/stat."""
    busy = total = 0
    for line in stat.splitlines():
        name, *fields = line.split()
        if name.removeprefix("cpu") not in {str(core) for core in cores}:
            continue
        ticks = [int(field) for field in fields[:8]]
        total += sum(ticks)
        busy += sum(ticks) - ticks[3] - ticks[4]  # idle, and waiting for a disk
    return busy, total


def quiet(before: tuple[int, int], after: tuple[int, int], cores: Collection[int]) -> Finding:
    """Whether candidates have their cores to themselves."""
    share = (after[0] - before[0]) / max(after[1] - before[1], 1)
    text = f"{','.join(map(str, sorted(cores)))}: {share:.0%} busy while no candidate runs"
    return Finding(name="quiet cores", fine=share <= _BUSY_SHARE, text=text, section="health")


def available_bytes(meminfo: str) -> int:
    """Memory that could be had, from the text of /proc/meminfo; 0 where it does not say."""
    for line in meminfo.splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return 0


def _room(name: str, left_bytes: int, least_bytes: int) -> Finding:
    text = f"{left_bytes / (1 << 30):.1f} GiB free, {least_bytes / (1 << 30):g} needed"
    return Finding(name=name, fine=left_bytes >= least_bytes, text=text, section="health")
