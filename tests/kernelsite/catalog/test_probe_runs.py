"""Programs of imports run by device workers: each becomes one draft or a sentence, whatever happens to its worker."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.auth import get_user_model
from django.core.files.uploadedfile import SimpleUploadedFile
from django.utils import timezone

from kernelsite.accounts.models import AuditEntry, Membership, Team
from kernelsite.catalog import device_jobs, probes, tasks
from kernelsite.catalog.device_job import JobState
from kernelsite.catalog.imports import Outcomes
from kernelsite.catalog.models import WorkloadDraft, WorkloadImport, WorkloadProbe, WorkloadVersion
from kernelsite.catalog.probes import ProbeRefusedError
from kernelsite.fleet.models import Device
from search.formats.probes import ProbeAnswer, ProbeRequest
from search.validation import Ending
from tests.kernelsite.workload_texts import OPERATOR, PICKS

pytestmark = pytest.mark.django_db

PAGE = "/workloads/import/"
TOLD = {
    "inputs": {"x": {"shape": [64, 128]}},
    "outputs": [{"shape": [6, 1]}, {"shape": [64, 128]}],
}


@pytest.fixture
def sent(monkeypatch):
    """What was given to the broker: task, queue, id, request."""
    found = []
    monkeypatch.setattr(
        device_jobs.app,
        "send_task",
        lambda name, args, queue, task_id: found.append((str(name), queue, task_id, args[0])),
    )
    return found


@pytest.fixture
def team():
    return Team.objects.create(name="Kernels", slug="kernels")


def login(client, team, role="member"):
    user = get_user_model().objects.create_user(role)
    Membership.objects.create(team=team, user=user, role=role)
    client.force_login(user)
    return client


@pytest.fixture
def member(client, team, sent):
    return login(client, team)


def upload(client, *files, **data):
    given = [SimpleUploadedFile(name, content) for name, content in files or [("picks.py", PICKS)]]
    return client.post(PAGE, {"files": given} | data, follow=True)


@pytest.fixture
def row(member, django_capture_on_commit_callbacks):
    """A run of the only program of an import."""
    upload(member)
    with django_capture_on_commit_callbacks(execute=True):
        member.post(f"/workloads/imports/{WorkloadImport.objects.get().pk}/probes/", {"device_class": "cpu"})
    return WorkloadProbe.objects.get()


def device(**more):
    values = {"device_class": "cpu", "name": "here", "sandbox": "sandboxed"} | more
    return Device.objects.create(last_seen_at=timezone.now(), **values)


def answer(*told, ending=Ending.PASSED, **more):
    return ProbeAnswer(ending=ending, told=told, device="a CPU", seconds=1.0, **more).dump()


def done(row, found):
    tasks.probe_started(str(row.pk), row.token)
    tasks.probe_record(str(row.pk), row.token, found)
    row.refresh_from_db()
    return item()


def item():
    (one,) = Outcomes.load(WorkloadImport.objects.get().report).items
    return one


def test_a_program_is_sent_with_its_files_and_becomes_a_draft(row, sent, member, team):
    ((name, queue, task_id, request),) = sent
    assert (name, queue, task_id) == ("gpuworker.probe", "cpu", f"probe-{row.pk}-1")
    wanted = ProbeRequest.load(request)
    assert (wanted.task, wanted.program.files) == ("shapes", {"picks.py": PICKS.decode()})
    assert AuditEntry.objects.get(verb="run").after == {
        "device_class": "cpu", "count": 1, "programs": ["picks.py"]
    }  # fmt: skip

    page = member.get(row.upload.get_absolute_url()).content.decode()
    assert page.count('data-refresh="2"') == 5
    assert "Run it" not in page
    tasks.probe_started(str(row.pk), row.token)
    tasks.probe_alive(str(row.pk), row.token)
    row.refresh_from_db()
    assert row.state == JobState.RUNNING
    assert row.lease_until > timezone.now()

    one = done(row, answer(TOLD))
    draft = WorkloadDraft.objects.get()
    assert (one.kind, one.result, one.slug, one.draft) == ("probe", "draft", draft.slug, True)
    assert (draft.team, draft.source) == (team, "picks.py")
    assert draft.hash, draft.report
    assert (row.state, row.lease_until) == (JobState.PASSED, None)
    page = member.get(row.upload.get_absolute_url()).content.decode()
    assert "data-refresh" not in page
    assert draft.get_absolute_url() in page
    member.post(f"{row.upload.get_absolute_url()}publish/")
    assert WorkloadVersion.objects.get().slug == draft.slug


def test_a_late_a_double_and_a_strange_answer_change_nothing(row):
    tasks.probe_record(str(row.pk), "guessed", answer(TOLD))
    assert item().result == "needs a probe"
    done(row, answer(TOLD))
    stamp = WorkloadDraft.objects.get().updated_at
    tasks.probe_record(str(row.pk), row.token, answer(ending=Ending.FAILED, message="no"))
    tasks.probe_started(str(row.pk), row.token)
    assert (item().result, WorkloadDraft.objects.get().updated_at) == ("draft", stamp)
    row.refresh_from_db()
    assert row.state == JobState.PASSED


def test_a_worker_that_dies_loses_nothing(row, sent, django_capture_on_commit_callbacks):
    first = row.token
    tasks.probe_started(str(row.pk), first)
    assert device_jobs.lose_expired() == 0
    WorkloadProbe.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
    with django_capture_on_commit_callbacks(execute=True):
        assert device_jobs.lose_expired() == 1
    row.refresh_from_db()
    assert (row.state, row.attempt, len(sent)) == (JobState.QUEUED, 2, 2)
    tasks.probe_record(str(row.pk), first, answer(TOLD))
    assert not WorkloadDraft.objects.exists(), "the dead worker's word counts no more"
    assert done(row, answer(TOLD)).result == "draft"
    assert WorkloadDraft.objects.count() == 1


def test_a_message_that_the_broker_lost_is_sent_again(row, sent):
    WorkloadProbe.objects.update(sent_at=timezone.now() - timedelta(minutes=1))
    assert device_jobs.resend(lambda queue: {f"probe-{row.pk}-1"}) == 0
    assert device_jobs.resend(lambda queue: ()) == 1
    assert [each[2] for each in sent] == [f"probe-{row.pk}-1"] * 2


def test_after_four_attempts_it_is_given_up_in_words_and_may_be_asked_again(row, member):
    for _ in range(device_jobs.ATTEMPTS):
        row.refresh_from_db()
        tasks.probe_record(str(row.pk), row.token, answer(ending=Ending.INFRA, message="no sandbox"))
    row.refresh_from_db()
    assert row.state == JobState.CANCELLED
    page = member.get(row.upload.get_absolute_url()).content.decode()
    assert "given up after 4 attempts: no sandbox" in page
    assert "Run it again" in page
    assert item().result == "needs a probe"


def test_one_program_in_two_imports_is_one_draft(row, member):
    done(row, answer(TOLD))
    upload(member, run="1", device_class="cpu")
    second = WorkloadProbe.objects.exclude(pk=row.pk).get()
    tasks.probe_record(str(second.pk), second.token, answer(TOLD))
    (one,) = Outcomes.load(WorkloadImport.objects.first().report).items
    assert (one.result, WorkloadDraft.objects.count()) == ("unchanged", 1)


@pytest.mark.parametrize(
    ("told", "words"),
    [
        ([], "told nothing"),
        ([{"inputs": {}}], "outputs: what it told cannot be a workload"),
        ([TOLD | {"inputs": {"x": {"shape": [-1]}}}], "cannot be a workload"),
        ([TOLD | {"inputs": {"x": {"shape": [64], "dtype": "<script>"}}}], "cannot be a workload"),
        ([TOLD | {"inputs": {"x; import os": {"shape": [4]}}}], "x; import os"),
        ([TOLD | {"outputs": [{"shape": [2] * 17}]}], "outputs.0.shape"),
    ],
)
def test_lies_of_a_program_are_a_sentence_and_no_draft(row, member, told, words):
    one = done(row, answer(*told))
    assert one.result == "refused", one
    assert words in one.text
    assert row.state == JobState.FAILED
    assert not WorkloadDraft.objects.exists()
    assert b"<script>" not in member.get(row.upload.get_absolute_url()).content.split(b"import-items")[1]


def test_a_program_that_fails_says_why_and_may_be_run_elsewhere(row, member, sent):
    log = "Traceback\n<b>CUDA</b> wanted\u202e"
    one = done(row, answer(ending=Ending.FAILED, message="it exited", log=log))
    assert (one.result, row.state) == ("refused", JobState.FAILED)
    page = member.get(row.upload.get_absolute_url()).content.decode()
    assert "&lt;b&gt;CUDA&lt;/b&gt; wanted" in page
    assert "\u202e" not in page
    device(device_class="h200", sandbox="sandboxed")
    member.post(f"{row.upload.get_absolute_url()}probes/", {"device_class": "h200", "place": "0"})
    second = WorkloadProbe.objects.open().get()
    assert second.device_class == "h200"
    assert done(second, answer(TOLD)).result == "draft"
    page = member.post(f"{row.upload.get_absolute_url()}probes/", {"place": "0"}, follow=True)
    assert "it is a workload already" in page.content.decode()
    assert WorkloadProbe.objects.count() == 2


def test_asking_twice_runs_once_and_a_run_can_be_cancelled(row, member):
    address = f"{row.upload.get_absolute_url()}probes/"
    member.post(address, {"place": "0"})
    member.post(address)
    assert WorkloadProbe.objects.count() == 1
    assert AuditEntry.objects.filter(verb="run").count() == 1
    member.post(f"{address}{row.pk}/cancel/")
    page = member.post(f"{address}{row.pk}/cancel/", follow=True).content.decode()
    assert "over already" in page
    assert AuditEntry.objects.filter(verb="cancel").count() == 1
    tasks.probe_record(str(row.pk), row.token, answer(TOLD))
    assert not WorkloadDraft.objects.exists()
    member.post(address)
    assert WorkloadProbe.objects.open().get().pk != row.pk


def test_the_form_s_box_runs_at_once(member, sent, django_capture_on_commit_callbacks):
    with django_capture_on_commit_callbacks(execute=True):
        upload(member, run="1", device_class="cpu")
    assert [each[0] for each in sent] == ["gpuworker.probe"]
    assert AuditEntry.objects.get().after["run"] == 1


def test_without_walls_nothing_is_run_and_that_is_said(member, sent):
    device(sandbox="unsandboxed")
    page = upload(member, run="1", device_class="cpu").content.decode()
    assert "has no sandbox" in page
    assert item().result == "needs a probe", "it is taken in all the same"
    page = member.post(f"{WorkloadImport.objects.get().get_absolute_url()}probes/", follow=True)
    assert "has no sandbox" in page.content.decode()
    assert not WorkloadProbe.objects.exists()
    with pytest.raises(ProbeRefusedError, match="no device class h9"):
        probes.check_class("h9")


def test_a_run_is_the_team_s(row, client):
    login(client, Team.objects.create(name="Others", slug="others"), "admin")
    address = f"{row.upload.get_absolute_url()}probes/"
    assert client.post(address).status_code == 404
    assert client.post(f"{address}{row.pk}/cancel/").status_code == 404


def operator(name, seconds, **more):
    return OPERATOR | {"name": f"aten.{name}.default", "seconds": seconds} | more


@pytest.fixture
def profile(member, django_capture_on_commit_callbacks):
    """A profile under way, asked for with the upload."""
    with django_capture_on_commit_callbacks(execute=True):
        upload(
            member, ("double.py", PICKS.replace(b"torch.nonzero(torch.ones(6)).float()", b"x")), profile="1"
        )
    return WorkloadProbe.objects.get()


def test_a_module_s_operators_are_ranked_and_the_chosen_ones_become_drafts(profile, sent, member):
    assert ProbeRequest.load(sent[0][3]).task == "profile"
    assert item().result == "draft", "its text told the shapes"
    assert AuditEntry.objects.get().after["profile"] == 1
    view = {"name": "aten.view.default", "args": [{"shape": [8192]}], "seconds": 1e-5}
    told = [operator("relu", 1e-4), operator("_softmax", 3e-4), OPERATOR | view]
    tasks.probe_record(str(profile.pk), profile.token, answer(*told))
    address = f"{profile.upload.get_absolute_url()}probes/{profile.pk}/"
    assert address in member.get(profile.upload.get_absolute_url()).content.decode()
    page = member.get(address)
    rows = page.context["ranked"]
    assert [one.operator.name for one in rows] == [
        "aten._softmax.default", "aten.relu.default", "aten.view.default"
    ]  # fmt: skip
    assert rows[0].share == pytest.approx(3e-4 / 4.1e-4)
    assert (rows[0].twice, rows[0].limit) == (pytest.approx(1.577, abs=1e-3), pytest.approx(3.727, abs=1e-3))
    text = page.content.decode()
    assert text.count(" checked") == 2
    assert "it computes nothing" in text
    assert "64x128 float32" in text

    for _ in range(2):
        member.post(f"{address}make/", {"operator": [rows[1].offered, "nonsense"]})
    report = Outcomes.load(WorkloadImport.objects.get().report)
    assert [(one.kind, one.result) for one in report.items] == [("workload", "draft"), ("operator", "draft")]
    draft = WorkloadDraft.objects.get(slug=rows[1].offered)
    assert draft.hash
    assert "torch.ops.aten.relu.default(x0)" in draft.reference
    assert AuditEntry.objects.filter(verb="make").count() == 2
    page = member.post(f"{address}make/", {"operator": "nonsense"}, follow=True).content.decode()
    assert "Choose at least one operator" in page
    page = member.post(f"{profile.upload.get_absolute_url()}publish/", follow=True).content.decode()
    assert "2 published" in page


@pytest.mark.parametrize(
    ("told", "words"),
    [([], "called no operator"), ([{"name": "os.system"}], "no operators"), ([operator("relu", -1)], "no operators")],
)  # fmt: skip
def test_lies_about_operators_are_a_sentence(profile, member, told, words):
    tasks.probe_record(str(profile.pk), profile.token, answer(*told))
    profile.refresh_from_db()
    assert profile.state == JobState.FAILED
    page = member.get(f"{profile.upload.get_absolute_url()}probes/{profile.pk}/").content.decode()
    assert words in page
    member.post(f"{profile.upload.get_absolute_url()}probes/", {"task": "profile"})
    assert not WorkloadProbe.objects.open().exists(), "all of them have been run"
    member.post(f"{profile.upload.get_absolute_url()}probes/", {"task": "profile", "place": "0"})
    assert WorkloadProbe.objects.open().get().task == "profile"
