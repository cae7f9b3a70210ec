from __future__ import annotations

import pytest
from django.core.management import CommandError, call_command

from kernelsite.ops import dependencies
from kernelsite.ops.management.commands import check_dependencies


def test_a_release_below_its_floor_is_named():
    text = "django 999 CVE-0 # why\n# a comment\n\nno-such-package 1 CVE-1\nredis 1.0 CVE-2\n"
    (problem,) = dependencies.problems(text)
    assert problem.startswith("django 5.")
    assert "CVE-0" in problem


def test_the_command_fails_on_it_and_passes_here(monkeypatch, tmp_path, capsys):
    call_command("check_dependencies")
    assert "known holes" in capsys.readouterr().out
    file = tmp_path / "floors.txt"
    file.write_text("django 999 CVE-0\n")
    monkeypatch.setattr(check_dependencies, "FLOORS", file)
    with pytest.raises(CommandError, match="CVE-0"):
        call_command("check_dependencies")
