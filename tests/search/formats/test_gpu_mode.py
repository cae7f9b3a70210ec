"""GPU MODE: tests and benchmarks become cases, the generator stays, in-place results become outputs."""

from __future__ import annotations

import pytest
from format_fixtures import files_of

from search.formats import FORMATS, Collection, FormatError
from search.formats.format import Notes
from search.formats.probes import Probed, Seen
from search.formats.registry import FINISH
from search.workload import CustomInput, RandomInput, ScalarInput, shipped_workload

FORMAT = FORMATS["gpu_mode"]


def fixture(name):
    collection, _ = FORMAT.parse(files_of("gpu_mode"))
    return next(one for one in collection.workloads if one.name == name)


def changed(name, file, old, new):
    files = {path: content for path, content in files_of("gpu_mode").items() if path.startswith(f"{name}/")}
    assert old.encode() in files[f"{name}/{file}"]
    files[f"{name}/{file}"] = files[f"{name}/{file}"].replace(old.encode(), new.encode())
    return files


def refused(name, file, old, new):
    with pytest.raises(FormatError) as caught:
        FORMAT.parse(changed(name, file, old, new))
    return str(caught.value)


def test_tests_are_checked_and_benchmarks_timed():
    workload = fixture("vectoradd")
    assert [(case.name, case.axes, case.timed) for case in workload.cases] == [
        ("test_0", {"size": 16}, False),
        ("test_1", {"size": 0}, False),
        ("benchmark_0", {"size": 128}, True),
    ]
    assert workload.cases[0].tolerance.max_atol == 1e-3
    assert workload.cases[0].inputs == {"A": RandomInput(), "B": RandomInput()}


def test_a_generator_of_its_own_is_kept():
    workload = fixture("gated_rows")
    assert workload.custom_inputs_entrypoint == "make_inputs"
    assert list(workload.inputs) == ["x", "mask", "weights_proj_weight", "config_dim"]
    assert workload.cases[1].inputs["config_dim"] == ScalarInput(value=24)
    assert workload.cases[1].inputs["weights_proj_weight"] == CustomInput()
    assert workload.cases[1].axes == {"rows": 5, "dim": 24, "nomask": 1, "distribution": 1}
    assert "'cuda'" not in workload.reference.partition("Kernelsite: above")[2]


def test_memory_that_is_written_is_copied_and_given_back():
    workload = fixture("blockwise_in_place")
    assert "c = c.clone()" in workload.reference
    assert workload.outputs["output"].shape == ("m", "n")
    sizes = workload.sizes(workload.cases[0])
    assert workload.shape(workload.inputs["scales"], sizes) == (8, 3)


def test_a_check_of_its_own_is_dropped_with_its_reason():
    _, report = FORMAT.parse({k: v for k, v in files_of("gpu_mode").items() if k.startswith("histogram")})
    assert any("its own check" in one.text for one in report.dropped)


def test_what_depends_on_more_than_sizes_is_asked_for():
    collection, report = FORMAT.parse(files_of("gpu_mode"))
    assert [probe.name for probe in collection.probes] == ["sort"]
    assert "100, 992" in report.asked[0].text
    seen = [Probed(inputs={"data": Seen(shape=(n,))}, outputs=(Seen(shape=(n,)),)) for n in (100, 100)]
    assert FINISH["gpu_mode"](collection.probes[0], seen, Notes()).inputs["data"].shape == ("_100",)
    with pytest.raises(FormatError, match="1 cases were probed of 2"):
        FINISH["gpu_mode"](collection.probes[0], seen[:1], Notes())


@pytest.mark.parametrize(
    ("file", "old", "new", "words"),
    [
        ("task.yml", '"size": 16', '"size": 16, "more": 1', "task.yml: test.1: other parameters than test_0"),
        ("task.yml", '"size": 16', '"size": [16]', "task.yml: tests.0.size"),
        ("task.yml", '"size": 16', '"size": .nan', "tests.0.size: nan is not a finite number"),
        ("task.yml", '"size": 16', '"size": 16, "size": 17', "task.yml:5: not YAML: a name appears twice"),
        ("task.yml", "tests:", "tests: [", "task.yml:"),
        ("task.yml", "tests:", "x: &a [1]\ny: *a\ntests:", "task.yml:5: an alias, which is not allowed here"),
        ("task.yml", '"py"', '"cu"', "task.yml: lang"),
        (
            "task.yml",
            '"size": 16',
            '"size": !!python/object/apply:os.system ["true"]',
            "task.yml:5: not YAML",
        ),
        ("reference.py", "def ref_kernel", "def other", "reference.py: it does not define ref_kernel"),
        (
            "reference.py",
            "make_match_reference\nimport",
            "unheard_of\nimport",
            "reference.py:1: it takes unheard_of from utils.py",
        ),
    ],
)
def test_bad_input_names_its_place(file, old, new, words):
    assert words in refused("vectoradd", file, old, new)


def test_a_module_beside_the_reference_travels_with_it():
    files = changed("vectoradd", "reference.py", "make_match_reference\n", "make_match_reference, doubled\n")
    files["utils.py"] = (
        b"def make_match_reference(*a, **k):\n    pass\n\n\ndef doubled(x):\n    return 2 * x\n"
    )
    (workload,) = FORMAT.parse(files)[0].workloads
    assert "def doubled(x)" in workload.reference


def test_a_negative_number_is_no_size_but_a_choice():
    files = changed("vectoradd", "task.yml", '"seed"', '"shift": -1, "seed"')
    path = "vectoradd/reference.py"
    files[path] = files[path].replace(b"size: int, seed", b"size: int, shift: int, seed")
    (workload,) = FORMAT.parse(files)[0].workloads
    assert [case.axes["shift"] for case in workload.cases] == [0, 0, 0]
    assert "_CHOICES = {'shift': [-1]}" in workload.reference


def test_a_workload_of_ours_becomes_a_task_that_is_read_again():
    files, _ = FORMAT.write(Collection((shipped_workload("rmsnorm"),)))
    collection, _ = FORMAT.parse(files)
    (again,) = collection.workloads
    assert again.outputs["output"].shape == ("M", "N")
    assert len(again.cases) == 4
