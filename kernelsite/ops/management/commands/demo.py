"""`manage.py demo`: `up`, with a comparison of the four strategies on softmax. `DEMO=once` ends with it, in one JSON line."""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING, Any

from django.core.management.base import BaseCommand, CommandError

from kernelsite.ops.demo import Demo
from kernelsite.ops.launcher import LaunchError, free_place, running_site

if TYPE_CHECKING:
    import argparse


class Command(BaseCommand):
    """Exit status 1 when an arm failed or nothing moved any more."""

    help = __doc__ or ""
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Where to listen."""
        parser.add_argument("--host", default="127.0.0.1", help="address to listen on")
        parser.add_argument(
            "--port", type=int, default=8000, help="the next free one is used when it is taken"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Run until the end of the comparison, or until a stop signal."""
        until_end = os.environ.get("DEMO") == "once"
        try:
            place = free_place(options["host"], options["port"], self.stdout.write)
            with running_site(place) as site:
                demo = Demo(site, site.supervisor.say, until_end)
                site.supervisor.run(demo.tick)
                was_stopped = site.supervisor.stopping
                result = demo.result if until_end else None
        except LaunchError as error:
            raise CommandError(str(error)) from error
        if not until_end:
            return
        if was_stopped or result is None:
            raise CommandError("stopped before the end")
        self.stdout.write(json.dumps(result, allow_nan=False))
        if demo.trouble:
            self.stdout.flush()
            self.stderr.write(demo.trouble)
            sys.exit(1)
