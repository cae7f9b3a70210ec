"""One real device worker for the whole run, and a small workload to give it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gpuworker import state
from gpuworker.options import Options
from gpuworker.runner import Runner
from search.records import Candidate, EvaluationRequest, Language, SourceFile, Tier
from search.workload import Case, DType, Policy, RandomInput, Tensor, Tolerance, VarAxis, Workload

TRIES = 4
"""A machine that is busy with other tests cannot always time; that is no verdict on a kernel."""

SOFTMAX = Workload(
    name="small_softmax",
    title="Small softmax",
    op_type="softmax",
    axes={"M": VarAxis(), "N": VarAxis()},
    inputs={"x": Tensor(shape=("M", "N"), dtype=DType.FLOAT32)},
    outputs={"y": Tensor(shape=("M", "N"), dtype=DType.FLOAT32)},
    reference="import torch\n\ndef run(x):\n    return torch.softmax(x, dim=-1)\n",
    cases=(
        Case(name="main", axes={"M": 256, "N": 1024}),
        Case(name="odd", axes={"M": 5, "N": 33}, timed=False),
        Case(
            name="hidden",
            axes={"M": 7, "N": 129},
            inputs={"x": RandomInput(distribution="heavy_tail", scale=4.0)},
            hidden=True,
            timed=False,
        ),
    ),
    tolerance=Tolerance(scale=32.0, relative=1e-4, frobenius=1e-4),
    policy=Policy(torch_ops=True),
)


def request_for(source: str, language: Language = Language.CPP, workload: Workload = SOFTMAX, **more):
    """A request for one source; `knobs` goes to the candidate, the rest to the request."""
    path = "kernel.cpp" if language is Language.CPP else "kernel.py"
    candidate = Candidate(
        language=language, sources=(SourceFile(path=path, content=source),), knobs=more.pop("knobs", {})
    )
    return EvaluationRequest(
        id="1",
        token="token",
        workload=workload.dump(),
        candidate=candidate,
        device_class="cpu",
        tier=more.pop("tier", Tier.FAST),
        **more,
    )


@pytest.fixture(scope="session")
def runner():
    # A secret that must not be found anywhere below.
    os.environ["CANARY_SECRET_API_KEY"] = "canary-5f1e"
    worker = Runner(Options(state=str(state.folder())))
    worker.start()
    yield worker
    worker.close()


@pytest.fixture
def judge(runner):
    """Judges one source and gives its evaluation."""

    def judge_one(source: str | Path, language: Language = Language.CPP, **more):
        if isinstance(source, Path):
            language = Language.CPP if source.suffix == ".cpp" else Language.PYTORCH
            source = source.read_text()
        for _ in range(TRIES):
            (evaluation,) = runner.evaluate([request_for(source, language, **more)], lambda: None)
            if evaluation.status != "UNSTABLE_TIMING":
                break
        return evaluation

    return judge_one
