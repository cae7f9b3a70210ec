"""A worker without a sandbox: what strangers wrote is neither compiled nor run by it."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from conftest import SOFTMAX, request_for

from gpuworker import evaluate, judge, requests
from gpuworker.devices.device import DeviceFacts
from gpuworker.sandbox import Mode
from search.records import EvaluationRequest, Tier

FACTS = DeviceFacts(
    device_class="cpu",
    name="here",
    model="a processor",
    driver="linux",
    runtime="torch",
    sandbox="unsandboxed",
    cores="1",
    cache_bytes=1,
)


class Started(Exception):
    """The judge went on to work."""


def court(mode):
    def work(*_, **__):
        raise Started

    block = SimpleNamespace(mode=mode, spare=work)
    device = SimpleNamespace(facts=FACTS, index=-1)
    ahead = SimpleNamespace(start=lambda jobs: work() if jobs else None)
    return SimpleNamespace(block=block, device=device, ahead=ahead, forget=lambda _: None)


@pytest.fixture
def started(monkeypatch):
    """What the judge began to work on."""
    seen = []
    monkeypatch.setattr(evaluate, "_walk", lambda request, *_: seen.append(request.id))
    return seen


def test_it_refuses_the_programs_of_strangers(started):
    answer = evaluate.evaluate(request_for("a program"), court(Mode.UNSANDBOXED))
    assert answer.status == "INFRA_ERROR"  # no fault of the program's, and nothing to be charged
    assert "no sandbox" in answer.message
    assert not started


@pytest.mark.parametrize(
    ("mode", "needs_walls"), [(Mode.UNSANDBOXED, False), (Mode.SANDBOXED, True), (Mode.USER_NAMESPACE, True)]
)
def test_shipped_programs_and_walled_workers_go_on(started, mode, needs_walls):
    evaluate.evaluate(request_for("a program", needs_walls=needs_walls), court(mode))
    assert started == ["1"]


def test_a_batch_of_strangers_is_not_even_built():
    evaluate.prepare([request_for("a program")], court(Mode.UNSANDBOXED))


def test_references_of_strangers_are_not_tried():
    document = {"trial": SOFTMAX.dump(), "case": "main", "patience_s": 1.0}
    answer = judge._answer(document, court(Mode.UNSANDBOXED))
    assert answer["event"] == "refused"
    assert "sandbox" in answer["message"]


def test_an_asker_that_says_nothing_asks_for_walls():
    document = request_for("a program").dump()
    del document["needs_walls"]
    assert EvaluationRequest.load(document).needs_walls
    own = requests.make(SOFTMAX, requests.sample(), Tier.FAST, 10.0)
    assert not own.needs_walls  # a file of whoever typed the command
