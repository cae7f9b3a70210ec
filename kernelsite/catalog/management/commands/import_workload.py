"""`manage.py import_workload PATH`: takes workloads from a file, folder or ZIP of any format that the site reads."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from django.core.management.base import BaseCommand, CommandError

from kernelsite.catalog import imports
from kernelsite.catalog.imports import Outcomes, Result
from kernelsite.catalog.management.commands.import_library import team_of
from kernelsite.catalog.plain import visible
from search.formats.containers import UploadError
from search.formats.registry import FORMATS

if TYPE_CHECKING:
    from argparse import ArgumentParser

    from kernelsite.catalog.models import WorkloadImport


class Command(BaseCommand):
    """Makes drafts and starting candidates, and with `--publish` versions of the drafts. Runs nothing of them."""

    help = __doc__ or ""

    def add_arguments(self, parser: ArgumentParser) -> None:
        """What to take, and for whom."""
        parser.add_argument("path", type=Path)
        parser.add_argument(
            "--format", default="", choices=["", *FORMATS], help="where it cannot be recognised"
        )
        parser.add_argument("--team", help="slug of the team; needed where there are several")
        parser.add_argument(
            "--publish", action="store_true", help="publish the drafts in which nothing is wrong"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Take it, say what became of each thing."""
        path: Path = options["path"]
        try:
            row = imports.take(team_of(options["team"]), None, path, path.name, options["format"])
        except (UploadError, OSError) as error:
            raise CommandError(str(error)) from error
        report = Outcomes.load(row.report)
        self._say(report)
        if options["publish"]:
            self._publish(row)
        if report.count(Result.REFUSED):
            raise CommandError(f"{report.count(Result.REFUSED)} refused; the others are taken")

    def _say(self, report: Outcomes) -> None:
        for one in report.items:
            place = one.name if one.line is None else f"{one.name}:{one.line}"
            stream = self.stderr if one.result is Result.REFUSED else self.stdout
            stream.write(visible(f"{one.result}: {place}: {one.text}"))
        for word, remarks in (("changed", report.changed), ("left out", report.dropped)):
            for remark in remarks:
                self.stdout.write(visible(f"{word}: {remark}"))

    def _publish(self, row: WorkloadImport) -> None:
        made, left = imports.publish(row, None)
        for version in made:
            self.stdout.write(f"published {version.short}")
        for sentence in left:
            self.stderr.write(visible(sentence))
