from __future__ import annotations

import io

import pytest
from django.contrib.auth import get_user_model
from django.core.management import CommandError, call_command
from library_texts import ACTION, ACTION_FILE, EVIL, FILES, NAME

from kernelsite.accounts.models import Membership, Team
from kernelsite.catalog import library_publish
from kernelsite.catalog.library_files import to_zip
from kernelsite.catalog.models import LibraryDraft, LibraryStatus, LibraryVersion, sync_shipped

DRAFT = f"/libraries/drafts/{NAME}/"
FILE = f"{DRAFT}file/?name={ACTION_FILE}"


@pytest.fixture
def team(db):
    return Team.objects.create(name="Kernels", slug="kernels")


def login(client, team, role):
    user = get_user_model().objects.create_user(role, password="as it is")
    Membership.objects.create(team=team, user=user, role=role)
    client.force_login(user)
    return client


@pytest.fixture
def member(client, team):
    return login(client, team, "member")


@pytest.fixture
def draft(team):
    return library_publish.new_draft(team, None, NAME, FILES)


def save(client, text, page=None, address=FILE):
    seen = (page or client.get(address)).context["seen"]
    return client.post(address, {"seen": seen, "text": text, "step": "save"}, follow=True)


def test_a_fork_is_broken_read_fixed_published_and_compared(member, draft):
    library_publish.publish(draft, None)
    page = member.post(f"/libraries/{NAME}/v/1/fork/", {"name": "ours", "title": "Ours"}, follow=True)
    assert page.redirect_chain == [("/libraries/drafts/ours/", 302)]
    assert page.context["is_sound"]
    address = "/libraries/drafts/ours/file/?name=101_poly.yaml"
    page = member.get(address)
    text = page.context["text"]
    assert page.context["applies"][0][0] == "poly"
    page = save(member, text.replace("family: numerics", "family: magic"), address=address)
    body = page.content.decode()
    assert "101_poly.yaml, line 3" in body
    assert "poly</span> · field" in body
    assert "family: magic" in body, "the text is kept"
    page = member.post("/libraries/drafts/ours/", {"step": "publish"}, follow=True)
    assert "Nothing was published" in page.content.decode()
    page = save(member, text.replace("title: ", "title: Our "), address=address)
    assert not page.context["problems"]
    page = member.post("/libraries/drafts/ours/", {"step": "publish"}, follow=True)
    assert page.redirect_chain == [("/libraries/ours/v/1/", 302)]
    row = LibraryVersion.objects.get(slug="ours")
    assert (row.version, row.record.name, row.record.version) == (1, "ours", "1")
    assert row.hash == row.record.hash
    assert row.based_on.slug == NAME
    assert not LibraryDraft.objects.exists()
    page = member.get(f"/libraries/diff/?old={NAME}@1&new=ours@1")
    (change,) = page.context["diff"].changed
    assert [(change.name, field.field) for field in change.fields] == [("poly", "title")]
    assert "Our Poly" in page.content.decode()


def test_versions_count_up_and_nothing_new_is_not_published(member, draft):
    member.post(DRAFT, {"step": "publish"})
    first = LibraryVersion.objects.get()
    member.post(f"/libraries/{NAME}/v/1/edit/")
    page = member.post(DRAFT, {"step": "publish"}, follow=True)
    assert "nothing differs" in page.content.decode()
    name = next(name for name in LibraryDraft.objects.get().files if "poly" in name)
    address = f"{DRAFT}file/?name={name}"
    save(member, ACTION.replace("Polynomial", "Chebyshev"), address=address)
    page = member.post(DRAFT, {"step": "publish"}, follow=True)
    assert "Changes from small@1" in page.content.decode()
    second = LibraryVersion.objects.get(version=2)
    assert (second.record.version, second.based_on) == ("2", first)
    first.refresh_from_db()
    assert first.hash == first.record.hash


def test_a_retired_version_stays_and_is_not_launched(member, draft, team):
    row = library_publish.publish(draft, None)
    member.post(f"/libraries/{NAME}/v/1/retire/")
    row.refresh_from_db()
    assert row.status == LibraryStatus.RETIRED
    assert not LibraryVersion.objects.visible_to(team).launchable().exists()
    page = member.post(f"/libraries/{NAME}/v/1/retire/", follow=True)
    assert "is retired already" in page.content.decode()
    sync_shipped()
    page = member.post("/libraries/core/v/1/retire/", follow=True)
    assert "came with Kernelsite" in page.content.decode()
    assert LibraryVersion.objects.shipped().launchable().exists()


def test_a_shipped_library_is_the_first_choice_of_a_launch(member, team):
    sync_shipped()
    files = FILES | {"00_library.yaml": FILES["00_library.yaml"].replace("small", "aaa")}
    library_publish.publish(library_publish.new_draft(team, None, "aaa", files), None)
    choices = [
        str(label) for _, label in member.get("/searches/new/").context["form"].fields["library"].choices
    ]
    assert [choice.rpartition("(")[2] for choice in choices] == ["core@1)", "aaa@1)"]


def test_two_people_do_not_overwrite_each_other(member, draft):
    old = member.get(FILE)
    save(member, ACTION.replace("Polynomial", "Theirs"))
    page = save(member, ACTION.replace("Polynomial", "Mine"), old)
    assert page.status_code == 409
    assert "Mine" in page.context["text"]
    draft.refresh_from_db()
    assert "Theirs" in draft.files[ACTION_FILE]
    save(member, page.context["text"], page)
    draft.refresh_from_db()
    assert "Mine" in draft.files[ACTION_FILE]


def test_files_come_and_go(member, draft):
    address = f"{DRAFT}file/"
    text = ACTION.replace("poly\n", "poly_too\n")
    page = member.post(address, {"new_name": "../evil.yaml", "text": text})
    assert page.status_code == 422
    assert text in page.context["text"]
    member.post(address, {"new_name": "20_too.yaml", "text": text})
    draft.refresh_from_db()
    assert draft.files["20_too.yaml"] == text
    seen = member.get(f"{address}?name=20_too.yaml").context["seen"]
    member.post(f"{address}?name=20_too.yaml", {"seen": seen, "step": "remove"})
    draft.refresh_from_db()
    assert draft.files == FILES
    assert member.get(f"{address}?name=no.yaml").status_code == 404


def test_hostile_text_is_shown_escaped(member, draft):
    page = save(member, ACTION.replace("numerics", EVIL).replace("id: poly", f'id: "{EVIL}"') + "</textarea>")
    assert page.context["problems"]
    body = page.content.decode()
    assert "<script>alert" not in body
    assert body.count("</textarea>") == 1
    assert "<script>alert" not in member.get(DRAFT).content.decode()
    page = save(member, ACTION.replace("Polynomial exponential", EVIL).replace("bounds.", EVIL))
    assert not page.context["problems"]
    member.post(DRAFT, {"step": "publish"})
    for address in (f"/libraries/{NAME}/v/1/", "/libraries/", f"/libraries/diff/?old={NAME}@1&new={NAME}@1"):
        assert "<script>alert" not in member.get(address).content.decode(), address


def test_aliases_and_deep_nesting_are_problems_not_errors(member, draft):
    for text in ("actions: &a [*a]\n", "[" * 5000, "actions: 1\n", "a: b: c\n", "--- \n--- \n"):
        page = save(member, text)
        assert page.status_code == 200, text
        assert page.context["problems"] or page.context["elsewhere"], text


def test_an_import_becomes_a_draft_and_an_export_comes_back(member, team):
    upload = io.BytesIO(to_zip(FILES, NAME))
    upload.name = "small.zip"
    page = member.post("/libraries/import/", {"name": NAME, "file": upload}, follow=True)
    assert page.context["is_sound"]
    assert LibraryDraft.objects.get(team=team).files == FILES
    assert member.get(f"{DRAFT}export.zip").content == to_zip(FILES, NAME)
    member.post(DRAFT, {"step": "publish"})
    answer = member.get(f"/libraries/{NAME}/v/1/export.yaml")
    assert answer["Content-Disposition"] == 'attachment; filename="small-1.yaml"'
    assert b"id: poly" in answer.content
    assert member.get(f"/libraries/{NAME}/v/1/export.exe").status_code == 404
    for name, words in (("Bad Name", "A name is"), (NAME, "already"), ("import", "A name is")):
        page = member.post("/libraries/import/", {"name": name})
        assert page.status_code == 422
        assert words in page.content.decode()


def test_viewers_read_and_others_see_nothing(client, team, draft):
    login(client, team, "viewer")
    assert client.get(DRAFT).status_code == 200
    assert b'name="step"' not in client.get(FILE).content
    for address in (DRAFT, FILE, "/libraries/import/"):
        assert client.post(address, {"step": "publish", "text": "x"}).status_code == 403, address
    draft.refresh_from_db()
    assert draft.files == FILES
    library_publish.publish(draft, None)
    other = Team.objects.create(name="Other", slug="other")
    login(client, other, "admin")
    for address in (DRAFT, FILE, f"/libraries/{NAME}/", f"/libraries/{NAME}/v/1/export.zip"):
        assert client.get(address).status_code == 404, address
    assert client.post(f"/libraries/{NAME}/v/1/retire/").status_code == 404


def test_the_commands_take_in_and_give_back(team, tmp_path):
    folder = tmp_path / NAME
    folder.mkdir()
    for name, text in FILES.items():
        (folder / name).write_text(text)
    out = io.StringIO()
    call_command("import_library", folder, "--publish", stdout=out)
    assert "published small@1" in out.getvalue()
    call_command("export_library", "small@1", tmp_path / "out.zip", stdout=out)
    err = io.StringIO()
    (folder / ACTION_FILE).write_text(ACTION.replace("numerics", "magic"))
    with pytest.raises(CommandError, match="Nothing was published"):
        call_command("import_library", folder, "--publish", stdout=out, stderr=err)
    assert f"{ACTION_FILE}:3: action poly: field family:" in err.getvalue()
    with pytest.raises(CommandError, match="no library"):
        call_command("export_library", "none@1", tmp_path / "no.zip")
    with pytest.raises(CommandError, match="exists"):
        call_command("export_library", "small", tmp_path / "out.zip")
