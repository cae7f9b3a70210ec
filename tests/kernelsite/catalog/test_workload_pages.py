"""Pages of workloads as people use them: a draft is written, checked, kept whatever is wrong, published; lists are narrowed."""

from __future__ import annotations

import csv
import io

import pytest
from django.contrib.auth import get_user_model

from kernelsite.accounts.models import AuditEntry, Membership, Team
from kernelsite.catalog import workload_publish, workload_report
from kernelsite.catalog.models import WorkloadDraft, WorkloadValidation, WorkloadVersion, sync_shipped
from tests.kernelsite.workload_texts import REFERENCE, SOFTMAX

pytestmark = pytest.mark.django_db
DRAFT = "/workloads/drafts/mine/"


@pytest.fixture
def team():
    return Team.objects.create(name="Kernels", slug="kernels")


@pytest.fixture
def ada(team):
    user = get_user_model().objects.create_user("ada")
    Membership.objects.create(team=team, user=user, role="member")
    return user


@pytest.fixture
def member(client, ada):
    client.force_login(ada)
    return client


@pytest.fixture
def draft(team, ada):
    return workload_publish.begin(team, ada, "mine", "Mine")


def post(client, step, definition=SOFTMAX, reference=REFERENCE, **more):
    seen = client.get(DRAFT).context["seen"]
    data = {"step": step, "definition": definition, "reference": reference, "seen": seen, **more}
    return client.post(DRAFT, data, follow=True)


def verbs():
    return list(AuditEntry.objects.order_by("id").values_list("verb", flat=True))


def test_from_an_empty_page_to_a_version(member):
    page = member.post("/workloads/new/", {"name": "mine", "title": "Mine"}, follow=True)
    assert page.redirect_chain == [(DRAFT, 302)]
    assert not page.context["is_sound"]
    page = post(member, "save")
    assert page.context["is_sound"]
    page = post(member, "publish")
    assert page.redirect_chain == [("/workloads/mine/v/1/", 302)]
    row = WorkloadVersion.objects.get(slug="mine")
    assert row.created_by.username == "ada"
    assert not WorkloadDraft.objects.exists()
    assert verbs() == ["begin", "write", "publish"]
    assert WorkloadValidation.objects.get().hash == row.hash, "publishing has it validated"
    assert "Validation" in page.content.decode()


def test_what_is_wrong_is_kept_and_told_at_its_line(member, draft):
    text = SOFTMAX.replace("M: 64", "M: -64")
    page = post(member, "save", text, "def run(x):\n    return (\n")
    body = page.content.decode()
    assert "definition, line 14" in body
    assert "reference, line 2" in body
    assert "M: -64" in body
    draft.refresh_from_db()
    assert (draft.definition, draft.reference, draft.hash) == (text, "def run(x):\n    return (\n", "")
    page = post(member, "publish", text)
    assert "nothing to publish" in page.content.decode()
    assert WorkloadDraft.objects.exists()


def test_a_huge_source_is_refused_with_its_text_kept(member, draft):
    page = post(member, "save", reference="# " + "x" * 300_000)
    assert "at most 256 KiB" in page.content.decode()
    draft.refresh_from_db()
    assert len(draft.reference) == 300_002


@pytest.mark.parametrize("sign", ["\x00", "\u202e", "\ufffd"])
def test_characters_that_nobody_sees_are_shown_by_number(member, draft, sign):
    page = post(member, "save", SOFTMAX.replace("Softmax of", f"Softmax{sign}of"))
    (problem,) = page.context["problems"][:1]
    assert (problem.place, problem.line) == ("definition", 2)
    assert sign not in page.context["problems"][0].text or sign == "\ufffd"


def test_the_check_while_writing_saves_nothing(member, draft):
    data = {"definition": SOFTMAX.replace("M: 64", "M: x"), "reference": REFERENCE}
    page = member.post(f"{DRAFT}check/", data)
    assert "cases.0.axes.M" in page.content.decode()
    assert "<html" not in page.content.decode()
    sound = member.post(f"{DRAFT}check/", {"definition": SOFTMAX, "reference": REFERENCE})
    assert "x[64\N{MULTIPLICATION SIGN}256]" in sound.content.decode()
    draft.refresh_from_db()
    assert draft.definition != SOFTMAX
    assert verbs() == []


def test_two_who_write_at_once_do_not_lose_each_others_text(member, draft):
    first = member.get(DRAFT).context["seen"]
    post(member, "save", SOFTMAX)
    mine = SOFTMAX.replace("M: 64", "M: 65")
    page = member.post(DRAFT, {"step": "save", "definition": mine, "reference": REFERENCE, "seen": first})
    assert page.status_code == 409
    assert page.context["definition"] == mine
    body = page.content.decode()
    assert "changed since you opened it" in body
    assert "axes: {M: 64, N: 256}" in body, "what is saved is shown too"
    draft.refresh_from_db()
    assert draft.definition == SOFTMAX
    page = member.post(
        DRAFT, {"step": "save", "definition": mine, "reference": REFERENCE, "seen": page.context["seen"]}
    )
    draft.refresh_from_db()
    assert draft.definition == mine


def test_titles_and_messages_of_strangers_are_escaped(member, draft):
    page = post(member, "save", SOFTMAX.replace("Softmax of rows", "<script>alert(1)</script>"))
    assert "<script>alert" not in page.content.decode()
    page = post(member, "save", SOFTMAX.replace("dtype: float32}\ncases", "dtype: <b>x</b>}\ncases"))
    assert "<b>x</b>" not in page.content.decode()


def test_a_new_version_is_made_and_compared(member, draft):
    post(member, "publish")
    page = member.post("/workloads/mine/v/1/edit/", follow=True)
    assert page.redirect_chain == [(DRAFT, 302)]
    page = post(member, "publish", SOFTMAX.replace("M: 64", "M: 128"))
    assert page.redirect_chain == [("/workloads/mine/v/2/", 302)]
    page = member.get("/workloads/diff/?old=mine@1&new=mine@2")
    ((_, rows), (_, reference)) = page.context["files"]
    assert [(row.kind, str(row.text).strip()) for row in rows if row.kind in ("add", "del")] == [
        ("del", "axes: {M: 64, N: 256}"), ("add", "axes: {M: 128, N: 256}")
    ]  # fmt: skip
    assert not reference
    assert member.get("/workloads/diff/?old=mine@1&new=mine@9").status_code == 404
    assert member.get("/workloads/diff/?old=mine@x").status_code == 404


def test_a_text_that_is_saved_and_not_published_is_audited(member, draft):
    post(member, "publish")
    member.post("/workloads/mine/v/1/edit/")
    page = post(member, "publish")
    assert "word for word" in page.content.decode()
    assert verbs() == ["publish", "edit", "write"], "the texts differ in layout, not in content"


def test_a_fork_of_a_shipped_workload_leaves_it(member):
    sync_shipped()
    assert member.post("/workloads/softmax/v/1/edit/", follow=True).status_code == 200
    assert not WorkloadDraft.objects.exists()
    page = member.post("/workloads/softmax/v/1/fork/", {"name": "softmax", "title": ""})
    assert page.status_code == 422
    page = member.post("/workloads/softmax/v/1/fork/", {"name": "mine", "title": "Mine"}, follow=True)
    assert page.context["is_sound"]
    assert page.context["draft"].based_on.short == "softmax@1"


def test_discarding_and_retiring_are_audited(member, draft):
    post(member, "publish")
    member.post("/workloads/mine/v/1/edit/")
    member.post(DRAFT, {"step": "discard"})
    page = member.post("/workloads/mine/v/1/retire/", follow=True)
    assert "is retired" in page.content.decode()
    assert verbs() == ["publish", "edit", "discard", "retire"]
    page = member.get("/searches/new/")
    assert "mine" not in [row.slug for row in page.context["form"].fields["workload"].queryset]
    assert member.post("/workloads/mine/v/1/burn/").status_code == 404


# The list -----------------------------------------------------------------------------------------


def slugs(client, query=""):
    return [row.slug for row in client.get(f"/workloads/{query}").context["page"]]


def test_the_list_is_searched_filtered_and_paged(member, team, ada):
    sync_shipped()
    workload = workload_report.check(SOFTMAX, REFERENCE).workload
    for number in range(45):
        made, _ = workload_publish.create_draft(
            team, ada, workload.model_copy(update={"name": f"row_{number:02}"}), "x"
        )
        workload_publish.publish(made, ada)
    assert len(slugs(member)) == 40
    assert len(slugs(member, "?page=2")) == WorkloadVersion.objects.count() - 40
    assert slugs(member, "?q=row_07") == ["row_07"]
    assert set(slugs(member, "?q=softmax+shipped&owner=shipped")) == set()
    assert "softmax" in slugs(member, "?q=SOFTMAX&owner=shipped")
    assert "gemm_fp16" in slugs(member, "?kind=gemm")
    assert set(slugs(member, "?tag=selection")) == {"argmax", "top_k"}
    assert slugs(member, "?tag=select") == []
    assert len(slugs(member, "?owner=team")) == 40
    assert slugs(member, "?q=no+such+thing") == []
    workload_publish.retire(WorkloadVersion.objects.get(slug="row_07"), team)
    assert slugs(member, "?q=row_07") == []
    assert slugs(member, "?q=row_07&retired=on") == ["row_07"]


def test_many_drafts_do_not_bury_the_list(member, team, ada):
    for number in range(12):
        workload_publish.begin(team, ada, f"begun_{number:02}", "Begun")
    page = member.get("/workloads/")
    assert [draft.slug for draft in page.context["drafts"]][:2] == ["begun_11", "begun_10"]
    assert len(page.context["drafts"]) == 8
    assert "All 12 drafts" in page.content.decode()
    assert len(member.get("/workloads/?drafts=all").context["drafts"]) == 12
    assert [draft.slug for draft in member.get("/workloads/?q=begun_03").context["drafts"]] == ["begun_03"]


def test_the_list_as_csv_runs_no_formula(member, draft):
    post(member, "publish", SOFTMAX.replace("Softmax of rows", "=cmd()"))
    answer = member.get("/workloads/workloads.csv?owner=team")
    rows = list(csv.DictReader(io.StringIO(answer.content.decode())))
    assert [(row["slug"], row["title"], row["owner"], row["state"]) for row in rows] == [
        ("mine", "'=cmd()", "ada", "published")
    ]


def test_what_another_team_owns_is_not_found(member, client, team, draft):
    post(member, "publish")
    member.post("/workloads/mine/v/1/edit/")
    eve = get_user_model().objects.create_user("eve")
    Membership.objects.create(team=Team.objects.create(name="O", slug="o"), user=eve, role="admin")
    client.force_login(eve)
    for path in ("/workloads/mine/", DRAFT, "/workloads/diff/?old=mine@1&new=mine@1"):
        assert client.get(path).status_code == 404
    pk = WorkloadValidation.objects.get().pk
    for path in (f"{DRAFT}check/", "/workloads/mine/v/1/validate/", f"/workloads/validations/{pk}/cancel/"):
        assert client.post(path).status_code == 404
    assert slugs(client) == []
