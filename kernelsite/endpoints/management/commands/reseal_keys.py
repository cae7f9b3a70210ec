"""`manage.py reseal_keys`: seal every stored key with the newest secret, so that the older ones can be dropped."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand

from kernelsite.endpoints import vault
from kernelsite.endpoints.models import ModelEndpoint


class Command(BaseCommand):
    """Keys that no secret opens are named, and stay as they are."""

    help = __doc__ or ""

    def handle(self, *args: Any, **options: Any) -> None:
        """Rows one by one, so that a running site keeps working."""
        resealed = 0
        for row in ModelEndpoint.objects.exclude(sealed_key=""):
            try:
                sealed = vault.reseal(row.sealed_key)
            except vault.SealedKeyError as error:
                self.stderr.write(f"{row.team} {row.name}: {error}")
                continue
            ModelEndpoint.objects.filter(pk=row.pk, sealed_key=row.sealed_key).update(sealed_key=sealed)
            resealed += 1
        self.stdout.write(f"{resealed} keys are sealed with the newest secret")
