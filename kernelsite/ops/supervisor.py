"""Runs several programs, prints their lines, starts again what dies, and leaves nothing behind.

honcho gives the sessions and the coloured lines; its own manager is not used, since it stops everything when one
program ends.
"""

from __future__ import annotations

import os
import selectors
import signal
import time
from dataclasses import dataclass, field
from datetime import datetime
from typing import IO, TYPE_CHECKING, Any, Self, cast

from honcho.printer import Message
from honcho.process import Popen

from kernelsite.ops import children

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable, Mapping, Sequence

    from honcho.printer import Printer

POLL_S = 0.1
BACKOFF_S = (0.0, 0.5, 1.0, 2.0, 5.0, 10.0)
"""Wait before the n-th start in a row of a program that keeps dying young."""
GROWN_UP_S = 20.0
LONGEST_LINE = 64 * 1024
STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@dataclass(frozen=True)
class Program:
    """Something to keep running."""

    name: str
    command: tuple[str, ...]
    environment: Mapping[str, str]
    cores: frozenset[int] = frozenset()
    """Processors it may use; empty: those of this process."""
    colour: str | None = None
    """As honcho writes it, e.g. `36`."""


@dataclass
class _Child:
    program: Program
    process: subprocess.Popen[bytes] | None = None
    started_at: float = 0.0
    start_at: float = 0.0
    deaths: int = 0
    pending: bytes = b""


@dataclass
class Supervisor:
    """A context; at its end nobody is left, whatever happened inside.

    Everything happens in the thread that calls: a child's death signal is tied to the thread that started it.
    """

    printer: Printer
    folder: str
    """Working folder of every program."""
    stopping: bool = False
    _children: dict[str, _Child] = field(default_factory=dict)
    _lines: selectors.BaseSelector = field(default_factory=selectors.DefaultSelector)
    _others: set[int] = field(default_factory=set)
    """Children that were there before and are no concern of ours."""
    _handlers: dict[signal.Signals, Any] = field(default_factory=dict)

    def __enter__(self) -> Self:
        """From here on a stop signal ends the loop instead of this process."""
        self._others = children.own()
        children.adopt_orphans(adopt=True)
        self._handlers = {number: signal.signal(number, self._on_signal) for number in STOP_SIGNALS}
        return self

    def __exit__(self, *exception: object) -> None:
        """Stop everything."""
        self._stop()
        children.adopt_orphans(adopt=False)
        for number, handler in self._handlers.items():
            signal.signal(number, handler)

    @property
    def pids(self) -> dict[str, int]:
        """Process numbers of the programs that run now."""
        return {name: child.process.pid for name, child in self._children.items() if child.process}

    def start(self, program: Program) -> None:
        """Start a program and keep it running from now on."""
        self.printer.width = max(self.printer.width, len(program.name))
        child = self._children[program.name] = _Child(program)
        self._spawn(child)

    def restart(self, name: str) -> None:
        """End a program at once; the loop starts it again."""
        if process := self._children[name].process:
            children.kill_group(process.pid)

    def is_running(self, name: str) -> bool:
        """Whether it runs at this moment."""
        process = self._children[name].process
        return process is not None and not children.has_ended(process.pid)

    def run(self, tick: Callable[[], bool]) -> None:
        """Supervise until `tick`, called a few times a second, says False or a stop signal arrives."""
        while not self.stopping and tick():
            self._pump(POLL_S)
            self._look_after()

    def say(self, text: str) -> None:
        """A line of our own."""
        self._print("up", text, None)

    def _on_signal(self, number: int, frame: object) -> None:
        self.stopping = True

    def _stop(self, patience_s: float = 4.0) -> None:
        """Ask everybody to end, then insist. The first program, the broker, goes last."""
        everybody = list(self._children.values())
        for group in (everybody[1:], everybody[:1]):
            for child in group:
                self._terminate(child)
            self._wait_for_end(group, time.monotonic() + patience_s)
            for child in group:
                self._bury(child)
        self._lines.close()

    def _spawn(self, child: _Child) -> None:
        program = child.program
        child.process = process = Popen(
            list(program.command),
            shell=False,
            cwd=self.folder,
            env=dict(program.environment),
            preexec_fn=children.leash(program.cores),
        )
        child.started_at, child.pending = time.monotonic(), b""
        os.set_blocking(process.stdout.fileno(), False)
        self._lines.register(process.stdout, selectors.EVENT_READ, child)

    def _look_after(self) -> None:
        """Bury the dead, start them again when their time has come, reap strangers."""
        for child in self._children.values():
            if child.process and children.has_ended(child.process.pid):
                self._schedule(child)
            elif child.process is None and time.monotonic() >= child.start_at:
                self._spawn(child)
        children.reap(self._orphans())

    def _schedule(self, child: _Child) -> None:
        lived_s = time.monotonic() - child.started_at
        child.deaths = 0 if lived_s > GROWN_UP_S else child.deaths
        wait_s = BACKOFF_S[min(child.deaths, len(BACKOFF_S) - 1)]
        child.deaths += 1
        status = self._bury(child)
        how = f"was killed by signal {-status}" if status < 0 else f"ended with status {status}"
        self.say(f"{child.program.name} {how}; starts again {f'in {wait_s:g} s' if wait_s else 'now'}")
        child.start_at = time.monotonic() + wait_s

    def _bury(self, child: _Child) -> int:
        """End what is left of a program: its process group, and whoever left the group and lost its parent."""
        process, child.process = child.process, None
        if process is None:
            return 0
        children.kill_group(process.pid)
        status = process.wait()
        self._read(child, cast("IO[bytes]", process.stdout))
        self._lines.unregister(cast("IO[bytes]", process.stdout))
        cast("IO[bytes]", process.stdout).close()
        children.reap(self._orphans(), kill=True)
        return status

    def _orphans(self) -> set[int]:
        return children.own() - set(self.pids.values()) - self._others

    def _terminate(self, child: _Child) -> None:
        if child.process and not children.has_ended(child.process.pid):
            child.process.terminate()

    def _wait_for_end(self, group: Sequence[_Child], deadline: float) -> None:
        waiting = [child.process.pid for child in group if child.process]
        while time.monotonic() < deadline and not all(map(children.has_ended, waiting)):
            self._pump(POLL_S)

    def _pump(self, timeout_s: float) -> None:
        for key, _ in self._lines.select(timeout_s):
            if not self._read(key.data, cast("IO[bytes]", key.fileobj)):
                time.sleep(POLL_S)  # closed its output and still runs; do not spin

    def _read(self, child: _Child, stream: IO[bytes]) -> bool:
        """Print the whole lines that have come; False at the end of the stream."""
        try:
            chunk = os.read(stream.fileno(), LONGEST_LINE)
        except BlockingIOError:
            return True
        *lines, child.pending = (child.pending + chunk).split(b"\n")
        if len(child.pending) > LONGEST_LINE:
            lines, child.pending = [*lines, child.pending], b""
        for line in lines:
            self._print(child.program.name, line.decode("utf-8", "replace"), child.program.colour)
        return bool(chunk)

    def _print(self, name: str, text: str, colour: str | None) -> None:
        self.printer.write(Message("line", text, datetime.now(), name, colour))
