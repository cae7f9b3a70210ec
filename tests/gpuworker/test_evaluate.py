"""What an evaluation answers: statuses, evidence, times, and what it keeps to itself."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest
from conftest import SOFTMAX, request_for

from gpuworker import requests
from search.records import (
    Clause,
    ClauseKind,
    Contract,
    Evaluation,
    EvaluationStage,
    Language,
    Signature,
    Tier,
)
from search.workload import Case, DType, Policy, Tensor, Tolerance

PLAIN = (Path(__file__).parent / "cheats" / "honest" / "plain.cpp").read_text()
HEAD = "#include <cstdint>\n#include <cstdio>\n#include <cmath>\n"


def body(text, before=""):
    return f'{HEAD}{before}\nextern "C" int run(void** buffers, const int64_t* axes, void*) {{\n{text}\n}}\n'


def test_a_right_kernel_passes_with_time_and_evidence(judge):
    evaluation = judge(PLAIN)
    assert evaluation.status == "PASSED"
    assert [stage.stage for stage in evaluation.stages] == [
        *("intake", "static", "build", "smoke", "correctness", "integrity", "timing")
    ]
    assert all(stage.passed for stage in evaluation.stages)
    assert [case.case for case in evaluation.cases] == ["main"]
    assert evaluation.cases[0].samples >= 3
    assert evaluation.speedup.low <= evaluation.speedup.value <= evaluation.speedup.high
    assert evaluation.method == "slope"
    assert "torch eager" in evaluation.baseline
    assert evaluation.environment.workload == SOFTMAX.hash
    assert evaluation.device_seconds > 0
    told = next(stage.details for stage in evaluation.stages if stage.stage == "correctness")
    assert {one["case"] for one in told["cases"]} == {"main", "odd"}  # nothing of the hidden one
    for one in told["cases"]:
        assert one["passed"]
        assert one["calls"] >= 2
        assert 0 < one["outputs"]["y"]["used"] < 1
        assert 0 < one["outputs"]["y"]["max_abs"] < 1e-4


def test_the_record_survives_its_wire(judge):
    evaluation = judge(PLAIN)
    assert Evaluation.load(evaluation.dump()) == evaluation


def test_the_environment_key_is_the_same_every_time(judge):
    assert judge(PLAIN).environment.key == judge("nonsense").environment.key


def test_the_full_tier_times_every_timed_case(judge):
    # As large as the first: calls of a microsecond cannot be timed where much else runs.
    second = Case(name="second", axes={"M": 512, "N": 512})
    two = SOFTMAX.model_copy(update={"cases": (*SOFTMAX.cases, second)})
    evaluation = judge(PLAIN, workload=two, tier=Tier.FULL)
    assert evaluation.status == "PASSED", evaluation.message
    assert [case.case for case in evaluation.cases] == ["main", "second"]
    assert evaluation.cases[0].samples >= 5


def test_it_does_not_compile(judge):
    evaluation = judge("int run( { return 0; }")
    assert evaluation.status == "COMPILE_ERROR"
    assert "error" in evaluation.message
    assert "/tmp/" not in evaluation.log
    assert evaluation.stages[-1].stage == EvaluationStage.BUILD
    assert evaluation.charged


def test_an_entry_point_is_missing(judge):
    evaluation = judge('extern "C" int other() { return 0; }')
    assert evaluation.status == "COMPILE_ERROR"


def test_it_crashes(judge):
    assert judge(body("__builtin_trap();")).status == "CRASH"
    assert judge(body("*(volatile int*)16 = 1; return 0;")).status == "ILLEGAL_ACCESS"


def test_it_throws(judge):
    evaluation = judge(body('throw std::runtime_error("no");', "#include <stdexcept>"))
    assert evaluation.status == "RUNTIME_ERROR"
    assert "no" in evaluation.log


def test_it_hangs_and_the_worker_goes_on(judge):
    start = time.monotonic()
    assert judge(body("for (;;) {}"), deadline_s=3.0).status == "HANG"
    assert time.monotonic() - start < 10
    assert judge(PLAIN).status == "PASSED"


def test_python_hangs_while_it_is_imported(judge):
    source = "while True:\n    pass\n"
    assert judge(source, Language.PYTORCH, deadline_s=3.0).status == "HANG"


def test_a_compiler_that_takes_for_ever_is_stopped(judge):
    source = "template<int N> struct F { static constexpr int v = F<N-1>::v + F<N-2>::v; };\n"
    source = "#define A(x) x x x x x x x x x x x x x x x x\nint v[] = { A(A(A(A(A(A(1,)))))) };\n" + source
    evaluation = judge(source, deadline_s=2.0)
    assert evaluation.status == "COMPILE_ERROR"


def test_a_gigabyte_of_output_hurts_nobody(judge):
    text = """static bool said = false;
    """
    flood = (
        "static char block[1 << 20]; for (char& c : block) c = 'x';"
        "if (!said) for (int i = 0; i < 1024; ++i) fwrite(block, 1, sizeof block, stdout);"
        "said = true; fflush(stdout); ((float*)buffers[1])[0] = 0; return 0;"
    )
    evaluation = judge(body(flood, text))
    assert evaluation.status == "INCORRECT_NUMERICAL"
    assert len(evaluation.log) <= 4000
    assert "left out" not in evaluation.message


def test_control_characters_of_a_log_are_gone(judge):
    evaluation = judge(body(r'fputs("\x1b[2J\x07 seen \xff\n", stderr); return 3;'))
    assert "seen" in evaluation.log
    assert "\x1b" not in evaluation.log
    assert "\x07" not in evaluation.log


def test_what_a_hidden_case_prints_stays_hidden(judge):
    tell = 'printf("shape %d %d\\n", (int)axes[0], (int)axes[1]); fflush(stdout);'
    work = PLAIN.split("extern")[0]
    source = (
        f'{work}#include <cstdio>\nextern "C" int run(void** buffers, const int64_t* axes, void*) {{ {tell}'
    )
    source += "softmax((float*)buffers[0], (float*)buffers[1], axes[0], axes[1]); return axes[0] == 7; }\n"
    evaluation = judge(source)
    assert evaluation.status == "RUNTIME_ERROR"
    assert not re.search(r"(?<![\d.])129(?!\d)", evaluation.model_dump_json())
    assert evaluation.log == ""


def test_a_wrong_hidden_case_does_not_tell_its_size(judge):
    work = PLAIN.split("extern")[0]
    source = f'{work}\nextern "C" int run(void** buffers, const int64_t* axes, void*) {{'
    source += (
        "if (axes[0] != 7) softmax((float*)buffers[0], (float*)buffers[1], axes[0], axes[1]); return 0; }\n"
    )
    evaluation = judge(source)
    assert evaluation.status == "INCORRECT_NUMERICAL"
    assert evaluation.message == "`y` is wrong in a hidden case"


def test_knobs_reach_the_compiler(judge):
    source = '// KNOBS {"WIDTH": 1}\n' + PLAIN.replace(
        "softmax(x, y, M, N);", "softmax(x, y, M, N); if (WIDTH != 8) return 5;"
    )
    assert judge(source).status == "RUNTIME_ERROR"
    assert judge(source, knobs={"WIDTH": 8}).status == "PASSED"


def test_a_knob_that_is_not_there_is_named(judge):
    evaluation = judge(PLAIN, knobs={"WIDTH": 8})
    assert evaluation.status == "COMPILE_ERROR"
    assert "WIDTH" in evaluation.message
    assert not evaluation.charged


@pytest.mark.parametrize("hidden", ["\x00", "\u202e", "\x1b"])
def test_hidden_characters_are_refused(judge, hidden):
    evaluation = judge(PLAIN + f"// {hidden}\n")
    assert evaluation.status == "COMPILE_ERROR"
    assert "control character" in evaluation.message


def test_a_source_that_is_too_long_is_refused(judge):
    assert judge(PLAIN + "//" + "x" * 300_000).status == "COMPILE_ERROR"


def test_torch_is_refused_where_the_workload_forbids_it(judge):
    strict = SOFTMAX.model_copy(update={"policy": Policy(torch_ops=False)})
    evaluation = judge("def run(x, y):\n    pass\n", Language.PYTORCH, workload=strict)
    assert evaluation.status == "CONTRACT_VIOLATION"


def test_a_broken_contract_is_named(judge):
    clause = Clause(kind=ClauseKind.KERNELS, value=["one", "two", "three"])
    tensors = {"inputs": {"x": ("M", "N")}, "outputs": {"y": ("M", "N")}}
    signature = Signature(axes=("M", "N"), dtypes={"x": "float32", "y": "float32"}, **tensors)
    contract = Contract(structure="0" * 16, clauses=(clause,), signature=signature)
    evaluation = judge(requests.sample().sources[0].content, contract=contract)
    assert evaluation.status == "CONTRACT_VIOLATION"
    assert evaluation.verdicts[0].verdict == "violated"
    assert evaluation.stages[-1].stage == EvaluationStage.STATIC


def test_python_that_does_not_parse(judge):
    evaluation = judge("def run(:\n", Language.PYTORCH)
    assert evaluation.status == "COMPILE_ERROR"
    assert "line 1" in evaluation.message


def test_python_nested_beyond_reason(judge):
    evaluation = judge("x = " + "(" * 5000 + ")" * 5000 + "\n", Language.PYTORCH)
    assert evaluation.status == "COMPILE_ERROR"


@pytest.mark.parametrize(
    ("reference", "word"),
    [
        ("def run(x):\n    raise ValueError('no')\n", "raised"),
        ("def run(x):\n    return x[0]\n", "shape"),
        ("import os\ndef run(x):\n    os._exit(0)\n", "left"),
        ("def run(x:\n", "loaded"),
        ("import torch\ndef run(x):\n    return x.float() + torch.rand(1)\n", "wrong"),
    ],
)
def test_a_bad_reference_is_the_workloads_fault(judge, reference, word):
    broken = SOFTMAX.model_copy(update={"reference": reference})
    evaluation = judge(PLAIN, workload=broken)
    assert evaluation.status == "INVALID_REFERENCE"
    assert word in evaluation.message


def test_a_workload_that_fits_no_memory_is_refused(judge):
    huge = SOFTMAX.cases[0].model_copy(update={"axes": {"M": 1 << 20, "N": 1 << 20}})
    evaluation = judge(PLAIN, workload=SOFTMAX.model_copy(update={"cases": (huge,)}))
    assert evaluation.status == "INVALID_REFERENCE"


def test_integers_must_be_equal(judge):
    integers = SOFTMAX.model_copy(
        update={
            "inputs": {"x": Tensor(shape=("M", "N"), dtype=DType.INT32)},
            "outputs": {"y": Tensor(shape=("M", "N"), dtype=DType.INT32)},
            "reference": "def run(x):\n    return x * 3\n",
        }
    )
    text = "const int* x = (int*)buffers[0]; int* y = (int*)buffers[1];"
    text += "for (int64_t i = 0; i < axes[0] * axes[1]; ++i) y[i] = x[i] * 3 {};"
    right = judge(body(text.format("") + "return 0;"), workload=integers)
    assert right.status == "PASSED", right.message
    off = judge(body(text.format("+ (i == 5)") + "return 0;"), workload=integers)
    assert off.status == "INCORRECT_NUMERICAL"


def test_half_precision_and_scalars(judge):
    halves = SOFTMAX.model_copy(
        update={
            "inputs": {
                "x": Tensor(shape=("M", "N"), dtype=DType.BFLOAT16),
                "factor": Tensor(shape=None, dtype=DType.FLOAT32),
            },
            "outputs": {"y": Tensor(shape=("M", "N"), dtype=DType.BFLOAT16)},
            "reference": "def run(x, factor):\n    return x * factor\n",
            "tolerance": Tolerance(scale=2.0, relative=1e-2, frobenius=1e-2),
        }
    )
    source = "def run(x, factor, y):\n    assert isinstance(factor, float)\n    y.copy_(x * factor)\n"
    evaluation = judge(source, Language.PYTORCH, workload=halves)
    assert evaluation.status == "PASSED", evaluation.message + evaluation.log


def test_triton_is_interpreted_and_not_timed(judge):
    source = """import triton
import triton.language as tl


@triton.jit
def kernel(X, Y, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    x = tl.load(X + row * N + columns, mask=columns < N, other=-float("inf"))
    x = tl.exp(x - tl.max(x, 0))
    tl.store(Y + row * N + columns, x / tl.sum(x, 0), mask=columns < N)


def run(x, y):
    kernel[(x.shape[0],)](x, y, x.shape[1], BLOCK=triton.next_power_of_2(x.shape[1]))
"""
    pytest.importorskip("triton")
    evaluation = judge(source, Language.TRITON)
    assert evaluation.status == "UNTIMED", evaluation.message + evaluation.log
    assert evaluation.median_us is None
    wrong = judge(source.replace("tl.sum(x, 0)", "tl.sum(x, 0) + 1"), Language.TRITON)
    assert wrong.status == "INCORRECT_NUMERICAL"


def test_a_batch_of_knob_variants_is_judged_one_by_one(runner):
    source = '// KNOBS {"RIGHT": 1}\n' + PLAIN.replace("return 0;", "return RIGHT ? 0 : 1;")
    batch = [request_for(source, knobs={"RIGHT": right}) for right in (1, 0, 1)]
    statuses = [evaluation.status for evaluation in runner.evaluate(batch, lambda: None)]
    assert statuses[1] == "RUNTIME_ERROR"
    assert {statuses[0], statuses[2]} <= {"PASSED", "UNSTABLE_TIMING"}
