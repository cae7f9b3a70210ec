from __future__ import annotations

import json

import pytest

from kernelsite.compare.launch import ComparisonOrder, launch_comparison
from kernelsite.compare.models import Comparison
from kernelsite.compare.summary import summary
from kernelsite.searches.launch import LaunchError
from kernelsite.searches.models import Search

# What is sent goes out on commit.
pytestmark = pytest.mark.django_db(transaction=True)

FOUR = ["two_stage", "mixed", "structure_only", "local_only"]


def test_it_works(base, sent):
    comparison, created = launch_comparison(ComparisonOrder(base))
    assert created
    searches = list(comparison.searches.order_by("id"))
    assert [search.strategy for search in searches] == FOUR
    assert sent == [("searches.advance", [search.pk]) for search in searches]


def test_arms_differ_in_strategy_and_seed_only(base, sent):
    comparison, _ = launch_comparison(ComparisonOrder(base, seeds=(0, 5)))
    searches = list(comparison.searches.all())
    assert len(searches) == 8
    assert {(search.strategy, search.seed) for search in searches} == {
        (name, seed) for name in FOUR for seed in (0, 5)
    }
    rest = {
        json.dumps({key: value for key, value in search.settings.items() if key not in ("strategy", "seed")})
        for search in searches
    }
    assert len(rest) == 1


def test_two_clicks_launch_once(base, sent):
    first, _ = launch_comparison(ComparisonOrder(base))
    second, created = launch_comparison(ComparisonOrder(base))
    assert (first.pk, created) == (second.pk, False)
    assert Search.objects.count() == 4


def test_the_same_key_for_something_else_is_refused(base, sent):
    launch_comparison(ComparisonOrder(base))
    with pytest.raises(LaunchError):
        launch_comparison(ComparisonOrder(base, seeds=(1,)))


@pytest.mark.parametrize(
    ("field", "arms"),
    [
        ("strategies", {"strategies": ("two_stage", "wishful")}),
        ("strategies", {"strategies": ("mixed", "mixed")}),
        ("strategies", {"strategies": ()}),
        ("seeds", {"seeds": ()}),
        ("seeds", {"seeds": (1, 1)}),
    ],
)
def test_bad_arms_create_nothing(base, sent, field, arms):
    with pytest.raises(LaunchError) as caught:
        launch_comparison(ComparisonOrder(base, **arms))
    assert caught.value.field == field
    assert not Comparison.objects.exists()
    assert not sent


def test_summary_before_anything_ran(base, sent):
    comparison, _ = launch_comparison(ComparisonOrder(base))
    document = summary(comparison, "http://localhost:8000")
    assert document["comparison"] == comparison.pk
    assert list(document["arms"]) == FOUR
    assert document["arms"]["mixed"]["best_speedup"] is None
    assert document["url"].endswith(f"/compare/{comparison.pk}/")
    json.dumps(document, allow_nan=False)


def test_a_confirmed_best_goes_before_a_faster_unconfirmed_one(base, sent):
    comparison, _ = launch_comparison(ComparisonOrder(base, strategies=("two_stage",), seeds=(0, 1)))
    one, other = comparison.searches.order_by("id")
    numbers = {"best_low": 1.0, "best_high": 9.0, "best_median_us": 3.0}
    Search.objects.filter(pk=one.pk).update(
        best_speedup=1.5, best_confirmed=True, evaluations_spent=4, **numbers
    )
    Search.objects.filter(pk=other.pk).update(best_speedup=2.5, evaluations_spent=5, **numbers)
    arm = summary(comparison)["arms"]["two_stage"]
    assert (arm["best_speedup"], arm["confirmed"], arm["evaluations"]) == (1.5, True, 9)
