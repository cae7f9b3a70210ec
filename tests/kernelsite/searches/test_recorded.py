"""Searches on a recorded device class: no device is online, and every number says where it was recorded."""

from __future__ import annotations

import json

import landscape_folder
import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.urls import reverse

from kernelsite.ops import programs
from kernelsite.searches import tasks
from kernelsite.searches.forms import device_choices
from kernelsite.searches.launch import LaunchError, language_for, launch_search
from kernelsite.searches.models import Evaluation
from search.landscapes.answer import NOT_RECORDED
from search.records import TaskName, TimingMethod

DEVICE = f"recorded:{landscape_folder.NAME}"


@pytest.fixture
def landscape(tmp_path, monkeypatch):
    monkeypatch.setenv("KERNELSITE_LANDSCAPES", str(tmp_path))
    return landscape_folder.write(tmp_path)


@pytest.fixture
def served(wire, monkeypatch):
    """Messages of queue `recorded` reach the site's own task."""

    def deliver(message):
        if message.name != TaskName.EVALUATE:
            return ordinary(message)
        assert message.queue == "recorded"
        return tasks.evaluate_recorded(*message.args)

    ordinary = wire.deliver
    monkeypatch.setattr(wire, "deliver", deliver)
    return wire


def run(order, served, **options):
    search, _ = launch_search(order(device_class=DEVICE, **options))
    served.run()
    search.refresh_from_db()
    return search


def test_a_search_finishes_without_a_device(landscape, order, served):
    search = run(order, served, budget=12)
    assert search.state == "finished"
    assert search.agent == "recorded"
    assert search.language == "cpp"
    counted = Evaluation.objects.filter(search=search, counted=True)
    assert counted.count() == 12
    for evaluation in counted:
        assert evaluation.record.method is TimingMethod.RECORDED
        assert evaluation.baseline == f"made up eager, {landscape_folder.LABEL}"
    assert search.best_speedup in landscape.measurements.speedup


def test_the_same_seed_gives_the_same_search(landscape, order, served):
    one, other = run(order, served, seed=3), run(order, served, seed=3)
    steps = [[step.item for step in search.steps.order_by("number")] for search in (one, other)]
    assert steps[0] == steps[1]
    assert one.best_speedup == other.best_speedup


def test_pages_say_where_numbers_are_from(landscape, order, served, client, alice):
    search = run(order, served, budget=12)
    client.force_login(alice)
    shown = [
        search.get_absolute_url(),
        reverse("searches:candidate", args=[search.best_candidate]),
        reverse("searches:searches"),
        reverse("searches:home"),
        reverse("compare:new"),
        reverse("catalog:workload", args=["softmax"]),
    ]
    for address in shown:
        assert landscape_folder.LABEL in client.get(address, follow=True).content.decode(), address


def test_a_landscape_makes_no_record_of_a_workload(landscape, order, served, client, alice):
    run(order, served, budget=12)
    client.force_login(alice)
    rows = client.get(reverse("catalog:workloads")).context["page"]
    assert [row.best for row in rows if row.slug == "softmax"] == [None]


def test_a_workload_that_was_not_recorded_is_refused_at_launch(landscape, order, wire):
    asked = order(device_class="recorded:nothing")
    with pytest.raises(LaunchError) as caught:
        launch_search(asked)
    assert caught.value.field == "device_class"
    assert "recorded" in str(caught.value)


def test_a_program_that_was_not_recorded_is_no_result(landscape, order, served):
    """The playbook writes the same sources, but its grid is larger than the recorded one."""
    search = run(order, served, agent="playbook", budget=20, strategy="local_only")
    infra = Evaluation.objects.filter(search=search, state="infra")
    assert infra.exists()
    assert all(evaluation.record.message.startswith(NOT_RECORDED) for evaluation in infra)
    assert not any(evaluation.charged for evaluation in infra)


def test_the_form_offers_it_with_its_label(landscape, transactional_db):
    choices = dict(device_choices())
    assert landscape_folder.LABEL in choices[DEVICE]
    assert language_for(DEVICE) == "cpp"


def test_a_broken_file_does_not_take_the_form_away(landscape, tmp_path, transactional_db):
    (tmp_path / "broken.json.gz").write_bytes(b"nothing")
    assert "recorded:broken" not in dict(device_choices())


def test_the_site_serves_the_queue(settings, tmp_path):
    cores = programs.Cores(frozenset({0, 1}))
    started = programs.site(programs.Place("127.0.0.1", 1), {"REDIS_URL": "redis://x"}, cores)
    control = next(program for program in started if program.name == "control")
    assert "control,recorded" in control.command
    assert "control@%h" in control.command


def test_nonsense_on_the_queue_is_dropped(transactional_db):
    tasks.evaluate_recorded([{"id": "1"}])


def test_run_search_answers_from_the_landscape(landscape, capsys):
    call_command("run_search", "--workload", "softmax", "--device", DEVICE, "--budget", "12", "--json")
    captured = capsys.readouterr()
    document = json.loads(captured.out.splitlines()[-1])
    assert document["device"] == landscape_folder.LABEL
    assert document["arms"]["two_stage"]["evaluations"] == 12
    assert landscape_folder.LABEL in captured.err


def test_run_search_without_a_landscape_is_told(landscape):
    with pytest.raises(CommandError, match="--device recorded:zz: no landscape 'zz'"):
        call_command("run_search", "--workload", "softmax", "--device", "recorded:zz", "--budget", "12")
    with pytest.raises(CommandError, match="no landscape of this version of rmsnorm"):
        call_command("run_search", "--workload", "rmsnorm", "--device", DEVICE, "--budget", "12")
