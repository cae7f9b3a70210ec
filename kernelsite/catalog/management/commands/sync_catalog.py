"""`manage.py sync_catalog`: brings the shipped workloads and libraries into the catalogue."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand

from kernelsite.catalog.models import sync_shipped


class Command(BaseCommand):
    """May be run any number of times."""

    help = __doc__ or ""

    def handle(self, *args: Any, **options: Any) -> None:
        """Say what is new."""
        for row in sync_shipped():
            self.stdout.write(f"added {row.short}")
