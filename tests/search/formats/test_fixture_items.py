"""At least 25 items over all formats: each becomes a sound workload, and writing and reading again changes nothing."""

from __future__ import annotations

import pytest
from format_fixtures import all_items, files_of

from search.formats import FORMATS, Collection, recognise
from search.formats.convert import is_empty
from search.formats.reading import check_paths
from search.workload import ConstAxis, ExprAxis, Workload, shipped_workload

ITEMS = [(name, workload) for name, workloads in all_items().items() for workload in workloads]


def test_there_are_enough_and_of_every_kind():
    workloads = [workload for _, workload in ITEMS]
    assert len(workloads) >= 25
    kinds = {
        "several outputs": any(len(one.outputs) > 1 for one in workloads),
        "whole numbers out": any(
            out.dtype.startswith("int") for one in workloads for out in one.outputs.values()
        ),
        "computed axes": any(isinstance(axis, ExprAxis) for one in workloads for axis in one.axes.values()),
        "constant axes": any(isinstance(axis, ConstAxis) for one in workloads for axis in one.axes.values()),
        "custom inputs": any(one.custom_inputs_entrypoint for one in workloads),
        "numbers": any(tensor.shape is None for one in workloads for tensor in one.inputs.values()),
        "empty batch": any(is_empty(one, case) for one in workloads for case in one.cases),
        "recorded indices": any("safetensors" in one.model_dump_json() for one in workloads),
    }
    assert [kind for kind, there in kinds.items() if not there] == []


@pytest.mark.parametrize(("name", "workload"), ITEMS, ids=[f"{name}-{one.name}" for name, one in ITEMS])
def test_an_item_is_sound(name, workload):
    assert Workload.load(workload.dump()).hash == workload.hash
    compile(workload.reference, workload.name, "exec")
    for case in workload.cases:
        workload.sizes(case)


@pytest.mark.parametrize("name", FORMATS)
def test_writing_and_reading_again_changes_nothing(name):
    form = FORMATS[name]
    first, _ = form.parse(files_of(name))
    files, _ = form.write(first)
    second, _ = form.parse(files)
    assert {one.name: one for one in second.workloads} == {one.name: one for one in first.workloads}
    assert form.write(second)[0] == files


@pytest.mark.parametrize("name", FORMATS)
def test_each_format_knows_its_own_files_and_no_others(name):
    assert recognise(files_of(name)) is FORMATS[name]


@pytest.mark.parametrize(
    ("name", "ending"), [("kernelbench", ".py"), ("gpu_mode", "reference.py"), ("python_function", ".py")]
)
def test_sources_come_back_byte_by_byte(name, ending):
    form, given = FORMATS[name], files_of(name)
    collection, _ = form.parse(given)
    written, _ = form.write(collection)
    sources = {path: content for path, content in written.items() if path.endswith(ending)}
    assert sources
    # Two of them cannot come back word for word: a title renames a file, and a line from `__future__` may only stand first.
    kept = {path for path, content in sources.items() if given.get(path) == content}
    assert set(sources) - kept <= {"RMS_norm_of_half_precision.py", "blockwise_in_place/reference.py"}


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("title", ["..", "../../etc/x", "a\nb", "/abs", "\u202eevil", "a" * 250])
def test_a_title_never_leads_a_written_file_elsewhere(name, title):
    workload = shipped_workload("softmax").model_copy(update={"title": title})
    files, _ = FORMATS[name].write(Collection((workload,)))
    check_paths(files)
    assert all(len(path) < 250 for path in files)
