"""A replayed candidate through smoke, correctness and timing, with a replay that runs in this process by a made-up clock."""

from __future__ import annotations

import contextlib
import dataclasses
from types import SimpleNamespace

import pytest
import torch
from conftest import SOFTMAX as LARGE
from conftest import request_for

from gpuworker import entry as entries
from gpuworker import evaluate, layout, yardstick
from gpuworker.built import Built
from gpuworker.compare import expect_all
from gpuworker.contender import Patience
from gpuworker.court import Court
from gpuworker.cuda.plan import CasePlan, Kernel, Launch, LaunchPlan
from gpuworker.devices.cpu import CpuArena
from gpuworker.devices.device import Bandwidth, Ceiling, DeviceBudget, DeviceFacts
from gpuworker.entry import Entry
from gpuworker.inputs import Flavour, draw, secret_generator
from gpuworker.report import Report
from gpuworker.specimen import Specimen
from gpuworker.verdicts import RejectedError, UnrehearsedError
from search.records import Language, Tier
from search.workload import Case

SOFTMAX = LARGE.model_copy(update={"cases": (Case(name="main", axes={"M": 8, "N": 64}), *LARGE.cases[1:])})
CALL_S, PASS_S = {"candidate": 50e-6, "baseline": 200e-6}, 30e-6
MAIN = SOFTMAX.cases[0]
PLAN = LaunchPlan(
    kernels=(Kernel(name="softmax", cubin="AAAA", threads=128, shared_bytes=0),),
    cases=(CasePlan(case="main", steps=(Launch(kernel=0, grid=(1, 1, 1), arguments=()),)),),
)
BUDGET = DeviceBudget(
    slot_bytes=32 << 10,
    least_slots=2,
    most_slots=8,
    pass_s=1e-3,
    pairs=10,
    case_bytes=1 << 30,
    specimen_bytes=256 << 20,
    oracle_bytes=1 << 20,
)
FACTS = DeviceFacts(
    device_class="h200",
    name="here cuda:0",
    model="NVIDIA H200",
    driver="580",
    runtime="torch",
    sandbox="sandboxed",
    cores="12,13",
    cache_bytes=1 << 20,
)


def right(x):
    return torch.softmax(x, -1)


class Replay:
    """The judge's end of a replay whose kernel is a function."""

    is_trusted, may_write_inputs, waited_s = True, False, 1e-3
    kernel = staticmethod(right)
    who = "candidate"

    def __init__(self, block, device, plan, role, arena=None):
        self.layout, self.arena = plan, arena or device.arena(plan)
        self.orders, self.closed = [], False

    def load(self, program, files, patience):
        assert program.adapter == "replay"

    def run(self, order, patience):
        self.orders.append(list(order))
        for slot in order:
            inputs, outputs = self.arena._views[slot]
            outputs[0].copy_(self.kernel(inputs[0]))
        return PASS_S + CALL_S[self.who] * len(order)

    def census(self):
        return 1

    def silence(self):
        return

    def log(self):
        return ""

    def retire(self, block):
        return self.arena

    def close(self):
        self.closed = True
        self.arena.close()


class Wrong(Replay):
    kernel = staticmethod(lambda x: 1.01 * right(x))


class Baseline(Replay):
    who = "baseline"


@pytest.fixture
def device():
    made = []

    def arena(plan, *, sealed=True):
        made.append(CpuArena(plan, sealed=sealed))
        return made[-1]

    return SimpleNamespace(
        index=0,
        arenas=made,
        arena=arena,
        budget=BUDGET,
        facts=FACTS,
        gauge=None,
        contender_cores=(0,),
        judge_cores=(0,),
        lease=lambda wait_s: contextlib.nullcontext(),
        ceiling=lambda: Ceiling((Bandwidth(0, 1e15, 1e15),), duplex=False),
    )


def specimen(case, flavour=Flavour.DECLARED):
    values = draw(SOFTMAX, case, flavour, secret_generator())
    return Specimen(
        case.name,
        case.hidden,
        flavour,
        values,
        expect_all(SOFTMAX, case, values, [right(values[0].double())]),
    )


@pytest.fixture
def court(device, tmp_path):
    block = SimpleNamespace(hushed_times=0)

    def hushed(*, patient):
        assert not patient
        block.hushed_times += 1
        return contextlib.nullcontext()

    block.hushed = hushed
    return Court(block, device, None, tmp_path, interpret=False)


@pytest.fixture
def stick(device):
    plan = layout.plan(SOFTMAX, yardstick.slot_counts(SOFTMAX, BUDGET, ["main"]))
    checks = {case.name: [specimen(case) for _ in range(4)] for case in SOFTMAX.cases}
    made = yardstick.Yardstick(
        SOFTMAX, BUDGET, Baseline(None, device, plan, None), PASS_S, checks, {"main": 2e-4}
    )
    made.timed["main"] = [specimen(MAIN) for _ in range(96)]
    device.arenas.clear()
    return made


def judged(court, stick, kind, monkeypatch):
    monkeypatch.setattr(entries, "Replayer", kind)
    request = request_for("# kernel", Language.TRITON)
    report = Report(request, FACTS)
    built = Built(plans={False: PLAN, True: PLAN})
    entry = Entry(request.candidate, built, stick, court, Patience(1e9, 10.0), ("main",))
    evaluate._on_device(entry, [MAIN], Tier.FAST, report)
    return report.evaluation()


def test_a_replay_is_checked_and_timed_by_its_own_clock(court, stick, monkeypatch):
    found = judged(court, stick, Replay, monkeypatch)
    assert found.status == "PASSED"
    assert found.median_us == pytest.approx(50.0, rel=0.01)
    assert found.speedup.value == pytest.approx(4.0, rel=0.01)
    assert [stage.stage for stage in found.stages] == ["smoke", "correctness", "integrity", "timing"]
    assert found.stages[0].details["start_seconds"] >= 0
    assert court.block.hushed_times == 1


def test_the_next_variant_gets_the_buffers_of_one_that_passed(court, stick, device, monkeypatch):
    for _ in range(3):
        assert judged(court, stick, Replay, monkeypatch).status == "PASSED"
    assert len(device.arenas) == 1


def test_buffers_of_a_wrong_one_are_given_back(court, stick, device, monkeypatch):
    judged(court, stick, Replay, monkeypatch)
    with pytest.raises(RejectedError) as refused:
        judged(court, stick, Wrong, monkeypatch)
    assert refused.value.status == "INCORRECT_NUMERICAL"
    assert judged(court, stick, Replay, monkeypatch).status == "PASSED"
    assert len(device.arenas) == 2


def test_a_warm_baseline_is_not_warmed_up_again(court, stick, monkeypatch):
    passes = []
    for _ in range(2):
        before = len(stick.baseline.orders)
        judged(court, stick, Replay, monkeypatch)
        passes.append(len(stick.baseline.orders) - before)
    assert passes[1] < passes[0]


def test_host_code_that_meets_rarer_values_is_rehearsed_on_them_and_judged_on_new_ones(
    court, stick, device, monkeypatch
):
    met, judged_by = [], []

    def check(entry, cases, tier, report):
        judged_by.append((entry.stick, entry.built.caches[False]))
        if len(judged_by) == 1:
            raise UnrehearsedError("")

    def rehearse(court, program, workload, deadline, *, hidden, known):
        met.append((hidden, known))
        return b"both"

    fresh = dataclasses.replace(stick, checks={})
    monkeypatch.setattr(evaluate, "_check_and_time", check)
    monkeypatch.setattr(evaluate.rehearsal, "rehearse", rehearse)
    monkeypatch.setattr(court, "yardstick", lambda workload, cases: fresh)
    request = request_for("# kernel", Language.TRITON)
    built = Built(caches={False: b"one", True: b"one"})
    entry = Entry(request.candidate, built, stick, court, Patience(1e9, 10.0), ("main",))
    evaluate._on_device(entry, [MAIN], Tier.FAST, Report(request, FACTS))
    assert judged_by == [(stick, b"one"), (fresh, b"both")]
    assert [hidden for hidden, _ in met] == [False, True]
    assert met[0][1]["main"] == [one.inputs for one in stick.checks["main"]]


def test_host_code_that_always_finds_another_value_is_refused(court, stick, monkeypatch):
    def check(*_):
        raise UnrehearsedError("its log")

    monkeypatch.setattr(evaluate, "_check_and_time", check)
    monkeypatch.setattr(evaluate.rehearsal, "rehearse", lambda *_, **__: b"")
    monkeypatch.setattr(court, "yardstick", lambda workload, cases: stick)
    request = request_for("# kernel", Language.TRITON)
    entry = Entry(request.candidate, Built(caches={False: b""}), stick, court, Patience(1e9, 10.0))
    with pytest.raises(RejectedError, match="its rehearsal did not meet"):
        evaluate._on_device(entry, [MAIN], Tier.FAST, Report(request, FACTS))
