"""First stage: what can be refused without looking at what the text means."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING

from gpuworker import signature
from gpuworker.verdicts import RejectedError
from search.knobs import KnobError, with_knobs
from search.records import SOURCE_LIMIT_BYTES, EvaluationStatus, Language, SourceFile

if TYPE_CHECKING:
    from search.records import Candidate
    from search.workload import Workload

_LANGUAGES = {
    False: (Language.CPP, Language.TRITON, Language.PYTORCH),
    True: (Language.CUDA, Language.TRITON, Language.PYTORCH),
}
"""By whether the device is a GPU."""
_HIDDEN = {
    "\u202a",
    "\u202b",
    "\u202c",
    "\u202d",
    "\u202e",
    "\u2066",
    "\u2067",
    "\u2068",
    "\u2069",
    "\u200e",
    "\u200f",
}


def admit(candidate: Candidate, workload: Workload, *, gpu: bool = False) -> Candidate:
    """The candidate with its knob values written into its sources where the language wants them there.

    Raises:
        RejectedError: too long, empty, hidden characters, a knob that is not there, no entry point or one that takes
            other arguments, or a language not taken here.
    """
    if candidate.language not in _LANGUAGES[gpu]:
        raise RejectedError(
            EvaluationStatus.COMPILE_ERROR, f"this device class does not take {candidate.language}"
        )
    if candidate.language is Language.PYTORCH and not workload.policy.torch_ops:
        message = "the workload does not allow torch's own operations"
        raise RejectedError(EvaluationStatus.CONTRACT_VIOLATION, message)
    for file in candidate.sources:
        _readable(file)
    if ".." in "/".join(file.path for file in candidate.sources).split("/"):
        raise RejectedError(EvaluationStatus.COMPILE_ERROR, "a path leads out of the candidate's folder")
    admitted = _with_knobs(candidate)
    signature.check(admitted, workload)
    return admitted


def _readable(file: SourceFile) -> None:
    try:
        size = len(file.content.encode())
    except UnicodeEncodeError as error:
        raise RejectedError(EvaluationStatus.COMPILE_ERROR, f"{file.path} is not UTF-8") from error
    if size > SOURCE_LIMIT_BYTES:
        raise RejectedError(
            EvaluationStatus.COMPILE_ERROR, f"{file.path} is longer than {SOURCE_LIMIT_BYTES} bytes"
        )
    if not file.content.strip():
        raise RejectedError(EvaluationStatus.COMPILE_ERROR, f"{file.path} is empty")
    for place, character in enumerate(file.content):
        if character in _HIDDEN or (unicodedata.category(character) == "Cc" and character not in "\n\r\t\f"):
            line = file.content.count("\n", 0, place) + 1
            message = f"{file.path}, line {line}: holds the control character U+{ord(character):04X}"
            raise RejectedError(EvaluationStatus.COMPILE_ERROR, message)


def _with_knobs(candidate: Candidate) -> Candidate:
    first, *rest = candidate.sources
    try:
        content = with_knobs(candidate.language, first.content, candidate.knobs)
    except KnobError as error:
        raise RejectedError(EvaluationStatus.COMPILE_ERROR, str(error)) from error
    sources = (SourceFile(path=first.path, content=content), *rest)
    return candidate.model_copy(update={"sources": sources})
