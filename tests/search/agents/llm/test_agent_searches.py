"""Whole searches with the model agent: the shipped transcript, and a scripted model in every strategy."""

from __future__ import annotations

import re
import socket

import pytest

from search.agents.llm.agent import LlmAgent
from search.agents.llm.duplicates import normalised_hash
from search.agents.llm.transcript import read_transcript
from search.contract import check, overall
from search.library import shipped_workload
from search.local import one_by_one, run_search
from search.records import EvaluationStatus, Language, Verdict
from search.settings import Budget, SearchSettings
from search.strategies import STRATEGIES
from tests.fakes.record_transcript import BUDGET, SHIPPED, record, replayed
from tests.fakes.scripted_kernels import BROKEN_LINE, answer
from tests.search.agents.llm.llm_scenes import LIBRARY, MemoryCaller, failed, passed

RERECORD = (
    "run `python -m tests.fakes.record_transcript` if prompts, landscape or playbook were changed on purpose"
)


def test_the_shipped_transcript_replays_without_network(monkeypatch):
    monkeypatch.setattr(socket, "socket", lambda *_: pytest.fail("no network"))
    result, steps = replayed()
    assert not [step.outcome.failure for step in steps if step.outcome.failure], RERECORD
    assert result.spent.evaluations == BUDGET
    assert result.speedup.value > 1
    _, records = read_transcript(SHIPPED)
    turns = [call.attempt.request.turn for call in records]
    assert result.spent.calls == len(records)
    assert {turn.split("/")[1] for turn in turns} == {"coder-1", "coder-2", "planner-1", "planner-2"}
    said_back = [call for call in records if call.attempt.request.turn.endswith("coder-2")]
    assert any("broken: `reduction(N)" in call.attempt.request.messages[-1].content for call in said_back)
    assert any("no_block" in call.attempt.request.messages[-1].content for call in said_back)


def test_a_recorded_search_replays_the_same(tmp_path):
    path = tmp_path / "transcript.jsonl.gz"
    assert record(path) == replayed(path)


def test_a_transcript_of_another_search_says_so(tmp_path):
    header, records = read_transcript(SHIPPED)
    lines = [header.model_dump_json(), *(call.model_dump_json() for call in records[:2])]
    path = tmp_path / "short.jsonl"
    path.write_text("\n".join(lines) + "\n", "utf-8")
    _, steps = replayed(path)
    failures = [step.outcome.failure for step in steps if step.outcome.failure]
    assert failures
    assert all(text.startswith("not_recorded") for text in failures)


def _judge(request):
    """A judge without a device: the contract, one kind of compile error, and a speed that follows from the program."""
    candidate = request.candidate
    if BROKEN_LINE.strip() in candidate.sources[0].content:
        return failed(candidate, EvaluationStatus.COMPILE_ERROR, "kernel.cpp: error: `zero` was not declared")
    if request.contract and overall(check(request.contract, candidate)) is Verdict.VIOLATED:
        return failed(candidate, EvaluationStatus.CONTRACT_VIOLATION, "another structure")
    return passed(candidate, 0.5 + int(normalised_hash(candidate)[:4], 16) / 65536)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_scripted_model_in_every_strategy(strategy):
    workload = shipped_workload("softmax")
    caller = MemoryCaller(answer)
    settings = SearchSettings(
        workload="softmax",
        workload_hash=workload.hash,
        library=LIBRARY.name,
        library_hash=LIBRARY.hash,
        strategy=strategy,
        agent="llm",
        language=Language.CPP,
        device_class="cpu",
        budget=Budget(evaluations=12, tokens=400_000),
    )
    steps = []
    result = run_search(settings, workload, LIBRARY, LlmAgent(caller), one_by_one(_judge), steps.append)
    assert result.finished
    assert result.spent.evaluations <= 12
    assert result.spent.calls == len(caller.requests)
    assert result.spent.tokens <= 400_000
    assert result.passed > 0
    asked = {step.item.kind for step in steps if step.item.type == "draft"}
    roles = {request.role for request in caller.requests}
    expected = {
        "instantiate": "coder",
        "explore": "coder",
        "repair": "repairer",
        "refine": "tuner",
        "judge": "analyst",
    }
    assert {expected[kind] for kind in asked} <= roles
    if "repair" in asked:
        repaired = [step for step in steps if step.item.type == "draft" and step.item.kind == "repair"]
        assert repaired[0].outcome.status is EvaluationStatus.PASSED


def test_every_prompt_of_a_search_has_the_form_that_the_script_reads():
    """The scripted model knows structures by this line; a prompt without it would get wrong answers in silence."""
    caller = MemoryCaller(answer)
    record_of = re.compile(r"(?m)^Actions: .+$")
    workload = shipped_workload("rmsnorm")
    settings = SearchSettings(
        workload="rmsnorm",
        workload_hash=workload.hash,
        library=LIBRARY.name,
        library_hash=LIBRARY.hash,
        strategy="two_stage",
        agent="llm",
        language=Language.CPP,
        device_class="cpu",
        budget=Budget(evaluations=10),
    )
    result = run_search(settings, workload, LIBRARY, LlmAgent(caller), one_by_one(_judge))
    assert result.passed > 5
    assert all(len(record_of.findall(request.messages[1].content)) == 1 for request in caller.requests)
