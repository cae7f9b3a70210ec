from __future__ import annotations

import base64
import hashlib
import hmac
import json
import re
import socket
import threading
import time

import pytest
from django.conf import settings

from kernelsite.accounts.models import AuditEntry
from kernelsite.endpoints.vault import SealedKeyError
from kernelsite.notices import hooks
from kernelsite.notices.models import Delivery, Event, Webhook
from kernelsite.notices.models.webhook import new_secret
from kernelsite.notices.notify import notify

FORM = {"name": "chat", "style": "standard", "events": ["record", "search.failed"]}


def test_the_signature_is_the_one_of_the_standard():
    """The example of https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md."""
    secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
    body = b'{"test": 2432232314}'
    signed = hooks.signature(secret, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, body)
    assert signed == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_a_receiver_can_check_what_it_got(kernels, hook, receiver, settings):
    settings.SITE_URL = "https://kernels.example"
    row = hook()
    notify(kernels, Event.RECORD, 'A "record" | <here>', text="2x", link="/searches/1/")
    delivery = Delivery.objects.select_related("notice__team", "webhook").get()
    url, secret = row.unseal()
    assert hooks.post(url, secret, hooks.message_id(delivery), hooks.body_of(delivery)).status == 204
    ((headers, body),) = receiver.got
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    key = base64.b64decode(secret.removeprefix("whsec_"))
    assert len(key) == 32
    mine = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    assert headers["webhook-signature"] == f"v1,{mine}"
    assert abs(int(headers["webhook-timestamp"]) - time.time()) < 60
    document = json.loads(body)
    assert (document["type"], document["id"]) == ("record", headers["webhook-id"])
    assert document["data"] == {
        "team": "kernels",
        "title": 'A "record" | <here>',
        "text": "2x",
        "url": "https://kernels.example/searches/1/",
    }


def test_the_documented_check_tells_ours_from_forged_and_old(kernels, hook, receiver):
    text = (settings.BASE_DIR / "docs" / "notifications.md").read_text()
    documented = {}
    exec(re.search(r"```python\n(.*?)```", text, re.DOTALL)[1], documented)
    is_ours = documented["is_ours"]
    url, secret = hook().unseal()
    hooks.post(url, secret, "msg_1", b'{"a": 1}')
    ((headers, body),) = receiver.got
    assert is_ours(secret, headers, body)
    assert not is_ours(secret, headers, body + b" ")
    assert not is_ours(new_secret(), headers, body)
    old = str(int(time.time()) - 3600)
    signed = hooks.signature(secret, "msg_1", int(old), body)
    assert not is_ours(secret, headers | {"webhook-timestamp": old, "webhook-signature": signed}, body)


def test_a_chat_gets_a_message_in_which_a_title_cannot_call_people(kernels, hook):
    hook("slack")
    notify(kernels, Event.RECORD, "<!channel> a|b & c", link="/searches/1/")
    document = json.loads(hooks.body_of(Delivery.objects.select_related("notice__team", "webhook").get()))
    assert document["text"].endswith("/searches/1/|&lt;!channel&gt; a\N{BROKEN BAR}b &amp; c>")
    assert "<!channel>" not in document["text"]


def test_a_receiver_that_never_answers_ends_at_the_deadline(monkeypatch):
    monkeypatch.setattr(hooks, "DEADLINE_S", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        began = time.monotonic()
        answer = hooks.post(f"http://127.0.0.1:{silent.getsockname()[1]}/", new_secret(), "msg_1", b"{}")
    assert (answer.status, answer.is_taken) == (0, False)
    assert time.monotonic() - began < 3


def test_an_endless_answer_is_not_read():
    with socket.create_server(("127.0.0.1", 0)) as server:

        def pour():
            connection, _ = server.accept()
            with connection:
                connection.recv(65536)
                try:
                    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n")
                    while True:
                        connection.sendall(b"x" * 65536)
                except OSError:
                    return

        threading.Thread(target=pour, daemon=True).start()
        began = time.monotonic()
        answer = hooks.post(f"http://127.0.0.1:{server.getsockname()[1]}/", new_secret(), "msg_1", b"{}")
    assert answer.status == 200
    assert time.monotonic() - began < 5


def test_address_and_secret_are_sealed_and_the_secret_is_shown_once(as_alice, receiver, hook):
    url = receiver.url + "/T000/secret-path"
    page = as_alice.post("/settings/webhooks/new", FORM | {"url": url}).content.decode()
    secret = re.search(r"whsec_[\w+/=]+", page)[0]
    row = Webhook.objects.get()
    assert row.unseal() == (url, secret)
    assert "secret-path" not in row.sealed
    assert secret not in as_alice.get(f"/settings/webhooks/{row.pk}/").content.decode()
    assert "secret-path" not in as_alice.get(f"/settings/webhooks/{row.pk}/").content.decode()
    entry = AuditEntry.objects.get()
    assert (entry.verb, entry.after["host"]) == ("add", "127.0.0.1")
    assert "secret-path" not in str(entry.after)
    assert secret not in str(entry.after)


def test_another_host_gets_another_secret_and_the_same_host_keeps_it(as_alice, hook, receiver, settings):
    settings.MODEL_HOSTS = "private"
    row = hook()
    before = row.unseal()
    as_alice.post(f"/settings/webhooks/{row.pk}/", FORM | {"url": ""})
    row.refresh_from_db()
    assert row.unseal() == before
    as_alice.post(f"/settings/webhooks/{row.pk}/", FORM | {"url": receiver.url + "2"})
    row.refresh_from_db()
    assert row.unseal() == (receiver.url + "2", before[1])
    as_alice.post(f"/settings/webhooks/{row.pk}/", FORM | {"url": "http://10.0.0.7/x"})
    row.refresh_from_db()
    assert row.unseal()[0] == "http://10.0.0.7/x"
    assert row.unseal()[1] != before[1]


@pytest.mark.parametrize(
    "url",
    [
        "http://example.org/",
        "https://127.0.0.1/",
        "https://127.0.0.1:6379/",
        "https://[::1]/",
        "https://169.254.169.254/latest/meta-data/",
        "https://[fd00:ec2::254]/",
        "https://[::ffff:127.0.0.1]/",
        "https://0.0.0.0/",
        "https://2130706433/",
        "https://0x7f000001/",
        "https://017700000001/",
        "https://10.0.0.1/",
        "https://localhost/",
        "https://user:pw@example.org/",
        "https://example.org@127.0.0.1/",
        "https://example.org/#f",
        "https://example.org:99999/",
        "file:///etc/passwd",
        "gopher://127.0.0.1:6379/_FLUSHALL",
        "https://",
        "https://exa mple.org/",
        "https://example.org/\r\nHost: evil",
    ],
)
def test_addresses_that_must_not_be_called_are_refused_at_the_field(as_alice, settings, url):
    """F151."""
    settings.MODEL_HOSTS = "public"
    answer = as_alice.post("/settings/webhooks/new", FORM | {"url": url})
    assert answer.status_code == 422
    assert set(answer.context["form"].errors) == {"url"}
    assert not Webhook.objects.exists()


def test_a_name_that_resolves_inside_is_refused_when_it_is_called(hook, receiver, monkeypatch, settings):
    """F151, DNS rebinding: public while the form is checked, private when it is posted."""
    settings.MODEL_HOSTS = "public"
    answers = iter(["93.184.216.34", "127.0.0.1"])

    def look_up(host, port, **_):
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (next(answers), port))]

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    assert hooks.reach.refusal("http://rebind.example/") == ""
    answer = hooks.post("http://rebind.example/", new_secret(), "msg_1", b"{}")
    assert "may not be called" in answer.error
    assert receiver.got == []


def test_a_person_tests_and_sends_again(as_alice, hook, receiver, kernels):
    row = hook()
    page = as_alice.post(f"/settings/webhooks/{row.pk}/test", follow=True).content.decode()
    assert "chat took the test." in page
    receiver.answers = [404]
    page = as_alice.post(f"/settings/webhooks/{row.pk}/test", follow=True).content.decode()
    assert "chat: status 404." in page
    first = Delivery.objects.order_by("id").first()
    again = f"/settings/webhooks/{row.pk}/deliveries/{first.pk}/again"
    as_alice.post(again)
    as_alice.post(again)
    first.refresh_from_db()
    assert (first.state, first.attempts) == ("waiting", 0)
    assert AuditEntry.objects.filter(verb="send again").count() == 1
    as_alice.post(f"/settings/webhooks/{row.pk}/off")
    assert "by a person" in as_alice.get(f"/settings/webhooks/{row.pk}/").content.decode()
    as_alice.post(f"/settings/webhooks/{row.pk}/on")
    as_alice.post(f"/settings/webhooks/{row.pk}/delete")
    assert not Webhook.objects.exists()
    assert not Delivery.objects.exists()


def test_a_secret_that_no_key_opens_is_told_and_can_be_replaced(as_alice, hook, receiver, settings):
    """F154."""
    row = hook()
    settings.MODEL_KEY_SECRETS = ["another"]
    with pytest.raises(SealedKeyError):
        row.unseal()
    page = as_alice.post(f"/settings/webhooks/{row.pk}/test", follow=True).content.decode()
    assert "sealed with another secret" in page
    as_alice.post(f"/settings/webhooks/{row.pk}/", FORM | {"url": receiver.url})
    row.refresh_from_db()
    assert row.unseal()[0] == receiver.url
