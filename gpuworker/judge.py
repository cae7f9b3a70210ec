"""The judge's process: trusted, long-lived, one per device. It runs only our code.

Forked by the zygote; answers the runner's requests one at a time and asks the zygote for cells.
"""

from __future__ import annotations

import logging
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from gpuworker import canary, environment, wire
from gpuworker.baselines.measure import measure
from gpuworker.cells import CellBlock
from gpuworker.court import Court
from gpuworker.devices.cpu import CpuDevice
from gpuworker.devices.device import DeviceBusyError
from gpuworker.evaluate import evaluate, prepare
from gpuworker.health.gpu import GaugeError
from gpuworker.mutants.selftest import examine
from gpuworker.probing import probe
from gpuworker.sandbox import Mode
from gpuworker.shop import Shop
from gpuworker.trial import trial
from gpuworker.verdicts import InfrastructureError, RejectedError
from search.formats.probes import Probe
from search.records import EvaluationRequest, EvaluationStatus, Tier
from search.workload import Workload

if TYPE_CHECKING:
    import socket

    from gpuworker.devices.device import Device
    from gpuworker.options import Options


LOG_SHOWN = 2000
"""Characters of what a failed program printed last."""


def main(runner: socket.socket, zygote: socket.socket, options: Options, mode: Mode) -> None:
    """Serve until the runner closes."""
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="judge: %(message)s")
    try:
        court = _open(zygote, options, mode)
    except (InfrastructureError, GaugeError, ValueError, OSError) as error:
        wire.send(runner, {"event": "refused", "message": str(error)})
        return
    wire.send(runner, {"event": "ready", "device": court.device.facts.dump()})
    try:
        while True:
            if answer := _answer(wire.receive(runner).document, court):
                wire.send(runner, answer)
    except wire.WireClosedError:
        return


def _answer(document: dict[str, Any], court: Court) -> dict[str, Any] | None:
    """What the runner is told; nothing for the announcement of a batch."""
    if "batch" in document:
        prepare([EvaluationRequest.load(one) for one in document["batch"]], court)
        return None
    if "first_built" in document:
        return {"event": "built", "place": court.first_built(document["first_built"])}
    if "trial" in document:
        return _tried(document, court)
    if "probe" in document:
        return _probed(document, court)
    if "baselines" in document:
        return _compared(document, court)
    if "workload" in document:
        return _examined(document, court)
    evaluation = evaluate(EvaluationRequest.load(document["request"]), court)
    return {"event": "record", "evaluation": evaluation.dump()}


def _tried(document: dict[str, Any], court: Court) -> dict[str, Any]:
    """The reference of a workload on one case."""
    workload = Workload.load(document["trial"])
    if court.block.mode is Mode.UNSANDBOXED:
        return {
            "event": "refused",
            "message": "uploaded references run in a sandbox only, and this worker has none",
        }
    try:
        run = trial(workload, document["case"], document["patience_s"], court)
    except (InfrastructureError, DeviceBusyError) as error:
        return {"event": "refused", "message": str(error)}
    found = environment.environment(court.device.facts, workload.hash)
    return {"event": "tried", "run": run.dump(), "environment": found.dump()}


def _probed(document: dict[str, Any], court: Court) -> dict[str, Any]:
    """What a program tells that is run once."""
    try:
        told = probe(Probe.load(document["probe"]), document["task"], court, document["patience_s"])
    except RejectedError as error:
        is_late = error.status in {EvaluationStatus.TIMEOUT, EvaluationStatus.HANG}
        words = (
            f"the program did not finish within {document['patience_s']:g} s" if is_late else error.message
        )
        return {"event": "refused", "message": words, "log": error.log[-LOG_SHOWN:]}
    except InfrastructureError as error:
        return {"event": "refused", "message": str(error), "is_ours": True}
    return {"event": "probed", "told": told}


def _compared(document: dict[str, Any], court: Court) -> dict[str, Any]:
    """Times of named baselines."""
    workload, tier = Workload.load(document["workload"]), Tier(document["tier"])
    try:
        found = measure(court, workload, document["baselines"], tier)
    except (RejectedError, InfrastructureError, DeviceBusyError) as error:
        return {"event": "refused", "message": str(error)}
    return {"event": "compared", "baselines": found}


def _examined(document: dict[str, Any], court: Court) -> dict[str, Any]:
    """A workload's self-test."""
    try:
        result = examine(Workload.load(document["workload"]), court, document["most_bytes"])
    except (RejectedError, InfrastructureError, ValueError) as error:
        return {"event": "refused", "message": str(error)}
    return {"event": "examined", "result": result.dump()}


def _device(options: Options, mode: Mode, runtime: str) -> Device:
    if options.cuda_index < 0:
        return CpuDevice(options.cores, mode, runtime, Path(options.state))
    from gpuworker.devices.cuda import CudaDevice

    device = CudaDevice(options.cuda_index, options.cores, mode, runtime, Path(options.state))
    if options.device_class not in {"", device.facts.device_class}:
        raise InfrastructureError(f"this device is a {device.facts.device_class}, not {options.device_class}")
    return device


def _open(zygote: socket.socket, options: Options, mode: Mode) -> Court:
    compiler = environment.compiler_version()
    device = _device(options, mode, environment.runtime(compiler))
    os.sched_setaffinity(0, device.judge_cores)
    torch.set_num_threads(len(device.judge_cores))
    mount_point = Path(options.state) / "root"
    mount_point.mkdir(exist_ok=True)
    block = CellBlock(zygote, mode, str(mount_point), device.nodes)
    canary.prove(block, device)
    state = Path(options.state)
    shop = Shop(block, device, state, compiler)
    return Court(block, device, shop, state, interpret=options.device == "interpret")
