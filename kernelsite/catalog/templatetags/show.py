"""Numbers, words and icons as people read them. `static/js/format.js` says the same in the browser."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from django import template
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe

from kernelsite.catalog.plain import visible

if TYPE_CHECKING:
    from datetime import datetime

register = template.Library()

DASH = "\N{EN DASH}"
TIMES = "\N{MULTIPLICATION SIGN}"

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
def speedup(value: float | str | None) -> str:
    """Two digits and the multiplication sign; a dash when nothing was measured."""
    if not isinstance(value, float | int):
        return DASH
    digits = 0 if value >= 100 else 1 if value >= 10 else 2
    return f"{value:.{digits}f}{TIMES}"


@register.filter
def interval(row: Any) -> str:
    """Low and high with one sign, of anything with `low` and `high`; empty when there is none."""
    low, high = _get(row, "low"), _get(row, "high")
    return "" if low is None or high is None else f"{speedup(low)[:-1]}{DASH}{speedup(high)}"


def _get(row: Any, name: str) -> Any:
    return row.get(name) if isinstance(row, Mapping) else getattr(row, name, None)


@register.filter
def us(value: float | str | None) -> str:
    """A time given in microseconds, with three digits and a fitting unit."""
    if not isinstance(value, float | int):
        return DASH
    for scale, unit in ((1e6, "s"), (1e3, "ms")):
        if value >= scale:
            return f"{_three(value / scale)} {unit}"
    return f"{_three(value)} µs"


def _three(value: float) -> str:
    return f"{value:.0f}" if value >= 99.95 else f"{value:.1f}" if value >= 9.995 else f"{value:.2f}"


@register.filter
def seconds(value: float | str | None) -> str:
    """A length of time given in seconds."""
    if not isinstance(value, float | int):
        return DASH
    if 0 < value < 1:
        return f"{value * 1000:.0f} ms"
    if value < 10:
        return f"{value:.1f} s"
    whole = round(value)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole // 60 % 60:02d} min"


@register.filter
def size(value: float | str | None) -> str:
    """A number of bytes with a fitting unit; a dash when it is not known."""
    if not isinstance(value, float | int):
        return DASH
    for scale, unit in ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
        if value >= scale:
            return f"{_three(value / scale)} {unit}"
    return f"{value:.0f} B"


@register.filter
def count(value: float | str | None) -> str:
    """A large number in short: `1.2 k`, `33.6 M`."""
    if not isinstance(value, float | int):
        return DASH
    for scale, unit in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e4, "k")):
        if value >= scale:
            return f"{_three(value / (1e3 if unit == 'k' else scale))} {unit}"
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
def knobs(values: Mapping[str, object] | None) -> str:
    """`BM=64 BN=32`, or `defaults`."""
    return " ".join(f"{name}={as_json(value)}" for name, value in (values or {}).items()) or "defaults"


@register.filter
def plain(text: object) -> str:
    """Text of strangers with invisible and direction-turning characters written out."""
    return visible(str(text)) if text else ""


@register.filter
def words(text: str) -> str:
    """`online_reduction` as `online reduction`."""
    return str(text).replace("_", " ")


@register.filter
def as_json(value: object) -> str:
    """A plain value on one line; text stays as it is, and nothing is called nothing."""
    if value in ({}, []):
        return "none"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


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
