from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path

import pytest
from django.conf import settings
from django.utils import timezone

from kernelsite.catalog.templatetags import show
from search.records import EvaluationStatus, SearchState, Verdict

TIMES, DASH = "\N{MULTIPLICATION SIGN}", "\N{EN DASH}"


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, DASH), ("", DASH), (0.094, "0.09"), (2.314, "2.31"), (23.14, "23.1"), (231.4, "231")],
)
def test_a_speedup_has_three_digits_and_a_sign(value, text):
    assert show.speedup(value) == (text if text == DASH else text + TIMES)


def test_an_interval_has_one_sign():
    assert show.interval({"low": 1.0, "high": 2.0}) == f"1.00{DASH}2.00{TIMES}"
    assert show.interval({"low": None, "high": 2.0}) == ""
    assert show.interval(None) == ""


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.5, "0.50 µs"), (12.34, "12.3 µs"), (123.4, "123 µs"), (1234.0, "1.23 ms"), (2.5e6, "2.50 s")],
)
def test_a_time_has_a_fitting_unit(value, text):
    assert show.us(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0.0 s"),
        (0.25, "250 ms"),
        (9.94, "9.9 s"),
        (59.4, "59 s"),
        (61, "1 min 01 s"),
        (7260, "2 h 01 min"),
        (None, DASH),
    ],
)
def test_a_length_of_time_reads_like_one(value, text):
    assert show.seconds(value) == text


@pytest.mark.parametrize(
    ("passed_s", "text"),
    [(-5, "0 s ago"), (12, "12 s ago"), (130, "2 min ago"), (7300, "2 h ago"), (200_000, "2 d ago")],
)
def test_ago_never_says_zero_minutes(passed_s, text):
    assert show.ago(timezone.now() - timedelta(seconds=passed_s)) == text


def test_every_state_has_its_own_icon_and_an_unknown_status_is_a_failure():
    for word in [*SearchState, *Verdict]:
        assert word in show.TONES
    assert show.tone(EvaluationStatus.CRASH) == ("cross", "bad")


def test_a_pill_escapes_what_it_shows():
    assert "<b>" not in show.pill("<b>", "<b>x</b>")


def test_knobs_read_as_in_the_source():
    assert show.knobs({"BM": 64, "FAST": True, "KIND": "a"}) == "BM=64 FAST=true KIND=a"
    assert show.knobs({}) == "defaults"


def test_browser_and_server_show_states_alike():
    script = (Path(settings.BASE_DIR) / "static/js/format.js").read_text()
    entries = re.findall(r'(\w+): \["(\w+)", "(\w+)"\]', script)
    assert len(entries) > 20
    assert {word: (icon, tone) for word, icon, tone in entries}.items() <= show.TONES.items()
