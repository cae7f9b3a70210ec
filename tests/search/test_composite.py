"""Work of no known kind has structures too: how many kernels, how sums are made, whether a library helps."""

from __future__ import annotations

import pytest
from library_workloads import FREE, workload

from search.contract import check
from search.cost import prior, structure_cost
from search.devices import device_model
from search.library import compose, shipped_library, structures, traits
from search.records import Candidate, Language, SourceFile, Verdict
from search.workload import shipped_workload

LIBRARY = shipped_library()
TRIMUL = shipped_workload("trimul")
FREE_SORT = workload("sort", {"x": "MN float16"}, {"y": "MN float16"}, [{"M": 8, "N": 64}], policy=FREE)

KERNEL = """// KNOBS {{"TASK": 1, "UNROLL": 1}}
#include <cstdint>
static void {first}(const float* x, float* y, int64_t n) {{
#pragma omp parallel for
  for (int64_t i = 0; i < n; i++) y[i] = x[i];
}}
{rest}
extern "C" int run(void** buffers, const int64_t* axes, void*) {{
  const float* x = static_cast<const float*>(buffers[0]);
  float* y = static_cast<float*>(buffers[1]);
  {first}(x, y, axes[0]);
  {call}
  return 0;
}}
"""
SECOND = """static void second(float* y, int64_t n) {
#pragma omp parallel for
  for (int64_t i = 0; i < n; i++) y[i] *= 2.0f;
}"""
ONE = KERNEL.format(first="whole", rest="", call="")
TWO = KERNEL.format(first="first", rest=SECOND, call="second(y, axes[0]);")


def composed(*actions, of=TRIMUL, language=Language.CPP):
    return compose(of, LIBRARY, actions, language)


def verdicts(source, *actions):
    candidate = Candidate(language=Language.CPP, sources=(SourceFile(path="kernel.cpp", content=source),))
    return {
        verdict.clause.kind.value: verdict.verdict
        for verdict in check(composed(*actions).contract, candidate)
    }


def test_what_no_kind_describes_is_composite():
    assert traits(TRIMUL) == {"composite"}
    assert traits(FREE_SORT) == {"composite", "low_precision", "library_allowed", "unordered_sums"}
    assert "composite" not in traits(shipped_workload("softmax"))


@pytest.mark.parametrize(("of", "count"), [(TRIMUL, 6), (FREE_SORT, 12)], ids=["closed", "free"])
@pytest.mark.parametrize("language", [Language.CPP, Language.TRITON, Language.CUDA])
def test_every_combination_is_a_structure(of, count, language):
    found = list(structures(of, LIBRARY, language))
    assert len({each.fingerprint for each in found}) == len(found) == count
    assert all(each.knobs for each in found)


def test_the_direct_implementation_may_launch_what_it_likes():
    assert composed().kernels == ()
    assert verdicts(TWO)["no_torch_compute"] is Verdict.PASS
    assert "kernels" not in verdicts(TWO)


@pytest.mark.parametrize(
    ("source", "action", "expected"),
    [
        (ONE, "one_launch", Verdict.PASS),
        (TWO, "one_launch", Verdict.VIOLATED),
        (TWO, "two_launches", Verdict.PASS),
        (ONE, "two_launches", Verdict.VIOLATED),
    ],
)
def test_the_number_of_kernels_is_held_to(source, action, expected):
    assert verdicts(source, action)["kernels"] is expected


def test_ordered_sums_allow_no_atomics():
    racing = ONE.replace("y[i] = x[i];", "{\n#pragma omp atomic\n y[0] += x[i]; }")
    assert verdicts(racing, "ordered_sums")["atomics"] is Verdict.VIOLATED
    assert verdicts(ONE, "ordered_sums")["atomics"] is Verdict.PASS


def test_library_products_are_offered_only_where_the_policy_allows_them():
    free = composed("library_products", of=FREE_SORT)
    assert "no_torch_compute" not in {clause.kind.value for clause in free.clauses}
    with pytest.raises(ValueError, match="library_products"):
        composed("library_products")


def test_open_kernels_have_no_price():
    case, device = TRIMUL.cases[0], device_model("h200")
    with pytest.raises(ValueError, match="not known"):
        structure_cost(composed(), TRIMUL, case, device)
    assert structure_cost(composed("one_launch"), TRIMUL, case, device).floor_us > 0
    with pytest.raises(ValueError, match="not known"):
        prior(composed("one_launch"), TRIMUL, case, device)
