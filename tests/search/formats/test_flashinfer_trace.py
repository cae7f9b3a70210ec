"""FlashInfer-Trace: what is read comes back, nothing is lost in silence."""

from __future__ import annotations

import pytest
from format_samples import (
    PAGED_DECODE,
    PASSED,
    RAGGED,
    case_line,
    decode,
    encode,
    evaluation,
    paged_case,
    ragged_case,
    solution,
    trace,
    trace_set,
    trace_sets,
)
from hypothesis import given, settings

from search.formats import FORMATS, Collection, FormatError, recognise
from search.formats.flashinfer_trace import FlashInferSolution, candidate_of, solution_of
from search.formats.results import STATUSES, traces_of
from search.formats.schema import SEVEN
from search.records import Candidate, EvaluationStatus, Language, SourceFile
from search.workload import (
    DType,
    SafetensorsInput,
    ScalarInput,
    Workload,
    shipped_workload,
    shipped_workloads,
)

FORMAT = FORMATS["flashinfer_trace"]


def parse(documents):
    return FORMAT.parse(encode(documents))


def test_a_set_comes_back_as_it_was():
    documents = trace_set()
    collection, report = parse(documents)
    files, _ = FORMAT.write(collection)
    assert decode(files) == documents
    assert not report.dropped


@given(trace_sets())
@settings(max_examples=30, deadline=None)
def test_any_set_comes_back_as_it_was(documents):
    collection, report = parse(documents)
    files, written = FORMAT.write(collection)
    assert decode(files) == documents
    assert not report.dropped
    assert not written.dropped
    assert FORMAT.write(FORMAT.parse(files)[0])[0] == files


def test_the_workload_says_what_the_definition_said():
    (workload,) = parse(trace_set())[0].workloads
    assert workload.name == workload.title == PAGED_DECODE["name"]
    assert list(workload.inputs) == list(PAGED_DECODE["inputs"])
    assert workload.inputs["sm_scale"].shape is None
    assert workload.inputs["q"].dtype is DType.BFLOAT16
    first = workload.cases[0]
    assert first.uuid == "6120f144-b973-4bd9-b884-77ecb132914e"
    assert first.inputs["sm_scale"] == ScalarInput(value=0.125)
    assert isinstance(first.inputs["kv_indptr"], SafetensorsInput)
    assert Workload.load(workload.dump()) == workload


def test_an_empty_batch_is_checked_but_not_timed():
    collection, report = parse(trace_set())
    timed = {case.name: case.timed for case in collection.workloads[0].cases}
    assert timed == {"_6120f144_b973_4bd9_b884_77ecb132914e": True, "empty_batch": False}
    assert "not timed" in str(report.changed)


def test_a_folder_around_the_set_is_no_matter():
    documents = {f"archive-main/{path}": many for path, many in trace_set().items()}
    assert decode(FORMAT.write(parse(documents)[0])[0]) == trace_set()


def test_a_tolerance_from_sol_execbench_is_not_lost():
    documents = trace_set()
    path = next(path for path in documents if path.startswith("workloads"))
    documents[path][0]["workload"]["tolerance"] = {
        "max_atol": 0.5,
        "max_rtol": 0.25,
        "required_matched_ratio": 1.0,
    }
    collection, _ = parse(documents)
    assert collection.workloads[0].cases[0].tolerance.max_atol == 0.5
    assert decode(FORMAT.write(collection)[0]) == documents


def test_unknown_fields_are_reported():
    documents = trace_set()
    definition = next(iter(documents))
    documents[definition] = [PAGED_DECODE | {"colour": "red"}]
    _, report = parse(documents)
    assert [(remark.where, remark.text) for remark in report.dropped] == [
        (definition, "colour is not a field of the format")
    ]


def test_inputs_that_nobody_describes_are_reported():
    documents = trace_set()
    path = next(path for path in documents if path.startswith("workloads"))
    del documents[path][0]["workload"]["inputs"]["q"]
    _, report = parse(documents)
    assert f"{path}:1" in [remark.where for remark in report.changed]


def test_names_that_are_no_identifiers_come_back():
    definition = PAGED_DECODE | {"name": "llama-3.1/decode é"}
    documents = {
        "definitions/x.json": [definition],
        "workloads/x.jsonl": [case_line(definition["name"], paged_case("a", 1))],
    }
    collection, _ = parse(documents)
    assert collection.workloads[0].name == "llama_3_1_decode__"
    assert decode(FORMAT.write(collection)[0])["definitions/gqa_paged/llama_3_1_decode__.json"] == [
        definition
    ]


# Programs and results --------------------------------------------------------------------------------------


def found(document) -> FlashInferSolution:
    return FlashInferSolution.load(document)


def test_a_python_solution_becomes_a_candidate_with_its_entry_first():
    candidate = candidate_of(found(solution()))
    assert candidate.language is Language.TRITON
    assert candidate.sources[0].path == "src/main.py"
    assert candidate.entry_point == "decode"
    assert candidate.knobs == {"BLOCK": 128}


@pytest.mark.parametrize("language", ["cpp", "cuda", "tilelang"])
def test_a_solution_with_another_abi_is_kept_and_not_run(language):
    documents = trace_set()
    path = next(path for path in documents if path.startswith("solutions"))
    documents[path] = [solution(spec=solution()["spec"] | {"language": language})]
    collection, report = parse(documents)
    assert any("kept only" in remark.text for remark in report.taken)
    assert decode(FORMAT.write(collection)[0]) == documents
    with pytest.raises(FormatError, match=language):
        candidate_of(collection.solutions[0])


def test_a_candidate_is_written_with_its_knob_values():
    candidate = candidate_of(found(solution())).model_copy(update={"knobs": {"BLOCK": 64}})
    made = solution_of(candidate, "mine", PAGED_DECODE["name"], "us", ["NVIDIA H200"])
    assert "'BLOCK': 64" in made.sources[0].content
    assert candidate_of(made).knobs == {"BLOCK": 64}
    assert made.spec.entry_point == "src/main.py::decode"


def test_a_candidate_in_our_own_abi_is_not_exported():
    candidate = Candidate(language=Language.CPP, sources=(SourceFile(path="a.cpp", content="int x;"),))
    with pytest.raises(FormatError, match="our own ABI"):
        solution_of(candidate, "mine", "d", "us", ["cpu"])


def test_a_knob_that_the_source_does_not_have_is_refused():
    candidate = candidate_of(found(solution())).model_copy(update={"knobs": {"DEPTH": 2}})
    with pytest.raises(FormatError, match=r"mine: src/main\.py: .* no knob DEPTH"):
        solution_of(candidate, "mine", "d", "us", ["cpu"])


def test_every_status_is_mapped():
    assert set(STATUSES) == set(EvaluationStatus)
    assert {status for status in STATUSES.values() if status} == set(SEVEN)
    assert all(STATUSES[status] is status for status in SEVEN)


@pytest.mark.parametrize("status", [status for status in EvaluationStatus if not status.is_correct])
def test_a_rejection_holds_for_every_shown_case(status):
    workload = shipped_workload("softmax")
    shown = [case for case in workload.cases if not case.hidden]
    traces = traces_of(evaluation(status), workload, "mine", "2026-01-01T00:00:00Z")
    assert len(traces) == (len(shown) if STATUSES[status] else 0)
    for one in traces:
        assert one.evaluation.status is STATUSES[status]
        assert one.evaluation.performance is None
        if STATUSES[status] is not status:
            assert one.evaluation.log == f"{status}: told"


def test_a_pass_is_one_result_per_timed_case():
    workload = shipped_workload("softmax")
    (made,) = traces_of(
        evaluation(EvaluationStatus.PASSED, ("main",)), workload, "mine", "2026-01-01T00:00:00Z"
    )
    assert made.workload.uuid == "main"
    assert made.evaluation.performance.latency_ms == 0.05
    assert made.evaluation.performance.speedup_factor == 2.0
    assert made.evaluation.correctness.max_absolute_error == "NaN"


def test_a_pass_without_a_time_is_not_exported():
    assert not traces_of(evaluation(EvaluationStatus.UNTIMED), shipped_workload("softmax"), "mine", "now")


def test_results_for_an_unknown_workload_are_dropped():
    documents = trace_set()
    path = next(path for path in documents if path.startswith("traces"))
    documents[path].append(trace("TIMEOUT") | {"definition": "nothing"})
    collection, report = parse(documents)
    assert len(collection.traces) == 2
    assert [remark.where for remark in report.dropped] == [f"{path}:3"]


# Writing what is ours --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "slug", [slug for slug, one in shipped_workloads().items() if one.custom_inputs_entrypoint is None]
)
def test_a_shipped_workload_is_written_without_its_hidden_cases(slug):
    workload = shipped_workload(slug)
    files, report = FORMAT.write(Collection((workload,)))
    lost = {remark.text for remark in report.dropped}
    assert "the title" in lost
    assert any("hidden cases" in text for text in lost)
    (back,) = FORMAT.parse(files)[0].workloads
    assert back.reference == workload.reference
    assert back.axes == workload.axes
    assert [case.name for case in back.cases] == [case.name for case in workload.cases if not case.hidden]


def test_what_their_loader_would_refuse_is_not_written():
    documents = {"definition.json": [RAGGED], "workload.jsonl": [ragged_case("a")]}
    collection, _ = FORMATS["sol_execbench"].parse(encode(documents))
    with pytest.raises(FormatError, match=r"ragged_gather_d128: axes\.tokens: .* computed axes"):
        FORMAT.write(collection)


def test_a_type_that_the_format_lacks_is_not_written():
    workload = shipped_workload("softmax")
    inputs = {
        name: tensor.model_copy(update={"dtype": DType.UINT8}) for name, tensor in workload.inputs.items()
    }
    with pytest.raises(FormatError, match=r"softmax: x\.dtype: FlashInfer-Trace has no uint8"):
        FORMAT.write(Collection((workload.model_copy(update={"inputs": inputs}),)))


def test_two_solutions_never_become_one_file():
    collection, _ = parse(trace_set())
    twin = FlashInferSolution.load(solution(name="paged.decode triton v1"))
    with pytest.raises(FormatError, match="two names become this file"):
        FORMAT.write(Collection(collection.workloads, (*collection.solutions, twin)))


def test_the_format_is_recognised_by_its_paths():
    assert recognise(encode(trace_set())) is FORMAT
    with pytest.raises(FormatError, match="no Kernelsite or FlashInfer-Trace or SOL-ExecBench"):
        recognise({"readme.md": b"hello"})


def test_a_passed_result_keeps_its_numbers():
    collection, _ = parse(trace_set())
    assert collection.traces[0].document() == PASSED
