"""`manage.py up`: the whole site on this machine, from one command; Ctrl-C stops it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from django.core.management.base import BaseCommand, CommandError

from kernelsite.ops.launcher import LaunchError, free_place, running_site

if TYPE_CHECKING:
    import argparse


class Command(BaseCommand):
    """Embedded server unless `REDIS_URL` is set, migrations, web, workers, one device worker."""

    help = __doc__ or ""
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Where to listen."""
        parser.add_argument("--host", default="127.0.0.1", help="address to listen on")
        parser.add_argument(
            "--port", type=int, default=8000, help="the next free one is used when it is taken"
        )
        parser.add_argument(
            "--once-ready-file",
            type=Path,
            help="JSON with url and process numbers, written when the site answers",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Run until a stop signal."""
        try:
            place = free_place(options["host"], options["port"], self.stdout.write)
            with running_site(place, options["once_ready_file"]) as site:
                site.supervisor.run(site.tick)
        except LaunchError as error:
            raise CommandError(str(error)) from error
