"""Workloads that came in from other formats: the judge can draw them, run their reference, and notices wrong programs."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from gpuworker.mutants import command

sys.path.append(str(Path(__file__).parents[1] / "search" / "formats"))
from format_fixtures import all_items

ITEMS = [(form, workload) for form, workloads in all_items().items() for workload in workloads]
FEW = {"gqa_paged_decode_h8_kv2_d64_ps1", "ragged_gather_d128"}
"""Recorded indices with an empty batch; custom inputs with computed axes."""
MOST_BYTES = 1 << 22


def score(runner, workload):
    (found,) = command.run(runner, [workload], MOST_BYTES)
    assert found.cases
    assert found.killed > 0
    return found


@pytest.mark.parametrize("workload", [one for _, one in ITEMS if one.name in FEW], ids=lambda one: one.name)
def test_a_few_are_tested(runner, workload):
    """Wrong programs that would pass are few, and none of them is trivial."""
    found = score(runner, workload)
    assert found.killed >= 0.8 * found.applied


@pytest.mark.exhaustive
@pytest.mark.parametrize(("form", "workload"), ITEMS, ids=[f"{form}-{one.name}" for form, one in ITEMS])
def test_every_one_is_tested(runner, form, workload):
    score(runner, workload)
