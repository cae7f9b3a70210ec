"""Batches: what is built first is judged first, a slow build stalls nobody, answers find their requests."""

from __future__ import annotations

import threading
import time

import pytest
from conftest import request_for

from gpuworker.ahead import Ahead
from gpuworker.options import Options
from gpuworker.runner import Runner
from search.records import Environment, Evaluation, EvaluationStatus, Purpose, Tier

KEYS = [("build", str(number)) for number in range(4)]


@pytest.fixture
def ahead():
    return Ahead(4, beside=True)


def test_what_is_done_first_is_first(ahead):
    gates = [threading.Event() for _ in KEYS]
    ahead.start([(key, gate.wait) for key, gate in zip(KEYS, gates, strict=True)])
    gates[2].set()
    assert ahead.first(KEYS) == 2
    assert ahead.take(KEYS[2], lambda: None) is True
    left = [KEYS[0], KEYS[1], KEYS[3]]
    gates[3].set()
    assert ahead.first(left) == 2
    gates[0].set()
    ahead._done[KEYS[0]].result()
    assert ahead.first(left) == 0, "the first in line among those that are done"
    gates[1].set()


def test_what_was_never_announced_is_not_waited_for(ahead):
    gate = threading.Event()
    ahead.start([(KEYS[0], gate.wait)])
    assert ahead.first([KEYS[0], ("build", "another")]) == 1
    gate.set()


def test_a_failed_build_is_done_too(ahead):
    def fails():
        raise ValueError("no")

    gate = threading.Event()
    ahead.start([(KEYS[0], gate.wait), (KEYS[1], fails)])
    assert ahead.first(KEYS[:2]) == 1
    with pytest.raises(ValueError, match="no"):
        ahead.take(KEYS[1], lambda: None)
    gate.set()


# The runner ---------------------------------------------------------------------------------------


class FakeRunner(Runner):
    """A runner whose judge is a list of who is built first."""

    def __init__(self, tmp_path, order):
        super().__init__(Options(state=str(tmp_path)))
        self._order, self.seen = list(order), []

    def _announce(self, requests):
        return

    def _next(self, requests, waiting, alive):
        return waiting.index(self._order.pop(0))

    def _one(self, request, alive):
        self.seen.append(request.id)
        return Evaluation(
            status=EvaluationStatus.UNTIMED,
            tier=Tier.FAST,
            purpose=Purpose.SEARCH,
            candidate=request.candidate.hash,
            environment=Environment(device_class="cpu", device="a processor", workload="0" * 64),
        )


def requests(count):
    return [request_for(f"// {number}").model_copy(update={"id": str(number)}) for number in range(count)]


def test_answers_come_as_they_are_ready_with_their_places(tmp_path):
    batch = requests(4)
    found = list(FakeRunner(tmp_path, [2, 0, 3, 1]).judged(batch, lambda: None))
    assert [place for place, _ in found] == [2, 0, 3, 1]
    assert all(evaluation.candidate == batch[place].candidate.hash for place, evaluation in found)


def test_who_wants_them_in_order_gets_them_as_early_as_that_allows(tmp_path):
    batch = requests(4)
    runner = FakeRunner(tmp_path, [2, 0, 3, 1])
    answers = runner.evaluate(batch, lambda: None)
    assert next(answers).candidate == batch[0].candidate.hash
    assert runner.seen == ["2", "0"]
    assert [one.candidate for one in answers] == [one.candidate.hash for one in batch[1:]]


SLOW = "#if __INCLUDE_LEVEL__ < 100\n#include __FILE__\n#include __FILE__\n#endif\n"
"""Includes itself without end."""
GOOD = '#include <cstdint>\nextern "C" int run(void**, const int64_t*, void*) { return 7; }\n'


def test_a_build_that_takes_too_long_is_a_timeout_and_the_others_are_judged(runner):
    batch = [request_for(SLOW, deadline_s=3.0), request_for(GOOD)]
    batch = [one.model_copy(update={"id": str(number)}) for number, one in enumerate(batch)]
    began = time.monotonic()
    found = dict(runner.judged(batch, lambda: None))
    assert time.monotonic() - began < 30
    assert found[1].status == "RUNTIME_ERROR"
    assert (found[0].status, found[0].stages[-1].stage) == ("TIMEOUT", "build")
    assert "did not compile within 3 s" in found[0].message
