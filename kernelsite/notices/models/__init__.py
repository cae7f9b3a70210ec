"""Tables of notices, of who has read them, of what leaves the site, and of people's and teams' wishes."""

from __future__ import annotations

from kernelsite.notices.models.delivery import Delivery, DeliveryState
from kernelsite.notices.models.notice import Event, Notice, Receipt
from kernelsite.notices.models.webhook import Style, Webhook
from kernelsite.notices.models.wishes import Channel, Wishes

__all__ = ["Channel", "Delivery", "DeliveryState", "Event", "Notice", "Receipt", "Style", "Webhook", "Wishes"]
