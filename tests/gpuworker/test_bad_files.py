"""What strangers give us is refused by name: the field and the line, in one sentence."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from gpuworker import intake, reading
from gpuworker.reading import InputError
from gpuworker.verdicts import RejectedError
from search.records import Candidate, Evaluation, Language, SourceFile
from search.workload import Policy, Workload, shipped_workload

ROOT = Path(__file__).parents[2]
SOFTMAX = shipped_workload("softmax").model_copy(update={"policy": Policy(torch_ops=True)})
HONEST_CPP = (Path(__file__).parent / "cheats" / "honest" / "plain.cpp").read_text()
HONEST_PY = "import torch\n\n\ndef run(x, y):\n    torch.softmax(x, -1, out=y)\n"


# Files --------------------------------------------------------------------------------------------


@pytest.fixture
def file(tmp_path):
    def write(content: bytes | str, name="kernel.cpp"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def refused(action, *arguments):
    with pytest.raises(InputError) as caught:
        action(*arguments)
    return caught.value


def test_an_honest_file_is_read(file):
    candidate = reading.read_candidate(file(HONEST_CPP), None)
    assert (candidate.language, candidate.sources[0].content) == (Language.CPP, HONEST_CPP)
    assert reading.read_workload("softmax") == shipped_workload("softmax")


def test_a_source_that_is_not_there(tmp_path):
    error = refused(reading.read_candidate, tmp_path / "none.cpp", None)
    assert error.field == "candidate"
    assert "No such file" in error.problem


def test_fifty_megabytes_are_not_even_read(tmp_path):
    path = tmp_path / "kernel.cpp"
    with path.open("wb") as large:
        large.truncate(50_000_000)
    error = refused(reading.read_candidate, path, None)
    assert str(error) == "candidate: kernel.cpp is longer than 262144 bytes"


def test_an_empty_source(file):
    assert str(refused(reading.read_candidate, file(" \n\n"), None)) == "candidate: kernel.cpp is empty"


def test_bytes_that_are_no_text_are_named_with_their_line(file):
    error = refused(reading.read_candidate, file(b"int a;\nint b;\n// \xff\xfe\n"), None)
    assert (error.field, error.line) == ("candidate", 3)
    assert str(error) == "candidate, line 3: kernel.cpp is not UTF-8"


@pytest.mark.parametrize(("name", "language"), [("kernel.rs", None), ("kernel.cpp", "rust")])
def test_a_language_that_is_not_known(file, name, language):
    assert refused(reading.read_candidate, file(HONEST_CPP, name), language).field == "language"


def test_a_file_name_that_no_candidate_may_have(file):
    assert refused(reading.read_candidate, file(HONEST_CPP, "-o x.cpp"), None).field == "candidate"


# Workloads ----------------------------------------------------------------------------------------


def changed(change):
    document = shipped_workload("softmax").dump()
    change(document)
    return json.dumps(document, indent=1)


def broken(file, text):
    return refused(reading.read_workload, str(file(text, "workload.json")))


def test_a_truncated_workload_is_named_with_its_line(file):
    text = changed(lambda document: None)
    cut = text[: len(text) // 2]
    error = broken(file, cut)
    assert (error.field, error.line) == ("workload", cut.count("\n") + 1)
    assert "EOF" in error.problem


def test_broken_json_is_named_with_its_line(file):
    text = changed(lambda document: None)
    error = broken(file, text.replace('"op_type":', '"op_type";'))
    assert error.line == text[: text.index('"op_type":')].count("\n") + 1


@pytest.mark.parametrize(
    ("change", "field", "word"),
    [
        (lambda d: d["inputs"]["x"].update(dtype="float12"), "workload.inputs.x.dtype", "float32"),
        (lambda d: d["inputs"]["x"].update(shape=["M", "K"]), "workload.inputs.x", "axis K"),
        (lambda d: d["cases"][0]["axes"].pop("N"), "workload.cases.main", "['M', 'N']"),
        (lambda d: d["cases"][0]["axes"].update(N=-1), "workload.cases.0.axes.N", "greater than"),
        (lambda d: d["cases"][0]["inputs"].update(z={"type": "random"}), "workload.cases.main", "'z'"),
        (lambda d: d["tolerance"].update(scale=float("nan")), "workload.tolerance.scale", "greater|finite"),
        (lambda d: d["tolerance"].update(relative=float("inf")), "workload.tolerance.relative", "finite"),
        (lambda d: d.update(cases=[]), "workload.cases", "at least 1"),
        (lambda d: d.pop("reference"), "workload.reference", "required"),
        (lambda d: d.update(surprise=1), "workload.surprise", "not permitted"),
    ],
)
def test_a_wrong_field_is_named(file, change, field, word):
    error = broken(file, changed(change))
    assert error.field == field
    assert any(one in error.problem for one in word.split("|")), error.problem


def test_a_workload_that_is_not_there_or_empty(file, tmp_path):
    assert refused(reading.read_workload, str(tmp_path / "none.json")).field == "workload"
    assert broken(file, "").problem == "workload.json is empty"
    assert broken(file, "[" * 100_000).field == "workload"


def test_a_contract_is_read_with_the_same_care(file):
    assert (
        refused(reading.read_contract, file('{"structure": 7}', "contract.json")).field
        == "contract.structure"
    )


def test_a_metric_that_is_no_number_is_no_record():
    document = {"status": "INCORRECT_NUMERICAL", "device_seconds": float("nan")}
    with pytest.raises(ValueError, match="JSON"):
        Evaluation.load(document)
    with pytest.raises(ValueError, match="device_seconds"):
        Evaluation.model_validate_json(json.dumps(document))


# Sources, as the judge sees them ------------------------------------------------------------------


def admitted(source, language=Language.CPP, path="kernel"):
    candidate = Candidate(language=language, sources=(SourceFile(path=path, content=source),))
    return intake.admit(candidate, SOFTMAX)


def rejection(source, language=Language.CPP):
    with pytest.raises(RejectedError) as caught:
        admitted(source, language)
    assert caught.value.status == "COMPILE_ERROR"
    return caught.value.message


def test_honest_sources_are_admitted():
    assert admitted(HONEST_CPP).sources[0].content == HONEST_CPP
    assert admitted(HONEST_PY, Language.PYTORCH)


@pytest.mark.parametrize(("character", "name"), [("\x00", "0000"), ("\u202e", "202E"), ("\x1b", "001B")])
def test_a_hidden_character_is_named_with_its_line(character, name):
    message = rejection(f"int a;\n\nint b; // {character}\n")
    assert message == f"kernel, line 3: holds the control character U+{name}"


def test_half_a_surrogate_is_not_utf8():
    assert rejection("// \ud800\n" + HONEST_CPP) == "kernel is not UTF-8"


def test_a_long_and_an_empty_source():
    assert rejection("//" + "x" * 300_000) == "kernel is longer than 262144 bytes"
    assert rejection("\n \n") == "kernel is empty"


@pytest.mark.parametrize(
    ("source", "language", "words"),
    [
        (
            'extern "C" int other(void** b) { if (b) { } return 0; }',
            Language.CPP,
            'the source defines `other`, not `extern "C" int run(void** buffers,',
        ),
        ("def main(x, y):\n    pass\n", Language.PYTORCH, "the source defines `main`, not `run`"),
        ("class Model:\n    pass\n", Language.TRITON, "the source defines `Model`, not `run`"),
    ],
)
def test_a_missing_entry_point_is_named_beside_what_is_there(source, language, words):
    assert rejection(source, language).startswith(words)


@pytest.mark.parametrize(
    "source",
    [
        "from kernels import run\n",
        "from kernels import *\n",
        "import kernels\nrun = kernels.main\n",
        "import functools\nrun, other = functools.partial(print), 1\n",
        "globals()['run'] = print\n",
        "if True:\n    def run(x, y):\n        pass\n",
        "def run(x):\n    return x\n",
        "def run(x, y, block=64):\n    pass\n",
        "def run(*tensors):\n    pass\n",
        "def wrap(f):\n    return f\n\n\n@wrap\ndef run(a, b, c, d):\n    pass\n",
    ],
)
def test_unusual_entry_points_are_left_to_the_adapter(source):
    assert admitted(source, Language.PYTORCH)


@pytest.mark.parametrize(
    "source",
    [
        '#define ENTRY(a, b) a##b\nextern "C" int ENTRY(r, un)(void** b, const long* a, void* s) { return 0; }',
        "#include <cstdint>\nstatic int run(int a) { return a; }\n"
        'extern "C" int run(void** b, const int64_t*, void*) { return 0; }',
        'extern "C" {\nint run(void **b, /* sizes, in order */ const long *a,\n  void *s) { return 0; }\n}',
        "// int run(int a) { }\n" + HONEST_CPP,
    ],
)
def test_unusual_entry_points_are_left_to_the_launcher(source):
    assert admitted(source)


def test_a_wrong_number_of_arguments_is_named_with_its_line():
    message = rejection("import torch\n\n\ndef run(x, y, z):\n    pass\n", Language.PYTORCH)
    assert message == "line 4: `run` takes 3 arguments, not 2 (x, y)"
    message = rejection('#include <cmath>\n// run\nextern "C" int run(float* x) {\n  return 0;\n}\n')
    assert message.startswith("line 3: `run` takes 1 argument, not 3 (void** buffers")


@pytest.mark.parametrize(
    ("source", "language", "words"),
    [
        ("KNOBS = dict(A=1)\n" + HONEST_PY, Language.PYTORCH, "line 1: KNOBS must be a dictionary literal"),
        ("\nKNOBS = {'A': f()}\n" + HONEST_PY, Language.PYTORCH, "line 2: knob A must be"),
        ("// KNOBS {A: 1}\n" + HONEST_CPP, Language.CPP, "line 1: KNOBS is not JSON"),
        ("def run(x, y:\n", Language.PYTORCH, "line 1: the source does not parse"),
        ("x = (" * 3000 + HONEST_PY, Language.PYTORCH, "the source does not parse"),
    ],
)
def test_knobs_and_syntax_are_named_with_their_line(source, language, words):
    assert words in rejection(source, language)


# The command --------------------------------------------------------------------------------------


def evaluated(*arguments):
    line = [sys.executable, "-m", "gpuworker", "evaluate", *arguments]
    return subprocess.run(line, capture_output=True, text=True, cwd=ROOT, check=False)


def test_the_command_names_the_field_in_json_and_ends_with_two(file):
    path = file(changed(lambda d: d["inputs"]["x"].update(dtype="float12")), "workload.json")
    ran = evaluated("--workload", str(path), "--candidate", str(file(HONEST_CPP)), "--json")
    assert ran.returncode == 2
    assert json.loads(ran.stdout)["error"]["field"] == "workload.inputs.x.dtype"
    assert len(ran.stderr.splitlines()) == 1
    assert ran.stderr.startswith("gpuworker: workload.inputs.x.dtype: ")


def test_the_command_says_what_the_judge_refuses_and_ends_with_one(file):
    ran = evaluated("--workload", "softmax", "--candidate", str(file("int a;\n// \u202e\n")))
    assert ran.returncode == 1
    assert ran.stdout == "COMPILE_ERROR: kernel.cpp, line 2: holds the control character U+202E\n"


def test_the_same_workload_twice_is_the_same_record(file):
    path = file(changed(lambda document: None), "workload.json")
    assert reading.read_workload(str(path)) == Workload.load(shipped_workload("softmax").dump())
