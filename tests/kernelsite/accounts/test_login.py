from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.auth import get_user_model
from django.test import RequestFactory
from django.utils import timezone

from kernelsite.accounts.addresses import client_address
from kernelsite.accounts.models import LoginAttempt

pytestmark = pytest.mark.django_db

LOGIN = "/accounts/login/"


@pytest.fixture(autouse=True)
def alice(db):
    return get_user_model().objects.create_user("alice", password="alice's own")


def log_in(client, password="wrong", name="alice", **extra):
    return client.post(LOGIN, {"username": name, "password": password}, **extra)


def test_it_works(client):
    response = log_in(client, "alice's own")
    assert response.status_code == 302
    assert response.url == "/"
    assert client.get("/workloads/").status_code == 200


def test_log_in_goes_on_to_the_page_asked_for(client):
    response = client.post(f"{LOGIN}?next=/workloads/", {"username": "alice", "password": "alice's own"})
    assert response.url == "/workloads/"


def test_log_in_never_goes_on_to_another_site(client):
    response = client.post(f"{LOGIN}?next=//evil.example/", {"username": "alice", "password": "alice's own"})
    assert response.url == "/"


@pytest.mark.parametrize(
    "path", ["/", "/searches/", "/searches/1/snapshot.json", "/workloads/", "/nowhere/else/"]
)
def test_a_stranger_sees_the_log_in_page_only(client, path):
    response = client.get(path)
    assert response.status_code in {302, 404}
    if response.status_code == 302:
        assert response.url.startswith(LOGIN)


def test_a_wrong_password_is_refused_without_saying_which_part_was_wrong(client):
    known, unknown = log_in(client), log_in(client, name="nobody")
    assert known.status_code == unknown.status_code == 200
    assert known.context["form"].errors == unknown.context["form"].errors


def test_log_out_needs_a_post(client):
    log_in(client, "alice's own")
    assert client.get("/accounts/logout/").status_code == 405
    assert client.get("/workloads/").status_code == 200
    assert client.post("/accounts/logout/").status_code == 302
    assert client.get("/workloads/").status_code == 302


def test_log_in_needs_the_form_token():
    from django.test import Client

    strict = Client(enforce_csrf_checks=True)
    assert log_in(strict, "alice's own").status_code == 403


def test_the_sixth_attempt_is_refused_even_with_the_right_password(client):
    answers = [log_in(client).status_code for _ in range(LoginAttempt.LIMIT)]
    assert answers == [200] * LoginAttempt.LIMIT
    refused = log_in(client, "alice's own")
    assert refused.status_code == 429
    assert b"Too many attempts" in refused.content
    assert client.get("/workloads/").status_code == 302


def test_the_spelling_of_the_name_does_not_start_a_new_count(client):
    for name in ("alice", "ALICE", "Alice", "aLice", "alicE"):
        log_in(client, name=name)
    assert log_in(client).status_code == 429


def test_somebody_elsewhere_does_not_lock_her_out(client):
    for _ in range(LoginAttempt.LIMIT + 1):
        log_in(client, REMOTE_ADDR="203.0.113.9")
    assert log_in(client, "alice's own").status_code == 302


def test_many_addresses_together_are_slowed_down(client):
    for number in range(LoginAttempt.LIMIT_OF_NAME):
        log_in(client, REMOTE_ADDR=f"203.0.113.{number}")
    assert log_in(client, REMOTE_ADDR="198.51.100.1").status_code == 429


def test_a_success_clears_the_count(client):
    for _ in range(3):
        for _ in range(LoginAttempt.LIMIT - 1):
            log_in(client)
        assert log_in(client, "alice's own").status_code == 302
        client.post("/accounts/logout/")


def test_old_attempts_are_forgotten_and_removed(client):
    for _ in range(LoginAttempt.LIMIT + 1):
        log_in(client)
    LoginAttempt.objects.update(at=timezone.now() - timedelta(seconds=LoginAttempt.WINDOW_S + 1))
    assert log_in(client, "alice's own").status_code == 302
    assert not LoginAttempt.objects.exists()


def test_a_header_of_the_clients_own_does_not_dodge_the_limit(client):
    for number in range(LoginAttempt.LIMIT):
        log_in(client, headers={"x-forwarded-for": f"198.51.100.{number}"})
    assert log_in(client, headers={"x-forwarded-for": "198.51.100.200"}).status_code == 429


@pytest.mark.parametrize(
    ("proxies", "header", "expected"),
    [
        (0, "", "127.0.0.1"),
        (0, "1.2.3.4", "127.0.0.1"),
        (1, "1.2.3.4", "1.2.3.4"),
        (1, "6.6.6.6, 1.2.3.4", "1.2.3.4"),
        (2, "6.6.6.6, 1.2.3.4, 10.0.0.1", "1.2.3.4"),
        (2, "1.2.3.4", "1.2.3.4"),
        (1, "", "127.0.0.1"),
    ],
)
def test_the_address_behind_proxies(settings, proxies, header, expected):
    settings.PROXIES = proxies
    request = RequestFactory(headers={"x-forwarded-for": header} if header else {}).get("/")
    assert client_address(request) == expected
