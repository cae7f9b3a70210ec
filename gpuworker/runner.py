"""Owns the zygote and everything under it; never imports a GPU library.

The judge keeps the deadlines of candidates. The runner keeps those of the judge: one that does not answer in
time, or dies, is killed with all its cells and started anew, and the request it held becomes INFRA_ERROR.
"""

from __future__ import annotations

import logging
import os
import select
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gpuworker
from gpuworker import wire
from search.records import Environment, Evaluation, EvaluationStatus, content_hash

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from gpuworker.health.quarantine import Quarantine
    from gpuworker.options import Options
    from search.records import EvaluationRequest

ALIVE_S = 5.0
_START_S = 120.0
_SPARE_S = 300.0
"""On top of a request's own deadline: making specimens, waiting for the device's lease."""
_NUMBERING = ("CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER")
"""Which GPU is `cuda:1`, for the judge as for the operator."""
_log = logging.getLogger(__name__)


class StartError(Exception):
    """The device side does not start; the message is for the operator."""


class Runner:
    """One device worker's processes."""

    def __init__(self, options: Options, quarantine: Quarantine | None = None) -> None:
        """Nothing runs until `start`.

        Args:
            options: of the operator.
            quarantine: heeded and fed where given; whoever examines a device that is shut out gives none.
        """
        self.options = options
        self._quarantine = quarantine
        self._zygote: subprocess.Popen[bytes] | None = None
        self._judge: socket.socket | None = None
        self.device: dict[str, str] = {}

    def start(self) -> dict[str, str]:
        """Start zygote and judge; returns the device's facts.

        Raises:
            StartError: no sandbox, a leaking one, or no answer.
        """
        ours, theirs = socket.socketpair()
        command = [sys.executable, "-P", "-s", "-m", "gpuworker.zygote", "--fd", str(theirs.fileno())]
        # The zygote's stdout is our stderr: nothing below may write into a protocol stream of ours.
        self._zygote = subprocess.Popen(
            command,
            env=_environment(),
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=2,
        )
        theirs.close()
        self._judge = ours
        wire.send(ours, self.options.dump())
        answer = self._receive(time.monotonic() + _START_S, lambda: None)
        if answer is None or answer.get("event") != "ready":
            self.close()
            raise StartError(answer["message"] if answer else "the device side did not start")
        self.device = answer["device"]
        return self.device

    def evaluate(
        self, requests: Sequence[EvaluationRequest], alive: Callable[[], None]
    ) -> Iterator[Evaluation]:
        """Judge requests; answers come in the order of the requests, as soon as that allows."""
        early: dict[int, Evaluation] = {}
        given = 0
        for place, evaluation in self.judged(requests, alive):
            early[place] = evaluation
            while given in early:
                yield early.pop(given)
                given += 1

    def judged(
        self, requests: Sequence[EvaluationRequest], alive: Callable[[], None]
    ) -> Iterator[tuple[int, Evaluation]]:
        """Judge requests, those first that are built first; places in `requests` with their evaluations.

        What needs no device is done for a whole batch side by side. `alive` is called every few seconds meanwhile.
        """
        if len(requests) > 1 and self._judge is not None:
            self._announce(requests)
        waiting = list(range(len(requests)))
        while waiting:
            place = waiting.pop(self._next(requests, waiting, alive))
            yield place, self._counted(requests[place], alive)

    def _counted(self, request: EvaluationRequest, alive: Callable[[], None]) -> Evaluation:
        if self._quarantine and (reason := self._quarantine.reason):
            return self._lost(request, 0.0, f"the device is in quarantine until a doctor passes: {reason}")
        evaluation = self._one(request, alive)
        self._count(evaluation)
        return evaluation

    def _next(
        self, requests: Sequence[EvaluationRequest], waiting: Sequence[int], alive: Callable[[], None]
    ) -> int:
        """Which of the waiting ones to judge now."""
        if len(waiting) == 1 or self._judge is None:
            return 0
        try:
            wire.send(self._judge, {"first_built": list(waiting)})
        except wire.WireClosedError:
            return 0  # the request finds out
        most_s = max(requests[place].deadline_s for place in waiting) + _SPARE_S
        answer = self._receive(time.monotonic() + most_s, alive)
        if answer is None:
            self.close()
        return answer["place"] if answer else 0

    def _count(self, evaluation: Evaluation) -> None:
        if self._quarantine is None:
            return
        if evaluation.status is EvaluationStatus.INFRA_ERROR:
            self._quarantine.fault(evaluation.candidate, evaluation.message)
        else:
            self._quarantine.success()

    def ask(
        self, document: dict[str, Any], patience_s: float, alive: Callable[[], None] = lambda: None
    ) -> dict[str, Any] | None:
        """One question of another kind than a request, to the judge; None when it died or took too long."""
        assert self._judge is not None
        wire.send(self._judge, document)
        return self._receive(time.monotonic() + patience_s, alive)

    def ask_again(
        self, document: dict[str, Any], patience_s: float, alive: Callable[[], None]
    ) -> dict[str, Any] | None:
        """The same for a worker that goes on whatever happens: starts a device side that is gone, ends one that is stuck."""
        try:
            if self._judge is None:
                self.start()
            answer = self.ask(document, patience_s, alive)
        except (StartError, wire.WireClosedError) as error:
            _log.warning("the device side failed: %s", error)
            answer = None
        if answer is None:
            self.close()
        return answer

    @property
    def shut_out(self) -> str:
        """Why the device is in quarantine; empty while it judges."""
        return self._quarantine.reason if self._quarantine else ""

    def _announce(self, requests: Sequence[EvaluationRequest]) -> None:
        assert self._judge is not None
        try:
            wire.send(self._judge, {"batch": [request.dump() for request in requests]})
        except wire.WireClosedError:
            pass  # the next request finds out

    def _one(self, request: EvaluationRequest, alive: Callable[[], None]) -> Evaluation:
        started = time.monotonic()
        try:
            if self._judge is None:
                self.start()
            assert self._judge is not None
            wire.send(self._judge, {"request": request.dump()})
            answer = self._receive(started + request.deadline_s + _SPARE_S, alive)
        except (StartError, wire.WireClosedError) as error:
            _log.warning("the device side failed: %s", error)
            answer = None
        if answer is None:
            self.close()
            seconds = time.monotonic() - started
            return self._lost(
                request, seconds, "the device side died or did not answer, and was started anew"
            )
        return Evaluation.load(answer["evaluation"])

    def _receive(self, deadline: float, alive: Callable[[], None]) -> dict[str, Any] | None:
        assert self._judge is not None
        poller = select.poll()
        poller.register(self._judge, select.POLLIN)
        while (left := deadline - time.monotonic()) > 0:
            if poller.poll(min(left, ALIVE_S) * 1e3):
                try:
                    return wire.receive(self._judge).document
                except wire.WireClosedError:
                    return None
            alive()
        return None

    def _lost(self, request: EvaluationRequest, seconds: float, message: str) -> Evaluation:
        environment = Environment(
            device_class=self.device.get("device_class", request.device_class),
            device=self.device.get("model", "unknown"),
            workload=content_hash(request.workload),
        )
        return Evaluation(
            status=EvaluationStatus.INFRA_ERROR,
            tier=request.tier,
            purpose=request.purpose,
            candidate=request.candidate.hash,
            environment=environment,
            message=message,
            wall_seconds=seconds,
        )

    def close(self) -> None:
        """End everything; the zygote's death takes judge and cells along."""
        if self._judge is not None:
            self._judge.close()
            self._judge = None
        if self._zygote is not None:
            self._zygote.kill()
            self._zygote.wait()
            self._zygote = None


def _environment() -> dict[str, str]:
    """All that anything below may know of us: where our packages are, and one thread per process at import."""
    root = str(Path(next(iter(gpuworker.__path__))).resolve().parent)
    packages = [entry for entry in sys.path if entry.endswith(("site-packages", "dist-packages"))]
    numbering = {name: os.environ[name] for name in _NUMBERING if name in os.environ}
    return {
        **numbering,
        "PATH": "/usr/bin:/bin",
        "PYTHONPATH": os.pathsep.join([root, *packages]),
        "LANG": "C.UTF-8",
        "OPENBLAS_NUM_THREADS": "1",
        "OMP_WAIT_POLICY": "passive",
        "TMPDIR": "/tmp",
    }
