"""Landscape files: gzipped JSON, found by name among those that ship and those of `KERNELSITE_LANDSCAPES`."""

from __future__ import annotations

import gzip
import os
import zlib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import ValidationError

from search.landscapes.landscape import Landscape

if TYPE_CHECKING:
    from search.records import Language
    from search.workload import Workload

SUFFIX = ".json.gz"
LIMIT_BYTES = 64 * 1024 * 1024
"""Largest document that is unpacked."""
PREFIX = "recorded:"
_SHIPPED = Path(__file__).parent / "data"


class LandscapeError(ValueError):
    """A landscape that cannot be read or is not there; names the file and the field."""


def write_landscape(path: Path, landscape: Landscape) -> None:
    """Write a file; the same landscape always gives the same bytes."""
    data = gzip.compress(landscape.model_dump_json().encode(), compresslevel=9, mtime=0)
    part = path.with_name(path.name + ".new")
    part.write_bytes(data)
    part.replace(path)


def read_landscape(path: Path) -> Landscape:
    """Read and check a file.

    Raises:
        LandscapeError: not there, not a landscape, or one whose columns do not fit together.
    """
    try:
        with gzip.open(path) as file:
            text = file.read(LIMIT_BYTES + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise LandscapeError(f"{path.name}: {error}") from error
    if len(text) > LIMIT_BYTES:
        raise LandscapeError(f"{path.name}: more than {LIMIT_BYTES} bytes")
    try:
        return Landscape.model_validate_json(text)
    except ValidationError as error:
        raise LandscapeError(f"{path.name}: {_told(error)}") from error


def folders() -> tuple[Path, ...]:
    """Where landscapes are looked for: the package, then the folder named by the environment."""
    own = os.environ.get("KERNELSITE_LANDSCAPES", "")
    return (_SHIPPED, Path(own)) if own else (_SHIPPED,)


def landscape_files() -> dict[str, Path]:
    """Files by the name of their landscape."""
    return {
        file.name.removesuffix(SUFFIX): file
        for folder in folders()
        for file in sorted(folder.glob(f"*{SUFFIX}"))
    }


def find_landscape(name: str) -> Landscape:
    """A landscape by its name.

    Raises:
        LandscapeError: there is none, or it cannot be read.
    """
    known = landscape_files()
    if name not in known:
        raise LandscapeError(f"no landscape {name!r}: there are {', '.join(known) or 'none'}")
    return _read(known[name])


def device_classes() -> tuple[str, ...]:
    """Every `recorded:<name>`."""
    return tuple(PREFIX + name for name in landscape_files())


def is_recorded(device_class: str) -> bool:
    """Whether a device class answers from a landscape."""
    return device_class.startswith(PREFIX)


def landscape_of(device_class: str, workload: Workload | None = None) -> Landscape:
    """The landscape behind a device class.

    Args:
        device_class: `recorded:<name>`, where the name is that of a landscape, or what several of one device
            begin with (`recorded:h200`); of those the first of the workload is taken, in the order of its cases.
        workload: what is searched for; needed for the second form, and checked where it is given.

    Raises:
        LandscapeError: there is none, or it is of another version of the workload.
    """
    name = device_class.removeprefix(PREFIX)
    if name in landscape_files() or workload is None:
        found = [find_landscape(name)]
    else:
        found = [find_landscape(one) for one in landscape_files() if one.startswith(f"{name}_")]
    if workload is not None:
        found = [one for one in found if one.workload_hash == workload.hash]
    if not found:
        what = f"this version of {workload.name}" if workload else "it"
        raise LandscapeError(f"{device_class}: no landscape of {what} was recorded")
    order = [case.name for case in found[0].workload.cases]
    return min(found, key=lambda one: order.index(one.case))


def language_of(device_class: str) -> Language:
    """Language of the first landscape of a device class; they are of one language as a rule.

    Raises:
        LandscapeError: there is none.
    """
    name = device_class.removeprefix(PREFIX)
    fitting = [one for one in landscape_files() if one == name or one.startswith(f"{name}_")]
    return find_landscape(fitting[0] if fitting else name).language


@cache
def _read(path: Path) -> Landscape:
    return read_landscape(path)


def _told(error: ValidationError) -> str:
    """The first three problems, each with its place."""
    shown = [f"{'.'.join(map(str, one['loc']))}: {one['msg']}".lstrip(": ") for one in error.errors()[:3]]
    return "; ".join(shown)
