from __future__ import annotations

import re
from pathlib import Path

import pytest
from django.conf import settings

pytestmark = pytest.mark.django_db

TEMPLATES = sorted((Path(settings.BASE_DIR) / "templates").rglob("*.html"))


def policy_of(response):
    parts = (part.split() for part in response.headers["Content-Security-Policy"].split(";"))
    return {words[0]: words[1:] for words in parts}


@pytest.mark.parametrize("path", ["/accounts/login/", "/", "/nowhere/", "/healthz", "/static/css/base.css"])
def test_every_answer_carries_the_headers(client, path):
    response = client.get(path)
    policy = policy_of(response)
    assert policy["default-src"] == ["'none'"]
    assert policy["script-src"] == policy["style-src"] == ["'self'"]
    assert policy["frame-ancestors"] == ["'none'"]
    assert response.headers["X-Content-Type-Options"] == "nosniff"
    assert response.headers["Referrer-Policy"] == "same-origin"
    assert "camera=()" in response.headers["Permissions-Policy"]


def test_the_policy_allows_nothing_unsafe_and_no_other_origin(client):
    text = client.get("/accounts/login/").headers["Content-Security-Policy"]
    assert "unsafe" not in text
    assert "http" not in text
    assert "*" not in text


@pytest.mark.parametrize("file", TEMPLATES, ids=lambda file: file.name)
def test_no_template_needs_what_the_policy_forbids(file):
    text = file.read_text()
    assert not re.search(r"<script(?![^>]*\b(src|type=\"application/json\"))", text), "inline script"
    assert not re.search(r"<style\b|\sstyle=|\son\w+=\"", text), "inline style or handler"


def test_static_files_come_without_cors_and_without_collecting(client):
    response = client.get("/static/vendor/plotly.min.js")
    assert response.status_code == 200
    assert "javascript" in response.headers["Content-Type"]
    assert "Access-Control-Allow-Origin" not in response.headers
    assert len(b"".join(response.streaming_content)) > 1_000_000


def test_an_error_page_tells_nothing(client, monkeypatch):
    from kernelsite.ops import health

    def fail():
        raise RuntimeError("secret detail")

    monkeypatch.setitem(health.CHECKS, "broker", fail)
    client.raise_request_exception = False
    response = client.get("/readyz")
    assert response.status_code == 500
    assert b"secret detail" not in response.content
    assert b"Traceback" not in response.content
