"""The same code on PostgreSQL, in processes of its own: settings choose the database at import."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from postgres_server import postgres_server

pytestmark = [pytest.mark.postgres, pytest.mark.slow]

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def url():
    with postgres_server() as url:
        yield url


@pytest.fixture
def run(url, tmp_path):
    def run(*arguments):
        kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
        environment = kept | {"KERNELSITE_VAR": str(tmp_path), "DATABASE_URL": url}
        done = subprocess.run(
            [sys.executable, *arguments],
            cwd=ROOT,
            env=environment,
            capture_output=True,
            text=True,
            timeout=900,  # it may run at the lowest priority
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return run


def test_migrations_apply_and_are_in_step(run):
    run("manage.py", "migrate", "--no-input")
    assert "No changes" in run("manage.py", "makemigrations", "--check", "--dry-run")
    added = run("manage.py", "sync_catalog").split()
    assert "softmax@1" in added
    assert run("manage.py", "sync_catalog") == ""


def test_a_shipped_version_twice_is_refused_there_too(run):
    run("manage.py", "migrate", "--no-input")
    run("manage.py", "sync_catalog")
    code = """
import json
from django.db import IntegrityError, connection, transaction
from kernelsite.catalog.models import WorkloadVersion
row = WorkloadVersion.objects.get(slug="softmax")
row.pk = None
try:
    with transaction.atomic():
        row.save(force_insert=True)
    refused = False
except IntegrityError:
    refused = True
print(json.dumps([connection.vendor, refused]))
"""
    out = run("manage.py", "shell", "--no-imports", "-c", code)
    assert json.loads(out.splitlines()[-1]) == ["postgresql", True]


RACES = (
    "api/test_api_launch.py",
    "fleet",
    "searches/test_attempts.py",
    "searches/test_gate.py",
    "reviews/test_review_races.py",
    "shares/test_share_links.py::test_of_twenty_who_revoke_together_one_does",
)
"""Where rows are locked, claimed and counted side by side."""
OTHERS = (
    "accounts",
    "api/test_api_catalog.py",
    "catalog/test_workload_drafts.py",
    "searches/test_driver.py",
)


@pytest.mark.parametrize("names", [RACES, pytest.param(OTHERS, marks=pytest.mark.exhaustive)])
def test_tests_of_the_site_pass_there(run, names):
    files = [f"tests/kernelsite/{name}" for name in names]
    assert "passed" in run("-m", "pytest", "-q", "-p", "no:cacheprovider", "--create-db", *files)


def test_the_audit_trail_refuses_changes_there_too(run):
    run("manage.py", "migrate", "--no-input")
    code = """
import json
from django.db import IntegrityError, transaction
from kernelsite.accounts.models import AuditEntry
AuditEntry.objects.create(team_id=1, actor="a", verb="launch", kind="search", name="S-1", address="")
refused = 0
for change in (lambda rows: rows.update(actor="b"), lambda rows: rows.delete()):
    try:
        with transaction.atomic():
            change(AuditEntry.objects.all())
    except IntegrityError:
        refused += 1
print(json.dumps([refused, AuditEntry.objects.get().actor]))
"""
    out = run("manage.py", "shell", "--no-imports", "-c", code)
    assert json.loads(out.splitlines()[-1]) == [2, "a"]
