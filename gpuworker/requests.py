"""Requests made on the command line rather than by the site."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import gpuworker
import search
from search.records import Candidate, EvaluationRequest, Language, SourceFile
from search.workload import Workload

if TYPE_CHECKING:
    from search.records import Contract, Tier


def load_workload(name: str) -> Workload:
    """A shipped workload by slug, or any by file name.

    Raises:
        OSError: there is no such file.
        pydantic.ValidationError: it is no workload.
    """
    shipped = Path(next(iter(search.__path__))) / "workloads" / f"{name}.json"
    return Workload.model_validate_json((shipped if shipped.is_file() else Path(name)).read_text())


def sample(note: str = "") -> Candidate:
    """The shipped sample kernel for `softmax`; another note makes it another program, which is built anew."""
    source = (Path(next(iter(gpuworker.__path__))) / "sample.cpp").read_text()
    file = SourceFile(path="sample.cpp", content=f"{source}// {note}\n")
    return Candidate(language=Language.CPP, sources=(file,))


def make(
    workload: Workload, candidate: Candidate, tier: Tier, deadline_s: float, contract: Contract | None = None
) -> EvaluationRequest:
    """A request that nobody but the caller waits for."""
    return EvaluationRequest(
        id="command line",
        token="",
        workload=workload.dump(),
        candidate=candidate,
        contract=contract,
        device_class="",
        tier=tier,
        deadline_s=deadline_s,
        needs_walls=False,  # whoever types `--unsandboxed` runs files of their own
    )
