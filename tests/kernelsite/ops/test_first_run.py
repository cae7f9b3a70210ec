from __future__ import annotations

import pytest
from django.contrib.auth import authenticate, get_user_model

from kernelsite.accounts.models import Membership, Role
from kernelsite.ops.first_run import first_login

pytestmark = pytest.mark.django_db


def test_it_works(tmp_path):
    login = first_login(tmp_path / "login")
    assert login.is_new
    user = authenticate(username=login.username, password=login.password)
    assert user is not None
    membership = Membership.objects.get(user=user)
    assert (membership.team.slug, membership.role) == ("kernels", Role.ADMIN)
    assert (tmp_path / "login").stat().st_mode & 0o077 == 0


def test_the_same_log_in_is_shown_again(tmp_path):
    first = first_login(tmp_path / "login")
    again = first_login(tmp_path / "login")
    assert (again.username, again.password, again.is_new) == (first.username, first.password, False)
    assert get_user_model().objects.count() == 1


def test_a_changed_password_is_not_shown(tmp_path):
    first_login(tmp_path / "login")
    user = get_user_model().objects.get()
    user.set_password("her own")
    user.save()
    login = first_login(tmp_path / "login")
    assert login.password is None
    assert "your own password" in login.text


def test_people_who_came_another_way_are_left_alone(tmp_path):
    get_user_model().objects.create_user("alice", password="alice's own")
    login = first_login(tmp_path / "login")
    assert (login.username, login.password) == ("alice", None)
    assert not (tmp_path / "login").exists()
    assert get_user_model().objects.count() == 1


def test_two_installations_have_different_passwords(tmp_path):
    first = first_login(tmp_path / "one").password
    get_user_model().objects.all().delete()
    assert first_login(tmp_path / "two").password != first
