"""The device side of a self-test: zygote, and in the judge's place a process that examines workloads.

Started by the runner as `python -m gpuworker.mutants.station`; it takes `{"workload": ..., "most_bytes": ...}` and
answers with a `SelfTest`.
"""

from __future__ import annotations

import argparse
import logging
import os
import signal
import socket
import sys
from typing import TYPE_CHECKING, Any

from gpuworker import judge, linux, sandbox, wire, zygote
from gpuworker.mutants.selftest import examine
from gpuworker.options import Options
from gpuworker.verdicts import InfrastructureError, RejectedError
from search.workload import Workload

if TYPE_CHECKING:
    from gpuworker.court import Court


def main() -> None:
    """Serve until the runner is gone."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--fd", type=int, required=True)
    linux.prctl(linux.PR_SET_PDEATHSIG, signal.SIGKILL)
    runner = socket.socket(fileno=parser.parse_args().fd)
    options = Options.load(wire.receive(runner).document)
    try:
        mode = sandbox.choose_mode(unsandboxed=options.unsandboxed)
    except sandbox.SandboxUnavailableError as error:
        wire.send(runner, {"event": "refused", "message": str(error)})
        sys.exit(1)
    zygote._preload(options)
    ours, theirs = socket.socketpair()
    if os.fork() == 0:
        ours.close()
        linux.prctl(linux.PR_SET_PDEATHSIG, signal.SIGKILL)
        _answer(runner, theirs, options, mode)
        os._exit(0)
    theirs.close()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        zygote._serve(runner, ours)
    except wire.WireClosedError:
        sys.exit(0)


def _answer(runner: socket.socket, cells: socket.socket, options: Options, mode: sandbox.Mode) -> None:
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="self-test: %(message)s")
    try:
        court = judge._open(cells, options, mode)
    except (InfrastructureError, ValueError, OSError) as error:
        wire.send(runner, {"event": "refused", "message": str(error)})
        return
    wire.send(runner, {"event": "ready", "device": court.device.facts.dump()})
    try:
        while True:
            wire.send(runner, _examined(wire.receive(runner).document, court))
    except wire.WireClosedError:
        return


def _examined(order: dict[str, Any], court: Court) -> dict[str, Any]:
    try:
        result = examine(Workload.load(order["workload"]), court, order["most_bytes"])
    except (RejectedError, InfrastructureError, ValueError) as error:
        return {"event": "refused", "message": str(error)}
    return {"event": "examined", "result": result.dump()}


if __name__ == "__main__":
    main()
