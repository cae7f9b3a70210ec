"""What we write, flashinfer-bench reads with its own models, and the other way round.

Its package loads torch and more at import; its record models need pydantic alone, so they are imported without it.
`pip install --no-deps flashinfer-bench==0.1.2` is enough to run these tests.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import sys
import types

import pytest
from format_samples import decode, encode, evaluation, solution, trace_set, trace_sets
from hypothesis import given, settings

from search.formats import FORMATS, Collection
from search.formats.flashinfer_trace import FlashInferSolution, candidate_of, solution_of
from search.formats.results import traces_of
from search.records import EvaluationStatus
from search.workload import shipped_workload, shipped_workloads

FORMAT = FORMATS["flashinfer_trace"]
MODELS = {"definitions": "definition.Definition", "workloads": "trace.Trace"}
MODELS |= {"solutions": "solution.Solution", "traces": "trace.Trace"}


@pytest.fixture(scope="module")
def theirs():
    """Their model for a folder of a trace set."""
    place = importlib.util.find_spec("flashinfer_bench")
    if place is None or not place.submodule_search_locations:
        pytest.skip("flashinfer-bench is not installed")
    root = place.submodule_search_locations[0]
    names = {"flashinfer_bench": root, "flashinfer_bench.data": f"{root}/data"}
    for name, path in names.items():
        sys.modules[name] = types.ModuleType(name)
        sys.modules[name].__path__ = [path]

    def model(folder: str):
        module, kind = MODELS[folder].split(".")
        return getattr(importlib.import_module(f"flashinfer_bench.data.{module}"), kind)

    yield model
    for name in [name for name in sys.modules if name.split(".")[0] == "flashinfer_bench"]:
        del sys.modules[name]


def load(theirs, files: dict[str, bytes]) -> dict[str, list]:
    return {
        path: [theirs(path.split("/")[0]).model_validate(document) for document in documents]
        for path, documents in decode(files).items()
    }


def test_their_models_read_what_we_write_as_they_read_the_original(theirs):
    files, _ = FORMAT.write(FORMAT.parse(encode(trace_set()))[0])
    assert dumped(load(theirs, files)) == dumped(load(theirs, encode(trace_set())))


@given(trace_sets())
@settings(max_examples=20, deadline=None)
def test_we_read_what_their_models_write(theirs, documents):
    original = load(theirs, encode(documents))
    spelled = {path: [json.loads(one.model_dump_json()) for one in many] for path, many in original.items()}
    collection, report = FORMAT.parse(encode(spelled))
    assert dumped(load(theirs, FORMAT.write(collection)[0])) == dumped(original)
    assert not [remark for remark in report.dropped if "tolerance" not in remark.text]


@pytest.mark.parametrize(
    "slug", [slug for slug, one in shipped_workloads().items() if one.custom_inputs_entrypoint is None]
)
def test_their_models_read_a_shipped_workload(theirs, slug):
    read = load(theirs, FORMAT.write(Collection((shipped_workload(slug),)))[0])
    assert {path.split("/")[0] for path in read} == {"definitions", "workloads"}


def test_their_models_read_our_programs_and_results(theirs):
    ours = solution_of(candidate_of(FlashInferSolution.load(solution())), "mine", "softmax", "us", ["cpu"])
    theirs("solutions").model_validate(ours.document())
    for status in EvaluationStatus:
        record = evaluation(status, ("main",) if status is EvaluationStatus.PASSED else ())
        for made in traces_of(record, shipped_workload("softmax"), "mine", "2026-01-01T00:00:00Z"):
            theirs("traces").model_validate(made.document())


def dumped(read: dict[str, list]) -> dict[str, list]:
    """Comparable: their NaN and their Solution do not compare field by field."""
    return {path: [one.model_dump_json() for one in many] for path, many in read.items()}
