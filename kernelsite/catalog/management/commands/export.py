"""`manage.py export workload softmax@1 PATH`, or `export library core@2 PATH`: writes a version to a new file or folder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from django.db.models import F

from kernelsite.catalog.models import WorkloadVersion
from search.formats.archives import packed
from search.formats.folders import write_folder
from search.formats.format import Collection, FormatError
from search.formats.registry import FORMATS

if TYPE_CHECKING:
    from argparse import ArgumentParser


class Command(BaseCommand):
    """Replaces nothing: the path must not be there. A path that ends in .zip becomes an archive, any other a folder."""

    help = __doc__ or ""

    def add_arguments(self, parser: ArgumentParser) -> None:
        """What to write, how and where."""
        parser.add_argument("kind", choices=["workload", "library"])
        parser.add_argument("name", help="e.g. softmax@1; without a number the newest version")
        parser.add_argument("path", type=Path)
        parser.add_argument("--format", default="kernelsite", choices=list(FORMATS), help="of a workload")

    def handle(self, *args: Any, **options: Any) -> None:
        """Write it and say what the format could not."""
        if options["kind"] == "library":
            call_command("export_library", options["name"], options["path"], stdout=self.stdout)
            return
        row, path = _row(options["name"]), options["path"]
        try:
            files, report = FORMATS[options["format"]].write(Collection((row.record,)))
            _write(files, path)
        except (OSError, FormatError) as error:
            raise CommandError(str(error)) from error
        for remark in (*report.changed, *report.dropped):
            self.stderr.write(f"not word for word: {remark.where}: {remark.text}")
        self.stdout.write(f"wrote {row.short} to {path}")


def _row(name: str) -> WorkloadVersion:
    slug, _, number = name.partition("@")
    rows = WorkloadVersion.objects.filter(slug=slug).order_by("-version", F("team").asc(nulls_last=True))
    row = (rows.filter(version=int(number)) if number.isdecimal() else rows).first()
    if row is None:
        raise CommandError(f"there is no workload {name}")
    return row


def _write(files: dict[str, bytes], path: Path) -> None:
    if path.suffix == ".zip":
        with path.open("xb") as archive:
            archive.write(packed(files))
    else:
        path.mkdir()
        write_folder(files, path)
