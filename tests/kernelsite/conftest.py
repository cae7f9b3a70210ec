"""The test database of the site is a file, as in use: threads and other processes see it, and it locks as it does there."""

from __future__ import annotations

import pytest
from django.conf import settings
from django.db import connection

from kernelsite.accounts import append_only

# Real hashes cost a third of a second each.
settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


@pytest.fixture(scope="session")
def django_db_modify_db_settings(django_db_modify_db_settings_parallel_suffix, tmp_path_factory):
    if connection.vendor == "sqlite":
        connection.settings_dict["TEST"]["NAME"] = str(tmp_path_factory.mktemp("database") / "test.sqlite3")


@pytest.fixture(autouse=True)
def bells_stay_in_this_process(settings):
    settings.CHANNEL_LAYERS = {"default": {"BACKEND": "channels.layers.InMemoryChannelLayer"}}


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup, django_db_blocker):
    """Tests that commit empty every table on SQLite by DELETE, which the audit trail's trigger would refuse."""
    if connection.vendor == "sqlite":
        with django_db_blocker.unblock():
            append_only.remove(connection)
