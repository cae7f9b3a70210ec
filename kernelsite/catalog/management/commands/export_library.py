"""`manage.py export_library NAME@VERSION PATH`: writes a library as .yaml, as .zip, or as a folder of YAML files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from django.core.management.base import BaseCommand, CommandError
from django.db.models import F

from kernelsite.catalog.library_files import to_files, to_yaml, to_zip
from kernelsite.catalog.models import LibraryVersion

if TYPE_CHECKING:
    from argparse import ArgumentParser


class Command(BaseCommand):
    """Replaces nothing: the path must not be there."""

    help = __doc__ or ""

    def add_arguments(self, parser: ArgumentParser) -> None:
        """What to write, and where."""
        parser.add_argument("library", help="e.g. core@2; without a number the newest version")
        parser.add_argument("path", type=Path)

    def handle(self, *args: Any, **options: Any) -> None:
        """Write it; the ending of the path says how."""
        row, path = _row(options["library"]), options["path"]
        try:
            _write(row, path)
        except OSError as error:
            raise CommandError(str(error)) from error
        self.stdout.write(f"wrote {row.short} to {path}")


def _row(name: str) -> LibraryVersion:
    slug, _, number = name.partition("@")
    rows = LibraryVersion.objects.filter(slug=slug).order_by("-version", F("team").asc(nulls_last=True))
    if number.isdecimal():
        rows = rows.filter(version=int(number))
    row = rows.first()
    if row is None:
        raise CommandError(f"there is no library {name}")
    return row


def _write(row: LibraryVersion, path: Path) -> None:
    if path.suffix == ".zip":
        with path.open("xb") as archive:
            archive.write(to_zip(to_files(row.record), row.slug))
    elif path.suffix in {".yaml", ".yml"}:
        with path.open("x", encoding="utf-8") as file:
            file.write(to_yaml(row.record))
    else:
        path.mkdir()
        for name, text in to_files(row.record).items():
            (path / name).write_text(text, "utf-8")
