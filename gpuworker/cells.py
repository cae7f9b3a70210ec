"""Cells as the judge holds them: started through the zygote, watched by pidfd, frozen, thawed, killed.

Killing a cell kills the first process of its pid namespace, so nothing in it survives.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gpuworker import sandbox, warden, wire
from gpuworker.verdicts import InfrastructureError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gpuworker.seccomp import Profile

LOG_KEPT_BYTES = 16 * 1024
_KILL_WAIT_S = 10.0
_SPARES = 3
"""One for now, and others that have had the time of an evaluation or two, without its timing, to get ready."""
_START_WAIT_S = 20.0
_CONTEXT_S = 20.0


@dataclass(frozen=True)
class Order:
    """What kind of cell: profile, what it sees, uid slot, cores, limits."""

    profile: Profile
    view: sandbox.View
    slot: int
    cores: tuple[int, ...]
    limits: sandbox.Limits
    device: str = ""
    """PCI address of the GPU whose context the inmate makes while it waits for its first frame."""


class CellBlock:
    """Starts cells through the zygote."""

    def __init__(
        self, zygote: socket.socket, mode: sandbox.Mode, mount_point: str, nodes: tuple[str, ...] = ()
    ) -> None:
        """Keep the socket on which the zygote takes orders, and the device files of cells that have a device."""
        self._zygote = zygote
        self._nodes = nodes
        self._lock = threading.Lock()
        self._beside = ThreadPoolExecutor(_SPARES + 1)
        self._spares: dict[Order, list[Future[Cell]]] = {}
        self._ending: list[Future[None]] = []
        self._mount_point = mount_point
        self.mode = mode

    def spare(self, order: Order) -> None:
        """Get cells ready for the next `start` of this order, so that what they do first takes no time then."""
        ready = self._spares.setdefault(order, [])
        while len(ready) < _SPARES:
            ready.append(self._beside.submit(self._fork, order))

    def end(self, cell: Cell) -> None:
        """Close a cell that has nothing left to do, in the background."""
        self._ending.append(self._beside.submit(cell.close))

    def await_ends(self) -> None:
        """Wait until all cells that `end` was told of are gone.

        Raises:
            InfrastructureError: one does not go away.
        """
        while self._ending:
            self._ending.pop().result()

    @contextlib.contextmanager
    def hushed(self, *, patient: bool) -> Iterator[None]:
        """Inside, nothing of ours starts or ends on the device: a context that is made disturbs a clock.

        Args:
            patient: stop the making of spares even where the next candidate will have to wait for one.

        Raises:
            InfrastructureError: a cell that has to end does not go away.
        """
        self.await_ends()
        spares = [future for ready in self._spares.values() for future in ready]
        cells = [future.result() for future in spares if not future.exception()]
        making = [cell for cell in cells if not cell.has_context()]
        stopped = making if patient or len(making) < len(cells) else []
        for cell in stopped:
            cell.freeze()
        try:
            yield
        finally:
            for cell in stopped:
                cell.thaw()

    def start(self, order: Order) -> Cell:
        """A cell that waits for its first frame, with its device's context if it has a device.

        Raises:
            InfrastructureError: the zygote, the walls or the device failed.
        """
        cell = self._taken(order)
        if order.device:
            cell.await_context()
        return cell

    def _taken(self, order: Order) -> Cell:
        ready = self._spares.get(order, [])
        while ready:
            try:
                cell = ready.pop(0).result()
            except InfrastructureError:
                continue
            if cell.ended() is None:
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

    def has_context(self) -> bool:
        """Whether the inmate has made its device's context, and waits for `await_context`."""
        return _readable(self.control.fileno())

    def await_context(self) -> None:
        """Wait until the inmate has made its device's context.

        Raises:
            InfrastructureError: it does not; the cell is closed.
        """
        self.wait(time.monotonic() + _CONTEXT_S)
        try:
            said = self.control.recv(1, socket.MSG_DONTWAIT)
        except (BlockingIOError, ConnectionResetError):
            said = b""
        if said != warden.CONTEXT:
            log = self.log()[-500:]
            self.close()
            raise InfrastructureError(f"a cell got no context of the device: {log}")

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
