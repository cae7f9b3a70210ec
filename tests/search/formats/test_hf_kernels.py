"""The layout of Hugging Face kernels: what is built, how it is called, what is claimed."""

from __future__ import annotations

import ast
import tomllib

import pytest
from format_samples import evaluation

from search.formats.format import FormatError
from search.formats.hf_kernels import Kernel, write
from search.formats.standalone import standalone
from search.records import Candidate, EvaluationStatus, Language, SourceFile
from search.workload import shipped_workload

TRITON = "import triton\n\nKNOBS = {'BLOCK': 128}\n\n\ndef run(x, weight, y):\n    pass\n"
CUDA = (
    '// KNOBS {"BLOCK": 128}\n#include <cstdint>\nextern "C" int run(void** b, const int64_t* a, void* s);\n'
)


def kernel(language=Language.TRITON, source=TRITON, **changes):
    path = "kernel.py" if language is Language.TRITON else "kernel.cu"
    candidate = Candidate(
        language=language, sources=(SourceFile(path=path, content=source),), knobs={"BLOCK": 256}
    )
    given = {
        "workload": shipped_workload("rmsnorm"),
        "candidate": candidate,
        "license": "Apache-2.0",
    } | changes
    return Kernel(**given)


def text(files, path):
    return files[path].decode()


def test_a_python_program_needs_no_build():
    files, _ = write(kernel(repository="somebody/rmsnorm"))
    build = tomllib.loads(text(files, "build.toml"))
    assert build["general"] == {
        "name": "rmsnorm",
        "version": 1,
        "edition": 5,
        "license": "Apache-2.0",
        "backends": ["cuda"],
        "hub": {"repo-id": "somebody/rmsnorm"},
    }
    assert build["torch-noarch"] == {}
    assert "'BLOCK': 256" in text(files, "torch-ext/rmsnorm/kernel.py")
    assert "flake.nix" in files


def test_the_package_allocates_the_outputs():
    files, _ = write(kernel())
    module = ast.parse(text(files, "torch-ext/rmsnorm/__init__.py"))
    functions = {node.name: ast.unparse(node) for node in module.body if isinstance(node, ast.FunctionDef)}
    assert set(functions) == {"rmsnorm", "rmsnorm_out"}
    assert "y = torch.empty((size_M, size_N), dtype=torch.float32, device=x.device)" in functions["rmsnorm"]
    assert "size_M = x.shape[0]" in functions["rmsnorm"]


def test_a_cuda_program_gets_a_binding():
    files, _ = write(kernel(Language.CUDA, CUDA))
    build = tomllib.loads(text(files, "build.toml"))
    assert build["kernel"]["rmsnorm"] == {
        "backend": "cuda",
        "depends": ["torch"],
        "src": ["rmsnorm/kernel.cu"],
    }
    binding = text(files, "torch-ext/torch_binding.cpp")
    assert "void* buffers[] = {x.data_ptr(), weight.data_ptr(), y.data_ptr()};" in binding
    assert "const int64_t axes[] = {x.size(0), x.size(1)};" in binding
    assert 'ops.def("rmsnorm(Tensor x, Tensor weight, Tensor! y) -> ()");' in binding
    assert "#define BLOCK 256" in text(files, "rmsnorm/kernel.cu").splitlines()[1]


def test_the_readme_claims_what_was_measured_and_nothing_of_hidden_cases():
    record = evaluation(EvaluationStatus.PASSED, ("main", "hidden_small"))
    files, report = write(kernel(evaluation=record))
    readme = text(files, "README.md")
    assert "license: apache-2.0" in readme
    assert "| main | 50.00 |" in readme
    assert "hidden_small" not in readme
    assert "2.000, interval 1.900 to 2.100" in readme
    assert not report.changed


def test_a_program_that_failed_claims_no_time():
    files, _ = write(kernel(evaluation=evaluation(EvaluationStatus.INCORRECT_NUMERICAL)))
    assert "no time is claimed" in text(files, "README.md")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"license": ""}, "license: a licence must be an SPDX identifier"),
        ({"license": 'MIT"\n[x]'}, "license: a licence must be an SPDX identifier"),
        ({"repository": "no slash"}, "repository: a repository is owner/name"),
    ],
)
def test_what_the_layout_cannot_say_is_refused(changes, words):
    with pytest.raises(FormatError, match=words):
        write(kernel(**changes))


def test_a_title_with_markup_stays_text():
    workload = shipped_workload("rmsnorm").model_copy(update={"title": 'a"""\n<script>*b*'})
    files, _ = write(kernel(workload=workload))
    assert "\\<script\\>" in text(files, "README.md")
    ast.parse(text(files, "torch-ext/rmsnorm/__init__.py"))


# One file ------------------------------------------------------------------------------------------------


def test_one_file_holds_knobs_wrapper_and_what_was_measured():
    program = kernel()
    record = evaluation(EvaluationStatus.PASSED, ("main",))
    made = standalone(program.candidate, program.workload, record)
    functions = [node.name for node in ast.parse(made).body if isinstance(node, ast.FunctionDef)]
    assert functions == ["run", "call"]
    assert "'BLOCK': 256" in made
    assert "2.000 times (1.900 to 2.100) torch" in made


def test_a_compiled_program_keeps_its_first_line():
    program = kernel(Language.CUDA, CUDA)
    made = standalone(program.candidate, program.workload, None)
    assert made.startswith('// KNOBS {"BLOCK": 256}') or made.startswith('// KNOBS {"BLOCK":256}')
    assert "not judged" in made


def test_several_files_are_refused():
    program = kernel()
    more = (*program.candidate.sources, SourceFile(path="more.py", content="x = 1\n"))
    with pytest.raises(FormatError, match=r"more\.py: 2 files cannot become one"):
        standalone(program.candidate.model_copy(update={"sources": more}), program.workload, None)
