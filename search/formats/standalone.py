"""A candidate as one file that says what it computes, for which workload, and how it was judged."""

from __future__ import annotations

from typing import TYPE_CHECKING

from search.formats.calling import wrapper
from search.formats.format import FormatError
from search.formats.programs import PYTHON
from search.knobs import KnobError, with_knobs
from search.records import EvaluationStatus

if TYPE_CHECKING:
    from search.records import Candidate, Evaluation
    from search.workload import Workload


def standalone(candidate: Candidate, workload: Workload, evaluation: Evaluation | None) -> str:
    """The source with its knob values; Python gets a function `call` that allocates the outputs.

    Raises:
        FormatError: several files, or a knob that the source does not have.
    """
    first, *rest = candidate.sources
    if rest:
        raise FormatError(
            f"{len(candidate.sources)} files cannot become one", workload.name, field=rest[0].path
        )
    try:
        text = with_knobs(candidate.language, first.content, candidate.knobs)
    except KnobError as error:
        raise FormatError(str(error), workload.name, field=first.path) from error
    told = _told(candidate, workload, evaluation)
    if candidate.language not in PYTHON:
        # The knobs stand in the first line, where whoever compiles the file looks for them.
        return "\n".join([text.rstrip("\n"), "", *(f"// {line}" for line in told), ""])
    called = wrapper(workload, "call", candidate.entry_point)
    imported = "import torch  # for `call`\n\n\n"
    return "\n".join([text.rstrip("\n"), "", "", *(f"# {line}" for line in told), f"{imported}{called}"])


def _told(candidate: Candidate, workload: Workload, evaluation: Evaluation | None) -> list[str]:
    lines = [f"{' '.join(workload.title.split())}: workload {workload.hash}", f"Candidate {candidate.hash}."]
    if evaluation is None:
        return [*lines, "It was not judged before it was exported."]
    if evaluation.status is not EvaluationStatus.PASSED or evaluation.speedup is None:
        return [*lines, f"Judged {evaluation.status}: no time is claimed."]
    speedup, where = evaluation.speedup, " ".join(evaluation.environment.device.split())
    told = f"{speedup.value:.3f} times ({speedup.low:.3f} to {speedup.high:.3f}) {' '.join(evaluation.baseline.split())}"
    return [*lines, f"Judged on {where}, {evaluation.tier} tier: {told}."]
