"""`manage.py vendor_assets`: fetches the browser's third-party files anew; `--check` only compares hashes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from kernelsite.ops.vendor import Vendor, VendorError, outside_links

if TYPE_CHECKING:
    import argparse


class Command(BaseCommand):
    """Needs npm, except with `--check`."""

    help = __doc__ or ""
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """One option."""
        parser.add_argument(
            "--check", action="store_true", help="change nothing, exit 1 when something differs"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Fetch, then check in either case."""
        vendor = Vendor(settings.BASE_DIR / "static" / "vendor")
        try:
            if not options["check"]:
                self.stdout.write("fetched " + ", ".join(vendor.fetch()))
            problems = vendor.problems()
        except (VendorError, OSError) as error:
            raise CommandError(str(error)) from error
        problems += outside_links(settings.BASE_DIR / "templates")

        if problems:
            raise CommandError("\n".join(problems))
        self.stdout.write(
            f"{len(vendor.assets)} vendored files are as listed; no template loads from elsewhere"
        )
