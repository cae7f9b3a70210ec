"""Priority over whatever else runs on this machine, while a clock is running.

A worker shares its machine with web servers and compilers, which would land in the measured interval. Real-time
priority needs root; without it times are only noisier.
"""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_CONTENDER_PRIORITY = 1
_JUDGE_PRIORITY = 2


def claim_cores() -> None:
    """For a contender, before it gives up its rights; its threads inherit it and cannot change it."""
    _set(os.SCHED_RR, _CONTENDER_PRIORITY)


@contextlib.contextmanager
def prompt() -> Iterator[None]:
    """The judge notices at once that a pass is over, even on a busy machine. Only while it waits."""
    _set(os.SCHED_RR, _JUDGE_PRIORITY)
    try:
        yield
    finally:
        _set(os.SCHED_OTHER, 0)


def _set(policy: int, priority: int) -> None:
    try:
        os.sched_setscheduler(0, policy, os.sched_param(priority))
    except PermissionError:
        pass  # not root; the spread of the samples will tell
