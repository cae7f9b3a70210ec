"""JSON lines on stdin and stdout: how a program on the same machine uses a device worker without a broker.

First line out is `ready`. A line in is `{"op": "evaluate", "requests": [...]}`; out come `started`, `alive` and one
`record` per request. The end of stdin ends the worker once what it was given is done.
"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from search.records import EvaluationRequest

if TYPE_CHECKING:
    from gpuworker.runner import Runner


def serve(runner: Runner) -> None:
    """Answer until stdin ends."""
    _say({"event": "ready", "device": runner.device})
    for line in sys.stdin:
        if not line.strip():
            continue
        try:
            requests = _read(line)
        except (ValueError, KeyError, TypeError, ValidationError) as error:
            _say({"event": "error", "message": f"not a request: {error}"})
            continue
        _evaluate(runner, requests)


def _read(line: str) -> list[EvaluationRequest]:
    document = json.loads(line)
    if document["op"] != "evaluate":
        raise ValueError(f"unknown op {document['op']!r}")
    return [EvaluationRequest.load(one) for one in document["requests"]]


def _evaluate(runner: Runner, requests: list[EvaluationRequest]) -> None:
    waiting = list(requests)
    for request in requests:
        _say({"event": "started", "id": request.id, "token": request.token})

    def alive() -> None:
        for request in waiting:
            _say({"event": "alive", "id": request.id, "token": request.token})

    # In order: the other side reads one record after the other.
    for request, evaluation in zip(requests, runner.evaluate(requests, alive), strict=True):
        waiting.remove(request)
        record = {
            "event": "record",
            "id": request.id,
            "token": request.token,
            "evaluation": evaluation.dump(),
        }
        _say(record)


def _say(document: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(document, allow_nan=False) + "\n")
    sys.stdout.flush()
