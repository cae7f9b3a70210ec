from __future__ import annotations

import pytest

from kernelsite.searches.class_figures import Drift


def drift(*times_us):
    return Drift("softmax", "torch eager", times_us)


def test_a_baseline_that_slows_down_is_an_alarm():
    found = drift(*[100.0] * 20, *[104.0] * 10)
    assert found.change == pytest.approx(0.04)
    assert found.change_text == "+4.0%"
    assert found.is_alarming


def test_a_faster_baseline_is_an_alarm_too():
    assert drift(*[100.0] * 20, *[90.0] * 10).is_alarming


def test_one_outlier_is_none():
    assert not drift(*[100.0] * 25, 500.0, *[101.0] * 4).is_alarming


def test_few_times_say_nothing():
    found = drift(*[100.0] * 9, *[200.0] * 10)
    assert found.change is None
    assert not found.is_alarming
