"""Fork server: has torch imported, owns no secret and never touches a device; it only forks.

Started as a program by the runner (`python -m gpuworker.zygote`). The runner's socket asks for the judge, the
judge's socket for cells. It dies with the runner, and everything it forked dies with it.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import importlib
import os
import select
import signal
import socket
import sys
from typing import TYPE_CHECKING, NoReturn

from gpuworker import judge, linux, sandbox, warden, wire
from gpuworker.options import Options

if TYPE_CHECKING:
    from collections.abc import Iterator


def main() -> None:
    """Serve until the runner is gone."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--fd", type=int, required=True)
    arguments = parser.parse_args()
    linux.prctl(linux.PR_SET_PDEATHSIG, signal.SIGKILL)
    runner = socket.socket(fileno=arguments.fd)
    options = Options.load(wire.receive(runner).document)
    try:
        mode = sandbox.choose_mode(unsandboxed=options.unsandboxed)
    except sandbox.SandboxUnavailableError as error:
        wire.send(runner, {"event": "refused", "message": str(error)})
        sys.exit(1)
    _preload(options)
    orders = _fork_judge(runner, options, mode)
    # Children that nobody waits for vanish by themselves; the judge learns of their end by pidfd.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        _serve(runner, orders)
    except wire.WireClosedError:
        sys.exit(0)


def _preload(options: Options) -> None:
    """What inmates need, imported once. Collected garbage and frozen objects keep forked pages shared."""
    if options.cuda_index >= 0:
        # Neither this nor the tracer touches the device: a context does not survive a fork.
        importlib.import_module("gpuworker.devices.cuda")
    if options.traces:
        importlib.import_module("gpuworker.cuda.tracer").warm_up()
    if "/dev/nvidia" in "".join(_open_files()):
        raise RuntimeError("a device is open in the process that forks")
    ctypes.CDLL("libstdc++.so.6")
    gc.collect()
    gc.freeze()


def _open_files() -> Iterator[str]:
    for fd in os.listdir("/proc/self/fd"):  # noqa: PTH208 - procfs
        try:
            yield os.readlink(f"/proc/self/fd/{fd}")  # noqa: PTH115 - procfs
        except FileNotFoundError:
            pass  # the listing itself


def _fork_judge(runner: socket.socket, options: Options, mode: sandbox.Mode) -> socket.socket:
    ours, theirs = socket.socketpair()
    if os.fork() == 0:
        ours.close()
        linux.prctl(linux.PR_SET_PDEATHSIG, signal.SIGKILL)
        judge.main(runner, theirs, options, mode)
        os._exit(0)
    theirs.close()
    return ours


def _serve(runner: socket.socket, orders: socket.socket) -> NoReturn:
    poller = select.poll()
    poller.register(orders, select.POLLIN)
    # The runner talks only to the judge; here its socket only tells when it closes.
    poller.register(runner, select.POLLHUP)
    while True:
        if runner.fileno() in {fd for fd, _ in poller.poll()}:
            raise wire.WireClosedError("the runner is gone")
        frame = wire.receive(orders)
        handle = _fork_cell(warden.CellOrder.load(frame.document), frame.files)
        if handle is None:
            wire.send(orders, {"error": "no new process namespace"})
        else:
            wire.send(orders, {}, [handle])
            os.close(handle)
        frame.close_files()


def _fork_cell(order: warden.CellOrder, files: tuple[int, ...]) -> int | None:
    """Fork the first process of a new pid namespace; its pidfd, or None when that fails.

    A process cannot come back from a new pid namespace without rights that a user namespace does not give, so
    one in between goes there and stays as the parent.
    """
    ours, theirs = socket.socketpair()
    with ours, theirs:
        if os.fork() == 0:
            ours.close()
            _stand_between(order, files, theirs)
        theirs.close()
        _, handles, _, _ = socket.recv_fds(ours, 1, 1, socket.MSG_CMSG_CLOEXEC)
    return handles[0] if handles else None


def _stand_between(order: warden.CellOrder, files: tuple[int, ...], zygote: socket.socket) -> NoReturn:
    linux.prctl(linux.PR_SET_PDEATHSIG, signal.SIGKILL)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    try:
        if order.mode is not sandbox.Mode.UNSANDBOXED:
            linux.unshare(linux.CLONE_NEWPID)
        first = os.fork()
    except OSError:
        os._exit(1)
    if first == 0:
        zygote.close()
        control, status, log = files
        warden.run(order, control, status, log)
        os._exit(0)
    socket.send_fds(zygote, [b"P"], [os.pidfd_open(first)])
    os.closerange(0, 1 << 16)
    os.waitpid(first, 0)
    os._exit(0)


if __name__ == "__main__":
    main()
