"""Bad input is refused in words that name the file, and the line or the field."""

from __future__ import annotations

import json

import pytest
from format_samples import (
    PAGED_DECODE,
    RAGGED,
    case_line,
    encode,
    paged_case,
    problem,
    ragged_case,
    solution,
    trace_set,
)
from hypothesis import example, given
from hypothesis import strategies as st

from search.formats import FORMATS, FormatError, recognise
from search.formats.folders import read_folder, write_folder
from search.formats.reading import FILE_LIMIT_BYTES
from search.records import SOURCE_LIMIT_BYTES

TRACE, SOL = FORMATS["flashinfer_trace"], FORMATS["sol_execbench"]
PLACE = f"gqa_paged/{PAGED_DECODE['name']}"
DEFINITION, CASES = f"definitions/{PLACE}.json", f"workloads/{PLACE}.jsonl"


def refused(definition=PAGED_DECODE, cases=None) -> str:
    """Why a set with this definition and these case documents is refused."""
    cases = [paged_case("a", 1)] if cases is None else cases
    lines = [case_line(PAGED_DECODE["name"], case) for case in cases]
    with pytest.raises(FormatError) as caught:
        TRACE.parse(encode({DEFINITION: [definition], CASES: lines}))
    return str(caught.value)


def changed(**changes) -> dict:
    return json.loads(json.dumps(PAGED_DECODE | changes))


def test_a_truncated_file_names_its_line():
    files = encode(trace_set())
    files[CASES] = files[CASES][:-200]
    with pytest.raises(FormatError, match=rf"^{CASES}:2: not JSON at column \d+"):
        TRACE.parse({path: files[path] for path in (DEFINITION, CASES)})


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "the file is empty"),
        (b" \n\t", "the file is empty"),
        (b'{"name": "a"', ":1: not JSON at column 13"),
        (b'{\n"name": nul}', ":2: not JSON at column 9"),
        (b'{"name": "\xff"}', ":1: byte 10 is not UTF-8"),
        (b'{"name": "a", "name": "b"}', "name: the name appears twice"),
        (b'{"axes": {"M": {"value": NaN}}}', "axes.M.value: nan is not a finite number"),
        (b'{"axes": {"M": {"value": 1e999}}}', "axes.M.value: inf is not a finite number"),
        (b'{"value": ' + b"9" * 5000 + b"}", "too many digits"),
        (b'{"description": "a\\u0000b"}', "description: holds the character U+0000"),
        (b'{"tags": ["\\ud800"]}', "tags.0: holds the character U+D800"),
        (b'{"x": ' + b"[" * 60 + b"]" * 60 + b"}", "nested deeper than 40 levels"),
        (b"[" * 100_000, "nested deeper than 40 levels"),
        (b"[]", "Input should be an object"),
        (b"{}", "name: Field required"),
    ],
)
def test_what_is_no_document_is_refused(content, words):
    with pytest.raises(FormatError) as caught:
        TRACE.parse({DEFINITION: content})
    assert str(caught.value).startswith(DEFINITION)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("definition", "words"),
    [
        (changed(reference="def walk(x): pass"), "reference: it does not define a function `run`"),
        (changed(reference="import torch\ndef run(:"), "reference: line 2 is not Python"),
        (changed(reference="(" * 500), "reference: line 1 is not Python"),
        (changed(reference="def run(q): pass"), "reference: `run` takes 1 arguments for 6 inputs"),
        (
            changed(reference="#" * (SOURCE_LIMIT_BYTES + 1)),
            f"reference: longer than {SOURCE_LIMIT_BYTES} bytes",
        ),
        (changed(constraints=["len_indptr =="]), "constraints: line 1 is not Python"),
        (changed(axes={"M": {"type": "var"}}), "axis batch_size is not among the axes"),
        (changed(axes={"M": {"type": "fun"}}), "axes.M: "),
        (changed(outputs={}), "outputs: "),
        (changed(outputs={"q": {"shape": None, "dtype": "int8"}}), "q is an input and an output"),
        (changed(outputs={"y": {"shape": None, "dtype": "float33"}}), "outputs.y.dtype: Input should be"),
        (changed(outputs={"y": {"dtype": "int8"}}), "outputs.y.shape: Field required"),
        (changed(outputs={"1": {"shape": None, "dtype": "int8"}}), "outputs.1"),
        (changed(op_type="../up"), "op_type: "),
        (
            changed(axes=PAGED_DECODE["axes"] | {"num_qo_heads": {"type": "const", "value": -1}}),
            "num_qo_heads",
        ),
        (
            changed(axes=PAGED_DECODE["axes"] | {"num_qo_heads": {"type": "const", "value": True}}),
            "num_qo_heads",
        ),
        (
            changed(axes=PAGED_DECODE["axes"] | {"num_qo_heads": {"type": "const", "value": 2**62}}),
            "num_qo_heads",
        ),
    ],
)
def test_a_definition_that_does_not_hold_together_is_refused(definition, words):
    message = refused(definition)
    assert message.startswith(f"{DEFINITION}: ")
    assert words in message


def bad_case(**changes) -> dict:
    return paged_case("a", 1) | changes


def with_input(**spec) -> dict:
    return bad_case(inputs=paged_case("a", 1)["inputs"] | {"q": spec})


@pytest.mark.parametrize(
    ("case", "words"),
    [
        (bad_case(axes={"batch_size": 1}), "axes: the sizes must be those of"),
        (bad_case(axes=paged_case("a", 1)["axes"] | {"head_dim": 64}), "axes: the sizes must be those of"),
        (bad_case(axes={"batch_size": -1}), "axes.batch_size"),
        (bad_case(axes={"batch_size": 1.5}), "axes.batch_size"),
        (bad_case(uuid=""), "uuid"),
        (with_input(type="scalar", value="high"), "inputs.q.scalar.value"),
        (with_input(type="scalar"), "inputs.q.scalar.value"),
        (with_input(type="magic"), "inputs.q"),
        (with_input(type="custom"), "all inputs of a workload are custom, or none"),
        (with_input(type="safetensors", path="/etc/a", tensor_key="a"), "leads out of its folder"),
        (with_input(type="safetensors", path="blob/../../a", tensor_key="a"), "leads out of its folder"),
        (with_input(type="safetensors", path="s3://bucket/a", tensor_key="a"), "no relative path needs"),
        (with_input(type="safetensors", path="blob\\a", tensor_key="a"), "no relative path needs"),
        (with_input(type="safetensors", path="a", tensor_key=""), "tensor_key"),
        (bad_case(inputs={"z": {"type": "random"}}), "inputs: z is no input of"),
        (bad_case(tolerance={"max_atol": -1}), "tolerance.max_atol"),
        (bad_case(tolerance={"required_matched_ratio": 1.1}), "tolerance.required_matched_ratio"),
    ],
)
def test_a_case_that_does_not_fit_names_its_line(case, words):
    message = refused(cases=[paged_case("good", 2), case])
    assert message.startswith(f"{CASES}:2: ")
    assert words in message


def test_names_that_meet_are_refused():
    assert f"uuid: a.b is the name of {CASES}:1 as well" in refused(
        cases=[paged_case("a-b", 1), paged_case("a.b", 1)]
    )
    documents = trace_set() | {"definitions/twin.json": [PAGED_DECODE]}
    _, report = TRACE.parse(encode(documents))
    assert [remark.where for remark in report.dropped] == ["definitions/twin.json"]
    assert f"defined in {DEFINITION} as well" in report.dropped[0].text


def test_a_definition_without_cases_is_refused():
    with pytest.raises(FormatError, match="no case"):
        TRACE.parse(encode({DEFINITION: [PAGED_DECODE]}))


def test_a_bad_line_refuses_its_workload_whole_and_no_other():
    documents = trace_set()
    other = PAGED_DECODE | {"name": "other"}
    documents["definitions/other.json"] = [other]
    documents["workloads/other.jsonl"] = [case_line("other", paged_case("a", 1)), {"definition": "other"}]
    collection, report = TRACE.parse(encode(documents))
    assert [workload.name for workload in collection.workloads] == [PAGED_DECODE["name"]]
    assert [remark.text for remark in report.dropped] == ["workloads/other.jsonl:2: workload: Field required"]


BUILD = solution()["spec"]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"sources": [{"path": "../a.py", "content": "x"}]}, "sources.0.path: path '../a.py' leads out"),
        ({"sources": [{"path": "/a.py", "content": "x"}]}, "sources.0.path: path '/a.py' leads out"),
        (
            {"sources": [{"path": "a.py", "content": "x" * (SOURCE_LIMIT_BYTES + 1)}]},
            "sources.0.content: longer",
        ),
        ({"sources": [{"path": "a.py", "content": ""}]}, "sources.0.content"),
        ({"sources": [{"path": "a.py", "content": "x"}] * 2}, "two files share a path"),
        ({"sources": []}, "sources: "),
        ({"spec": BUILD | {"entry_point": "nowhere.py::run"}}, "nowhere.py is not among the sources"),
        ({"spec": BUILD | {"entry_point": "src/main.py"}}, "spec.entry_point"),
        ({"spec": BUILD | {"language": "rust"}}, "spec.language"),
        ({"spec": BUILD | {"target_hardware": []}}, "spec.target_hardware"),
        ({"definition": "nothing"}, "definition: nothing is not among the workloads"),
    ],
)
def test_a_bad_solution_is_dropped_with_its_reason(changes, words):
    documents = trace_set()
    path = next(path for path in documents if path.startswith("solutions"))
    documents[path] = [solution(**changes)]
    collection, report = TRACE.parse(encode(documents))
    assert not collection.solutions
    assert report.dropped[0].where == path
    assert words in report.dropped[0].text


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('"latency_ms": 0.021', '"latency_ms": NaN', "performance.latency_ms: nan is not a finite number"),
        ('"latency_ms": 0.021', '"latency_ms": -1', "performance.latency_ms"),
        ('"latency_ms": 0.021', '"latency_ms": "NaN"', "performance.latency_ms"),
        ('"speedup_factor": 19.04', '"speedup_factor": 1e999', "speedup_factor: inf is not a finite number"),
        ('"max_relative_error": 0.5', '"max_relative_error": -0.5', "correctness.max_relative_error"),
        ('"status": "PASSED"', '"status": "OOM"', "evaluation.status: OOM is none of PASSED"),
        ('"status": "PASSED"', '"status": "TIMEOUT"', "correctness: TIMEOUT must not carry it"),
        ('"solution": "paged-decode triton v1"', '"solution": null', "give both or neither"),
    ],
)
def test_a_bad_result_is_dropped_with_its_line(old, new, words):
    files = encode(trace_set())
    path = next(path for path in files if path.startswith("traces"))
    files[path] = files[path].replace(old.encode(), new.encode(), 1)
    collection, report = TRACE.parse(files)
    assert len(collection.traces) == 1
    assert report.dropped[0].where == f"{path}:1"
    assert words in report.dropped[0].text


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ("batch *", "cannot read"),
        ("missing + 1", "'missing' is not a number"),
        ("batch - 10", "axis tokens is -8"),
        ("batch / 3", "not a whole number"),
        ("batch // 0", "divides by zero"),
        ("2 ** 9 ** 9", "the power"),
        ("__import__('os')", "axes.tokens"),
        ("batch.real", "not a number"),
    ],
)
def test_an_axis_that_cannot_be_computed_is_refused(expression, words):
    axes = RAGGED["axes"] | {"tokens": {"type": "expr", "expression": expression}}
    with pytest.raises(FormatError) as caught:
        SOL.parse(
            encode({"definition.json": [RAGGED | {"axes": axes}], "workload.jsonl": [ragged_case("a")]})
        )
    assert str(caught.value).startswith("definition.json: ")
    assert words in str(caught.value)


def test_an_entry_point_that_is_not_there_is_refused():
    definition = RAGGED | {"custom_inputs_entrypoint": "make"}
    with pytest.raises(
        FormatError, match=r"definition\.json: custom_inputs_entrypoint: .* does not define `make`"
    ):
        SOL.parse(encode({"definition.json": [definition], "workload.jsonl": [ragged_case("a")]}))


@pytest.mark.parametrize(
    "path", ["../definitions/a.json", "/definitions/a.json", "x\\..\\definitions/a.json"]
)
def test_paths_that_lead_out_are_refused(path):
    with pytest.raises(FormatError, match="leads out of the set"):
        TRACE.parse({path: b"{}", "definitions/a.json": b"{}"})


def test_a_huge_file_is_refused_before_it_is_parsed():
    with pytest.raises(FormatError, match=r"definitions/a\.json: longer than"):
        TRACE.parse({"definitions/a.json": bytes(FILE_LIMIT_BYTES + 1)})


def test_two_formats_at_once_are_not_guessed():
    with pytest.raises(FormatError, match="look like FlashInfer-Trace or SOL-ExecBench; say which"):
        recognise(encode(trace_set() | problem()))


@given(st.binary(max_size=200), st.sampled_from(["definition.json", "workload.jsonl"]))
@example(b'{"a":' * 30_000, "workload.jsonl")
@example(b"\xef\xbb\xbf{}", "definition.json")
def test_any_bytes_give_a_format_error(content, name):
    files = encode({"definition.json": [RAGGED], "workload.jsonl": [ragged_case("a")]})
    with pytest.raises(FormatError, match=name):
        SOL.parse(files | {name: content})


# Folders ---------------------------------------------------------------------------------------------------


def test_a_folder_comes_back(tmp_path):
    files = encode(trace_set())
    write_folder(files, tmp_path / "set")
    (tmp_path / "set" / "blob.safetensors").write_bytes(b"tensors")
    assert read_folder(tmp_path / "set") == files


def test_links_are_not_followed(tmp_path):
    (tmp_path / "secret.json").write_text("{}")
    (tmp_path / "set").mkdir()
    (tmp_path / "set" / "a.json").symlink_to(tmp_path / "secret.json")
    (tmp_path / "set" / "up").symlink_to(tmp_path)
    assert read_folder(tmp_path / "set") == {}


def test_nothing_is_overwritten_and_nothing_left_half_written(tmp_path):
    write_folder({"b.json": b"1"}, tmp_path)
    with pytest.raises(FormatError, match=r"b\.json: it is there already"):
        write_folder({"a.json": b"2", "b.json": b"2"}, tmp_path)
    assert read_folder(tmp_path) == {"b.json": b"1"}


def test_a_folder_that_is_not_there_is_named(tmp_path):
    with pytest.raises(FormatError, match="nowhere: no such folder"):
        read_folder(tmp_path / "nowhere")


def test_writing_stays_in_the_folder(tmp_path):
    with pytest.raises(FormatError, match="leads out of the set"):
        write_folder({"../a.json": b"{}"}, tmp_path / "set")
