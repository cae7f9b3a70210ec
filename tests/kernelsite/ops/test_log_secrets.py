from __future__ import annotations

import io
import logging

import pytest

from kernelsite.ops.logs import SecretsFilter, without_secrets


@pytest.fixture
def log():
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.addFilter(SecretsFilter())
    logger = logging.Logger("test")  # noqa: LOG001  # of this test alone
    logger.addHandler(handler)
    return logger, stream


@pytest.mark.parametrize(
    "text",
    [
        "cannot reach redis://worker:hunter2@redis.internal:6379/0",
        "cannot reach redis://:hunter2@redis.internal",
        "DATABASE_URL postgres://ks:hunter2@db/site is down",
        "Authorization: Bearer hunter2",
        "password=hunter2 refused",
        "{'password': 'hunter2'}",
        '{"api_key": "hunter2", "model": "m"}',
        "POST csrfmiddlewaretoken=hunter2&x=1",
        "key sk-hunter2 was refused",
        "Not Found: /p/hunter2-hunter2_hunter2/data.json",
        "GET http://127.0.0.1/accounts/invitations/hunter2hunter2/?x=1",
    ],
)
def test_secrets_become_stars(text):
    cleaned = without_secrets(text)
    assert "hunter2" not in cleaned
    assert "***" in cleaned


@pytest.mark.parametrize(
    "text", ["swept: Found(lost_attempts=1)", "GET /searches/1/ 200", "redis://redis.internal:6379/0"]
)
def test_other_text_stays(text):
    assert without_secrets(text) == text


def test_arguments_and_tracebacks_are_cleaned_too(log):
    logger, stream = log
    try:
        raise ConnectionError("redis://w:hunter2@host refused")
    except ConnectionError:
        logger.exception("no broker at %s", "redis://w:hunter2@host")
    assert "hunter2" not in stream.getvalue()
    assert "ConnectionError" in stream.getvalue()
    assert "redis://w:***@host" in stream.getvalue()
