"""Serves plotly.js from the Python package, so that 5 MB need not be in the repository."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from django.contrib.staticfiles.finders import BaseFinder
from django.core.files.storage import FileSystemStorage

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from django.core.files.storage import Storage

PLOTLY = "vendor/plotly.min.js"


def plotly_script() -> Path:
    """Where the package keeps the script; found without importing the package, which is slow."""
    spec = find_spec("plotly")
    if spec is None or spec.origin is None:
        raise FileNotFoundError("the plotly package is not installed")
    return Path(spec.origin).parent / "package_data" / "plotly.min.js"


class PlotlyFinder(BaseFinder):
    """Finds one file, `vendor/plotly.min.js`."""

    def find(self, path: str, find_all: bool = False, **kwargs: Any) -> Any:
        """Path of the file, in a list when all are asked for."""
        if path != PLOTLY:
            return []
        return [str(plotly_script())] if find_all else str(plotly_script())

    def list(self, ignore_patterns: Iterable[str] | None) -> Iterator[tuple[str, Storage]]:
        """The file, in a storage that puts it under `vendor/`."""
        storage = FileSystemStorage(location=plotly_script().parent)
        storage.prefix = "vendor"  # type: ignore[attr-defined]  # read by collectstatic and WhiteNoise
        yield "plotly.min.js", storage
