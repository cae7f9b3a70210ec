"""Life of a validation through everything that may happen to its worker, and what it says about searches."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.auth import get_user_model
from django.db import IntegrityError, transaction
from django.utils import timezone

from kernelsite.accounts.models import AuditEntry, Membership, Team
from kernelsite.catalog import device_jobs, standing, validations, workload_publish, workload_report
from kernelsite.catalog.device_job import JobState
from kernelsite.catalog.models import LibraryVersion, WorkloadValidation, WorkloadVersion, sync_shipped
from kernelsite.fleet.models import Device
from kernelsite.searches.launch import LaunchError, Options, Order
from search.records import Environment
from search.settings import Budget
from search.validation import (
    BaselineFigure,
    BaselineTime,
    CaseRun,
    Ending,
    Honest,
    MutantResult,
    Outcome,
    Part,
    SelfTest,
    Validation,
)
from tests.kernelsite.workload_texts import REFERENCE, SOFTMAX

pytestmark = pytest.mark.django_db


@pytest.fixture
def sent(monkeypatch):
    """What was given to the broker: queue, id, request."""
    found = []
    monkeypatch.setattr(
        device_jobs.app,
        "send_task",
        lambda name, args, queue, task_id: found.append((name, queue, task_id, args[0])),
    )
    return found


@pytest.fixture
def team():
    return Team.objects.create(name="Kernels", slug="kernels")


@pytest.fixture
def ada(team):
    user = get_user_model().objects.create_user("ada")
    Membership.objects.create(team=team, user=user, role="member")
    return user


@pytest.fixture
def workload():
    return workload_report.check(SOFTMAX, REFERENCE).workload


@pytest.fixture
def version(team, ada, workload):
    draft, _ = workload_publish.create_draft(team, ada, workload, "a file")
    return workload_publish.publish(draft, ada)


@pytest.fixture
def row(sent, team, ada, workload, django_capture_on_commit_callbacks):
    with django_capture_on_commit_callbacks(execute=True):
        made, is_new = validations.request(team, ada, workload, "rows", "cpu")
    assert is_new
    return made


def known(workload, ending=Ending.PASSED, survivors=(), no_effect=(), **more):
    """What a worker says."""
    names = ["zeros", "ones", "1 % too large", "transposed"]
    outcomes = dict.fromkeys(names, Outcome.KILLED)
    outcomes |= dict.fromkeys(survivors, Outcome.SURVIVED) | dict.fromkeys(no_effect, Outcome.NO_EFFECT)
    mutants = tuple(
        MutantResult(
            name=name, group="values", outcome=outcome, specimens=3, rejections=3, error=2.0, case="main"
        )
        for name, outcome in outcomes.items()
    )
    honest = Honest(case="main", values="declared", error=0.01)
    test = SelfTest(
        workload="rows",
        hash=workload.hash,
        device="a CPU",
        cases=("main", "odd"),
        specimens=9,
        honest=honest,
        honest_few=None,
        scale=32.0,
        least_scale=0.5,
        mutants=mutants,
    )
    time = BaselineTime(median_us=12.0, p10_us=11.0, p90_us=14.0, floor_us=1.5)
    return Validation(
        hash=workload.hash,
        environment=Environment(device_class="cpu", device="a CPU", workload=workload.hash),
        part=Part.BASELINES,
        ending=ending,
        cases=(CaseRun(case="odd", passed=True, seconds=0.2), CaseRun(case="main", passed=True, seconds=0.3)),
        selftest=test,
        baselines={"eager": BaselineFigure(title="torch eager", cases={"main": time})},
        seconds=3.0,
    ).model_copy(update=more)


def done(row, found):
    device_jobs.start(WorkloadValidation, row.pk, row.token)
    validations.record(row.pk, row.token, found.dump())
    row.refresh_from_db()
    return row


def late(row):
    WorkloadValidation.objects.filter(pk=row.pk).update(
        lease_until=timezone.now() - timedelta(seconds=1), sent_at=timezone.now() - timedelta(minutes=1)
    )


def test_a_validation_is_sent_with_the_whole_workload(row, sent, workload):
    ((name, queue, task_id, request),) = sent
    assert (name, queue, task_id) == ("gpuworker.validate", "cpu", f"validation-{row.pk}-1")
    assert (request["id"], request["token"], request["workload"]) == (str(row.pk), row.token, workload.dump())


def test_asking_twice_waits_for_the_one_under_way(row, team, ada, workload):
    again, is_new = validations.request(team, ada, workload, "rows", "cpu")
    assert (again.pk, is_new) == (row.pk, False)
    _, is_new = validations.request(team, ada, workload, "rows", "h200")
    assert is_new
    with pytest.raises(IntegrityError), transaction.atomic():
        WorkloadValidation.objects.create(
            team=team, hash=workload.hash, slug="rows", document={}, device_class="cpu"
        )


def test_it_runs_says_what_it_knows_and_passes(row, workload):
    device_jobs.start(WorkloadValidation, row.pk, row.token)
    row.refresh_from_db()
    assert row.state == JobState.RUNNING
    partial = Validation(hash=workload.hash, cases=(CaseRun(case="odd", passed=True, seconds=0.1),))
    validations.hear(row.pk, row.token, partial.dump())
    row = WorkloadValidation.objects.get(pk=row.pk)
    assert [run.case for run in row.record.cases] == ["odd"]
    row = done(row, known(workload))
    assert (row.state, row.lease_until) == (JobState.PASSED, None)
    assert row.finished_at


def test_a_start_that_got_lost_is_made_up_by_the_next_word(row, workload):
    validations.hear(row.pk, row.token, Validation(hash=workload.hash).dump())
    row.refresh_from_db()
    assert row.state == JobState.RUNNING


@pytest.mark.parametrize("what", ["token", "hash", "unfinished", "cancelled", "twice"])
def test_what_nobody_waits_for_is_dropped(row, workload, what):
    found, token = known(workload), row.token
    if what == "token":
        token = "0" * 32
    if what == "hash":
        found = found.model_copy(update={"hash": "0" * 64})
    if what == "unfinished":
        found = found.model_copy(update={"ending": None})
    if what == "cancelled":
        assert device_jobs.cancel(row, "ada")
        assert not device_jobs.cancel(row, "ada")
    if what == "twice":
        done(row, known(workload, Ending.FAILED, message="first"))
    before = WorkloadValidation.objects.values().get(pk=row.pk)
    validations.record(row.pk, token, found.dump())
    assert WorkloadValidation.objects.values().get(pk=row.pk) == before


def test_a_worker_that_dies_is_followed_by_another_attempt(
    row, sent, workload, django_capture_on_commit_callbacks
):
    first = row.token
    device_jobs.start(WorkloadValidation, row.pk, first)
    assert device_jobs.lose_expired() == 0
    late(row)
    with django_capture_on_commit_callbacks(execute=True):
        assert device_jobs.lose_expired() == 1
    assert device_jobs.lose_expired() == 0
    row.refresh_from_db()
    assert (row.state, row.attempt) == (JobState.QUEUED, 2)
    assert sent[-1][2] == f"validation-{row.pk}-2"
    assert sent[-1][3]["token"] == row.token != first
    validations.record(row.pk, first, known(workload).dump())
    row.refresh_from_db()
    assert row.state == JobState.QUEUED, "the dead worker's word counts no more"
    assert done(row, known(workload)).state == JobState.PASSED


def test_it_is_given_up_after_some_attempts(row, workload):
    for _ in range(device_jobs.ATTEMPTS):
        row = done(row, known(workload, Ending.INFRA, message="no memory"))
    assert row.state == JobState.CANCELLED
    assert "given up after 4 attempts: no memory" in row.note
    assert standing.counting(row.team, row.hash) is None


def test_a_message_that_the_broker_lost_is_sent_again(row, sent):
    assert device_jobs.resend(lambda queue: ()) == 0, "too early"
    late(row)
    assert device_jobs.resend(lambda queue: {f"validation-{row.pk}-1"}) == 0
    assert device_jobs.resend(lambda queue: ()) == 1
    assert len(sent) == 2
    device_jobs.start(WorkloadValidation, row.pk, row.token)
    late(row)
    assert device_jobs.resend(lambda queue: ()) == 0


# What it says about searches ----------------------------------------------------------------------


def order(team, version, device_class="cpu"):
    library = LibraryVersion.objects.get(slug="core")
    options = Options(budget=Budget(evaluations=8), device_class=device_class)
    return Order(team, None, version, library, options, "key")


def refusal(team, version, device_class="cpu"):
    """The field and the reason of a launch that is refused; empty where it is not."""
    try:
        found = order(team, version, device_class).settings
    except LaunchError as error:
        return f"{error.field}: {error}"
    return "" if found.workload == version.slug else "another workload"


@pytest.fixture
def library(db):
    sync_shipped()


def test_no_search_before_a_validation(library, team, version, row, workload):
    assert "workload: This workload has not been validated" in refusal(team, version)
    device_jobs.start(WorkloadValidation, row.pk, row.token)
    assert "has not been validated" in refusal(team, version)
    done(row, known(workload))
    assert refusal(team, version) == ""
    assert standing.open_mutants(version) == []


def test_an_uploaded_reference_is_not_searched_with_on_a_worker_without_walls(
    library, team, version, row, workload
):
    done(row, known(workload))
    facts = {"name": "bare", "device_class": "h200", "sandbox": "unsandboxed"}
    Device.objects.hello(facts)
    assert "device_class: a worker of this class has no sandbox" in refusal(team, version, "h200")
    assert refusal(team, WorkloadVersion.objects.get(slug="softmax"), "h200") == ""


def test_a_failed_reference_is_refused_until_a_later_validation_passes(
    library, team, ada, version, row, workload
):
    done(row, known(workload, Ending.FAILED, message="case odd: raised"))
    assert "reference cannot be judged by" in refusal(team, version)
    again, _ = validations.request(team, ada, workload, "rows", "cpu")
    done(again, known(workload))
    assert refusal(team, version) == ""


def test_the_validation_on_the_searchs_own_device_class_counts_first(
    library, team, ada, version, row, workload
):
    done(row, known(workload))
    other, _ = validations.request(team, ada, workload, "rows", "h200")
    done(other, known(workload, Ending.FAILED, message="out of memory"))
    assert refusal(team, version, "cpu") == ""
    assert "reference cannot be judged by" in refusal(team, version, "h200")


@pytest.mark.parametrize(("survivors", "no_effect"), [(["zeros"], []), ([], ["zeros"]), ([], ["ones"])])
def test_a_workload_that_zeros_would_pass_has_to_be_acknowledged(
    library, team, ada, version, row, workload, survivors, no_effect
):
    done(row, known(workload, survivors=survivors, no_effect=no_effect))
    (name,) = [*survivors, *no_effect]
    assert f"compute nothing ({name})" in refusal(team, version)
    assert standing.open_mutants(version) == [name]
    with pytest.raises(ValueError, match="Say why"):
        standing.acknowledge(version, ada, "  ok  ")
    assert standing.acknowledge(version, ada, "a mask that is mostly empty") == (name,)
    version.refresh_from_db()
    assert refusal(team, version) == ""
    assert standing.open_mutants(version) == [name]


def test_a_validation_without_wrong_programs_has_to_be_acknowledged_too(
    library, client, team, ada, version, row, workload
):
    done(row, known(workload, selftest=None, selftest_note="the device side died"))
    assert "could try no wrong program" in refusal(team, version)
    assert standing.open_mutants(version) is None
    client.force_login(ada)
    assert "No wrong program was tried" in client.get("/workloads/rows/v/1/").content.decode()
    standing.acknowledge(version, ada, "too large for this worker")
    version.refresh_from_db()
    assert refusal(team, version) == ""


def test_an_acknowledgement_covers_what_it_named_and_nothing_new(library, team, ada, version, row, workload):
    done(row, known(workload, survivors=["zeros"]))
    standing.acknowledge(version, ada, "a mask that is mostly empty")
    again, _ = validations.request(team, ada, workload, "rows", "cpu")
    done(again, known(workload, survivors=["zeros", "ones"]))
    assert "ones" in refusal(team, version)


def test_other_survivors_are_shown_and_not_refused(library, team, version, row, workload):
    done(row, known(workload, survivors=["1 % too large"], no_effect=["transposed"]))
    assert refusal(team, version) == ""
    assert standing.open_mutants(version) == ["1 % too large"]


def test_shipped_ones_need_none_and_retired_ones_get_none(library, team, version):
    shipped = WorkloadVersion.objects.get(slug="softmax")
    assert refusal(team, shipped) == ""
    assert standing.open_mutants(shipped) == []
    assert standing.open_mutants(version) is None
    workload_publish.retire(version, team)
    version.refresh_from_db()
    assert "is retired" in refusal(team, version)


# Its pages ----------------------------------------------------------------------------------------


def test_the_page_shows_each_state(client, library, ada, version, row, workload):
    client.force_login(ada)
    page = "/workloads/rows/v/1/"
    assert 'data-refresh="2"' in client.get(page).content.decode()
    done(row, known(workload, survivors=["zeros", "1 % too large"]))
    body = client.get(page).content.decode()
    for words in ("compute nothing would pass", "torch eager", "2 of 4", "survives", "Acknowledge", "12.0"):
        assert words in body
    assert "data-refresh" not in body
    answer = client.post(f"{page}acknowledge/", {"reason": "short"}, follow=True)
    assert "Say why" in answer.content.decode()
    answer = client.post(f"{page}acknowledge/", {"reason": "a mask <b>that</b> is mostly empty"}, follow=True)
    body = answer.content.decode()
    assert "Acknowledged by ada" in body
    assert "<b>that</b>" not in body
    entry = AuditEntry.objects.get(verb="acknowledge")
    assert (entry.reason, entry.after) == ("a mask <b>that</b> is mostly empty", {"passes": ["zeros"]})


def test_a_failure_is_shown_with_what_the_reference_printed(client, library, ada, version, row, workload):
    client.force_login(ada)
    run = CaseRun(
        case="odd", passed=False, seconds=0.1, message="the reference raised", log="Traceback <b>\x1b[31m"
    )
    failed = known(
        workload, Ending.FAILED, message="case odd: the reference raised", cases=(run,), selftest=None
    )
    done(row, failed)
    body = client.get("/workloads/rows/v/1/").content.decode()
    assert "case odd: the reference raised" in body
    assert "Traceback &lt;b&gt;" in body
    assert "\x1b" not in body


def test_it_is_cancelled_and_asked_for_again(client, library, ada, version, row):
    client.force_login(ada)
    body = client.post(f"/workloads/validations/{row.pk}/cancel/", follow=True).content.decode()
    assert "cancelled by ada" in body
    client.post("/workloads/rows/v/1/validate/", {"device_class": "cpu"})
    assert WorkloadValidation.objects.open().get().pk != row.pk
    answer = client.post("/workloads/rows/v/1/validate/", {"device_class": "abacus"}, follow=True)
    assert "no device class abacus" in answer.content.decode()


def test_the_launch_form_says_why_it_refuses(client, library, ada, version, row, workload):
    client.force_login(ada)
    done(row, known(workload, survivors=["zeros"]))
    form = client.get("/searches/new/?workload=rows").context["form"]
    data = {name: form.get_initial_for_field(field, name) for name, field in form.fields.items()}
    data = {name: value for name, value in data.items() if value not in (None, "", [])}
    data |= {
        "workload": version.pk,
        "library": LibraryVersion.objects.get(slug="core").pk,
        "device_class": "cpu",
    }
    page = client.post("/searches/new/", data)
    assert page.status_code == 422
    assert "compute nothing (zeros)" in page.content.decode()
