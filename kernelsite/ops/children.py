"""Child processes that cannot outlive their parent: death signals, process groups, adopted orphans (Linux)."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36

_libc = ctypes.CDLL(None)


def adopt_orphans(*, adopt: bool) -> None:
    """Whether from now on processes whose parent died below this one become its children instead of init's."""
    if sys.platform == "linux":
        _libc.prctl(PR_SET_CHILD_SUBREAPER, int(adopt), 0, 0, 0)


def leash(cores: frozenset[int]) -> Callable[[], None]:
    """What a child does between fork and exec: die with its parent, even on SIGKILL, and stay on its cores."""
    parent = os.getpid()

    def prepare() -> None:
        if sys.platform == "linux":
            _libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
            if cores:
                os.sched_setaffinity(0, cores)
        if os.getppid() != parent:  # it died in between
            os._exit(1)

    return prepare


def has_ended(pid: int) -> bool:
    """Whether a child ended; it stays a zombie, so that its number and group stay its own."""
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def kill_group(leader: int) -> None:
    """End a child and everybody in its process group at once."""
    try:
        os.killpg(leader, signal.SIGKILL)
    except ProcessLookupError:
        pass  # all of them have ended already


def own() -> set[int]:
    """Children of this process, adopted ones included."""
    try:
        return {int(word) for word in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()}
    except OSError:
        return set()


def reap(pids: Iterable[int], *, kill: bool = False) -> None:
    """Take leave of children that ended; with `kill`, end them first."""
    for pid in pids:
        try:
            if kill:
                os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0 if kill else os.WNOHANG)
        except (ProcessLookupError, ChildProcessError):
            pass  # it ended, and was taken leave of, in between
