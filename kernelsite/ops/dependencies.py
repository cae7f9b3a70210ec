"""Known holes in what is installed, from a list that is checked in: a check must not need a network to pass."""

from __future__ import annotations

from importlib import metadata
from pathlib import Path

from packaging.version import Version

FLOORS = Path(__file__).with_name("dependency_floors.txt")


def floors(text: str) -> list[tuple[str, Version, str]]:
    """Package, least release and advisory of each line; `#` begins a comment."""
    lines = (line.split("#")[0].split() for line in text.splitlines())
    return [(name, Version(least), advisory) for name, least, advisory in filter(None, lines)]


def problems(text: str) -> list[str]:
    """What is installed below its floor; packages that are not installed are none."""
    found = []
    for name, least, advisory in floors(text):
        try:
            installed = Version(metadata.version(name))
        except metadata.PackageNotFoundError:
            continue
        if installed < least:
            found.append(f"{name} {installed} has {advisory}; {least} does not")
    return found
