"""First process of a cell: raises the walls, starts the inmate, tells how it ended.

It runs none of the candidate's code and no other user can signal or trace it. As process 1 of the namespace its
death takes everything along, `setsid` or not; it dies when the judge closes the status socket or the zygote dies.
"""

from __future__ import annotations

import os
import select
import signal
import socket

from gpuworker import inmate, linux, sandbox, scheduling
from gpuworker.seccomp import Profile
from search.records import Record

STARTED = b"S"
REFUSED = b"R"
ENDED = b"E"
CONTEXT = inmate.CONTEXT
_BESIDE = 5
"""Niceness of compilers that work beside a judge that measures."""


class CellOrder(Record):
    """What the judge asks the zygote for."""

    profile: Profile
    view: sandbox.View
    mode: sandbox.Mode
    uid: int
    cores: tuple[int, ...]
    limits: sandbox.Limits
    mount_point: str
    nodes: tuple[str, ...] = ()
    """Device files."""
    device: str = ""
    """PCI address of the GPU whose context the inmate makes at once."""


def run(order: CellOrder, control: int, status: int, log: int) -> None:
    """Never returns. `control` goes to the inmate, `status` stays here, `log` becomes its stdout and stderr."""
    linux.prctl(linux.PR_SET_PDEATHSIG, signal.SIGKILL)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    sandbox.close_all_but((control, status, log))
    with socket.socket(fileno=status) as judge:
        try:
            if order.mode is not sandbox.Mode.UNSANDBOXED:
                sandbox.raise_walls(order.mount_point, order.view, order.nodes, order.limits.tmp_bytes)
            child = os.fork()
        except OSError as error:
            judge.send(REFUSED + str(error).encode()[:500])
            os._exit(1)
        if child == 0:
            judge.close()
            _become_inmate(order, control, log)
        os.close(control)
        os.close(log)
        _watch(child, judge)


def _become_inmate(order: CellOrder, control: int, log: int) -> None:
    for stream in (1, 2):
        os.dup2(log, stream)
    os.close(log)
    os.setsid()
    os.sched_setaffinity(0, order.cores)
    os.chdir("/tmp")
    if order.profile in {Profile.CONTENDER, Profile.COMPARED}:
        scheduling.claim_cores()
    elif order.profile is Profile.TRACE:
        os.nice(_BESIDE)
    sandbox.set_environment(
        {"PATH": "/usr/bin:/bin", "HOME": "/tmp", "OMP_NUM_THREADS": str(len(order.cores)), "LANG": "C.UTF-8"}
    )
    sandbox.become(order.mode, order.uid, order.limits)
    inmate.main(order.profile, order.mode, control, order.device)
    os._exit(0)


def _watch(child: int, judge: socket.socket) -> None:
    """Report the inmate's handle, then its end; leave early when the judge is gone."""
    handle = os.pidfd_open(child)
    socket.send_fds(judge, [STARTED], [handle])
    poller = select.poll()
    poller.register(handle, select.POLLIN)
    poller.register(judge, select.POLLIN)
    ready = {fd for fd, _ in poller.poll()}
    if handle in ready:
        _, ended = os.waitpid(child, 0)
        _tell(judge, ENDED + str(os.waitstatus_to_exitcode(ended)).encode())
    else:
        os.kill(child, signal.SIGKILL)
    os._exit(0)


def _tell(judge: socket.socket, message: bytes) -> None:
    try:
        judge.send(message)
    except (BrokenPipeError, ConnectionResetError):
        pass  # the judge is gone, and this process is about to be
