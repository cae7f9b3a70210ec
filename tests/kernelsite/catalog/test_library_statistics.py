from __future__ import annotations

import pytest
from django.contrib.auth import get_user_model

from kernelsite.accounts.models import Membership, Team
from kernelsite.catalog.library_statistics import figures, median_interval, wilson
from kernelsite.catalog.models import LibraryVersion, WorkloadVersion, sync_shipped
from kernelsite.searches.models import Candidate, Evaluation, Search, SourceText, Step, Structure


@pytest.fixture
def team(db):
    sync_shipped()
    return Team.objects.create(name="Kernels", slug="kernels")


def search(team, key, device_class="cpu"):
    return Search.objects.create(
        team=team, title=key, idempotency_key=key, settings={}, seed=0, evaluations_cap=100,
        workload=WorkloadVersion.objects.get(slug="softmax"), library=LibraryVersion.objects.get(slug="core"),
        strategy="two_stage", agent="playbook", language="cpp", device_class=device_class,
    )  # fmt: skip


def structure(owner, number, actions, speedup=None, parent=None, status="PASSED", **columns):
    row = Structure.objects.create(
        search=owner, number=number, fingerprint=str(number), parent=parent, title="t", step=number, created_seq=number,
        blueprint={"actions": actions}, best_speedup=speedup, passed_count=int(speedup is not None), **columns,
    )  # fmt: skip
    source = SourceText.objects.create(search=owner, hash=str(number), files=[])
    candidate = Candidate.objects.create(
        search=owner, structure=row, number=1, hash=str(number), source=source, language="cpp", entry_point="run",
        step=number,
    )  # fmt: skip
    step = Step.objects.create(
        search=owner, number=number, item={}, kind="variant", outcome={}, stage="explore", state="done"
    )
    Evaluation.objects.create(
        search=owner, candidate=candidate, step=step, purpose="search", tier="fast", state="done", counted=True,
        status=status, environment_key="e", current=True,
    )  # fmt: skip
    return row


def of(team, action):
    row = LibraryVersion.objects.get(slug="core")
    return next(one for one in figures(row, team) if one.action == action)


def test_an_action_is_counted_where_it_was_taken_newly(team):
    owner = search(team, "a")
    direct = structure(owner, 1, [], 2.0)
    online = structure(owner, 2, ["online_softmax"], 5.0, direct, retained=True)
    structure(owner, 3, ["online_softmax", "row_groups"], 4.0, online)
    structure(owner, 4, ["row_groups"], None, direct, "COMPILE_ERROR")
    structure(owner, 5, ["row_groups", "split_row"], None, direct, "INCORRECT_NUMERICAL")
    one = of(team, "online_softmax")
    assert (one.tried, one.built, one.correct, one.retained, one.gains) == (1, 1, 1, 1, [2.5])
    groups = of(team, "row_groups")
    assert (groups.tried, groups.built, groups.correct, groups.retained, groups.gains) == (3, 2, 1, 0, [0.8])
    assert of(team, "polynomial_exp").tried == 0


def test_landscapes_and_other_teams_do_not_count(team):
    other = Team.objects.create(name="Other", slug="other")
    for owner in (search(team, "a", "recorded:cpu"), search(other, "b")):
        structure(owner, 2, ["online_softmax"], 5.0, structure(owner, 1, [], 2.0))
    assert of(team, "online_softmax").tried == 0
    assert of(other, "online_softmax").gains == [2.5]


def test_ten_gains_make_an_interval_and_nine_do_not(team, client):
    user = get_user_model().objects.create_user("a", password="as it is")
    Membership.objects.create(team=team, user=user, role="viewer")
    client.force_login(user)
    for number in range(10):
        owner = search(team, str(number))
        structure(owner, 2, ["online_softmax"], 2.0 + number, structure(owner, 1, [], 1.0))
        if number == 8:
            nine = client.get("/libraries/core/v/1/statistics/").content.decode()
    assert "n = 9 too small" in nine
    ten = client.get("/libraries/core/v/1/statistics/").content.decode()
    assert "too small" not in ten
    assert "n = 10" in ten
    one = of(team, "online_softmax")
    assert (one.low, one.median, one.high) == (4.0, 6.5, 9.0)


def test_wilson_against_published_values():
    """Newcombe, Statistics in Medicine 17 (1998), table I: 81 of 263, 15 of 148, 0 of 20, 1 of 29."""
    for hits, count, low, high in (
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ):
        assert wilson(hits, count) == pytest.approx((low, high), abs=5e-5)
    assert median_interval([1.0] * 10) == (1.0, 1.0)
