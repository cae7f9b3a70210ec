"""The judge's process: trusted, long-lived, one per device. It runs only our code.

Forked by the zygote; answers the runner's requests one at a time and asks the zygote for cells.
"""

from __future__ import annotations

import logging
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from gpuworker import canary, environment, wire
from gpuworker.cells import CellBlock
from gpuworker.court import Court
from gpuworker.devices.cpu import CpuDevice
from gpuworker.evaluate import evaluate
from gpuworker.shop import Shop
from gpuworker.verdicts import InfrastructureError
from search.records import EvaluationRequest

if TYPE_CHECKING:
    import socket

    from gpuworker.options import Options
    from gpuworker.sandbox import Mode


def main(runner: socket.socket, zygote: socket.socket, options: Options, mode: Mode) -> None:
    """Serve until the runner closes."""
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="judge: %(message)s")
    try:
        court = _open(zygote, options, mode)
    except (InfrastructureError, ValueError, OSError) as error:
        wire.send(runner, {"event": "refused", "message": str(error)})
        return
    wire.send(runner, {"event": "ready", "device": court.device.facts.dump()})
    try:
        while True:
            request = EvaluationRequest.load(wire.receive(runner).document["request"])
            wire.send(runner, {"event": "record", "evaluation": evaluate(request, court).dump()})
    except wire.WireClosedError:
        return


def _open(zygote: socket.socket, options: Options, mode: Mode) -> Court:
    compiler = environment.compiler_version()
    device = CpuDevice(options.cores, mode, environment.runtime(compiler), Path(options.state))
    os.sched_setaffinity(0, device.judge_cores)
    torch.set_num_threads(len(device.judge_cores))
    mount_point = Path(options.state) / "root"
    mount_point.mkdir(exist_ok=True)
    block = CellBlock(zygote, mode, str(mount_point))
    canary.prove(block, device)
    shop = Shop(block, device.judge_cores, Path(options.state), compiler)
    return Court(block, device, shop, interpret=options.device == "interpret")
