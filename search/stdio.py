"""A device worker as a child process that speaks JSON lines: what one-process searches and the recorder use."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
from typing import IO, TYPE_CHECKING, Any, Self

from search.records import Evaluation, EvaluationRequest

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from types import TracebackType

READY_S = 120.0
"""Longest start of a device worker: it imports torch and measures its device."""
SILENCE_S = 60.0
"""The worker says `alive` every 10 s; this much silence means that it hangs."""
CLOSE_S = 10.0


class DeviceError(Exception):
    """The device worker did not start, died, hangs, or speaks nonsense."""


class StdioDevice:
    """`python -m gpuworker serve --stdio`, started and ended with the `with` block; `evaluate` judges one candidate."""

    def __init__(self, device: str, command: tuple[str, ...] | None = None) -> None:
        """Nothing runs before the `with` block.

        Args:
            device: as `python -m gpuworker serve --device` takes it.
            command: another program that speaks the same lines.
        """
        own = (sys.executable, "-m", "gpuworker", "serve", "--stdio", "--device", device)
        self.command = command or own
        self.messages: queue.Queue[dict[str, Any] | None] = queue.Queue()
        self.description: dict[str, Any] = {}

    def __enter__(self) -> Self:
        """Start the worker and wait until it is ready.

        Raises:
            DeviceError: it is not.
        """
        self.process = subprocess.Popen(
            self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=_environment()
        )
        threading.Thread(target=self._read, daemon=True).start()
        ready = self._next(READY_S)
        if ready.get("event") != "ready":
            raise DeviceError(f"the device worker said {ready.get('event')!r} instead of ready")
        self.description = ready["device"]
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close its input, which ends it; kill it when it stays."""
        self._pipe(self.process.stdin).close()
        try:
            self.process.wait(CLOSE_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def evaluate(self, request: EvaluationRequest) -> Evaluation:
        """Judge one candidate; blocks until its record.

        Raises:
            DeviceError: no record comes.
        """
        return next(self.evaluate_batch([request]))

    def evaluate_batch(self, requests: Sequence[EvaluationRequest]) -> Iterator[Evaluation]:
        """Judge variants of one source, in order, each as soon as its record is there.

        Raises:
            DeviceError: a record does not come.
        """
        document = {"op": "evaluate", "requests": [request.dump() for request in requests]}
        stdin = self._pipe(self.process.stdin)
        try:
            stdin.write(json.dumps(document, allow_nan=False) + "\n")
            stdin.flush()
        except OSError as error:
            raise DeviceError(f"the device worker is gone: {error}") from error
        for request in requests:
            yield self._record_of(request)

    def _record_of(self, request: EvaluationRequest) -> Evaluation:
        while True:
            message = self._next(SILENCE_S)
            own = (message.get("id"), message.get("token")) == (request.id, request.token)
            if own and message.get("event") == "record":
                return Evaluation.load(message["evaluation"])

    def _next(self, timeout_s: float) -> dict[str, Any]:
        try:
            message = self.messages.get(timeout=timeout_s)
        except queue.Empty:
            raise DeviceError(f"the device worker has been silent for {timeout_s:.0f} s") from None
        if message is None:
            raise DeviceError(f"the device worker ended with exit status {self.process.wait(CLOSE_S)}")
        return message

    def _read(self) -> None:
        """Runs in a thread: a line that is no JSON object is not ours and goes to the log."""
        for line in self._pipe(self.process.stdout):
            try:
                message = json.loads(line)
            except ValueError:
                message = None
            if isinstance(message, dict):
                self.messages.put(message)
            else:
                sys.stderr.write(line)
        self.messages.put(None)

    @staticmethod
    def _pipe(pipe: IO[str] | None) -> IO[str]:
        if pipe is None:
            raise DeviceError("the device worker was not started")
        return pipe


def _environment() -> Mapping[str, str]:
    """What the worker inherits: nothing of the site's, so no secret can reach a candidate."""
    kept = (
        "PATH",
        "HOME",
        "LANG",
        "LC_ALL",
        "TMPDIR",
        "LD_LIBRARY_PATH",
        "PYTHONPATH",
        "VIRTUAL_ENV",
        "CUDA_VISIBLE_DEVICES",
    )
    return {name: os.environ[name] for name in kept if name in os.environ}
