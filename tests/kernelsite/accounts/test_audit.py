from __future__ import annotations

import csv
import io

import pytest
from django.db import DatabaseError, connection, transaction
from django.test import RequestFactory

from kernelsite.accounts import append_only, audit
from kernelsite.accounts.models import AuditEntry, Team


@pytest.fixture
def note(alice, kernels):
    """Writes entries as alice."""

    def write(verb, thing=kernels, **told):
        request = RequestFactory().post("/")
        request.user, request.team = alice, kernels
        audit.record(request, verb, thing, **told)

    return write


def test_the_database_refuses_to_change_or_delete(note):
    append_only.remove(connection)
    append_only.install(connection)
    note("launch")
    for change in (lambda rows: rows.update(actor="mallory"), lambda rows: rows.delete()):
        with pytest.raises(DatabaseError, match="append-only"), transaction.atomic():
            change(AuditEntry.objects.all())
    assert AuditEntry.objects.get().actor == "alice"
    note("stop")
    assert AuditEntry.objects.count() == 2
    append_only.remove(connection)


def test_entries_outlive_who_and_what_they_tell_of(note, alice, kernels):
    note("launch")
    kernels.delete()
    alice.delete()
    entry = AuditEntry.objects.get()
    assert (entry.actor, entry.name, entry.kind) == ("alice", "Kernels", "team")


def test_the_page_filters_and_hides_other_teams(note, as_alice):
    note("launch", after={"state": "queued"}, reason="<script>alert(1)</script>")
    note("stop")
    AuditEntry.objects.create(
        team_id=Team.objects.create(name="O", slug="o").pk,
        actor="mallory",
        verb="launch",
        kind="x",
        name="secret",
    )
    page = as_alice.get("/activity/")
    assert [row.verb for row in page.context["page"]] == ["stop", "launch"]
    assert "<script>alert" not in page.content.decode()
    page = as_alice.get("/activity/?verb=launch&actor=alice")
    assert [row.verb for row in page.context["page"]] == ["launch"]
    assert not list(as_alice.get("/activity/?verb=nothing").context["page"])


def test_the_file_holds_the_same_and_no_formulas(note, as_alice):
    note("launch", reason="=HYPERLINK(1)")
    note("stop", before={"state": "running"})
    text = b"".join(as_alice.get("/activity.csv?verb=launch").streaming_content).decode()
    (row,) = csv.DictReader(io.StringIO(text))
    assert (row["actor"], row["verb"], row["reason"]) == ("alice", "launch", "'=HYPERLINK(1)")
    assert row["at"].endswith("+00:00")


def test_an_address_behind_proxies_is_the_one_that_they_saw(alice, kernels, settings):
    settings.PROXIES = 1
    request = RequestFactory().post("/", headers={"X-Forwarded-For": "6.6.6.6, 9.9.9.9"})
    request.user, request.team = alice, kernels
    audit.record(request, "launch", kernels)
    assert AuditEntry.objects.get().address == "9.9.9.9"
