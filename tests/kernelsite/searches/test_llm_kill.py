"""SIGKILL of the agent's process while the provider has the question: the ceiling stays charged, the call repeats once."""

from __future__ import annotations

import threading
import time

import pytest
from checks import check_invariants
from django.db import connection
from model_rig import KEY, add_model, capped, check_ledger, launch_with
from rig import BIN, Rig, database_url

from kernelsite.searches import dispatch
from kernelsite.searches.models import CallState, Search
from tests.fakes import scripted_kernels
from tests.fakes.model_server import ModelServer

LIMIT_S = 90.0
DEVICE = [str(BIN / "celery"), "-A", "synthetic_device", "worker", "-Q", "cpu", "--pool", "solo"]


@pytest.mark.slow
def test_the_agent_is_killed_between_answer_and_row(order, team, monkeypatch, tmp_path, settings):
    settings.MODEL_HOSTS = "loopback"
    monkeypatch.setattr(dispatch.app, "send_task", lambda *_, **__: None)  # the sweeper finds the search
    asked, killed = threading.Event(), threading.Event()

    def script(conversation):
        if conversation.number == 2:
            asked.set()
            killed.wait(30)
        return scripted_kernels.softmax_without_build_errors(conversation)

    database = database_url(connection.settings_dict)
    extra = {"SYNTHETIC_DELAY_S": "0.01", "KERNELSITE_MODEL_HOSTS": "loopback"}
    with ModelServer(script, key=KEY) as server, Rig(tmp_path, database, DEVICE, extra) as rig:
        search = launch_with(order, [add_model(team, server)], capped(6))
        deadline = time.monotonic() + LIMIT_S
        assert asked.wait(LIMIT_S), rig.logs()
        rig.kill("agent")
        killed.set()
        while not Search.objects.get(pk=search.pk).is_final:
            assert time.monotonic() < deadline, rig.logs()
            time.sleep(0.2)
        sent = len(server.seen)
    search = check_invariants(search.pk)
    check_ledger(search)
    assert search.state == "finished", search.reason
    lost = search.calls.get(state=CallState.UNKNOWN)
    assert lost.tokens == lost.ceiling_tokens
    again = search.calls.filter(request_hash=lost.request_hash)
    assert list(again.order_by("id").values_list("state", flat=True)) == [
        CallState.UNKNOWN,
        CallState.SETTLED,
    ]
    assert sent == search.calls.count()
