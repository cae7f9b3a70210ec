"""Looks at processes in tests."""

from __future__ import annotations

import time
from pathlib import Path


def is_alive(pid):
    """Whether it runs; a zombie does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def eventually(what, patience_s=5.0):
    """The first true answer, or the last one when patience is over."""
    deadline = time.monotonic() + patience_s
    while not (answer := what()) and time.monotonic() < deadline:
        time.sleep(0.05)
    return answer


def descendants(pid):
    """Everybody below a process."""
    below = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parent = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
            except OSError:
                continue
            below.setdefault(parent, []).append(int(entry.name))
    found, todo = [], [pid]
    while todo:
        children = below.get(todo.pop(), [])
        found += children
        todo += children
    return found
