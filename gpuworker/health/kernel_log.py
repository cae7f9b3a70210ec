"""Xid lines: what the NVIDIA driver writes into the kernel's log when a GPU or a program on it fails."""

from __future__ import annotations

import re
import subprocess
from typing import TYPE_CHECKING

from gpuworker.health.finding import Finding
from search.records import Record

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_XID = re.compile(r"NVRM: Xid \(PCI:(?P<bus>[0-9A-Fa-f:.]+)\): (?P<number>\d{1,4})(?:, (?P<text>.*))?$")
_TEXT_LIMIT = 200
_KEPT = 5

PROGRAMS_FAULT = {13, 31, 43, 45, 68, 69}
"""Graphics exception, page fault, stopped channel, cleaned-up channel, video and engine exceptions: what any wrong
kernel may cause. Source: NVIDIA's Xid catalogue, which gives "application" as their cause."""

_COMMANDS = (
    ("dmesg", "--nopager", "--notime", "--level", "emerg,alert,crit,err,warn,notice,info"),
    ("journalctl", "--dmesg", "--boot", "--no-pager", "--output", "cat"),
)
_PATIENCE_S = 10.0


class Xid(Record):
    """One line."""

    bus: str
    """PCI address of the device, e.g. `0000:1b:00`."""
    number: int
    text: str = ""

    @property
    def of_device(self) -> bool:
        """The device or its driver is at fault, not a program."""
        return self.number not in PROGRAMS_FAULT


def parse(lines: Iterable[str]) -> list[Xid]:
    """Every Xid line, in order."""
    found = []
    for line in lines:
        if match := _XID.search(line.rstrip()):
            text = "".join(c for c in match["text"] or "" if c.isprintable())[:_TEXT_LIMIT]
            found.append(Xid(bus=match["bus"].lower(), number=int(match["number"]), text=text))
    return found


def examine(text: str | None, bus: str = "") -> Finding:
    """What the log since the machine started says; a log that may not be read is said and held against nobody.

    Args:
        text: of the log.
        bus: PCI address of the device that is meant; empty: all of the machine.
    """
    if text is None:
        return Finding(
            name="driver errors", fine=True, text="the kernel's log is not readable", section="health"
        )
    found = [xid for xid in parse(text.splitlines()) if not bus or bus.lower().startswith(xid.bus)]
    grave = [xid for xid in found if xid.of_device]
    if grave:
        last = "; ".join(f"Xid {xid.number} on {xid.bus} {xid.text}".strip() for xid in grave[-_KEPT:])
        words = f"{len(grave)} that are no program's fault: {last}"
        return Finding(name="driver errors", fine=False, text=words, section="health")
    words = f"none but {len(found)} caused by programs" if found else "none"
    return Finding(name="driver errors", fine=True, text=words, section="health")


def read(run: Callable[..., subprocess.CompletedProcess[str]] = subprocess.run) -> str | None:
    """The kernel's log by whichever program may read it; None where none may."""
    for command in _COMMANDS:
        try:
            done = run(
                command, capture_output=True, text=True, errors="replace", timeout=_PATIENCE_S, check=True
            )
        except (OSError, subprocess.SubprocessError):
            continue
        return done.stdout
    return None
