"""Is this machine fit to judge? Device facts, health, canaries, how times repeat; one that is not fine fails all."""

from __future__ import annotations

import statistics
from pathlib import Path
from typing import TYPE_CHECKING

from gpuworker import requests
from gpuworker.health import gpu, host, kernel_log
from gpuworker.health.canaries import for_device
from gpuworker.health.finding import Finding
from gpuworker.health.gpu import Gauge, GaugeError
from gpuworker.health.nvml import NvmlGauge
from search.records import EvaluationStatus, Tier

if TYPE_CHECKING:
    from gpuworker.health.canaries import Canary
    from gpuworker.health.quarantine import Quarantine
    from gpuworker.options import Options
    from gpuworker.runner import Runner
    from search.records import Candidate, Evaluation

_REPEATS = 5
_CPU_SPREAD, _CUDA_SPREAD = 0.10, 0.02
"""Medians of repeats may lie so far apart, as a share of the middle one."""
_KILL_WAIT_S = 10.0
_WARM_UP_S = 120.0
_SOFTMAX = "softmax"


def examine(runner: Runner, options: Options, gauge: Gauge | None = None) -> list[Finding]:
    """All checks on a worker that has started, which it only does behind walls that its own canary could not leave.

    Args:
        runner: started without a quarantine, since it must judge.
        options: those it was started with.
        gauge: stands in for NVML in tests; CPU devices have none.
    """
    cuda = options.cuda_index >= 0
    found = [*_facts(runner.device), *_machine(runner.device, options)]
    if not cuda:
        return [*found, *_canaries(runner, options), *_timing(runner, options)]
    try:
        gauge = gauge or NvmlGauge(runner.device.get("uuid") or options.cuda_index)
        # The judge's own specimens and baseline are there before the level is taken.
        _judge(runner, for_device(options.slot)[-1].candidate, _WARM_UP_S)
        before = gauge.sample()
        found.append(host.shared_service())
        found += [
            *gpu.examine(before, host.neighbours()),
            kernel_log.examine(kernel_log.read(), runner.device.get("bus", "")),
        ]
        found += _canaries(runner, options)
        found.append(gpu.await_memory(gauge, before.memory_used_bytes, _KILL_WAIT_S))
        found += _timing(runner, options)
        # Once more, warm: what throttles under load shows only now.
        found += [_again(one) for one in gpu.examine(gauge.sample(), host.neighbours())]
    except GaugeError as error:
        found.append(Finding(name="NVML", fine=False, text=str(error), section="health"))
    return found


def settle(findings: list[Finding], quarantine: Quarantine, *, clear: bool) -> list[Finding]:
    """The findings with the device's quarantine, which ends when all is fine, or when a person says so."""
    reason = quarantine.reason
    fit = all(one.fine for one in findings)
    if not reason:
        return [*findings, Finding(name="quarantine", fine=True, text="none", section="worker")]
    if fit or clear:
        quarantine.clear()
    words = "ended" if fit or clear else "goes on"
    text = f"{words}; {reason}"
    return [*findings, Finding(name="quarantine", fine=fit or clear, text=text, section="worker")]


def _again(finding: Finding) -> Finding:
    return finding.model_copy(update={"name": f"{finding.name}, warm"})


# Device and machine -------------------------------------------------------------------------------


def _facts(device: dict[str, str]) -> list[Finding]:
    missing = [word for word in ("name", "model", "driver", "runtime", "cores") if not device.get(word)]
    text = f"{device.get('model')}, {device.get('driver')}, {device.get('runtime')}"
    if missing:
        text += f"; it does not say its {', '.join(missing)}"
    sandboxed = device.get("sandbox", "").startswith("sandboxed")
    walls = f"{device.get('sandbox')}; the canary stayed inside" if sandboxed else "none"
    return [
        Finding(name="device", fine=not missing, text=text, section="device"),
        Finding(name="cores", fine=True, text=f"candidates on {device.get('cores')}", section="device"),
        Finding(name="sandbox", fine=sandboxed, text=walls, section="worker"),
    ]


def _machine(device: dict[str, str], options: Options) -> list[Finding]:
    cores = [int(core) for core in device.get("cores", "").split(",") if core]
    return host.examine(cores, Path(options.state))


# Evaluations --------------------------------------------------------------------------------------


def _judge(runner: Runner, candidate: Candidate, deadline_s: float) -> Evaluation:
    request = requests.make(requests.load_workload(_SOFTMAX), candidate, Tier.FAST, deadline_s)
    return next(runner.evaluate([request], lambda: None))


def _canaries(runner: Runner, options: Options) -> list[Finding]:
    return [_fate(runner, canary) for canary in for_device(options.slot)]


def _fate(runner: Runner, canary: Canary) -> Finding:
    evaluation = _judge(runner, canary.candidate, canary.deadline_s)
    text = f"{evaluation.status}: {evaluation.message}" if evaluation.message else str(evaluation.status)
    fine = evaluation.status in canary.ends
    if not fine:
        text += f"; it should be {' or '.join(sorted(canary.ends))}"
    name = "an honest kernel" if canary.name == "honest" else f"a kernel that {canary.name}"
    return Finding(name=name, fine=fine, text=text, section="canaries")


def _timing(runner: Runner, options: Options) -> list[Finding]:
    """How far medians of one kernel lie apart; the interpreter gives no time."""
    if options.device == "interpret":
        text = "the interpreter gives no times"
        return [Finding(name="repeatability", fine=True, text=text, section="timing")]
    honest = for_device(options.slot)[-1]
    evaluations = [_judge(runner, honest.candidate, honest.deadline_s) for _ in range(_REPEATS)]
    times_us = [one.median_us for one in evaluations if one.median_us is not None]
    if len(times_us) < _REPEATS or any(one.status is not EvaluationStatus.PASSED for one in evaluations):
        failed = next(one for one in evaluations if one.status is not EvaluationStatus.PASSED)
        text = f"{failed.status}: {failed.message}"
        return [Finding(name="repeatability", fine=False, text=text, section="timing")]
    middle = statistics.median(times_us)
    spread = (max(times_us) - min(times_us)) / middle
    most = _CUDA_SPREAD if options.cuda_index >= 0 else _CPU_SPREAD
    text = f"{middle:.1f} us, {_REPEATS} medians within {spread:.1%}, {most:.0%} allowed"
    return [Finding(name="repeatability", fine=spread <= most, text=text, section="timing")]
