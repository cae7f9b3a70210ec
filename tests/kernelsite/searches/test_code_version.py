from __future__ import annotations

import subprocess

import pytest

from kernelsite.searches import code_version as module
from kernelsite.searches.code_version import code_version
from kernelsite.searches.models import Evaluation
from kernelsite.searches.pages.search import judges


@pytest.fixture(autouse=True)
def fresh():
    code_version.cache_clear()
    yield
    code_version.cache_clear()


def git(folder, *words):
    name = ("-c", "user.name=n", "-c", "user.email=n@example.org")
    done = subprocess.run(("git", *name, *words), cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.fixture
def repository(tmp_path, settings, monkeypatch):
    monkeypatch.delenv("KERNELSITE_COMMIT", raising=False)
    settings.BASE_DIR = tmp_path
    git(tmp_path, "init", "-q")
    (tmp_path / "code.py").write_text("1\n")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "first")
    return tmp_path


def test_the_commit_is_named_and_a_changed_tree_is_told(repository):
    commit = git(repository, "rev-parse", "--short=12", "HEAD")
    assert code_version().endswith(f", commit {commit}")
    (repository / "code.py").write_text("2\n")
    assert code_version().endswith(f", commit {commit}")  # asked once
    code_version.cache_clear()
    assert code_version().endswith(f", commit {commit}, changed since")


def test_without_a_repository_the_version_or_the_named_commit_stands(tmp_path, settings, monkeypatch):
    settings.BASE_DIR = tmp_path
    monkeypatch.delenv("KERNELSITE_COMMIT", raising=False)
    assert code_version().startswith("kernelsite ")
    assert "commit" not in code_version()
    code_version.cache_clear()
    monkeypatch.setenv("KERNELSITE_COMMIT", "abc123")
    assert code_version().endswith(", commit abc123")


def test_a_missing_git_is_no_error(repository, monkeypatch):
    monkeypatch.setattr(module, "DESCRIBE", ("no-such-git",))
    assert "commit" not in code_version()


def test_the_search_keeps_what_launched_it_and_its_page_says_so(launch, client, alice, monkeypatch):
    monkeypatch.setenv("KERNELSITE_COMMIT", "abc123")
    search = launch()
    monkeypatch.setenv("KERNELSITE_COMMIT", "later")
    code_version.cache_clear()
    client.force_login(alice)
    page = client.get(search.get_absolute_url()).content.decode()
    assert "commit abc123" in page
    assert "later" not in page


def test_the_configuration_names_every_judge_once(launch, wire, client, alice):
    search = launch()
    wire.run_until(lambda: Evaluation.objects.filter(counted=True).count() >= 3)
    (judge,) = judges(search)
    assert judge.startswith(Evaluation.objects.filter(counted=True).first().result["environment"]["device"])
    other = Evaluation.objects.filter(counted=True).last()
    other.environment_key = "0" * 64
    other.result["environment"]["device"] = "<b>another</b>"
    other.save(update_fields=["environment_key", "result"])
    client.force_login(alice)
    page = client.get(search.get_absolute_url()).content.decode()
    assert "&lt;b&gt;another&lt;/b&gt;" in page
    assert len(judges(search)) == 2
