"""`manage.py sweep`: looks for lost work every few seconds until it is stopped, and sends notices beside it."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, Any

from django.core.management.base import BaseCommand
from django.db import OperationalError, close_old_connections
from kombu.exceptions import OperationalError as BrokerError
from redis.exceptions import RedisError

from kernelsite.notices import courier
from kernelsite.searches.limits import limits
from kernelsite.searches.sweeper import sweep

if TYPE_CHECKING:
    import argparse

log = logging.getLogger(__name__)


class Command(BaseCommand):
    """Sweep in a loop. Several may run at once."""

    help = __doc__ or ""

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """One option, for scripts and tests."""
        parser.add_argument("--once", action="store_true", help="sweep once and end")

    def handle(self, *args: Any, **options: Any) -> None:
        """A database or broker that is away for a while does not end the loop."""
        if not options["once"]:
            courier.start()
        while True:
            try:
                found = sweep()
                if found.total:
                    log.info("swept: %s", found)
            except (OperationalError, BrokerError, RedisError, OSError) as error:
                log.warning("sweep put off: %s", error)
            close_old_connections()
            if options["once"]:
                courier.deliver_due()
                return
            time.sleep(limits().sweep_interval_s)
