"""A probe that the site asks for: the judge runs the program; this process says what became of it, and outlives the judge."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from search.formats.probes import ProbeAnswer
from search.records import TEXT_LIMIT
from search.validation import Ending

if TYPE_CHECKING:
    from collections.abc import Callable

    from gpuworker.runner import Runner
    from search.formats.probes import ProbeRequest

SPARE_S = 60.0
"""That the judge has beyond the program's own patience."""
DIED = "the device side died or did not answer"
_NUL = str.maketrans({"\0": "\N{REPLACEMENT CHARACTER}"})


def run_program(runner: Runner, request: ProbeRequest, alive: Callable[[], None]) -> ProbeAnswer:
    """Have a program run once, where there is a sandbox; `alive` is called every few seconds."""
    began = time.monotonic()
    if runner.shut_out:
        return _lost(f"the device is in quarantine until a doctor passes: {runner.shut_out}")
    if runner.options.unsandboxed:
        return _lost("this worker has no sandbox, and an uploaded program runs nowhere else")
    document = {"probe": request.program.dump(), "task": request.task, "patience_s": request.patience_s}
    answer = runner.ask_again(document, request.patience_s + SPARE_S, alive)
    if answer is None:
        return _lost(f"{DIED}, and was started anew")
    if answer.get("is_ours"):
        return _lost(answer["message"])
    return ProbeAnswer(
        ending=Ending.PASSED if "told" in answer else Ending.FAILED,
        told=tuple(answer.get("told", ())),
        message=_text(answer.get("message", "")),
        log=_text(answer.get("log", "")),
        device=runner.device.get("model", ""),
        seconds=time.monotonic() - began,
    )


def _lost(why: str) -> ProbeAnswer:
    return ProbeAnswer(ending=Ending.INFRA, message=_text(why))


def _text(words: str) -> str:
    """Of a stranger: short, and storable in every database."""
    return words[-TEXT_LIMIT:].translate(_NUL)
