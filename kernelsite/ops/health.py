"""Is it alive, is it ready: for supervisors and load balancers, without log-in and without secrets."""

from __future__ import annotations

from typing import TYPE_CHECKING

import redis
from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.db import Error as DatabaseError
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpResponse, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

if TYPE_CHECKING:
    from collections.abc import Callable

    from django.http import HttpRequest


@never_cache
@require_GET
@login_not_required
def healthz(request: HttpRequest) -> HttpResponse:
    """This process answers."""
    return HttpResponse("ok\n", content_type="text/plain")


@never_cache
@require_GET
@login_not_required
def readyz(request: HttpRequest) -> HttpResponse:
    """Database (migrated) and broker answer too; 503 when one does not."""
    parts = {name: check() for name, check in CHECKS.items()}
    return JsonResponse(parts, status=200 if set(parts.values()) == {"ok"} else 503)


def _database() -> str:
    try:
        executor = MigrationExecutor(connection)
        lacking = executor.migration_plan(executor.loader.graph.leaf_nodes())
    except DatabaseError:
        return "unreachable"
    return f"{len(lacking)} migrations to apply" if lacking else "ok"


def _broker() -> str:
    client = redis.Redis.from_url(settings.REDIS_URL, socket_timeout=2, socket_connect_timeout=2, retry=None)
    try:
        client.ping()
    except (redis.RedisError, OSError):
        return "unreachable"
    finally:
        client.close()
    return "ok"


CHECKS: dict[str, Callable[[], str]] = {"database": _database, "broker": _broker}
