from __future__ import annotations

import json
from dataclasses import dataclass, field

import pytest
from django.contrib.auth import get_user_model
from django.core.management import CommandError, call_command
from django.utils import timezone

from kernelsite.accounts.models import Membership, Team
from kernelsite.catalog.models import sync_shipped
from kernelsite.compare.models import Comparison
from kernelsite.ops import demo as demo_module
from kernelsite.ops.demo import EVALUATIONS, PATIENCE_S, Demo, launch
from kernelsite.ops.first_run import FirstLogin
from kernelsite.ops.management.commands import demo as demo_command
from kernelsite.ops.programs import Place
from kernelsite.searches import dispatch
from kernelsite.searches.models import Search
from search.records import SearchState

pytestmark = pytest.mark.django_db(transaction=True)


@dataclass
class ReadySite:
    """A site that answers, without processes."""

    place: Place = field(default_factory=lambda: Place("127.0.0.1", 8000))
    login: FirstLogin = field(default_factory=lambda: FirstLogin("admin", "pw"))
    is_ready: bool = True

    def tick(self):
        return True


@pytest.fixture(autouse=True)
def installed(monkeypatch):
    monkeypatch.setattr(dispatch.app, "send_task", lambda *args, **kwargs: None)
    monkeypatch.setattr(demo_module, "LOOK_S", 0.0)
    sync_shipped()
    team = Team.objects.create(name="Kernels", slug="kernels")
    Membership.objects.create(team=team, user=get_user_model().objects.create_user("admin"))


@pytest.fixture
def clock(monkeypatch):
    now = [1000.0]
    monkeypatch.setattr(demo_module.time, "monotonic", lambda: now[0])
    return now


@pytest.fixture
def demo():
    return Demo(ReadySite(), [].append, until_end=True)


def finish(searches, state=SearchState.FINISHED, reason="budget spent", best=1.5):
    searches.update(state=state, reason=reason, finished_at=timezone.now(), best_speedup=best)


def test_it_launches_the_four_strategies_at_one_budget():
    comparison, is_new = launch()
    assert is_new
    searches = comparison.searches.all()
    assert {search.strategy for search in searches} == {"two_stage", "mixed", "structure_only", "local_only"}
    assert {search.evaluations_cap for search in searches} == {EVALUATIONS}
    assert {search.workload.slug for search in searches} == {"softmax"}
    assert EVALUATIONS >= 32


def test_a_running_demo_is_not_launched_again():
    first, _ = launch()
    finish(first.searches.exclude(strategy="mixed"))
    assert launch() == (first, False)
    assert Search.objects.count() == 4


def test_after_the_end_there_is_a_new_one():
    first, _ = launch()
    finish(first.searches)
    second, is_new = launch()
    assert is_new
    assert second != first


def test_it_waits_for_the_site(demo):
    demo.site.is_ready = False
    assert demo.tick()
    assert demo.comparison is None
    assert demo.result is None


def test_once_it_watches_to_the_end(demo, clock):
    said = demo.say.__self__
    assert demo.tick()
    assert any("http://127.0.0.1:8000/compare/" in line for line in said)
    assert any("admin / pw" in line for line in said)
    assert demo.tick()
    assert "two_stage queued 0/" in said[-1]
    finish(demo.comparison.searches)
    assert not demo.tick()
    assert demo.trouble == ""


def test_progress_is_printed_when_something_changed_only(demo, clock):
    said = demo.say.__self__
    for _ in range(4):
        demo.tick()
    assert sum("two_stage queued" in line for line in said) == 1
    demo.comparison.searches.filter(strategy="mixed").update(evaluations_spent=5)
    demo.tick()
    assert "mixed queued 5/" in said[-1]


@pytest.mark.parametrize("state", [SearchState.FAILED, SearchState.STOPPED])
def test_an_arm_that_did_not_finish_is_trouble(demo, clock, state):
    demo.tick()
    finish(demo.comparison.searches)
    finish(demo.comparison.searches.filter(strategy="mixed"), state, "no reason")
    assert not demo.tick()
    assert demo.trouble == f"mixed {state}: no reason"


def test_an_arm_without_a_correct_candidate_is_trouble(demo, clock):
    demo.tick()
    finish(demo.comparison.searches)
    finish(demo.comparison.searches.filter(strategy="mixed"), reason="no correct candidate", best=None)
    assert not demo.tick()
    assert demo.trouble == "mixed finished: no correct candidate"


def test_a_demo_in_which_nothing_happens_ends_with_trouble(demo, clock):
    demo.tick()
    assert demo.tick()
    clock[0] += PATIENCE_S + 1
    assert not demo.tick()
    assert "nothing has happened" in demo.trouble


def test_without_once_it_stays_after_the_end(demo, clock):
    demo.until_end = False
    demo.tick()
    finish(demo.comparison.searches)
    assert demo.tick()


class FakeSupervisor:
    """Ticks until told to end."""

    def __init__(self):
        self.stopping = False
        self.lines = []
        self.say = self.lines.append

    def run(self, tick):
        while tick():
            finish(Comparison.objects.get().searches)


@pytest.fixture
def command(monkeypatch, capsys):
    from contextlib import contextmanager

    @contextmanager
    def running_site(place):
        site = ReadySite(place)
        site.supervisor = FakeSupervisor()
        yield site

    monkeypatch.setattr(demo_command, "running_site", running_site)
    monkeypatch.setenv("DEMO", "once")
    return lambda: call_command("demo")


def test_once_the_last_line_is_the_summary(command, capsys):
    command()
    document = json.loads(capsys.readouterr().out.splitlines()[-1])
    comparison = Comparison.objects.get()
    assert document["comparison"] == comparison.pk
    assert document["url"].endswith(f"/compare/{comparison.pk}/")
    assert list(document["arms"]) == ["two_stage", "mixed", "structure_only", "local_only"]
    for arm in document["arms"].values():
        assert {"evaluations", "passed", "best_speedup", "best_us", "structures"} <= set(arm)


def test_an_interrupted_demo_fails_without_a_summary(command, monkeypatch, capsys):
    def run(self, tick):
        tick()
        self.stopping = True

    monkeypatch.setattr(FakeSupervisor, "run", run)
    with pytest.raises(CommandError, match="stopped before the end"):
        command()
    assert "arms" not in capsys.readouterr().out


def test_a_failed_arm_makes_the_command_fail_after_the_summary(command, monkeypatch, capsys):
    def run(self, tick):
        while tick():
            finish(Comparison.objects.get().searches, SearchState.FAILED, "driver: broken")

    monkeypatch.setattr(FakeSupervisor, "run", run)
    with pytest.raises(SystemExit) as end:
        command()
    assert end.value.code == 1
    out = capsys.readouterr()
    assert json.loads(out.out.splitlines()[-1])["arms"]
    assert "driver: broken" in out.err
