"""The fake model server itself: its script files and its command line."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from llm_factories import endpoint_at, request_of

from search.agents.llm.client import ModelClient
from search.agents.llm.outcomes import CallOutcome
from tests.fakes.model_server import ModelServer, rules

ROOT = Path(__file__).parents[4]
RULES = [
    {"match": "planner", "text": "a plan", "times": 1},
    {"match": "planner", "fault": "rate_limited", "argument": "7"},
    {"text": "code"},
]


def test_rules_answer_in_order_and_as_often_as_they_say():
    with ModelServer(rules(RULES)) as server:
        client = ModelClient(endpoint_at(server.url))
        first, second, other = (
            client.send(request_of(text)) for text in ("a planner", "a planner", "a coder")
        )
    assert (first.text, second.retry_after_s, other.text) == ("a plan", 7.0, "code")


@pytest.mark.parametrize(
    ("rule", "problem"),
    [({"text": "x", "colour": 1}, "rule 2: unknown colour"), ({"fault": "fire"}, "rule 2: no fault 'fire'")],
)
def test_a_rule_that_cannot_be_is_named(rule, problem):
    with pytest.raises(ValueError, match=problem):
        rules([{"text": "fine"}, rule])


def test_schemas_are_refused_by_a_server_without_them():
    request = request_of(answer_schema={"type": "object"})
    with ModelServer(rules([{"text": "{}"}]), schemas=False) as server:
        reply = ModelClient(endpoint_at(server.url, json_schema=True)).send(request)
    assert reply.outcome is CallOutcome.BAD_REQUEST
    assert "response_format" in reply.detail


def test_the_command_line_serves_a_script(tmp_path):
    script = tmp_path / "rules.json"
    script.write_text(json.dumps(RULES))
    command = [sys.executable, "-m", "tests.fakes.model_server", "--port", "0", "--script", str(script)]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    try:
        url = process.stdout.readline().split()[-1]
        reply = ModelClient(endpoint_at(url)).send(request_of("a coder"))
    finally:
        process.kill()
        process.communicate()
    assert reply.text == "code"
