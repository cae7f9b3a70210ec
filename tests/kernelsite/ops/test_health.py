from __future__ import annotations

import pytest
from django.db import OperationalError

from kernelsite.ops import health

pytestmark = pytest.mark.django_db


@pytest.fixture
def no_broker(settings, tmp_path):
    settings.REDIS_URL = f"unix://{tmp_path}/nobody"


def test_healthz_answers_strangers(client):
    response = client.get("/healthz")
    assert (response.status_code, response.content) == (200, b"ok\n")


def test_readyz_is_503_without_a_broker(client, no_broker):
    response = client.get("/readyz")
    assert response.status_code == 503
    assert response.json() == {"database": "ok", "broker": "unreachable"}


def test_readyz_is_503_without_a_database(client, no_broker, monkeypatch):
    def refuse(connection):
        raise OperationalError("password for db.internal is wrong")

    monkeypatch.setattr(health, "MigrationExecutor", refuse)
    response = client.get("/readyz")
    assert response.status_code == 503
    assert response.json()["database"] == "unreachable"
    assert b"password" not in response.content


def test_readyz_is_200_when_both_answer(client, monkeypatch):
    monkeypatch.setitem(health.CHECKS, "broker", lambda: "ok")
    assert client.get("/readyz").status_code == 200
    assert "no-store" in client.get("/readyz").headers["Cache-Control"]


def test_health_survives_a_post(client):
    assert client.post("/healthz").status_code == 405
