"""Numbers in prompts: few digits, no exponents, units that fit."""

from __future__ import annotations

_UNITS = (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10))


def number(value: float) -> str:
    """Three digits, or all digits of the whole part where that is longer."""
    return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def size(size_bytes: float) -> str:
    """Bytes in the largest unit of which there is at least one."""
    for unit, unit_bytes in _UNITS:
        if size_bytes >= unit_bytes:
            return f"{number(size_bytes / unit_bytes)} {unit}"
    return f"{size_bytes:.0f} bytes"


def counted(count: int, thing: str) -> str:
    """`1 trial`, `3 trials`."""
    return f"{count} {thing}" if count == 1 else f"{count} {thing}s"
