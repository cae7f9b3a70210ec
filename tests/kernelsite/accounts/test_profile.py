from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.contrib.auth import get_user_model
from django.core import mail, signing
from django.test import Client
from django.utils import timezone

from kernelsite.accounts import bell, letters
from kernelsite.accounts.models import AuditEntry, Letter, LoginAttempt, Profile, Session
from kernelsite.accounts.models import letter as letter_rules
from kernelsite.accounts.session_store import SessionStore

PASSWORD = "a password of ours"
NEW = {"new_password1": "seven green kernels", "new_password2": "seven green kernels"}
LOOK = {"theme": "dark", "density": "compact", "time_zone": "Asia/Tokyo"}


def browser_of(name, agent="Firefox", password=PASSWORD):
    browser = Client(headers={"User-Agent": agent})
    answer = browser.post("/accounts/login/", {"username": name, "password": password})
    assert answer.status_code == 302, "the log-in was refused"
    return browser


def is_in(browser):
    return browser.get("/workloads/").status_code == 200


@pytest.fixture
def rung(monkeypatch):
    """Ids of people whose sockets were told."""
    rung = []
    monkeypatch.setattr(bell, "ring_later", rung.append)
    return rung


# How the site looks -----------------------------------------------------------------------------------


def test_theme_density_shortcuts_and_zone_reach_every_page(as_alice, alice):
    plain = as_alice.get("/workloads/").content.decode()
    assert '<html lang="en">' in plain
    assert as_alice.post("/settings/profile/", LOOK).status_code == 302
    page = as_alice.get("/workloads/").content.decode()
    assert '<html lang="en" data-theme="dark" data-density="compact" data-shortcuts="off">' in page
    row = Profile.objects.get(user=alice)
    assert (row.time_zone, row.shortcuts) == ("Asia/Tokyo", False)
    assert not AuditEntry.objects.exists()


def test_times_are_in_the_person_s_zone(alice):
    Profile.objects.create(user=alice, time_zone="Asia/Tokyo")
    browser = browser_of("alice")
    opened = Session.objects.get(agent="Firefox").opened_at
    local = (opened + timedelta(hours=9)).strftime("%Y-%m-%d %H:%M")
    assert local in browser.get("/settings/profile/").content.decode()


@pytest.mark.parametrize("zone", ["Nowhere/City", "../../etc/passwd", ""])
def test_a_zone_that_nobody_knows_is_told_at_its_field(as_alice, zone):
    answer = as_alice.post("/settings/profile/", LOOK | {"time_zone": zone})
    assert answer.status_code == 422
    assert set(answer.context["look"].errors) == {"time_zone"}


def test_a_zone_that_vanished_reads_as_utc(alice):
    assert str(Profile(user=alice, time_zone="Nowhere/City").zone) == "UTC"


# Sessions (F158) -----------------------------------------------------------------------------------------


def test_log_in_gives_a_new_session_and_says_from_where(client, alice):
    client.get("/accounts/login/")
    client.cookies["kernelsite_session"] = "planted"
    browser_of("alice", agent="Firefox\n\x00evil")
    row = Session.objects.get()
    assert row.session_key != "planted"
    assert (row.user_id, row.address, row.agent) == (alice.pk, "127.0.0.1", "Firefoxevil")
    assert row.number


@pytest.mark.parametrize(
    ("agent", "words"),
    [
        ("Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/150.0 Safari/537.36", "Chrome on Linux"),
        ("Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537.36 Chrome/150.0 Edg/150.0", "Edge on Windows"),
        (
            "Mozilla/5.0 (iPhone; CPU iPhone OS 19_0 like Mac OS X) Version/19.0 Safari/604.1",
            "Safari on iPhone",
        ),
        ("curl/8.0", "curl/8.0"),
        ("", "unknown"),
    ],
)
def test_a_browser_is_called_by_its_name(agent, words):
    assert Session(agent=agent).browser == words


def test_cookies_are_out_of_reach_of_scripts_and_other_sites(alice):
    cookie = browser_of("alice").cookies["kernelsite_session"]
    assert (cookie["httponly"], cookie["samesite"]) == (True, "Lax")


def test_the_page_never_shows_a_key(alice):
    browser, _ = browser_of("alice"), browser_of("alice", "curl")
    page = browser.get("/settings/profile/").content.decode()
    assert page.count("this one") == 1
    for row in Session.objects.all():
        assert row.session_key not in page
        assert str(row.number) in page


def test_one_session_others_or_all_can_be_ended(alice, member, rung):
    here, there, third = (browser_of("alice", agent) for agent in ("one", "two", "three"))
    member("bob", "member")
    bobs = browser_of("bob")
    number = Session.objects.get(agent="two").number
    assert bobs.post("/settings/profile/sessions", {"which": str(number)}).status_code == 302
    assert is_in(there)
    here.post("/settings/profile/sessions", {"which": str(number)})
    assert [is_in(browser) for browser in (here, there, third)] == [True, False, True]
    here.post("/settings/profile/sessions", {"which": "others"})
    assert [is_in(browser) for browser in (here, third)] == [True, False]
    assert here.post("/settings/profile/sessions", {"which": "all"}).url == "/accounts/login/"
    assert not is_in(here)
    assert is_in(bobs)
    assert alice.pk in rung
    assert here.post("/settings/profile/sessions", {"which": "x"}).status_code == 302
    assert AuditEntry.objects.filter(actor="alice", verb="log out").count() == 3


def test_the_last_sight_moves_without_a_write_at_every_request(alice):
    browser = browser_of("alice")
    row = Session.objects.get()
    browser.get("/workloads/")
    assert Session.objects.get().seen_at == row.seen_at
    data = row.get_decoded()
    data["place"]["seen"] -= 3600
    Session.objects.filter(pk=row.pk).update(session_data=SessionStore().encode(data))
    browser.get("/workloads/")
    assert timezone.now() - Session.objects.get().seen_at < timedelta(minutes=1)


# Password ------------------------------------------------------------------------------------------------


def test_a_new_password_ends_every_other_session(alice, rung):
    here, there = browser_of("alice", "one"), browser_of("alice", "two")
    answer = here.post("/settings/profile/password", {"old_password": PASSWORD, **NEW})
    assert answer.status_code == 302
    assert [is_in(here), is_in(there)] == [True, False]
    assert Session.objects.of(alice.pk).count() == 1
    assert rung == [alice.pk]
    assert is_in(browser_of("alice", password="seven green kernels"))
    assert AuditEntry.objects.get(verb="change password").actor == "alice"


def test_a_wrong_old_password_changes_nothing_and_cannot_be_guessed(alice):
    browser = browser_of("alice")
    for _ in range(LoginAttempt.LIMIT):
        answer = browser.post("/settings/profile/password", {"old_password": "wrong", **NEW})
        assert answer.status_code == 422
    answer = browser.post("/settings/profile/password", {"old_password": PASSWORD, **NEW})
    assert "Too many attempts" in answer.content.decode()
    alice.refresh_from_db()
    assert alice.check_password(PASSWORD)
    # A lock on guesses ends no live session (F155).
    assert is_in(browser)


# Forgotten password (F156, F159) ---------------------------------------------------------------------------


def forget(email, **extra):
    return Client(**extra).post("/accounts/forgotten/", {"email": email})


def link_in(letter):
    return re.search(r"https://kernels\.example(/accounts/\S+)", letter.body)[1]


@pytest.fixture(autouse=True)
def site_url(settings):
    settings.SITE_URL = "https://kernels.example"


def test_the_answer_is_the_same_for_every_address(alice):
    known = forget("alice@example.org").content.decode()
    unknown = forget("nobody@example.org").content.decode()
    shown = [re.sub(r"\S+@example\.org|value=\"\w{64}\"", "", page) for page in (known, unknown)]
    assert shown[0] == shown[1]
    assert Letter.objects.count() == 2
    # No mail is sent in the request: the time that takes would tell.
    assert mail.outbox == []


def test_a_link_sets_a_password_once_and_ends_all_sessions(alice, rung, settings):
    settings.ALLOWED_HOSTS = ["testserver", "evil.example"]
    old = browser_of("alice")
    forget("ALICE@example.org", headers={"Host": "evil.example"})
    assert letters.send_due() == 1
    (letter,) = mail.outbox
    assert letter.to == ["alice@example.org"]
    assert "evil" not in letter.body
    link = link_in(letter)
    browser = Client()
    form = browser.get(link)
    assert form.status_code == 302
    assert form.headers["Referrer-Policy"] == "no-referrer"
    assert browser.post(form.url, NEW).url == "/accounts/login/"
    assert not is_in(old)
    assert rung == [alice.pk]
    assert is_in(browser_of("alice", password="seven green kernels"))
    again = Client().get(link)
    assert again.status_code == 200
    assert "does not work" in again.content.decode()
    entry = AuditEntry.objects.get(verb="reset password")
    assert (entry.actor, entry.actor_id) == ("alice", alice.pk)


def test_a_log_in_or_an_hour_ends_a_link(alice, settings):
    link = letters.reset_path(alice)
    settings.PASSWORD_RESET_TIMEOUT = -1
    assert "does not work" in Client().get(link).content.decode()
    settings.PASSWORD_RESET_TIMEOUT = 3600
    assert Client().get(link).status_code == 302
    browser_of("alice")
    assert "does not work" in Client().get(link).content.decode()


def test_no_row_holds_a_link(alice):
    forget("alice@example.org")
    letters.send_due()
    token = link_in(mail.outbox[0]).split("/")[-2]
    assert token not in str(list(Letter.objects.values()))


def test_letters_to_a_mailbox_and_from_an_address_are_few(alice, monkeypatch):
    for _ in range(letter_rules.LIMIT + 2):
        assert forget("alice@example.org").status_code == 200
    assert Letter.objects.count() == letter_rules.LIMIT
    monkeypatch.setattr(letter_rules, "LIMIT_OF_ADDRESS", letter_rules.LIMIT)
    forget("other@example.org")
    assert Letter.objects.count() == letter_rules.LIMIT


def test_who_may_not_log_in_gets_no_letter(alice):
    alice.is_active = False
    alice.save()
    forget("alice@example.org")
    assert letters.send_due() == 0


def test_a_letter_that_fails_is_tried_again(alice, monkeypatch):
    forget("alice@example.org")

    def refuse(*_):
        raise OSError("no server")

    with monkeypatch.context() as patched:
        patched.setattr("django.core.mail.EmailMessage.send", refuse)
        letters.send_due()
    assert letters.send_due() == 0
    Letter.objects.update(due_at=timezone.now())
    letters.send_due()
    assert (len(mail.outbox), Letter.objects.get().attempts) == (1, 2)


# E-mail address -----------------------------------------------------------------------------------------


def test_another_address_counts_once_its_link_is_opened_by_its_person(alice, member):
    browser = browser_of("alice")
    wish = {"email": "new@example.org", "password": PASSWORD}
    assert browser.post("/settings/profile/address", wish).status_code == 302
    letters.send_due()
    (letter,) = mail.outbox
    assert letter.to == ["new@example.org"]
    link = link_in(letter)
    member("bob", "member")
    assert browser_of("bob").post(link).status_code == 404
    assert "new@example.org" in browser.get(link).content.decode()
    alice.refresh_from_db()
    assert alice.email == "alice@example.org"
    assert browser.post(link).status_code == 302
    alice.refresh_from_db()
    assert alice.email == "new@example.org"
    assert browser.post(link).status_code == 404
    entry = AuditEntry.objects.get()
    assert (entry.before, entry.after) == ({"email": "alice@example.org"}, {"email": "new@example.org"})


def test_an_address_of_somebody_else_and_a_forged_link_do_nothing(alice, member):
    browser = browser_of("alice")
    link = letters.address_path(alice, "bob@example.org")
    member("bob", "member")
    assert browser.post(link).status_code == 404
    forged = signing.dumps({"user": alice.pk, "email": "x@example.org", "was": alice.email}, salt="other")
    assert browser.post(f"/accounts/address/{forged}/").status_code == 404
    assert get_user_model().objects.get(pk=alice.pk).email == "alice@example.org"


def test_an_open_browser_alone_does_not_move_the_address(alice):
    answer = browser_of("alice").post(
        "/settings/profile/address", {"email": "new@example.org", "password": "wrong"}
    )
    assert answer.status_code == 422
    assert not Letter.objects.exists()


def test_log_out_removal_and_another_role_reach_open_sockets(as_alice, member, rung):
    bob = member("bob", "viewer")
    place = bob.memberships.get()
    browser = browser_of("bob")
    browser.post("/accounts/logout/")
    as_alice.post(f"/settings/team/members/{place.pk}", {"role": "member"})
    as_alice.post(f"/settings/team/members/{place.pk}", {"role": "removed"})
    assert rung == [bob.pk] * 3
