from __future__ import annotations

import sys
from datetime import timedelta
from pathlib import Path

import pytest
from django.contrib.auth import get_user_model
from django.utils import timezone

from kernelsite.accounts.models import ApiToken, Membership, Scope, Team
from kernelsite.catalog.models import sync_shipped
from kernelsite.fleet.models import Device
from kernelsite.searches import dispatch
from kernelsite.searches.models import Search

# `grown` writes searches as rows.
sys.path.append(str(Path(__file__).parents[1] / "searches"))


@pytest.fixture
def alice(db):
    return get_user_model().objects.create_user("alice")


@pytest.fixture
def team(alice):
    team = Team.objects.create(name="Kernels", slug="kernels")
    Membership.objects.create(team=team, user=alice, role="admin")
    return team


@pytest.fixture
def site(team, monkeypatch):
    """Catalogue and one device; messages to workers go nowhere."""
    monkeypatch.setattr(dispatch.app, "send_task", lambda *_, **__: None)
    sync_shipped()
    return Device.objects.create(
        name="synthetic", device_class="cpu", model="s", cores=1, last_seen_at=timezone.now()
    )


@pytest.fixture
def grown(call, site):
    """A search with structures, candidates and results."""
    from grown import grow

    body = {"workload": "softmax", "options": {"budget": {"evaluations": 40}}}
    search = Search.objects.get(pk=call("post", "/searches", body).json()["id"])
    grow(search, 6)
    return search


@pytest.fixture
def token(team, alice):
    """A token of alice with every scope."""
    return _issue(team, alice, list(Scope))


@pytest.fixture
def call(client, team, alice):
    """Calls the API with a token of alice: method, path, document; `scopes` chooses the token."""
    tokens = {}

    def call(method, path, document=None, scopes=("read", "launch", "admin"), **headers):
        if scopes not in tokens:
            tokens[scopes] = _issue(team, alice, scopes)
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        headers = {"Authorization": f"Bearer {tokens[scopes]}"} | named
        body = {} if document is None else {"data": document, "content_type": "application/json"}
        return getattr(client, method)(f"/api/v1{path}", headers=headers, **body)

    return call


def _issue(team, user, scopes):
    until = timezone.now() + timedelta(days=1)
    return ApiToken(team=team, user=user, name="t", scopes=list(scopes), expires_at=until).issue()
