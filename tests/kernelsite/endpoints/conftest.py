from __future__ import annotations

import pytest
from django.contrib.auth import get_user_model

from kernelsite.accounts.models import Membership, Team


@pytest.fixture
def team(transactional_db):
    return Team.objects.create(name="Kernels", slug="kernels")


@pytest.fixture
def member_of():
    """Makes a user with a role in a team."""

    def build(team, name, role):
        user = get_user_model().objects.create_user(name, password=f"{name}'s own")
        Membership.objects.create(team=team, user=user, role=role)
        return user

    return build


@pytest.fixture
def signed_in(client, team, member_of):
    """The client of an administrator."""
    client.force_login(member_of(team, "alice", "admin"))
    return client
