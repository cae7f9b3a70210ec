"""Transcripts: written masked, read back, and answered from."""

from __future__ import annotations

import gzip
import subprocess
import sys
from pathlib import Path

import pytest
from llm_factories import KEY, endpoint_at, request_of

from search.agents.llm.calling import BudgetedCaller, Patience
from search.agents.llm.client import ModelClient
from search.agents.llm.ledger import MemoryMeter
from search.agents.llm.outcomes import CallOutcome
from search.agents.llm.replay import ReplayCaller
from search.agents.llm.transcript import Header, JsonLinesTranscript, TranscriptError, read_transcript
from tests.fakes.model_server import Answer, ModelServer

ROOT = Path(__file__).parents[4]
HEADER = Header(context_tokens=32768, json_schema=False, note="a test")
PASTED = "token = 'sk-live-abc123def456'"


def recorded(path):
    """Three calls, one of them with a failed attempt; the live replies."""

    def script(conversation):
        fault = "close" if conversation.number == 2 else ""
        return Answer(f"answer to {conversation.prompt}", fault=fault)

    with ModelServer(script) as server:
        caller = BudgetedCaller(
            [ModelClient(endpoint_at(server.url))],
            MemoryMeter(),
            JsonLinesTranscript(path, HEADER),
            patience=Patience(first_pause_s=0.01),
        )
        return [caller.call(request) for request in REQUESTS]


REQUESTS = [request_of(text, turn=str(number)) for number, text in enumerate(["one", "two", PASTED])]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "calls.jsonl"


def test_it_works(path):
    live = recorded(path)
    replay = ReplayCaller.of_file(path)
    again = [replay.call(request) for request in REQUESTS]
    assert [reply.text for reply in again[:2]] == [reply.text for reply in live[:2]]
    assert [reply.spent for reply in again] == [reply.spent for reply in live]
    assert again[1].spent.calls == again[1].attempts == 2
    assert (replay.context_tokens, replay.json_schema) == (32768, False)


def test_an_unknown_request_fails_by_name(path):
    recorded(path)
    reply = ReplayCaller.of_file(path).call(request_of("three", turn="7/repair"))
    assert (reply.outcome, reply.attempts, reply.spent.calls) == (CallOutcome.NOT_RECORDED, 0, 0)
    assert "coder" in reply.detail
    assert "7/repair" in reply.detail


def test_no_secret_is_written_and_a_masked_request_is_still_found(path):
    recorded(path)
    text = path.read_text()
    assert KEY not in text
    assert "sk-live-abc123def456" not in text
    assert "[key]" in text
    assert ReplayCaller.of_file(path).call(REQUESTS[2]).is_ok


def test_a_repeated_call_is_answered_by_its_last_time(path):
    recorded(path)
    recorded(path)
    header, records = read_transcript(path)
    assert header == HEADER
    assert len(records) == 8
    assert ReplayCaller(header, records).call(REQUESTS[1]).spent.calls == 2


def test_a_file_may_be_packed_and_end_in_the_middle_of_a_line(path):
    recorded(path)
    whole = path.read_bytes()
    path.write_bytes(whole[:-50])
    assert len(read_transcript(path)[1]) == 3
    packed = path.with_suffix(".jsonl.gz")
    packed.write_bytes(gzip.compress(whole))
    assert len(read_transcript(packed)[1]) == 4


def test_a_line_that_is_no_record_is_named(path):
    recorded(path)
    lines = path.read_text().splitlines()
    path.write_text(
        "\n".join([*lines[:2], lines[2].replace('"ok"', '"great"').replace('"unavailable"', '"great"')])
        + "\n"
    )
    with pytest.raises(TranscriptError, match=r"calls.jsonl: line 3: reply.outcome"):
        read_transcript(path)
    path.write_text('{"format": "other"}\n')
    with pytest.raises(TranscriptError, match="line 1: format"):
        read_transcript(path)
    path.write_text("")
    with pytest.raises(TranscriptError, match="no header"):
        read_transcript(path)


def test_a_replay_needs_neither_the_sdk_nor_a_network():
    """The core alone (`pip install kernelsite`) brings no HTTP library."""
    program = (
        "import sys; sys.modules.update(openai=None, httpx2=None, httpcore2=None)\n"
        "import search.agents.llm.replay, search.agents.llm.calling, search.agents.llm.agent"
    )
    subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=True)
