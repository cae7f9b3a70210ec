from __future__ import annotations

import pytest
from django.core.management import call_command
from django.db import IntegrityError

from kernelsite.accounts.models import Team
from kernelsite.catalog import models
from kernelsite.catalog.models import LibraryStatus, LibraryVersion, WorkloadVersion, sync_shipped
from search.library import shipped_library, shipped_workloads

pytestmark = pytest.mark.django_db


def test_it_works():
    added = sync_shipped()
    assert {row.short for row in added} == {f"{slug}@1" for slug in [*shipped_workloads(), "core"]}
    softmax = WorkloadVersion.objects.get(slug="softmax")
    assert softmax.record == shipped_workloads()["softmax"]
    assert softmax.hash == softmax.record.hash
    core = LibraryVersion.objects.get(slug="core")
    assert core.record == shipped_library()
    assert core.status == LibraryStatus.PUBLISHED


def test_a_second_time_adds_nothing():
    sync_shipped()
    assert sync_shipped() == []
    call_command("sync_catalog")
    assert WorkloadVersion.objects.count() == len(shipped_workloads())


def test_a_changed_document_becomes_the_next_version_and_retires_the_old_library(monkeypatch):
    sync_shipped()
    changed = shipped_library().model_copy(update={"title": "Core, second edition"})
    monkeypatch.setattr(models, "shipped_library", lambda name: changed)
    assert [row.short for row in sync_shipped()] == ["core@2"]
    assert [row.version for row in LibraryVersion.objects.launchable()] == [2]
    assert LibraryVersion.objects.get(version=1).record == shipped_library()


def test_a_team_sees_its_own_and_the_shipped_ones():
    sync_shipped()
    ours, theirs = (Team.objects.create(name=name, slug=name) for name in ("ours", "theirs"))
    shipped = WorkloadVersion.objects.get(slug="softmax")
    own = WorkloadVersion.objects.create(
        team=ours,
        slug="own",
        version=1,
        hash=shipped.hash,
        document=shipped.document,
        title="Own",
        op_type="x",
    )
    assert own in WorkloadVersion.objects.visible_to(ours)
    assert own not in WorkloadVersion.objects.visible_to(theirs)
    assert own not in WorkloadVersion.objects.visible_to(None)
    assert shipped in WorkloadVersion.objects.visible_to(theirs)


def test_newest_keeps_one_version_of_each_slug():
    sync_shipped()
    softmax = WorkloadVersion.objects.get(slug="softmax")
    second = WorkloadVersion.objects.create(
        slug="softmax",
        version=2,
        hash="f" * 64,
        document=softmax.document,
        title="Softmax",
        op_type="softmax",
    )
    newest = WorkloadVersion.objects.visible_to(None).newest()
    assert second in newest
    assert softmax not in newest
    assert newest.count() == len(shipped_workloads())


@pytest.mark.parametrize("field", ["hash", "version"])
def test_the_database_refuses_a_shipped_version_twice(field):
    sync_shipped()
    softmax = WorkloadVersion.objects.get(slug="softmax")
    values = {"hash": "f" * 64, "version": 9} | {field: getattr(softmax, field)}
    with pytest.raises(IntegrityError):
        WorkloadVersion.objects.create(slug="softmax", document={}, title="", op_type="", **values)
