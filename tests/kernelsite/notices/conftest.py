from __future__ import annotations

import pytest
from django.contrib.auth import get_user_model

from kernelsite.accounts.models import Membership, Team
from kernelsite.notices.models import Event, Webhook
from kernelsite.notices.models.webhook import new_secret
from tests.fakes.webhook_receiver import Receiver


@pytest.fixture
def kernels(db):
    return Team.objects.create(name="Kernels", slug="kernels")


@pytest.fixture
def member(kernels):
    """Makes a user with a role in the team."""

    def build(name, role="member", team=kernels):
        user = get_user_model().objects.create_user(name, f"{name}@example.org", "a password of ours")
        Membership.objects.create(team=team, user=user, role=role)
        return user

    return build


@pytest.fixture
def alice(member):
    return member("alice", "maintainer")


@pytest.fixture
def as_alice(client, alice):
    client.force_login(alice)
    return client


@pytest.fixture
def receiver():
    """A server on this machine that remembers posts; the test says what it answers."""
    with Receiver() as server:
        yield server


@pytest.fixture
def hook(kernels, receiver):
    """Makes a webhook to the receiver."""

    def build(style="standard", events=tuple(event.value for event in Event), url=receiver.url):
        row = Webhook(team=kernels, name="chat", style=style, events=list(events))
        secret = new_secret()
        row.seal(url, secret)
        row.save()
        return row

    return build
