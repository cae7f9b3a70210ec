from __future__ import annotations

import pytest
from django.contrib.auth import get_user_model

from kernelsite.accounts.models import AuditEntry, Membership, Team
from kernelsite.compare.models import SavedView

LINES = "lines=" + ",".join(str(number) for number in range(1, 700))


def keep(client, path="/searches/", query="state=running", **more):
    return client.post(
        "/views/", {"path": path, "query": query, **more}, headers={"Accept": "application/json"}
    )


def test_a_long_address_becomes_a_short_one_and_opens_again(base, reader):
    assert len(LINES) > 2500
    key = keep(reader, "/searches/", f"?{LINES}").json()["key"]
    assert reader.get(f"/searches/?saved={key}").url == f"/searches/?{LINES}"
    assert reader.get(f"/views/{key}/").url == f"/searches/?{LINES}"
    assert reader.get(f"/compare/?saved={key}").status_code == 200  # of another page: not its view


def test_the_same_view_is_kept_once_and_takes_the_newer_title(base, reader):
    first = keep(reader, title="Running").json()["key"]
    assert keep(reader).json()["key"] == first
    assert keep(reader, title="What runs").json()["key"] == first
    assert SavedView.objects.get().title == "What runs"
    assert AuditEntry.objects.filter(kind="saved view", verb="keep").count() == 2
    assert "What runs" in reader.get("/views/").content.decode()


@pytest.mark.parametrize(
    ("path", "query", "word"),
    [
        ("//evil.example/", "", "no such page"),
        ("https://evil.example/", "", "no such page"),
        ("/no/such/page/", "", "no such page"),
        ("/api/v1/searches", "", "only pages"),
        ("/searches/", "x" * 8001, "8000"),
        ("", "", "required"),
    ],
)
def test_what_is_no_page_of_the_site_is_refused(base, reader, path, query, word):
    answer = keep(reader, path, query)
    assert answer.status_code == 422
    assert word in answer.json()["error"]
    assert not SavedView.objects.exists()


def test_the_form_without_scripts_leads_to_the_list_with_its_link(base, reader):
    form = {"path": "/searches/", "query": "", "title": "<b>All</b>"}
    page = reader.post("/views/", form, follow=True).content.decode()
    assert f"/views/{SavedView.objects.get().key}/" in page
    assert "&lt;b&gt;All&lt;/b&gt;" in page
    assert "<b>All" not in page


def test_colleagues_open_a_view_strangers_do_not_and_only_its_owner_forgets_it(base, reader, client, alice):
    key = keep(reader).json()["key"]
    bob, eve = (get_user_model().objects.create_user(name) for name in ("bob", "eve"))
    Membership.objects.create(team=base.team, user=bob, role="viewer")
    Membership.objects.create(team=Team.objects.create(name="Others", slug="others"), user=eve, role="admin")
    client.force_login(bob)
    assert client.get(f"/views/{key}/").status_code == 302
    assert client.post(f"/views/{key}/forget/").status_code == 404
    assert client.get("/views/").content.decode().count(key) == 0
    client.force_login(eve)
    assert client.get(f"/views/{key}/").status_code == 404
    assert client.get(f"/searches/?saved={key}").status_code == 200
    client.force_login(alice)
    assert client.post(f"/views/{key}/forget/").status_code == 302
    assert client.get(f"/views/{key}/").status_code == 404


def test_a_key_that_nobody_has_changes_nothing(base, reader):
    assert reader.get("/searches/?saved=nothing").status_code == 200
    assert reader.get("/searches/?saved=" + "x" * 500).status_code == 200
