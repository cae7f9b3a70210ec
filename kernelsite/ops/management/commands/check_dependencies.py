"""`manage.py check_dependencies`: fails when a package is installed in a release with a known hole."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from kernelsite.ops.dependencies import FLOORS, floors, problems


class Command(BaseCommand):
    """Reads `kernelsite/ops/dependency_floors.txt`."""

    help = __doc__ or ""
    requires_system_checks: list[str] = []

    def handle(self, *args: Any, **options: Any) -> None:
        """Compare what is installed with the list."""
        text = FLOORS.read_text()
        if found := problems(text):
            raise CommandError("\n".join(found))
        self.stdout.write(f"none of {len(floors(text))} known holes is installed")
