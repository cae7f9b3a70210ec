from __future__ import annotations

import datetime

import pytest
from django.core.management import call_command
from django.utils import timezone

from kernelsite.accounts.models import Team
from kernelsite.endpoints import vault
from kernelsite.endpoints.models import ModelEndpoint, Price
from kernelsite.notices.models import Webhook
from tests.fakes.model_server import Answer, ModelServer, replies

KEY = "sk-canary-0123456789abcdefghijklmnop"
FIELDS = {
    "name": "work",
    "base_url": "https://api.example.com/v1",
    "model": "gpt-x",
    "key": KEY,
    "temperature": "",
    "max_output_tokens": "4096",
    "context_tokens": "32768",
    "concurrency": "2",
    "requests_per_minute": "",
    "deadline_s": "60",
}


@pytest.fixture(autouse=True)
def names_resolve(monkeypatch):
    """Forms look names up; tests have no network. `api.example.com` is public, everything else is as it is."""
    import socket

    real = socket.getaddrinfo

    def look_up(host, port, *rest, **options):
        known = {"api.example.com": "93.184.216.34", "metadata.example.com": "169.254.169.254"}
        return real(known.get(host, host), port, *rest, **options)

    monkeypatch.setattr(socket, "getaddrinfo", look_up)


@pytest.fixture
def endpoint(team):
    def build(name="work", base_url="https://api.example.com/v1", key=KEY, **columns):
        row = ModelEndpoint(team=team, name=name, base_url=base_url, model="fake-model", **columns)
        row.set_key(key)
        row.save()
        return row

    return build


def post(client, address, **changes):
    return client.post(address, FIELDS | changes, follow=True)


def test_a_model_is_added_with_its_price_and_its_key_is_never_shown(signed_in, team):
    page = post(
        signed_in,
        "/settings/models/new/",
        **{"price-input_usd": "1.25", "price-output_usd": "10", "price-valid_from": "2026-01-01"},
    )
    row = ModelEndpoint.objects.get(team=team)
    assert page.redirect_chain[-1][0] == row.get_absolute_url()
    assert KEY not in row.sealed_key
    assert row.open_record().api_key.get_secret_value() == KEY
    assert row.prices_on(timezone.localdate()).output_usd == 10
    for address in ("/settings/models/", row.get_absolute_url()):
        shown = signed_in.get(address).content.decode()
        assert KEY not in shown
        assert "mnop" in shown  # the hint


def test_another_address_drops_the_key_and_an_empty_field_keeps_it(signed_in, endpoint):
    row = endpoint()
    post(signed_in, row.get_absolute_url(), key="", model="other")
    row.refresh_from_db()
    assert row.model == "other"
    assert row.open_record().api_key.get_secret_value() == KEY
    page = post(signed_in, row.get_absolute_url(), key="", base_url="http://api.example.com/v1")
    row.refresh_from_db()
    assert row.sealed_key == ""
    assert "key was dropped" in page.content.decode()


def test_a_key_does_not_open_in_another_row(endpoint):
    row = endpoint()
    row.base_url = "https://evil.example.com/v1"
    with pytest.raises(vault.SealedKeyError):
        row.open_record()


def test_keys_can_be_sealed_with_a_new_secret(endpoint, settings, capsys):
    row = endpoint()
    hook = Webhook(team=row.team, name="chat")
    hook.seal("https://chat.example/T0", "whsec_x")
    hook.save()
    settings.MODEL_KEY_SECRETS = ["new", *settings.MODEL_KEY_SECRETS]
    call_command("reseal_keys")
    settings.MODEL_KEY_SECRETS = ["new"]
    row.refresh_from_db()
    hook.refresh_from_db()
    assert row.open_record().api_key.get_secret_value() == KEY
    assert hook.unseal() == ("https://chat.example/T0", "whsec_x")
    settings.MODEL_KEY_SECRETS = ["another"]
    with pytest.raises(vault.SealedKeyError):
        row.open_record()


@pytest.mark.parametrize(
    ("allowed", "base_url", "words"),
    [
        ("public", "http://127.0.0.1:8000/v1", "loopback"),
        ("public", "http://[::ffff:127.0.0.1]/v1", "loopback"),
        ("loopback", "http://10.0.0.7/v1", "private"),
        ("private", "http://metadata.example.com/latest", "link-local"),
        ("private", "https://user:word@api.example.com/v1", "no user"),
        ("private", "ftp://api.example.com/v1", "looks like"),
        ("private", "https://api.example.com/v1?key=1", "no user, password, query"),
    ],
)
def test_addresses_that_may_not_be_called_are_refused_at_the_field(
    signed_in, settings, allowed, base_url, words
):
    settings.MODEL_HOSTS = allowed
    page = signed_in.post("/settings/models/new/", FIELDS | {"base_url": base_url})
    assert page.status_code == 422
    assert words in " ".join(page.context["form"].errors["base_url"])
    assert not ModelEndpoint.objects.exists()


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"name": ""}, "name"),
        ({"temperature": "3"}, "temperature"),
        ({"max_output_tokens": "40000"}, "max_output_tokens"),
        ({"max_output_tokens": "0"}, "max_output_tokens"),
        ({"context_tokens": "100"}, "context_tokens"),
        ({"concurrency": "0"}, "concurrency"),
        ({"deadline_s": "0"}, "deadline_s"),
        ({"deadline_s": "nan"}, "deadline_s"),
        ({"key": "sk-with a space"}, "key"),
        ({"key": "schlüssel"}, "key"),
    ],
)
def test_bad_input_is_named_at_its_field(signed_in, changes, field):
    page = signed_in.post("/settings/models/new/", FIELDS | changes)
    assert page.status_code == 422
    assert field in page.context["form"].errors
    assert changes.get("key", "no key") not in page.content.decode()


def test_prices_hold_from_their_day_to_the_next(endpoint, signed_in):
    row = endpoint()
    day = datetime.date
    Price.objects.create(endpoint=row, input_usd=1, output_usd=2, valid_from=day(2026, 1, 1))
    Price.objects.create(
        endpoint=row, input_usd=3, output_usd=4, valid_from=day(2026, 3, 1), valid_until=day(2026, 3, 31)
    )
    found = [
        row.prices_on(day(2025, 12, 31)),
        row.prices_on(day(2026, 2, 1)),
        row.prices_on(day(2026, 3, 31)),
    ]
    assert [price and price.input_usd for price in found] == [None, 1, 3]
    assert row.prices_on(day(2026, 4, 1)).input_usd == 1
    page = signed_in.post(
        f"{row.get_absolute_url()}prices", {"input_usd": "-1", "output_usd": "1", "valid_from": ""}
    )
    assert page.status_code == 422
    assert set(page.context["price_form"].errors) == {"input_usd", "valid_from"}


@pytest.mark.parametrize(
    ("answer", "key", "outcome", "words"),
    [
        (Answer("ready"), KEY, "ok", "was answered"),
        (Answer("ready"), "sk-wrong-0123456789", "unauthorized", "revoked"),
        (Answer(fault="no_model"), KEY, "not_found", "It lists fake-model"),
        (Answer(fault="quota"), KEY, "quota", "no money left"),
        (Answer(fault="html"), KEY, "bad_gateway_response", "does not speak"),
    ],
)
def test_the_connection_is_tested_with_a_typed_result(signed_in, endpoint, answer, key, outcome, words):
    with ModelServer(lambda _: answer, key=KEY) as server:
        row = endpoint(base_url=server.url, key=key)
        page = signed_in.post(f"{row.get_absolute_url()}test", follow=True).content.decode()
    row.refresh_from_db()
    assert row.test_outcome == outcome
    assert words in row.test_note
    assert words in page
    assert key not in page
    assert key not in row.test_note


def test_a_moved_name_is_not_called(signed_in, endpoint, settings):
    """What the form allowed once is checked again at the connection."""
    settings.MODEL_HOSTS = "public"
    with ModelServer(replies("ready")) as server:
        row = endpoint(base_url=server.url)
        signed_in.post(f"{row.get_absolute_url()}test")
        assert not server.seen
    row.refresh_from_db()
    assert row.test_outcome == "blocked_address"


def test_disable_enable_delete(signed_in, endpoint):
    row = endpoint()
    signed_in.post(f"{row.get_absolute_url()}disable")
    assert not ModelEndpoint.objects.usable().exists()
    signed_in.post(f"{row.get_absolute_url()}enable")
    assert ModelEndpoint.objects.usable().exists()
    signed_in.post(f"{row.get_absolute_url()}delete")
    row.refresh_from_db()
    assert (row.sealed_key, row.key_hint) == ("", "")
    assert signed_in.get(row.get_absolute_url()).status_code == 404
    assert signed_in.post(f"{row.get_absolute_url()}enable").status_code == 404
    assert post(signed_in, "/settings/models/new/").status_code == 200  # the name is free again


def test_only_managers_change_and_other_teams_see_nothing(client, endpoint, team, member_of):
    row = endpoint()
    client.force_login(member_of(team, "mia", "member"))
    assert client.get(row.get_absolute_url()).status_code == 200
    for address in (row.get_absolute_url(), "/settings/models/new/", f"{row.get_absolute_url()}test"):
        assert client.post(address, FIELDS).status_code == 403
    client.force_login(member_of(Team.objects.create(name="Others", slug="others"), "eve", "admin"))
    assert "fake-model" not in client.get("/settings/models/").content.decode()
    for address in (row.get_absolute_url(), f"{row.get_absolute_url()}delete"):
        assert client.post(address, FIELDS).status_code == 404


def test_strangers_are_sent_to_the_log_in(client, endpoint):
    assert client.get(endpoint().get_absolute_url()).status_code == 302
    assert client.get("/settings/models/").status_code == 302
