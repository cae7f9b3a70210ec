"""What a candidate can be taken away as: standalone file, FlashInfer-Trace, contract, evaluation; and its command."""

from __future__ import annotations

import json
import shlex
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from django.http import Http404

from kernelsite.searches.evidence import record_of
from search.formats import flashinfer_trace, hf_kernels
from search.formats.archives import packed
from search.formats.convert import foreign_name
from search.formats.format import Collection, FormatError
from search.formats.results import traces_of
from search.formats.standalone import standalone
from search.knobs import KnobError, with_knobs
from search.records import Language
from search.strategies import STRATEGIES

if TYPE_CHECKING:
    from collections.abc import Callable

    from kernelsite.searches.models import Candidate, Evaluation
    from search.formats.flashinfer_trace import FlashInferSolution

AUTHOR = "Kernelsite"
LICENSE = "Apache-2.0"
"""Of a repository for the Hub, where the address names none (`?license=MIT`)."""
File = tuple[str, bytes]


def stem(row: Candidate) -> str:
    """File name without its ending, e.g. `softmax_142_17_031`."""
    return f"{row.search.workload.slug}_{row.key.replace('.', '_')}"


def source(row: Candidate, evaluation: Evaluation | None) -> File:
    """The program with its knob values written in; an archive when it has several files.

    Raises:
        FormatError: the source has no such knob.
    """
    program = row.record
    first, *rest = program.sources
    try:
        content = with_knobs(program.language, first.content, program.knobs)
    except KnobError as error:
        raise FormatError(str(error), f"C-{row.key}", field=first.path) from error
    if not rest:
        return f"{stem(row)}{PurePosixPath(first.path).suffix}", _bytes(content)
    files = {first.path: _bytes(content)} | {file.path: _bytes(file.content) for file in rest}
    return f"{stem(row)}.zip", packed(files)


def alone(row: Candidate, evaluation: Evaluation | None) -> File:
    """One file that says what it computes and how it was judged; Python gets a function that allocates the outputs.

    Raises:
        FormatError: it has several files.
    """
    text = standalone(row.record, row.search.workload.record, record_of(evaluation))
    return f"{stem(row)}_alone{PurePosixPath(row.record.sources[0].path).suffix}", _bytes(text)


def hub(row: Candidate, evaluation: Evaluation | None, license_id: str = LICENSE) -> File:
    """A repository for the Hugging Face Hub's `kernels`, its README with the evaluation.

    Raises:
        FormatError: no licence identifier, or what the layout cannot say.
    """
    kernel = hf_kernels.Kernel(
        workload=row.search.workload.record,
        candidate=row.record,
        license=license_id,
        evaluation=record_of(evaluation),
    )
    files, _ = hf_kernels.write(kernel)
    return f"{stem(row)}_hub.zip", packed({f"{kernel.name}/{path}": data for path, data in files.items()})


def solution(row: Candidate, evaluation: Evaluation | None) -> File:
    """A FlashInfer-Trace solution.

    Raises:
        FormatError: a language whose ABI is ours alone.
    """
    return f"{stem(row)}.json", _json(_solution(row, evaluation).document())


def trace_set(row: Candidate, evaluation: Evaluation | None) -> File:
    """A FlashInfer-Trace folder: definition, cases that are not hidden, solution, results.

    Raises:
        FormatError: a language or workload that the format cannot say.
    """
    workload = row.search.workload.record
    found = _solution(row, evaluation)
    record = record_of(evaluation)
    ended = evaluation.finished_at if evaluation else None
    traces = traces_of(record, workload, found.name, ended.isoformat()) if record and ended else []
    files, _ = flashinfer_trace.write(Collection((workload,), (found,), tuple(traces)))
    return f"{stem(row)}.zip", packed(files)


def _solution(row: Candidate, evaluation: Evaluation | None) -> FlashInferSolution:
    record = record_of(evaluation)
    hardware = record.environment.device if record else row.search.device_class
    definition = foreign_name(row.search.workload.record)
    return flashinfer_trace.solution_of(row.record, stem(row), definition, AUTHOR, [hardware])


def contract(row: Candidate, evaluation: Evaluation | None) -> File:
    """The structural contract, as `python -m gpuworker evaluate --contract` reads it."""
    return f"{stem(row)}.contract.json", _json(row.structure.record.contract.dump())


def evaluation_json(row: Candidate, evaluation: Evaluation | None) -> File:
    """The judge's answer as it was stored, samples and all.

    Raises:
        Http404: there is none yet.
    """
    if evaluation is None or evaluation.result is None:
        raise Http404
    return f"{stem(row)}.{evaluation.purpose}.json", _json(evaluation.result)


DOWNLOADS: dict[str, Callable[[Candidate, Evaluation | None], File]] = {
    "source": source,
    "standalone": alone,
    "hub": hub,
    "solution": solution,
    "traces": trace_set,
    "contract": contract,
    "evaluation": evaluation_json,
}


def offered(row: Candidate, evaluation: Evaluation | None) -> list[tuple[str, str]]:
    """Names and titles of what this candidate can be taken away as."""
    titles = {
        "source": "Source with its knob values",
        "standalone": "Standalone file",
        "hub": f"{hf_kernels.TITLE}, {LICENSE}",
    }
    if row.language in (Language.TRITON, Language.PYTORCH):
        titles |= {"solution": "FlashInfer-Trace solution", "traces": "FlashInfer-Trace set with results"}
    titles["contract"] = "Contract"
    if evaluation is not None and evaluation.result is not None:
        titles["evaluation"] = "Evaluation as JSON"
    return list(titles.items())


def command(row: Candidate, evaluation: Evaluation | None) -> str:
    """The command that judges the downloaded file again; what was recorded is judged on a device of the same kind."""
    device = row.search.device_class
    if row.search.is_recorded:
        device = "cpu" if row.language == Language.CPP else "cuda:0"
    suffix = PurePosixPath(row.source.files[0]["path"]).suffix
    words = ["python", "-m", "gpuworker", "evaluate", "--workload", row.search.workload.slug]
    words += ["--candidate", f"{stem(row)}{suffix}", "--device", device]
    if row.language == Language.PYTORCH:
        words += ["--language", row.language]
    if STRATEGIES[row.search.strategy].keeps_contract:
        words += ["--contract", f"{stem(row)}.contract.json"]
    return shlex.join([*words, "--tier", evaluation.tier if evaluation else "full", "--json"])


def _json(document: Any) -> bytes:
    return (json.dumps(document, indent=1, ensure_ascii=True, allow_nan=False) + "\n").encode()


def _bytes(text: str) -> bytes:
    # A lone half of a character cannot be written as UTF-8; nothing else is lost.
    return text.encode(errors="backslashreplace")
