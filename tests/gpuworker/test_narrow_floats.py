"""Inputs and outputs of eight bits go through the judge like any float; of four bits they are refused by name."""

from __future__ import annotations

import pytest
from conftest import SOFTMAX

from gpuworker.inputs import admit
from gpuworker.verdicts import RejectedError
from search.records import Language
from search.workload import DType, Policy, Tensor, Tolerance

SHAPE = ("M", "N")


def halves(dtype):
    """x / 2 from eight bits to eight bits, and the sums of its rows."""
    return SOFTMAX.model_copy(
        update={
            "name": "narrow_halves",
            "inputs": {"x": Tensor(shape=SHAPE, dtype=dtype)},
            "outputs": {
                "y": Tensor(shape=SHAPE, dtype=dtype),
                "sums": Tensor(shape=("M",), dtype=DType.FLOAT32, tolerance=Tolerance(relative=1e-4)),
            },
            "reference": f"""import torch


def run(x):
    wide = x.to(torch.promote_types(x.dtype, torch.float32) if x.dtype == torch.float64 else torch.float32)
    half = wide / 2
    return (half if x.dtype == torch.float64 else half.to(torch.{dtype})), half.sum(-1)
""",
            "tolerance": Tolerance(scale=1.0, relative=0.3, frobenius=0.3),
            "policy": Policy(torch_ops=True),
        }
    )


CANDIDATE = """import torch


def run(x, y, sums):
    half = x.float() / {by}
    y.copy_(half.to(y.dtype))
    sums.copy_(half.sum(-1))
"""


@pytest.mark.parametrize("dtype", [DType.FLOAT8_E4M3FN, DType.FLOAT8_E5M2])
def test_eight_bits_are_drawn_compared_and_timed(judge, dtype):
    good = judge(CANDIDATE.format(by=2), Language.PYTORCH, workload=halves(dtype))
    assert good.status in {"PASSED", "UNSTABLE_TIMING", "TIMING_MISMATCH"}, good.message + good.log
    bad = judge(CANDIDATE.format(by=3), Language.PYTORCH, workload=halves(dtype))
    assert bad.status == "INCORRECT_NUMERICAL", bad.message


def test_four_bits_are_refused():
    with pytest.raises(RejectedError, match="cannot draw or compare float4_e2m1fn_x2 yet"):
        admit(halves(DType.FLOAT4_E2M1FN_X2))
