from __future__ import annotations

import logging

import pytest
from kombu import serialization
from kombu.exceptions import ContentDisallowed

from kernelsite.celery import app
from kernelsite.ops import checks
from kernelsite.ops.logs import SecretsFilter
from kernelsite.ops.origin import is_same


@pytest.mark.parametrize(
    ("url", "found"),
    [
        ("unix:///var/redis.sock", []),
        ("redis://127.0.0.1:6379", []),
        ("redis://[::1]:6379", []),
        ("rediss://site:word@redis.internal:6379", []),
        ("redis://redis.internal:6379", ["kernelsite.E001"]),
        ("redis://user@redis.internal:6379", ["kernelsite.E001"]),
    ],
)
def test_a_broker_on_a_network_needs_a_password(settings, url, found):
    """F161."""
    settings.REDIS_URL = url
    assert [error.id for error in checks.broker_is_closed()] == found


def test_links_in_mails_lead_to_the_site_that_people_reach(settings):
    """F159."""
    settings.HTTPS, settings.SITE_URL = True, "http://localhost:8000"
    assert [error.id for error in checks.links_lead_here()] == ["kernelsite.E002"]
    settings.SITE_URL = "https://kernels.example"
    assert checks.links_lead_here() == []
    settings.HTTPS, settings.SITE_URL = False, "http://localhost:8000"
    assert checks.links_lead_here() == []


@pytest.mark.parametrize("kind", ["application/x-python-serialize", "application/x-yaml"])
def test_a_forged_message_is_not_unpickled(kind):
    """F160."""
    with pytest.raises(ContentDisallowed):
        serialization.loads(b"\x80\x04.", kind, "binary", accept=app.conf.accept_content)


@pytest.mark.parametrize(
    ("origin", "host", "same"),
    [
        ("http://localhost:8000", "localhost:8000", True),
        ("https://kernels.example", "kernels.example", True),
        ("https://kernels.example", "kernels.example:443", True),
        ("HTTPS://Kernels.Example", "kernels.example", True),
        ("http://[::1]:8000", "[::1]:8000", True),
        ("http://localhost:9000", "localhost:8000", False),
        ("https://kernels.example.attacker", "kernels.example", False),
        ("https://evil.example", "kernels.example", False),
        ("http://[::1]:8000", "localhost:8000", False),
        ("https://kernels.example@evil.example", "kernels.example", False),
        ("null", "kernels.example", False),
        ("", "kernels.example", False),
        ("file://", "kernels.example", False),
        ("http://localhost:99999", "localhost:8000", False),
        ("http://[::1", "localhost:8000", False),
    ],
)
def test_a_socket_is_opened_by_a_page_of_this_site_only(origin, host, same):
    """F138."""
    assert is_same(origin, host) is same


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("a\nERROR root: forged", "a\\nERROR root: forged"),
        ("a\r\x1b[2Jb", "a\\r\\x1b[2Jb"),
        ("a\u2028b\x85c", "a\\u2028b\\x85c"),
        ("50 %s {x} 100%", "50 %s {x} 100%"),
        ('{"a": "b"}\tc', '{"a": "b"}\tc'),
    ],
)
def test_a_name_cannot_begin_a_record_of_its_own(text, written):
    """F167."""
    record = logging.LogRecord("x", logging.INFO, __file__, 1, "named %s", (text,), None)
    SecretsFilter().filter(record)
    assert record.getMessage() == f"named {written}"


@pytest.mark.parametrize(
    "text",
    [
        "/accounts/reset/MQ/c2abc-0123456789abcdef/",
        "/accounts/address/eyJ1c2VyIjoxfQ:1abc:sig/",
        "/accounts/invitations/abcdefghijk/",
        "ks_0123456789abcdef",
        "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
    ],
)
def test_what_lets_one_in_is_in_no_log(text):
    """F144, F149."""
    record = logging.LogRecord("x", logging.INFO, __file__, 1, "Not Found: %s", (text,), None)
    SecretsFilter().filter(record)
    assert text[-9:-1] not in record.getMessage()
    assert "***" in record.getMessage()
