"""`ks` says what the page says, of the same search."""

from __future__ import annotations

import html
import re

import pytest
from django.urls import reverse

from kernelsite.api.ks import words
from kernelsite.api.ks.__main__ import main
from kernelsite.api.ks.launch import fields, seeds
from kernelsite.api.ks.parser import COMMANDS, parser
from kernelsite.api.records import SearchAnswer
from kernelsite.searches.models import Search


def text_of(markup):
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]+>", "", markup))).strip()


def part(page, mark, tag):
    return text_of(re.search(rf"<{tag}[^>]* {mark}[^>]*>(.*?)</{tag}>", page, re.S)[1])


@pytest.mark.parametrize(
    ("state", "wait"), [("running", ""), ("waiting", "device"), ("waiting", "rate_limit"), ("paused", "")]
)
def test_pill_queue_and_best_are_the_page_s(call, grown, client, alice, state, wait):
    Search.objects.filter(pk=grown.pk).update(
        state=state, wait_reason=wait, finished_at=None, best_baseline="naive", best_confirmed=True
    )
    row = SearchAnswer.model_validate(call("get", f"/searches/{grown.pk}").json())
    client.force_login(alice)
    page = client.get(f"/searches/{grown.pk}/").content.decode()
    assert part(page, "data-state", "span") == words.pill(row, row.last_event_at)
    counts = re.findall(r"<span>(<b data-count=.*?)</span>", page, re.S)
    assert sorted(map(text_of, counts)) == sorted(words.queue(row).split(" · "))
    told = words.best_words(row.best)
    for piece in ("data-best-speedup", "data-best-interval", "data-best-context"):
        assert part(page, piece, "span") in told
    note = re.search(r"<div[^>]*data-waits-for-device([^>]*)>(.*?)</div>", page, re.S)
    if wait == "device":
        assert words.note(row) in text_of(note[2])
    else:
        assert "hidden" in note[1]


def test_a_running_search_that_tells_nothing_is_stale(call, grown):
    Search.objects.filter(pk=grown.pk).update(
        state="running", finished_at=None, last_event_at="2026-01-01T00:00Z"
    )
    row = SearchAnswer.model_validate(call("get", f"/searches/{grown.pk}").json())
    assert words.pill(row).startswith("stale: no event for ")


def test_what_a_terminal_would_obey_is_written_out(capsys):
    words.say("a\x1b[2Jb\r\nc\u202e")
    assert capsys.readouterr().out == "a⟨U+001B⟩[2Jb c⟨U+202E⟩\n"


def test_no_argument_is_a_secret():
    for name in COMMANDS:
        with pytest.raises(SystemExit):
            parser().parse_args([name, "--token", "ks_x"])


def test_launch_options_become_fields():
    line = "launch softmax --seeds 3 --evaluations 8 --review --set stages.retain=3 --set strategy=mixed --model 4"
    found = fields(parser().parse_args(line.split()))
    assert found == {
        "evaluations": 8,
        "review": True,
        "endpoints": [4],
        "agent": "llm",
        "options": {"stages": {"retain": 3}, "strategy": "mixed"},
    }
    assert (seeds("0-2,7"), seeds("5")) == ([0, 1, 2, 7], [5])


@pytest.mark.parametrize(
    "line", ["watch luck", "launch softmax --seeds 0-99", "launch softmax --seeds 1,1", "candidate 1.2"]
)
def test_wrong_arguments_end_with_2(line, capsys):
    with pytest.raises(SystemExit) as caught:
        main(line.split())
    assert caught.value.code == 2


def test_without_a_token_it_says_what_to_do(monkeypatch, tmp_path, capsys):
    monkeypatch.delenv("KERNELSITE_TOKEN", raising=False)
    monkeypatch.setenv("KERNELSITE_CREDENTIALS", str(tmp_path / "none"))
    assert main(["list"]) == 3
    assert capsys.readouterr().err == "ks: log in first: ks login [URL]\n"
    assert main(["launch"]) == 2


def test_the_docs_page_shows_how(client, team, alice):
    client.force_login(alice)
    page = client.get(reverse("api:docs")).content.decode()
    assert "ks login" in page
