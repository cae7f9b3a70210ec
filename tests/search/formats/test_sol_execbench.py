"""SOL-ExecBench: tolerance, computed axes and custom inputs survive."""

from __future__ import annotations

import pytest
from format_samples import RAGGED, decode, encode, problem, problems, ragged_case, sol_solution
from hypothesis import given, settings

from search.formats import FORMATS, Collection, FormatError, recognise
from search.formats.sol_execbench import SolSolution, candidate_of, solution_of
from search.records import Language
from search.workload import CustomInput, DType, ExprAxis, Workload, shipped_workload

FORMAT = FORMATS["sol_execbench"]


def parse(documents):
    return FORMAT.parse(encode(documents))


def test_a_problem_comes_back_as_it_was():
    collection, report = parse(problem())
    assert decode(FORMAT.write(collection)[0]) == problem()
    assert not report.dropped


@given(problems())
@settings(max_examples=30, deadline=None)
def test_any_problem_comes_back_as_it_was(documents):
    collection, report = parse(documents)
    files, written = FORMAT.write(collection)
    assert decode(files) == documents
    assert not report.dropped
    assert not written.dropped


def test_tolerance_axes_and_entry_point_are_in_the_workload():
    (workload,) = parse(problem())[0].workloads
    first = workload.cases[0]
    assert first.tolerance.model_dump() == {
        "max_atol": 0.05,
        "max_rtol": 0.02,
        "required_matched_ratio": 0.99,
        "max_error_cap": 1.5,
    }
    assert isinstance(workload.axes["tokens"], ExprAxis)
    assert workload.sizes(first) == {"batch": 2, "length": 5, "tokens": 10, "half": 64, "width": 128, "_3": 3}
    assert workload.custom_inputs_entrypoint == "make_inputs"
    assert first.inputs == {"x": CustomInput(), "index": CustomInput()}
    assert workload.op_type == ""
    assert workload.inputs["x"].dtype is DType.FLOAT8_E4M3FN
    assert Workload.load(workload.dump()) == workload


def test_the_tolerance_is_part_of_the_identity():
    documents = problem()
    (before,) = parse(documents)[0].workloads
    documents["ragged_gather_d128/workload.jsonl"][0]["tolerance"]["max_atol"] = 0.06
    (after,) = parse(documents)[0].workloads
    assert before.hash != after.hash


def test_cases_inside_trace_lines_are_read():
    documents = {
        "definition.json": [RAGGED],
        "workload.jsonl": [{"definition": RAGGED["name"], "workload": ragged_case("a"), "solution": None}],
    }
    (workload,) = parse(documents)[0].workloads
    assert workload.cases[0].tolerance.max_atol == 0.05


def test_the_first_releases_called_the_tolerance_correctness():
    case = ragged_case("a", correctness={"max_atol": 0.5, "sampling_tvd_threshold": 0.2})
    del case["tolerance"]
    collection, report = parse({"definition.json": [RAGGED], "workload.jsonl": [case]})
    assert collection.workloads[0].cases[0].tolerance.max_atol == 0.5
    assert "sampling_tvd_threshold" in report.dropped[0].text


def test_null_fields_are_absent_fields():
    definition = RAGGED | {"op_type": None, "constraints": None, "tags": []}
    collection, report = parse({"definition.json": [definition], "workload.jsonl": [ragged_case("a")]})
    files, _ = FORMAT.write(collection)
    assert decode(files)["ragged_gather_d128/definition.json"] == [RAGGED]
    assert not report.dropped


def test_another_reference_beside_the_definition_is_reported():
    files = encode(problem()) | {"ragged_gather_d128/reference.py": b"def run(x):\n    return x\n"}
    _, report = FORMAT.parse(files)
    assert "differs" in report.dropped[0].text
    files["ragged_gather_d128/reference.py"] = RAGGED["reference"].encode()
    assert not FORMAT.parse(files)[1].dropped


def test_a_broken_problem_does_not_take_its_neighbours_along():
    documents = problem("L1/001_good") | {"L1/002_bad/definition.json": [RAGGED | {"name": "other"}]}
    collection, report = parse(documents)
    assert [workload.name for workload in collection.workloads] == ["ragged_gather_d128"]
    assert report.dropped[0].where == "L1/002_bad/"
    assert "workload.jsonl: the file is missing" in report.dropped[0].text


def test_a_solution_becomes_a_candidate():
    candidate = candidate_of(SolSolution.load(sol_solution()))
    assert candidate.language is Language.TRITON
    made = solution_of(candidate, "mine", RAGGED["name"], "us", ["LOCAL"])
    assert candidate_of(made) == candidate
    assert made.spec.languages == ("triton",)


@pytest.mark.parametrize(
    "changes", [{"languages": ["cuda_cpp"]}, {"languages": ["cutile"]}, {"pip_packages": ["fbtriton"]}]
)
def test_a_solution_that_cannot_run_here_is_kept(changes):
    documents = problem()
    spec = sol_solution()["spec"] | changes
    documents["ragged_gather_d128/solution_gather.json"] = [sol_solution(spec=spec)]
    collection, report = parse(documents)
    assert any("kept only" in remark.text for remark in report.taken)
    assert decode(FORMAT.write(collection)[0]) == documents


def test_a_workload_without_tolerance_gets_none():
    files, _ = FORMAT.write(Collection((shipped_workload("rmsnorm"),)))
    assert b"tolerance" not in files["rmsnorm/workload.jsonl"]


def test_the_format_is_recognised_by_its_paths():
    assert recognise(encode(problem())) is FORMAT


def test_custom_inputs_need_an_entry_point():
    definition = {name: value for name, value in RAGGED.items() if name != "custom_inputs_entrypoint"}
    with pytest.raises(FormatError, match=r"workload\.jsonl:1: inputs: custom, but"):
        parse({"definition.json": [definition], "workload.jsonl": [ragged_case("a")]})
