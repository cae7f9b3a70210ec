"""The doorbell of a person: rings when a log-out, a removal or another role must reach open sockets at once."""

from __future__ import annotations

import logging

from asgiref.sync import async_to_sync
from channels.layers import get_channel_layer
from django.db import transaction
from redis.exceptions import RedisError

log = logging.getLogger(__name__)


def group(user_id: int) -> str:
    """Channel-layer group of all sockets of a person."""
    return f"user.{user_id}"


def ring_later(user_id: int) -> None:
    """Have every socket of the person ask again whether it may stay open, once the transaction is committed."""
    transaction.on_commit(lambda: ring(user_id), robust=True)


def ring(user_id: int) -> None:
    """Do it now. A lost bell costs a heartbeat: sockets ask by themselves every few seconds."""
    layer = get_channel_layer()
    if layer is None:
        return
    try:
        async_to_sync(layer.group_send)(group(user_id), {"type": "user.changed"})
    except (RedisError, OSError) as error:
        log.info("user %s: no bell, %s", user_id, error)
