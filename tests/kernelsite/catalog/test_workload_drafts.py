"""Drafts become versions: named, checked, published once, retired; what came from elsewhere comes once."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User

from kernelsite.accounts.models import Team
from kernelsite.catalog import workload_publish, workload_report
from kernelsite.catalog.models import WorkloadDraft, WorkloadVersion, sync_shipped
from kernelsite.catalog.workload_publish import WorkloadRefusedError, create_draft
from search.workload import shipped_workload
from tests.kernelsite.workload_texts import REFERENCE, SOFTMAX

pytestmark = pytest.mark.django_db


@pytest.fixture
def team():
    return Team.objects.create(name="Attention", slug="attention")


@pytest.fixture
def ada():
    return User.objects.create_user("ada")


@pytest.fixture
def workload():
    return workload_report.check(SOFTMAX, REFERENCE).workload


def written(draft, old="", new=""):
    draft.definition, draft.reference = SOFTMAX.replace(old, new) if old else SOFTMAX, REFERENCE
    draft.save()
    return draft


@pytest.mark.parametrize("name", ["", "1a", "a-b", "new", "import", "drafts", "ä", "a" * 61, "a b", "../a"])
def test_names_that_addresses_cannot_hold_are_refused(team, name):
    with pytest.raises(WorkloadRefusedError, match="A name is"):
        workload_publish.begin(team, None, name, "T")


def test_a_name_is_given_once(team):
    sync_shipped()
    workload_publish.begin(team, None, "mine", "T")
    with pytest.raises(WorkloadRefusedError, match="draft of mine"):
        workload_publish.begin(team, None, "mine", "T")
    with pytest.raises(WorkloadRefusedError, match="workload softmax"):
        workload_publish.begin(team, None, "softmax", "T")


def test_an_empty_draft_says_what_is_missing(team, ada):
    draft = workload_publish.begin(team, ada, "mine", 'A "title": # here')
    assert draft.hash == ""
    report = workload_report.Report.load(draft.report)
    assert {problem.place for problem in report.problems} == {"definition", "reference"}
    assert {problem.field for problem in report.problems} >= {"cases.0.axes.M", "cases.0.axes.N"}
    with pytest.raises(WorkloadRefusedError, match="has problems"):
        workload_publish.publish(draft, ada)
    assert WorkloadDraft.objects.filter(pk=draft.pk).exists()


def test_publishing_makes_an_immutable_version_and_ends_the_draft(team, ada, workload):
    draft = written(workload_publish.begin(team, ada, "mine", "T"))
    row = workload_publish.publish(draft, ada)
    assert (row.short, row.hash, row.created_by, row.status) == ("mine@1", workload.hash, ada, "published")
    assert (row.title, row.op_type, row.tags) == ("Softmax of rows", "softmax", " row_reduction ")
    assert not WorkloadDraft.objects.exists()


def test_the_same_words_are_not_published_twice(team, ada):
    row = workload_publish.publish(written(workload_publish.begin(team, ada, "mine", "T")), ada)
    draft = workload_publish.next_version(row, team, ada)
    with pytest.raises(WorkloadRefusedError, match="mine@1, word for word"):
        workload_publish.publish(draft, ada)
    second = workload_publish.publish(written(draft, "M: 64", "M: 65"), ada)
    assert (second.version, second.based_on) == (2, row)


def test_a_draft_that_changed_meanwhile_is_not_published(team, ada):
    draft = written(workload_publish.begin(team, ada, "mine", "T"))
    workload_publish._saved(WorkloadDraft.objects.get(pk=draft.pk))
    with pytest.raises(WorkloadRefusedError, match="meanwhile"):
        workload_publish.publish(draft, ada)


def test_shipped_workloads_are_forked_and_never_changed(team, ada):
    sync_shipped()
    row = WorkloadVersion.objects.get(slug="softmax")
    for step in (workload_publish.retire, lambda row, team: workload_publish.next_version(row, team, ada)):
        with pytest.raises(WorkloadRefusedError, match="came with Kernelsite"):
            step(row, team)
    draft = workload_publish.fork(row, team, ada, "mine", "Mine")
    assert draft.hash
    made = workload_publish.publish(draft, ada)
    assert made.record.model_copy(update={"name": "softmax", "title": row.title}).hash == row.hash


def test_a_retired_version_cannot_be_launched_or_retired_again(team, ada):
    row = workload_publish.publish(written(workload_publish.begin(team, ada, "mine", "T")), ada)
    workload_publish.retire(row, team)
    assert not WorkloadVersion.objects.launchable().filter(pk=row.pk).exists()
    row.refresh_from_db()
    with pytest.raises(WorkloadRefusedError, match="retired already"):
        workload_publish.retire(row, team)


# From elsewhere -----------------------------------------------------------------------------------


def test_an_import_makes_a_draft_once(team, ada, workload):
    draft, is_new = create_draft(team, ada, workload, "set.zip")
    assert (draft.slug, draft.hash, draft.source, is_new) == ("rows", workload.hash, "set.zip", True)
    assert create_draft(team, ada, workload, "again.zip") == (draft, False)
    row = workload_publish.publish(draft, ada)
    assert row.source == "set.zip"
    assert create_draft(team, ada, workload, "again.zip") == (row, False)
    assert not WorkloadDraft.objects.exists()


def test_a_shipped_workload_is_not_taken_in(team, ada):
    sync_shipped()
    row, is_new = create_draft(team, ada, shipped_workload("softmax"), "set.zip")
    assert (row.short, is_new) == ("softmax@1", False)


def test_other_content_of_an_import_replaces_a_draft_that_nobody_wrote_in(team, ada, workload):
    draft, _ = create_draft(team, ada, workload, "set.zip")
    changed = workload.model_copy(update={"title": "Other"})
    again, is_new = create_draft(team, ada, changed, "set2.zip")
    assert (again.pk, again.hash, again.title, is_new) == (draft.pk, changed.hash, "Other", True)


def test_it_takes_another_name_where_the_name_is_taken(team, ada, workload):
    sync_shipped()
    workload_publish.begin(team, ada, "rows", "By hand")
    draft, _ = create_draft(team, ada, workload, "set.zip")
    assert draft.slug == "rows_2"
    softmax = shipped_workload("softmax").model_copy(update={"title": "Other"})
    assert create_draft(team, ada, softmax, "set.zip")[0].slug == "softmax_2"
    reserved = workload.model_copy(update={"name": "_import"})
    assert create_draft(team, ada, reserved, "set.zip")[0].slug == "import_2"


def test_teams_do_not_see_each_others_drafts(team, ada, workload):
    other = Team.objects.create(name="Other", slug="other")
    create_draft(team, ada, workload, "set.zip")
    _, is_new = create_draft(other, ada, workload, "set.zip")
    assert is_new
