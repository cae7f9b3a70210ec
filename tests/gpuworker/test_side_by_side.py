"""Checks of replayed candidates, whose calls of a case go side by side; the replay here is a function of ours."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch
from conftest import SOFTMAX as LARGE

from gpuworker import correctness, layout
from gpuworker.compare import expect_all
from gpuworker.contender import Patience
from gpuworker.devices.cpu import CpuArena
from gpuworker.inputs import Flavour, draw, secret_generator
from gpuworker.specimen import Specimen
from gpuworker.verdicts import RejectedError
from search.workload import Case, Policy

SOFTMAX = LARGE.model_copy(update={"cases": (Case(name="main", axes={"M": 8, "N": 64}), *LARGE.cases[1:])})
FLAVOURS = [Flavour.DECLARED] * 3 + [Flavour.LARGE, Flavour.TINY]
PATIENCE = Patience(1e9, 10.0)


def specimen(case, flavour):
    values = draw(SOFTMAX, case, flavour, secret_generator())
    golden = torch.softmax(values[0].double(), -1)
    return Specimen(case.name, case.hidden, flavour, values, expect_all(SOFTMAX, case, values, [golden]))


class Replay:
    """Runs a function on the slots of a pass, and remembers the passes."""

    may_write_inputs = False
    waited_s = 1e-3

    def __init__(self, slots, kernel=lambda x, call: torch.softmax(x, -1)):
        self.layout = layout.plan(SOFTMAX, {case.name: slots for case in SOFTMAX.cases})
        self.arena = CpuArena(self.layout, sealed=True)
        self.passes, self._kernel, self._calls = [], kernel, 0

    def run(self, order, patience):
        self.passes.append(list(order))
        for slot in order:
            inputs, outputs = self.arena._views[slot]
            self._calls += 1
            outputs[0].copy_(self._kernel(inputs[0], self._calls))
        return self.waited_s

    def log(self):
        return ""


def check(replay, policy=SOFTMAX.policy):
    workload = SOFTMAX.model_copy(update={"policy": policy})
    checks = {case.name: [specimen(case, flavour) for flavour in FLAVOURS] for case in SOFTMAX.cases}
    entry = SimpleNamespace(
        stick=SimpleNamespace(workload=workload, checks=checks),
        patience=PATIENCE,
        is_replayed=True,
        interpreted=False,
    )
    return correctness.check(replay, entry, hidden=False)


@pytest.mark.parametrize(("slots", "sizes"), [(10, [1, 5]), (3, [1, 2, 3]), (2, [1, 2, 1, 2])])
def test_every_specimen_is_called_and_the_last_one_twice(slots, sizes):
    replay = Replay(slots)
    assert check(replay) == 2 * (len(FLAVOURS) + 1)
    assert [len(order) for order in replay.passes] == 2 * sizes
    assert all(order[0] == replay.passes[0][0] for order in replay.passes[: len(sizes)]), "the same pointers"


def test_slow_calls_go_in_smaller_passes():
    replay = Replay(10)
    replay.waited_s = 1.0
    check(replay)
    assert max(map(len, replay.passes)) == 2


def test_one_wrong_call_among_many_is_named():
    replay = Replay(10, lambda x, call: torch.softmax(x, -1) * (1.01 if call == 4 else 1.0))
    with pytest.raises(RejectedError, match=r"values declared|values large") as refused:
        check(replay)
    assert refused.value.status == "INCORRECT_NUMERICAL"


def test_two_calls_on_the_same_values_must_agree_to_the_bit():
    def drifting(x, call):
        return torch.softmax(x, -1) * (1.0 + call * 1e-6)

    with pytest.raises(RejectedError, match="differ between two calls") as refused:
        check(Replay(10, drifting))
    assert refused.value.status == "NONDETERMINISTIC"
    assert check(Replay(10, drifting), Policy(deterministic=False)) == 2 * len(FLAVOURS)


def test_a_call_that_is_left_out_is_seen():
    class Lazy(Replay):
        def run(self, order, patience):
            return super().run(order[:-1] if len(order) > 1 else order, patience)

    with pytest.raises(RejectedError):
        check(Lazy(10))


def test_work_for_a_slot_that_was_not_asked_for_is_seen():
    class Eager(Replay):
        def run(self, order, patience):
            return super().run([*range(len(self.layout.slots))], patience)

    with pytest.raises(RejectedError, match="a call that was not made"):
        check(Eager(10))
