"""Numbers, words and icons as people read them. `static/js/format.js` says the same in the browser."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from django import template
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe

from kernelsite.catalog import wording
from kernelsite.catalog.plain import visible
from kernelsite.catalog.wording import DASH, three

if TYPE_CHECKING:
    from datetime import datetime

register = template.Library()

speedup = register.filter(wording.speedup)
interval = register.filter(wording.interval)
us = register.filter(wording.us)
seconds = register.filter(wording.seconds)
knobs = register.filter(wording.knobs)
as_json = register.filter(wording.as_json)

TONES: dict[str, tuple[str, str]] = {
    "draft": ("dot", "quiet"),
    "queued": ("clock", "quiet"),
    "running": ("spin", "go"),
    "waiting": ("clock", "warn"),
    "pausing": ("pause", "warn"),
    "paused": ("pause", "warn"),
    "stopping": ("stop", "warn"),
    "stopped": ("stop", "quiet"),
    "finished": ("check", "good"),
    "failed": ("cross", "bad"),
    "stale": ("alert", "odd"),
    "approved": ("check", "good"),
    "withdrawn": ("minus", "quiet"),
    "proposed": ("dot", "quiet"),
    "probing": ("spin", "go"),
    "open": ("dot", "quiet"),
    "retained": ("ring", "go"),
    "tuning": ("spin", "go"),
    "tuned": ("check", "good"),
    "dropped": ("minus", "quiet"),
    "done": ("check", "good"),
    "lost": ("alert", "odd"),
    "online": ("check", "good"),
    "busy": ("spin", "go"),
    "idle": ("check", "good"),
    "offline": ("minus", "quiet"),
    "draining": ("pause", "warn"),
    "drained": ("pause", "warn"),
    "shut out": ("alert", "bad"),
    "passed": ("check", "good"),
    "cancelled": ("minus", "quiet"),
    "published": ("check", "good"),
    "retired": ("minus", "quiet"),
    "pass": ("check", "good"),
    "violated": ("cross", "bad"),
    "undecidable": ("help", "warn"),
    "PASSED": ("check", "good"),
    "UNTIMED": ("check", "warn"),
    "UNSTABLE_TIMING": ("alert", "warn"),
    "INFRA_ERROR": ("alert", "odd"),
}
"""Word of a state → icon and tone; the word is always shown beside them."""


def tone(word: str) -> tuple[str, str]:
    """Icon and tone of a state; an unknown evaluation status is a failure."""
    return TONES.get(word) or (("cross", "bad") if word.isupper() else ("dot", "quiet"))


@register.simple_tag
def icon(name: str, extra: str = "") -> SafeString:
    """An icon of `templates/_icons.svg`, for the eye only."""
    return format_html(
        '<svg class="icon {}" viewBox="0 0 24 24" aria-hidden="true"><use href="#i-{}"/></svg>', extra, name
    )


@register.simple_tag
def pill(word: str, text: str = "") -> SafeString:
    """Icon + word + colour of a state."""
    shape, colour = tone(str(word))
    busy = mark_safe(" data-busy") if shape == "spin" else ""  # a literal
    return format_html('<span class="pill tone-{}"{}>{}{}</span>', colour, busy, icon(shape), text or word)


@register.filter
def tone_name(word: str) -> str:
    """Tone of a state, for a class name."""
    return tone(word)[1]


@register.simple_tag
def state_icon(word: str) -> SafeString:
    """Icon of a state, without the word."""
    return icon(tone(word)[0])


@register.simple_tag(takes_context=True)
def here(context: template.Context, views: str) -> SafeString:
    """Marks a navigation link as the current page for any of the views."""
    match = getattr(context.get("request"), "resolver_match", None)
    on = match is not None and match.view_name in views.split()
    return mark_safe(' aria-current="page"') if on else mark_safe("")  # literals


@register.filter
def size(value: float | str | None) -> str:
    """A number of bytes with a fitting unit; a dash when it is not known."""
    if not isinstance(value, float | int):
        return DASH
    for scale, unit in ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
        if value >= scale:
            return f"{three(value / scale)} {unit}"
    return f"{value:.0f} B"


@register.filter
def count(value: float | str | None) -> str:
    """A large number in short: `1.2 k`, `33.6 M`."""
    if not isinstance(value, float | int):
        return DASH
    for scale, unit in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e4, "k")):
        if value >= scale:
            return f"{three(value / (1e3 if unit == 'k' else scale))} {unit}"
    return f"{value:,.0f}"


@register.filter
def scientific(value: float | str | None) -> str:
    """A small number with two digits, e.g. `3.1e-05`."""
    return f"{value:.2g}" if isinstance(value, float | int) else DASH


@register.filter
def percent(value: float | str | None) -> str:
    """A share from 0 to 1."""
    return f"{value:.0%}" if isinstance(value, float | int) else DASH


@register.filter
def ago(at: datetime | None) -> str:
    """How long ago in the largest fitting unit; a dash when it never was."""
    if at is None:
        return DASH
    passed = (timezone.now() - at).total_seconds()
    for length, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if passed >= length:
            return f"{passed // length:.0f} {unit} ago"
    return f"{max(passed, 0):.0f} s ago"


@register.filter
def plain(text: object) -> str:
    """Text of strangers with invisible and direction-turning characters written out."""
    return visible(str(text)) if text else ""


@register.filter
def words(text: str) -> str:
    """`online_reduction` as `online reduction`."""
    return str(text).replace("_", " ")


@register.filter
def clause_value(value: object) -> str:
    """What a clause fixes, without braces: `axes M, N; form grid`."""
    if isinstance(value, Mapping):
        return "; ".join(f"{words(name)} {clause_value(part)}" for name, part in value.items()) or "none"
    if isinstance(value, list | tuple):
        return ", ".join(clause_value(part) for part in value) or "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return visible(str(value))


@register.filter
def get(mapping: Mapping[str, object], key: str) -> object:
    """A value by key, for names that a template cannot spell."""
    return mapping.get(key)
