"""Named baselines are timed on the device: compiled references and library calls, in turns with eager torch."""

from __future__ import annotations

import pytest

from search.workload import Workload, shipped_workload
from tests.gpu.gpu_bench import SOFTMAX, Bench

torch = pytest.importorskip("torch")
pytest.importorskip("triton")
pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
]


@pytest.fixture(scope="module")
def bench():
    with Bench() as opened:
        yield opened


def test_eager_torch_is_as_fast_as_itself(bench):
    found = bench.baselines(SOFTMAX, ["eager"])["eager"]
    assert "cases" in found, found
    assert found["cases"]["main"]["speedup"]["value"] == pytest.approx(1.0, abs=0.05)


@pytest.mark.parametrize("slug", ["rmsnorm_bf16", "add_rmsnorm", "softmax_fp16"])
def test_a_compiled_reference_is_timed(bench, slug):
    workload: Workload = shipped_workload(slug)
    found = bench.baselines(workload, ["eager", "compile", "library"])
    for name, one in found.items():
        for case, timing in one.get("cases", {}).items():
            print(f"{slug}, {name}, {case}: {timing['median_us']:.2f} us")
    assert "cases" in found["compile"], found["compile"]
    # A norm in eager torch is several kernels, which the compiler makes one of.
    for timing in found["compile"]["cases"].values():
        assert timing["speedup"]["high"] > (1.2 if "rmsnorm" in slug else 0.5)
