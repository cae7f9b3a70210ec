"""Programs of an import, run over the API."""

from __future__ import annotations

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from kernelsite.accounts.models import AuditEntry
from kernelsite.catalog import tasks
from kernelsite.catalog.models import WorkloadDraft, WorkloadProbe
from search.formats.probes import ProbeAnswer
from search.validation import Ending
from tests.kernelsite.workload_texts import OPERATOR, PICKS

TOLD = {"inputs": {"x": {"shape": [64, 128]}}, "outputs": [{"shape": [6, 1]}, {"shape": [64, 128]}]}


@pytest.fixture
def take(client, token, site):
    """Uploads the program; the answer."""

    def take(**data):
        body = {"file": SimpleUploadedFile("picks.py", PICKS)} | data
        return client.post("/api/v1/workloads/import", body, headers={"Authorization": f"Bearer {token}"})

    return take


def test_an_upload_is_run_at_once_where_a_class_is_named(take, call):
    made = take(run_on="cpu").json()
    (run,) = call("get", f"/workloads/imports/{made['id']}/probes").json()
    assert (run["program"], run["file"], run["state"]) == (0, "picks.py", "queued")
    row = WorkloadProbe.objects.get()
    answer = ProbeAnswer(ending=Ending.PASSED, told=(TOLD,)).dump()
    tasks.probe_record(str(row.pk), row.token, answer)
    (one,) = call("get", f"/workloads/imports/{made['id']}").json()["report"]["items"]
    assert (one["kind"], one["result"], one["slug"]) == ("probe", "draft", WorkloadDraft.objects.get().slug)
    assert AuditEntry.objects.get().after["run"] == 1


def test_a_run_is_asked_for_cancelled_and_asked_for_again(take, call):
    path = f"/workloads/imports/{take().json()['id']}/probes"
    asked = call("post", path, {"device_class": "cpu"})
    assert asked.status_code == 202, asked.content
    (run,) = asked.json()
    assert call("post", path, {}).json() == [], "it is under way"
    assert call("post", f"{path}/{run['id']}/cancel").json()["state"] == "cancelled"
    assert call("post", f"{path}/{run['id']}/cancel").json()["state"] == "cancelled"
    assert len(call("post", path, {"programs": [0]}).json()) == 1
    assert [entry.verb for entry in AuditEntry.objects.order_by("id")] == ["import", "run", "cancel", "run"]


def test_what_cannot_be_run_is_refused_in_words(take, call, site):
    assert take(run_on="h9").status_code == 422
    path = f"/workloads/imports/{take().json()['id']}/probes"
    for body, words in (
        ({"programs": [7]}, "no such program"),
        ({"device_class": "h9"}, "no device class h9"),
    ):
        answer = call("post", path, body)
        assert answer.status_code == 409
        assert words in answer.json()["detail"]
    site.sandbox = "unsandboxed"
    site.save()
    assert "no sandbox" in call("post", path, {}).json()["detail"]
    assert call("post", path, {}, scopes=("read",)).status_code == 403


def test_operators_are_ranked_and_made_drafts(take, call):
    made = take(profile_on="cpu").json()
    row = WorkloadProbe.objects.get()
    path = f"/workloads/imports/{made['id']}/probes/{row.pk}/operators"
    assert call("get", path).json() == []
    answer = ProbeAnswer(ending=Ending.PASSED, told=(OPERATOR,)).dump()
    tasks.probe_record(str(row.pk), row.token, answer)
    (one,) = call("get", path).json()
    assert (one["name"], one["offered"], one["calls"]) == ("aten.relu.default", "picks_relu_64x128", 2.0)
    assert one["microseconds"] == pytest.approx(300)
    assert call("post", path, {"operators": ["other"]}).status_code == 409
    for result in ("draft", "unchanged"):
        (told,) = call("post", path, {"operators": [one["offered"]]}).json()
        assert (told["kind"], told["result"], told["slug"]) == ("operator", result, "picks_relu_64x128")
    report = call("get", f"/workloads/imports/{made['id']}").json()["report"]
    assert [each["kind"] for each in report["items"]] == ["probe", "operator"]
    assert call("post", f"/workloads/imports/{made['id']}/probes", {"task": "profile"}).json() == []
