"""The shipped GPU workloads on the CPU device, by their small cases: a right program passes, a wrong one does not."""

from __future__ import annotations

import pytest
from workload_candidates import PROGRAMS

from search.records import Language
from search.workload import shipped_workload, shipped_workloads


def small(slug):
    """The untimed cases, in which torch may be used."""
    workload = shipped_workload(slug)
    cases = tuple(case for case in workload.cases if not case.timed and case.name != "square")
    policy = workload.policy.model_copy(update={"torch_ops": True})
    return workload.model_copy(update={"cases": cases, "policy": policy})


def test_every_gpu_sized_workload_has_a_program_here():
    assert {slug for slug, one in shipped_workloads().items() if "gpu_sized" in one.tags} == set(PROGRAMS)


@pytest.mark.parametrize("slug", PROGRAMS)
def test_a_right_program_passes_and_a_wrong_one_does_not(judge, slug):
    workload = small(slug)
    right = judge(PROGRAMS[slug].source, Language.PYTORCH, workload=workload)
    assert right.status == "UNTIMED", f"{right.message}\n{right.log}"
    wrong = judge(PROGRAMS[slug].broken, Language.PYTORCH, workload=workload)
    assert wrong.status in {"INCORRECT_NUMERICAL", "NONFINITE"}, f"{wrong.message}\n{wrong.log}"
