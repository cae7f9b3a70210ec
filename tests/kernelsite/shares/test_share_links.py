"""Making, opening, ending and switching off share links."""

from __future__ import annotations

import hashlib
import io
import logging
import threading
from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client
from django.utils import timezone

from kernelsite.accounts.models import AuditEntry, Membership
from kernelsite.ops.logs import SecretsFilter
from kernelsite.searches.models import ModelCall, Search, Step
from kernelsite.shares.document import Scope
from kernelsite.shares.models import GuestMinute, Share, SiteSharing, TeamSharing

SEALED = {
    "X-Robots-Tag": "noindex, nofollow, noarchive",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "private, no-store",
}


@pytest.fixture
def guest():
    return Client()


def test_a_guest_reads_the_result_and_the_token_is_kept_as_a_hash_only(share, guest, search):
    token = share()
    assert len(token) >= 43  # 256 bits
    row = Share.objects.get()
    assert row.digest == hashlib.sha256(token.encode()).hexdigest()
    page = guest.get(f"/p/{token}/")
    text = page.content.decode()
    assert page.status_code == 200
    assert "For everybody" in text
    assert "95 %" in text
    assert "synthetic baseline" in text
    assert "snapshot of" in text
    assert "confirmed" in text
    assert 'class="line' in text
    assert token not in text.replace(f"/p/{token}/picture.png", "")
    for name, value in SEALED.items():
        assert page.headers[name] == value
    assert "script" not in page.headers["Content-Security-Policy"]
    assert "<script" not in text
    assert not page.cookies
    assert (row.expires_at - row.created_at).days in (6, 7)


def test_the_default_is_frozen_without_code_and_for_seven_days(client, alice, search):
    client.force_login(alice)
    form = client.get(f"/shares/new/?kind=search&id={search.pk}").context["form"]
    assert form.fields["days"].initial == 7
    assert form.fields["state"].initial == "frozen"
    assert not form.fields["code"].initial
    assert not form.fields["transcript"].initial


def test_every_look_is_counted_but_polls_are_not(share, guest):
    token = share(state="live")
    etag = guest.get(f"/p/{token}/").headers["ETag"]
    assert guest.get(f"/p/{token}/", headers={"If-None-Match": etag}).status_code == 304
    guest.head(f"/p/{token}/")
    guest.get(f"/p/{token}/data.json")
    assert Share.objects.get().opens == 1


def test_a_frozen_page_stays_and_says_that_something_newer_exists(share, guest, search):
    token = share()
    before = guest.get(f"/p/{token}/data.json").json()
    Search.objects.filter(pk=search.pk).update(evaluations_spent=16, event_seq=search.event_seq + 1)
    search.structures.update(best_speedup=99.0)
    assert guest.get(f"/p/{token}/data.json").json() == before
    assert "have changed since" in guest.get(f"/p/{token}/").content.decode()


def test_a_live_page_follows_without_a_socket(share, guest, search):
    token = share(state="live")
    page = guest.get(f"/p/{token}/")
    text = page.content.decode()
    assert "live until" in text
    assert "js/shared.js" in text
    assert 'http-equiv="refresh" content="15"' in text
    Search.objects.filter(pk=search.pk).update(event_seq=search.event_seq + 5, evaluations_spent=15)
    answer = guest.get(f"/p/{token}/", headers={"If-None-Match": page.headers["ETag"]})
    assert answer.status_code == 200
    assert "15 evaluations" in answer.content.decode()


def ended(row):
    row.update(expires_at=timezone.now() - timedelta(seconds=1))


def revoked(row):
    row.update(revoked_at=timezone.now())


def closed_by_the_team(row):
    TeamSharing.objects.create(team=row.get().team, is_open=False)


def closed_by_the_site(row):
    SiteSharing.objects.create(pk=1, is_open=False)


def gone(row):
    Search.objects.filter(pk=row.get().thing_id).delete()


@pytest.mark.parametrize(
    ("end", "state"),
    [
        (ended, "frozen"),
        (revoked, "frozen"),
        (revoked, "live"),
        (closed_by_the_team, "frozen"),
        (closed_by_the_site, "live"),
        (gone, "frozen"),
        (gone, "live"),
    ],
)
def test_what_does_not_work_any_more_looks_like_what_never_was(end, state, share, guest):
    token = share(state=state)
    end(Share.objects.all())
    unknown = guest.get("/p/0123456789/")
    for path in ("", "data.json", "picture.png", "figures/cases.svg"):
        answer = guest.get(f"/p/{token}/{path}")
        assert answer.status_code == 404
        assert answer.content == unknown.content
        assert dict(answer.headers) == dict(unknown.headers)


def test_the_operator_closes_everything(share, guest, settings):
    token = share()
    settings.SHARING = False
    assert guest.get(f"/p/{token}/").status_code == 404


def test_an_unknown_figure_is_not_found_either(share, guest):
    token = share()
    assert guest.get(f"/p/{token}/figures/roofline.svg").status_code == 404


def test_code_needs_a_maintainer_and_stays_out_unless_asked_for(share, guest, member, client, search):
    assert 'extern "C"' not in guest.get(f"/p/{share()}/").content.decode().replace("&quot;", '"')
    with_code = guest.get(f"/p/{share(code='on')}/").content.decode()
    assert "use_" in with_code
    client.force_login(member)
    data = {"kind": "search", "id": search.pk, "title": "t", "days": 7, "state": "frozen", "code": "on"}
    assert client.post("/shares/new/", data).status_code == 403
    assert client.get("/shares/new/", data).status_code == 403
    assert client.post("/shares/new/", data | {"code": ""}).status_code == 200
    assert Share.objects.count() == 3


def test_a_member_cannot_extend_a_link_with_code_but_may_end_it(share, client, member):
    share(code="on")
    row = Share.objects.get()
    client.force_login(member)
    assert client.post(f"/shares/{row.pk}/extend", {"days": 9}).status_code == 403
    assert client.post(f"/shares/{row.pk}/revoke").status_code == 302
    row.refresh_from_db()
    assert row.revoked_at


def test_the_team_s_longest_validity_holds_for_new_links_and_for_extended_ones(
    client, alice, team, search, share
):
    share()
    row = Share.objects.get()
    client.force_login(alice)
    assert client.post("/settings/sharing/rules", {"is_open": "on", "longest_days": 10}).status_code == 302
    data = {"kind": "search", "id": search.pk, "title": "t", "days": 11, "state": "frozen"}
    response = client.post("/shares/new/", data)
    assert response.status_code == 422
    assert "at most 10" in response.content.decode()
    client.post(f"/shares/{row.pk}/extend", {"days": 11})
    row.refresh_from_db()
    assert row.expires_at < timezone.now() + timedelta(days=8)
    client.post(f"/shares/{row.pk}/extend", {"days": 10})
    row.refresh_from_db()
    assert row.expires_at > timezone.now() + timedelta(days=9)
    told = AuditEntry.objects.filter(verb="extend share").get()
    assert told.before["until"] < told.after["until"]


def test_a_link_that_ended_is_not_extended(share, client, alice):
    token = share()
    client.force_login(alice)
    row = Share.objects.get()
    for change in (ended, revoked):
        change(Share.objects.all())
        client.post(f"/shares/{row.pk}/extend", {"days": 7})
        assert Client().get(f"/p/{token}/").status_code == 404
    assert not AuditEntry.objects.filter(verb="extend share").exists()


def test_of_twenty_who_revoke_together_one_does(share, alice):
    token = share()
    row = Share.objects.get()
    gate = threading.Barrier(20)
    answers = []

    def revoke():
        client = Client()
        client.force_login(alice)
        gate.wait()
        answers.append(client.post(f"/shares/{row.pk}/revoke").status_code)
        connection.close()

    threads = [threading.Thread(target=revoke) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [302] * 20
    assert AuditEntry.objects.filter(verb="revoke share").count() == 1
    assert Client().get(f"/p/{token}/").status_code == 404


def test_too_many_requests_of_one_address_are_refused_before_anything_is_looked_up(share, guest, monkeypatch):
    monkeypatch.setattr(GuestMinute, "LIMIT", 3)
    token = share()
    answers = [guest.get(f"/p/{word}/").status_code for word in ("x", "y", "z", token)]
    assert answers == [404, 404, 404, 429]
    assert guest.get(f"/p/{token}/", REMOTE_ADDR="10.0.0.9").status_code == 200
    assert "127.0.0.1" not in str(list(GuestMinute.objects.values_list("visitor", flat=True)))


def test_the_token_is_in_no_log(share, guest):
    token = share()
    revoked(Share.objects.all())
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.addFilter(SecretsFilter())
    logging.getLogger().addHandler(handler)
    try:
        guest.get(f"/p/{token}/")
        guest.get(f"/p/{token}/figures/x.svg")
        guest.post(f"/p/{token}/")
    finally:
        logging.getLogger().removeHandler(handler)
    assert "/p/***" in stream.getvalue()
    assert token not in stream.getvalue()


def test_what_belongs_to_another_team_is_not_shared(client, search, member, team):
    Membership.objects.filter(user=member).delete()
    other = type(team).objects.create(name="Others", slug="others")
    Membership.objects.create(team=other, user=member, role="admin")
    client.force_login(member)
    data = {"kind": "search", "id": search.pk, "title": "t", "days": 7, "state": "frozen"}
    assert client.post("/shares/new/", data).status_code == 404
    assert client.get("/shares/new/", data).status_code == 404


@pytest.mark.parametrize("word", ["", "x", "-1", "9" * 30, "0"])
def test_an_odd_id_is_not_found(client, alice, team, word):
    client.force_login(alice)
    assert client.get("/shares/new/", {"kind": "search", "id": word}).status_code == 404
    assert client.get("/shares/new/", {"kind": "person", "id": "1"}).status_code == 404


def test_the_list_tells_who_shared_what_how_often_it_was_opened_and_when_it_ends(client, alice, share, guest):
    token = share()
    guest.get(f"/p/{token}/")
    client.force_login(alice)
    text = client.get("/shares/").content.decode()
    for words in ("For everybody", "alice", "1 time", "S-", "Revoke"):
        assert words in text
    assert token not in text
    revoked(Share.objects.all())
    assert "For everybody" not in client.get("/shares/").content.decode()
    assert "revoked" in client.get("/shares/?all=").content.decode()


def test_comparisons_sets_structures_and_releases_are_shared_too(
    share, guest, comparison, saved, release, search
):
    for kind, thing, words in (
        ("comparison", comparison, "Groups"),
        ("set", saved, "Groups"),
        ("structure", search.structures.last(), "Where it comes from"),
        ("release", release, "Released on"),
    ):
        token = share(kind=kind, thing=thing, tree="on")
        assert words in guest.get(f"/p/{token}/").content.decode(), kind


def test_a_search_without_a_result_is_shared_as_such(share, guest, launch):
    token = share(thing=launch(), state="live")
    page = guest.get(f"/p/{token}/")
    assert page.status_code == 200
    assert "Nothing has passed the checks yet" in page.content.decode()
    assert guest.get(f"/p/{token}/figures/cases.svg").status_code == 404


def test_keys_in_a_transcript_are_masked_and_long_texts_cut(share, guest, search):
    step = Step.objects.filter(search=search).first()
    step.structure = search.structures.last()
    step.save()
    said = {"messages": [{"role": "user", "content": "key sk-abcdefghijkl1234567890 " + "x" * 30_000}]}
    ModelCall.objects.create(
        search=search,
        step=step,
        step_attempt=1,
        endpoint_name="m",
        host="h",
        model="m",
        role="coder",
        request_hash="0",
        ceiling_tokens=1,
        tokens=1,
        attempt={"request": said},
        reply={"text": "</pre><script>alert(1)</script>"},
    )
    assert "coder" not in guest.get(f"/p/{share()}/").content.decode()
    text = guest.get(f"/p/{share(transcript='on')}/").content.decode()
    assert "coder" in text
    assert "sk-abc" not in text
    assert "characters left out" in text
    assert "<script>" not in text


def test_a_release_s_page_names_nobody_and_its_code_only_while_it_is_what_was_approved(share, guest, release):
    token = share(kind="release", thing=release, code="on", state="live")
    text = guest.get(f"/p/{token}/").content.decode()
    assert "2.50" in text
    assert "by 1 reviewer" in text
    assert release.content_hash in text
    assert "Code of the best candidate" in text
    assert "alice" not in text
    assert "bob" not in text
    source = release.candidate.source
    source.files[0]["content"] += "// changed"
    source.save()
    assert "Code of the best candidate" not in guest.get(f"/p/{token}/").content.decode()


def test_a_document_of_another_version_is_not_shown_and_the_log_says_so(share, guest, caplog):
    token = share()
    Share.objects.update(document={"kind": "search", "colour": "red"})
    assert guest.get(f"/p/{token}/").status_code == 404
    assert "kept by another version" in caplog.text
    assert token not in caplog.text


def test_what_was_ticked_stays_when_something_else_was_wrong(client, alice, search):
    client.force_login(alice)
    data = {"kind": "search", "id": search.pk, "title": "", "days": 7, "state": "live", "code": "on"}
    response = client.post("/shares/new/", data)
    assert response.status_code == 422
    assert response.context["scope"] == Scope(tree=False, code=True)
    assert response.context["is_live"]
    assert not Share.objects.exists()
