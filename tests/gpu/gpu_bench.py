"""What the tests on a GPU share: one device worker, small workloads, and the corpus with what is expected of it."""

from __future__ import annotations

import os
import re
from pathlib import Path

from gpuworker import state
from gpuworker.options import Options
from gpuworker.runner import Runner
from search.records import Candidate, EvaluationRequest, Language, SourceFile
from search.workload import Case, DType, Policy, RandomInput, Tensor, Tolerance, VarAxis, Workload
from tests.gpu.gpu_device import chosen_device

FOLDER = Path(__file__).parent
SECRET = "canary-5f1e"
HIDDEN_SIZES = "7 and 129"
"""How a cheat in the corpus would tell them."""
TRIES = 3
"""A machine that is busy cannot always time; that is no verdict on a kernel."""

_FLOAT = DType.FLOAT32
SOFTMAX = Workload(
    name="small_softmax",
    title="Small softmax",
    op_type="softmax",
    axes={"M": VarAxis(), "N": VarAxis()},
    inputs={"x": Tensor(shape=("M", "N"), dtype=_FLOAT)},
    outputs={"y": Tensor(shape=("M", "N"), dtype=_FLOAT)},
    reference="import torch\n\ndef run(x):\n    return torch.softmax(x, dim=-1)\n",
    cases=(
        Case(name="main", axes={"M": 1024, "N": 1024}),
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
)
GEMM = Workload(
    name="small_gemm",
    title="Small product",
    op_type="gemm",
    axes={"M": VarAxis(), "N": VarAxis(), "K": VarAxis()},
    inputs={"a": Tensor(shape=("M", "K"), dtype=_FLOAT), "b": Tensor(shape=("K", "N"), dtype=_FLOAT)},
    outputs={"c": Tensor(shape=("M", "N"), dtype=_FLOAT)},
    reference="import torch\n\ndef run(a, b):\n    return a @ b\n",
    cases=(
        Case(name="main", axes={"M": 512, "N": 512, "K": 512}),
        Case(name="odd", axes={"M": 35, "N": 70, "K": 50}, timed=False),
        Case(name="hidden", axes={"M": 65, "N": 33, "K": 129}, hidden=True, timed=False),
    ),
    tolerance=Tolerance(scale=128.0, relative=3e-5, frobenius=3e-5),
)


def _with(**policy: bool) -> Workload:
    return SOFTMAX.model_copy(update={"policy": Policy(**policy)})


KINDS = {
    "triton": (Language.TRITON, SOFTMAX),
    "any_order": (Language.TRITON, _with(deterministic=False)),
    "gemm": (Language.TRITON, GEMM),
    "pytorch": (Language.PYTORCH, _with(torch_ops=True)),
    "cuda": (Language.CUDA, SOFTMAX),
}
"""Language and workload by the name of a file's folder."""


def corpus(part: str) -> list[Path]:
    """All files of `cheats` or `honest`."""
    return sorted(path for path in (FOLDER / part).glob("*/*") if path.suffix in {".py", ".cu"})


def label(path: Path) -> str:
    """For test ids: folder and name."""
    return f"{path.parent.name}/{path.name}"


def note(path: Path, name: str) -> str:
    """What the comments at a file's head say under a name; empty where they say nothing."""
    found = re.search(rf"^(?:#|//) {name}: (.+)$", path.read_text(), re.MULTILINE)
    return found[1] if found else ""


def request_for(path: Path, workload: Workload | None = None) -> EvaluationRequest:
    """A request that judges one file of the corpus, on the workload of its folder if none is given."""
    language, own = KINDS[path.parent.name]
    name = "kernel.cu" if language is Language.CUDA else "kernel.py"
    return EvaluationRequest(
        id=label(path),
        token="token",
        workload=(workload or own).dump(),
        candidate=Candidate(language=language, sources=(SourceFile(path=name, content=path.read_text()),)),
        device_class="gpu",
        deadline_s=float(note(path, "deadline") or 30.0),
    )


class Bench:
    """A device worker; open it around a module's tests."""

    def __enter__(self) -> Bench:
        os.environ["CANARY_SECRET_API_KEY"] = SECRET
        self._runner = Runner(Options(device=chosen_device(), state=str(state.folder())))
        self._runner.start()
        self._least_us: dict[Path, float] = {}
        return self

    def __exit__(self, *_: object) -> None:
        self._runner.close()

    def judge(self, path: Path, workload: Workload | None = None):
        """The evaluation of a file; once more where the machine was too noisy."""
        for _ in range(TRIES):
            (evaluation,) = self._runner.evaluate([request_for(path, workload)], lambda: None)
            if evaluation.status != "UNSTABLE_TIMING":
                break
        return evaluation

    def judge_all(self, paths: list[Path]):
        """Evaluations by file, in one batch, whose members are built side by side."""
        requests = [request_for(path) for path in paths]
        return dict(zip(paths, self._runner.evaluate(requests, lambda: None), strict=True))

    def judge_variants(self, source: str, settings: list[dict[str, int]], deadline_s: float):
        """Evaluations of knob settings of one source, in one batch."""
        file = SourceFile(path="kernel.py", content=source)
        requests = [
            EvaluationRequest(
                id=str(number),
                token="token",
                workload=SOFTMAX.dump(),
                candidate=Candidate(language=Language.TRITON, sources=(file,), knobs=knobs),
                device_class="gpu",
                deadline_s=deadline_s,
            )
            for number, knobs in enumerate(settings)
        ]
        return list(self._runner.evaluate(requests, lambda: None))

    def baselines(self, workload: Workload, names: list[str], tier: str = "fast"):
        """Figures of named baselines."""
        document = {"baselines": names, "workload": workload.dump(), "tier": tier}
        answer = self._runner.ask(document, 600.0)
        assert answer, "the judge died or did not answer"
        assert answer["event"] == "compared", answer
        return answer["baselines"]

    def least_us(self, path: Path) -> float:
        """What an honest file takes at least: the fastest tenth of three judgements.

        For a wall clock it is far below the median, and that of one judgement differs from the next by half.
        """
        if path not in self._least_us:
            evaluations = [self.judge(path) for _ in range(3)]
            assert {one.status for one in evaluations} == {"PASSED"}, [one.message for one in evaluations]
            self._least_us[path] = min(one.cases[0].p10_us for one in evaluations)
        return self._least_us[path]
