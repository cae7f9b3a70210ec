"""Cells as the judge holds them: started through the zygote, watched by pidfd, frozen, thawed, killed.

Killing a cell kills the first process of its pid namespace, so nothing in it survives.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gpuworker import sandbox, warden, wire
from gpuworker.verdicts import InfrastructureError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpuworker.seccomp import Profile

LOG_KEPT_BYTES = 16 * 1024
_KILL_WAIT_S = 10.0
_SPARES = 2
"""One for now, and one that has had the time of a whole evaluation to get ready."""
_START_WAIT_S = 20.0


@dataclass(frozen=True)
class Order:
    """What kind of cell: profile, what it sees, uid slot, cores, limits."""

    profile: Profile
    view: sandbox.View
    slot: int
    cores: tuple[int, ...]
    limits: sandbox.Limits
    device: int = -1
    """GPU whose context the inmate makes while it waits for its first frame."""


class CellBlock:
    """Starts cells through the zygote."""

    def __init__(
        self, zygote: socket.socket, mode: sandbox.Mode, mount_point: str, nodes: tuple[str, ...] = ()
    ) -> None:
        """Keep the socket on which the zygote takes orders, and the device files of cells that have a device."""
        self._zygote = zygote
        self._nodes = nodes
        self._lock = threading.Lock()
        self._spares: dict[Order, list[Cell]] = {}
        self._mount_point = mount_point
        self.mode = mode

    def spare(self, order: Order) -> None:
        """Have cells ready for the next `start` of this order, so that what they do first takes no time then."""
        ready = self._spares.setdefault(order, [])
        while len(ready) < _SPARES:
            ready.append(self._fork(order))

    def start(self, order: Order) -> Cell:
        """A cell that waits for its first frame.

        Raises:
            InfrastructureError: the zygote or the walls failed.
        """
        ready = self._spares.get(order, [])
        while ready:
            if (cell := ready.pop(0)).ended() is None:
                return cell
            cell.close()
        return self._fork(order)

    def _fork(self, order: Order) -> Cell:
        ours, theirs = socket.socketpair()
        status, warden_status = socket.socketpair()
        log = os.memfd_create("log", os.MFD_CLOEXEC)
        full = warden.CellOrder(
            profile=order.profile,
            view=order.view,
            mode=self.mode,
            uid=sandbox.slot_uid(os.getppid(), order.slot),
            cores=order.cores,
            limits=order.limits,
            mount_point=self._mount_point,
            nodes=self._nodes,
            device=order.device,
        )
        try:
            # Cells that build are ordered from several threads.
            with self._lock:
                wire.send(self._zygote, full.dump(), [theirs.fileno(), warden_status.fileno(), log])
                answer = wire.receive(self._zygote)
        except wire.WireClosedError as error:
            raise InfrastructureError("the zygote is gone") from error
        finally:
            theirs.close()
            warden_status.close()
        if "error" in answer.document:
            raise InfrastructureError(f"the zygote cannot fork: {answer.document['error']}")
        return Cell(ours, status, log, answer.files[0])


class Cell:
    """One running sandbox: first process (warden), inmate, socket to the inmate, log."""

    def __init__(self, control: socket.socket, status: socket.socket, log: int, first_process: int) -> None:
        """Wait for the warden's word that the walls stand.

        Raises:
            InfrastructureError: they do not.
        """
        self.control = control
        self._status = status
        self._log = log
        self._first_process = first_process
        self._exit: int | None = None
        self._inmate = self._await_inmate()

    def _await_inmate(self) -> int:
        self._status.settimeout(_START_WAIT_S)
        try:
            message, files, _, _ = socket.recv_fds(self._status, 512, 1, socket.MSG_CMSG_CLOEXEC)
        except (TimeoutError, ConnectionResetError) as error:
            self.kill()
            raise InfrastructureError("a cell did not start") from error
        if message != warden.STARTED or not files:
            self.kill()
            raise InfrastructureError(
                f"no walls: {message[1:].decode(errors='replace') or 'the warden died'}"
            )
        return files[0]

    @property
    def inmate_pid(self) -> int:
        """Process number of the inmate as this process sees it; 0 once it is gone."""
        with open(f"/proc/self/fdinfo/{self._inmate}") as lines:  # noqa: PTH123 - a procfs file, no path
            for line in lines:
                if line.startswith("Pid:"):
                    return max(int(line.split()[1]), 0)
        return 0

    def send(self, document: dict[str, Any], files: Sequence[int] = ()) -> None:
        """Give the inmate its order; one that is gone already shows at the next wait."""
        try:
            wire.send(self.control, document, files)
        except wire.WireClosedError:
            pass  # `ended` tells how

    def freeze(self) -> None:
        """Stop every thread of the inmate where it is."""
        self._signal(self._inmate, signal.SIGSTOP)

    def thaw(self) -> None:
        """Let it run again."""
        self._signal(self._inmate, signal.SIGCONT)

    def wait(self, deadline: float) -> bool:
        """Wait until the inmate has written something or ended; False when the deadline (monotonic) passed."""
        poller = select.poll()
        poller.register(self.control, select.POLLIN)
        poller.register(self._inmate, select.POLLIN)
        left_ms = max(0.0, (deadline - time.monotonic()) * 1e3)
        return bool(poller.poll(left_ms))

    def ended(self) -> int | None:
        """Exit code of the inmate, negative for a signal; None while it runs."""
        if self._exit is None and _readable(self._inmate):
            self._exit = self._read_end()
        return self._exit

    def _read_end(self) -> int:
        self._status.settimeout(_KILL_WAIT_S)
        try:
            message = self._status.recv(64)
        except (TimeoutError, ConnectionResetError):
            message = b""
        if not message.startswith(warden.ENDED):
            raise InfrastructureError("a warden left without a word")
        return int(message[1:])

    def join(self, deadline: float) -> int | None:
        """Wait for the inmate's end; None when the deadline passed."""
        while self.ended() is None and time.monotonic() < deadline:
            poller = select.poll()
            poller.register(self._inmate, select.POLLIN)
            poller.poll(max(0.0, (deadline - time.monotonic()) * 1e3))
        return self._exit

    def kill(self) -> None:
        """End everything in the cell and wait until it is gone.

        Raises:
            InfrastructureError: it does not go away.
        """
        self._signal(self._first_process, signal.SIGKILL)
        poller = select.poll()
        poller.register(self._first_process, select.POLLIN)
        if not poller.poll(_KILL_WAIT_S * 1e3):
            raise InfrastructureError("a cell cannot be killed")

    def log(self) -> str:
        """Head and tail of what it printed, made harmless."""
        size = os.fstat(self._log).st_size
        half = LOG_KEPT_BYTES // 2
        if size <= LOG_KEPT_BYTES:
            return clean(os.pread(self._log, LOG_KEPT_BYTES, 0))
        head, tail = os.pread(self._log, half, 0), os.pread(self._log, half, size - half)
        return f"{clean(head)}\n… {size - 2 * half} bytes left out …\n{clean(tail)}"

    def close(self) -> None:
        """Kill, and give every file back."""
        try:
            self.kill()
        finally:
            self.control.close()
            self._status.close()
            for fd in (self._log, self._first_process, self._inmate):
                os.close(fd)

    @staticmethod
    def _signal(process: int, number: signal.Signals) -> None:
        try:
            signal.pidfd_send_signal(process, number)
        except ProcessLookupError:
            pass  # it ended before; whoever waits for it will see


def _readable(fd: int) -> bool:
    poller = select.poll()
    poller.register(fd, select.POLLIN)
    return bool(poller.poll(0))


def clean(data: bytes) -> str:
    """Text of strangers: broken UTF-8 replaced, control characters other than newline and tab gone."""
    text = data.decode(errors="replace")
    return "".join(c for c in text if c in "\n\t" or (c.isprintable() and c != "\ufeff"))
