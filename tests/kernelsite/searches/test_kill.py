"""SIGKILL at random moments: web, control worker, agent worker, device worker and embedded server, in turn.

15 times with the synthetic device (`synthetic_device.py` speaks the protocol of the real worker over the real
broker but answers in 0.6 s, so that many steps are hit); among the exhaustive tests 25 times, and 10 and 25 times with
the real device worker, of whose sandboxed processes none may be left. Leases are 2 s; an evaluation's is 8 s
with the real worker, which says `alive` every 5 s.
"""

from __future__ import annotations

import random
import time
from dataclasses import dataclass

import pytest
from checks import check_invariants
from django.db import connection
from rig import BIN, Rig, database_url

from kernelsite.searches import dispatch
from kernelsite.searches.launch import launch_search
from kernelsite.searches.models import Evaluation, Search
from search.records import SearchState

SEED = 20_261
VICTIMS = ("web", "control", "agent", "device", "server")


@dataclass(frozen=True)
class Trial:
    app: str
    queue: str
    budget: int
    kills_each: int
    limit_s: float
    gap_s: tuple[float, float]
    """Shortest and longest time between two kills."""
    environment: dict[str, str]

    @property
    def command(self):
        celery = [str(BIN / "celery"), "-A", self.app, "worker", "--without-mingle", "--without-gossip"]
        return [*celery, "-Q", self.queue, "--pool", "solo"]


TRIALS = {
    "synthetic": Trial("synthetic_device", "cpu", 32, 3, 300.0, (0.3, 1.9), {"SYNTHETIC_DELAY_S": "0.6"}),
    "gpuworker": Trial("gpuworker.app", "cpu", 24, 2, 300.0, (0.5, 3.0), {"RIG_EVALUATION_LEASE_S": "8"}),
    "synthetic_at_length": Trial(
        "synthetic_device", "cpu", 48, 5, 300.0, (0.3, 1.9), {"SYNTHETIC_DELAY_S": "0.6"}
    ),
    "gpuworker_at_length": Trial(
        "gpuworker.app", "cpu", 48, 5, 420.0, (0.5, 3.0), {"RIG_EVALUATION_LEASE_S": "8"}
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        "synthetic",
        pytest.param("synthetic_at_length", marks=pytest.mark.exhaustive),
        pytest.param("gpuworker", marks=pytest.mark.exhaustive),
        pytest.param("gpuworker_at_length", marks=pytest.mark.exhaustive),
    ],
)
def test_a_search_survives_kills(order, monkeypatch, tmp_path, name):
    trial = TRIALS[name]
    monkeypatch.setattr(dispatch.app, "send_task", lambda *_, **__: None)  # even the first message is lost
    database = database_url(connection.settings_dict)
    with Rig(tmp_path, database, trial.command, trial.environment) as rig:
        search, _ = launch_search(order(budget=trial.budget, parallel=2))
        deadline = time.monotonic() + trial.limit_s
        wait_for(lambda: Evaluation.objects.filter(counted=True).exists(), deadline, rig)
        torment(rig, search.pk, trial, random.Random(SEED))
        wait_for(lambda: Search.objects.get(pk=search.pk).is_final, deadline, rig)
    verify(rig, search.pk, trial)


def torment(rig, search_id, trial, dice):
    bag = list(VICTIMS) * trial.kills_each
    dice.shuffle(bag)
    for victim in bag:
        time.sleep(dice.uniform(*trial.gap_s))
        assert not Search.objects.get(pk=search_id).is_final, (
            "the search was over before all kills: raise its budget"
        )
        rig.kill(victim)


def wait_for(reached, deadline, rig):
    while not reached():
        assert time.monotonic() < deadline, rig.logs()
        time.sleep(0.2)


def verify(rig, search_id, trial):
    search = check_invariants(search_id)
    assert search.state == SearchState.FINISHED, search.reason
    assert {name: rig.kills.count(name) for name in VICTIMS} == dict.fromkeys(VICTIMS, trial.kills_each)
    assert search.evaluations_spent > 0.6 * trial.budget
    assert not rig.survivors()
    attempts = search.evaluations.count()
    lost = search.evaluations.filter(state="lost").count()
    print(
        f"{len(rig.kills)} kills, {rig.restarts} restarts, {attempts} attempts, {lost} lost, {search.event_seq} events"
    )
