"""`run_search` with a model and from a transcript, in one process without a database."""

from __future__ import annotations

import json
import sys

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from test_run_search import WORKER, worker

from search.stdio import StdioDevice
from tests.fakes import scripted_kernels
from tests.fakes.model_server import Answer, ModelServer

SEARCH = ("run_search", "--workload", "softmax", "--budget", "8", "--seed", "1", "--json")
KEY = "sk-canary-0123456789abcdef"


@pytest.fixture(autouse=True)
def synthetic(monkeypatch):
    """A device that measures nothing; equal programs get equal times."""
    code = WORKER.format(paths=[path for path in sys.path if path])
    start = StdioDevice.__init__
    monkeypatch.setattr(StdioDevice, "__init__", lambda self, device: start(self, device, worker(code)))
    monkeypatch.setenv("SOME_KEY", KEY)


def run(capsys, *words):
    call_command(*SEARCH, *words)
    captured = capsys.readouterr()
    lines = [line for line in captured.err.splitlines() if line[:4].strip().isdecimal()]  # one per step
    return json.loads(captured.out.splitlines()[-1]), lines


def model(server, *more):
    return (
        "--agent",
        "llm",
        "--model-url",
        server.url,
        "--model",
        "fake-model",
        "--key-env",
        "SOME_KEY",
        *more,
    )


def test_a_model_searches_and_its_transcript_replays(capsys, tmp_path):
    file = tmp_path / "calls.jsonl"
    with ModelServer(scripted_kernels.softmax, key=KEY) as server:
        first = run(capsys, *model(server, "--tokens", "500000", "--record", str(file)))
        assert server.seen
    again = run(capsys, "--agent", "replay", "--transcript", str(file))
    assert first == again
    assert first[0]["arms"]["two_stage"]["best_speedup"]
    assert KEY not in file.read_text() + "".join(first[1])


def test_a_fault_that_a_person_must_mend_ends_the_command(capsys):
    with ModelServer(lambda _: Answer(fault="quota")) as server, pytest.raises(CommandError, match="quota"):
        run(capsys, *model(server, "--tokens", "500000"))
    assert len(server.seen) == 1


def test_another_search_is_not_in_the_transcript(capsys, tmp_path):
    file = tmp_path / "calls.jsonl"
    file.write_text(
        '{"format": "kernelsite-transcript", "version": 1, "context_tokens": 32768, "json_schema": false}\n'
    )
    with pytest.raises(CommandError, match="not_recorded"):
        run(capsys, "--agent", "replay", "--transcript", str(file))


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["--agent", "llm"], "--model-url"),
        (["--agent", "llm", "--model-url", "http://h/v1"], "--model "),
        (["--agent", "llm", "--model-url", "http://h/v1", "--model", "m"], "--tokens"),
        (["--agent", "llm", "--model-url", "http://h/v1", "--model", "m", "--cost-usd", "1"], "--input-usd"),
        (["--agent", "llm", "--model-url", "h", "--model", "m", "--tokens", "9"], "base_url"),
        (["--agent", "llm", "--tokens", "0"], "--tokens"),
        (["--agent", "llm", "--cost-usd", "nan"], "--cost-usd"),
        (["--agent", "replay", "--transcript", "/nowhere/calls.jsonl"], "/nowhere/calls.jsonl"),
    ],
)
def test_wrong_options_are_named(capsys, words, named):
    with pytest.raises(CommandError) as raised:
        run(capsys, *words)
    assert named in str(raised.value)
