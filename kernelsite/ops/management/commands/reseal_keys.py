"""`manage.py reseal_keys`: seal every stored secret with the newest word, so that the older ones can be dropped."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.core.management.base import BaseCommand

from kernelsite.endpoints import vault
from kernelsite.endpoints.models import ModelEndpoint
from kernelsite.notices.models import Webhook

if TYPE_CHECKING:
    from django.db.models import QuerySet


class Command(BaseCommand):
    """Secrets that no word opens are named, and stay as they are."""

    help = __doc__ or ""

    def handle(self, *args: Any, **options: Any) -> None:
        """Keys of models, then addresses and secrets of webhooks."""
        keys = self._reseal(ModelEndpoint.objects.exclude(sealed_key=""), "sealed_key")
        hooks = self._reseal(Webhook.objects.all(), "sealed")
        self.stdout.write(f"{keys} keys and {hooks} webhooks are sealed with the newest secret")

    def _reseal(self, rows: QuerySet[Any], column: str) -> int:
        """Rows one by one, so that a running site keeps working."""
        resealed = 0
        for row in rows.select_related("team"):
            was = getattr(row, column)
            try:
                sealed = vault.reseal(was)
            except vault.SealedKeyError as error:
                self.stderr.write(f"{row.team} {row.name}: {error}")
                continue
            resealed += type(row).objects.filter(pk=row.pk, **{column: was}).update(**{column: sealed})
        return resealed
