"""The machine around a device, from /proc: who is on it, how busy its cores are, what room is left."""

from __future__ import annotations

import os
import re
import time
from pathlib import Path
from typing import TYPE_CHECKING

from gpuworker.health.finding import Finding
from gpuworker.health.gpu import Neighbours

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

_PROC = Path("/proc")
_GPU = re.compile(r"nvidia(\d+)")
_MPS = Path("/tmp/nvidia-mps")
_PACKAGE = b"gpuworker"
_WATCH_S = 0.3
_BUSY_SHARE = 0.25
_MEMORY_BYTES = 2 << 30
_DISK_BYTES = 1 << 30


def neighbours(proc: Path = _PROC) -> Neighbours:
    """Everybody who can be seen from here."""
    visible = {int(entry.name): entry for entry in proc.iterdir() if entry.name.isdigit()}
    ours = {pid for pid, entry in visible.items() if _is_worker(_read(entry / "cmdline"))}
    while ending := {pid for pid, entry in visible.items() if _is_ending_child(entry, ours)} - ours:
        ours |= ending
    # Whoever asks NVML holds the device open too, but has no context on it.
    others = ours - {os.getpid()}
    holders = sum(any(_is_gpu(fd) for fd in _files(visible[pid])) for pid in others)
    return Neighbours(ours=frozenset(ours), visible=frozenset(visible), holders=holders)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""  # it ended, or is somebody else's


def _is_ending_child(process: Path, parents: set[int]) -> bool:
    """It has lost its command line but not yet its context: a cell that was closed a moment ago."""
    if _read(process / "cmdline"):
        return False
    # The name in parentheses may hold blanks; the parent is the second word after it.
    words = _read(process / "stat").rpartition(b")")[2].split()
    return len(words) > 1 and int(words[1]) in parents


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


def device_files(index: int, minors: Sequence[int], folder: Path = Path("/dev")) -> tuple[str, ...]:
    """What a cell with one GPU needs of `/dev`.

    Args:
        index: number of the GPU as CUDA counts.
        minors: minor numbers of all GPUs that CUDA sees, as the driver tells them.
        folder: where the files are.
    """
    there = sorted(int(found[1]) for path in folder.iterdir() if (found := _GPU.fullmatch(path.name)))
    # In some containers the files are numbered anew and the driver still tells the host's numbers.
    number = minors[index] if set(minors) <= set(there) or index >= len(there) else there[index]
    wanted = [f"nvidia{number}", "nvidiactl", "nvidia-uvm", "nvidia-uvm-tools"]
    return tuple(str(folder / name) for name in wanted if (folder / name).exists())


def divided(
    cores: Sequence[int], most: int, index: int, count: int
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Cores of a GPU's contenders and of its judge: each GPU's worker keeps to its own share of the machine.

    Args:
        cores: for contenders, as the operator chose; empty: the last of the share.
        most: so many for contenders at most.
        index: number of the GPU.
        count: GPUs of this machine.

    Raises:
        ValueError: a chosen core is not among those this process may use.
    """
    usable = sorted(os.sched_getaffinity(0))
    if missing := set(cores) - set(usable):
        raise ValueError(f"cores {sorted(missing)} are not usable here, only {usable}")
    share = usable[index * len(usable) // count : (index + 1) * len(usable) // count] or usable
    chosen = tuple(cores) or tuple(share[-min(most, max(1, len(share) // 2)) :])
    return chosen, tuple(core for core in share if core not in chosen) or chosen


def shared_service(folder: Path = _MPS) -> Finding:
    """Whether NVIDIA's Multi-Process Service runs, under which one client's fault ends all others."""
    runs = (folder / "control").exists()
    text = f"runs ({folder}); one candidate's fault would end every other process" if runs else "does not run"
    return Finding(name="multi-process service", fine=not runs, text=text, section="health")


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
