"""What the frame of every page shows of notices."""

from __future__ import annotations

from typing import Any

from django import template

from kernelsite.notices.models import Event, Receipt

register = template.Library()

SIGNS = {
    Event.SEARCH_FINISHED: ("check", "good"),
    Event.SEARCH_FAILED: ("cross", "bad"),
    Event.SEARCH_PAUSED: ("pause", "warn"),
    Event.CAP_NEAR: ("money", "warn"),
    Event.RECORD: ("star", "good"),
    Event.GATE_WAITING: ("clock", "warn"),
    Event.REVIEW_ASKED: ("clock", "warn"),
    Event.REVIEW_DECIDED: ("check", "go"),
    Event.REVIEW_STALE: ("alert", "odd"),
    Event.RELEASE: ("star", "go"),
    Event.DEVICE_DOWN: ("alert", "bad"),
    Event.WEBHOOK_OFF: ("alert", "bad"),
    Event.TEST: ("signal", "quiet"),
}
"""Icon and tone of each event; its words stand beside them."""


@register.simple_tag(takes_context=True)
def unread_count(context: template.Context) -> int:
    """Notices that the person has not read."""
    request: Any = context.get("request")
    team = getattr(request, "team", None)
    return Receipt.objects.of(request.user, team).unread().count() if team else 0


@register.filter
def sign(event: str) -> str:
    """Icon of an event."""
    return SIGNS[Event(event)][0]


@register.filter
def sign_tone(event: str) -> str:
    """Tone of an event."""
    return SIGNS[Event(event)][1]
