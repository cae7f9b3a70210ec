from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command

from kernelsite.ops.vendor import Vendor, outside_links

VENDORED = Path(settings.BASE_DIR) / "static" / "vendor"


@pytest.fixture
def vendor(tmp_path):
    shutil.copytree(VENDORED, tmp_path / "vendor")
    return Vendor(tmp_path / "vendor")


def test_what_is_committed_is_as_listed(vendor):
    assert vendor.problems() == []
    call_command("vendor_assets", "--check")


def test_a_changed_file_is_noticed(vendor):
    with (vendor.folder / "d3-hierarchy.min.js").open("a") as file:
        file.write("\n")
    assert vendor.problems() == ["d3-hierarchy.min.js: hash differs from vendor.json"]


def test_a_missing_and_an_unlisted_file_are_noticed(vendor):
    (vendor.folder / "d3-hierarchy.min.js").rename(vendor.folder / "other.js")
    assert vendor.problems() == ["d3-hierarchy.min.js: missing", "other.js: not listed in vendor.json"]


def test_every_package_has_its_licence_here():
    entries = json.loads((VENDORED / "vendor.json").read_text())
    with_text = {entry["package"] for entry in entries if entry["file"].startswith("licences/")}
    assert {entry["package"] for entry in entries} == with_text
    assert all(entry["licence"] in {"ISC", "MIT", "OFL-1.1", "0BSD", "Apache-2.0"} for entry in entries)


def test_the_style_rules_are_those_of_the_script(vendor):
    rules = vendor.plotly_style().splitlines()
    assert len(rules) == 66
    assert all(
        rule.startswith((".js-plotly-plot .plotly", ".plotly-notifier")) and rule.endswith("}")
        for rule in rules
    )
    (vendor.folder / "plotly.css").write_text(vendor.plotly_style().replace("crosshair", "pointer"))
    assert "plotly.css: plotly.min.js has other style rules" in vendor.problems()


@pytest.mark.parametrize(
    "line",
    [
        '<script src="https://cdn.example/x.js"></script>',
        "<script defer src=//cdn.example/x.js></script>",
        '<link rel="stylesheet" href="http://cdn.example/x.css">',
    ],
)
def test_a_template_that_loads_from_elsewhere_is_noticed(tmp_path, line):
    (tmp_path / "page.html").write_text(f"<html>\n{line}\n</html>")
    (problem,) = outside_links(tmp_path)
    assert problem.startswith("page.html: ")


def test_plain_links_to_elsewhere_are_fine(tmp_path):
    (tmp_path / "page.html").write_text(
        '<a href="https://docs.example/">read</a> <script src="/static/x.js"></script>'
    )
    assert outside_links(tmp_path) == []


def test_the_command_fails_on_a_problem(settings, tmp_path):
    shutil.copytree(VENDORED, tmp_path / "static" / "vendor")
    (tmp_path / "templates").mkdir()
    settings.BASE_DIR = tmp_path
    call_command("vendor_assets", "--check")
    (tmp_path / "templates" / "page.html").write_text('<script src="https://cdn.example/x.js"></script>')
    with pytest.raises(CommandError, match="//cdn"):
        call_command("vendor_assets", "--check")
