"""Skips what this machine cannot run, and says at the end what to type to run it."""

from __future__ import annotations

from pathlib import Path

import pytest
import system_packages

ALONE = ("kernelsite/ops", "kernelsite/browser")
"""Folders whose tests start whole sites: two at a time would disturb each other. Slow ones elsewhere run beside them."""
MEASURING = ("gpuworker",)
"""Folders whose tests measure times or hold the device: they have the machine to themselves, but for `patient` ones."""
FILLERS = (
    "search",
    *(f"kernelsite/{name}" for name in ("accounts", "catalog", "compare", "reviews", "shares")),
    *(
        f"kernelsite/searches/test_{name}.py"
        for name in (
            "candidate_tabs",
            "home_page",
            "log_views",
            "pages",
            "permission_matrix",
            "structure_tabs",
        )
    ),
)
"""Folders and files whose tests only compute. They and those against PostgreSQL run in the gaps of the others (`gaps.py`)."""
DEADLINES = ("search/agents/llm",)
"""Among them, folders whose tests wait for a server with a deadline."""


# First, so that `-m` sees the marker.
@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    _mark_streams(items)
    for marker, find in system_packages.FINDERS.items():
        if find() is not None:
            continue
        for item in items:
            if item.get_closest_marker(marker):
                _leave_out(item, marker)


def _mark_streams(items):
    for item in items:
        computes = _is_below(item, FILLERS) and not _is_below(item, DEADLINES)
        if computes or item.get_closest_marker("postgres"):
            item.add_marker("filler")
        elif _is_below(item, MEASURING) and not item.get_closest_marker("patient"):
            item.add_marker("measuring")
        elif _is_below(item, ALONE):
            item.add_marker("alone")
        elif item.get_closest_marker("slow"):
            item.add_marker("patient")


def _is_below(item, folders):
    return any(item.path.is_relative_to(Path(__file__).parent / folder) for folder in folders)


def _leave_out(item, marker):
    if system_packages.REQUIRED and marker != "gpu":
        raise pytest.UsageError(
            f"{item.nodeid} needs what `{marker}` stands for, and CI=true allows no skipping"
        )
    item.add_marker(pytest.mark.skip(reason=f"needs {marker}"))


def pytest_terminal_summary(terminalreporter):
    skipped = {report.nodeid for report in terminalreporter.stats.get("skipped", [])}
    lacking = system_packages.missing()
    if skipped and lacking:
        terminalreporter.section("left out on this machine")
        terminalreporter.line(
            f"{len(skipped)} tests skipped. To run those that need a package, type as root:"
        )
        terminalreporter.line("  " + system_packages.line_to_type(lacking))
