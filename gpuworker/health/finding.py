"""One answer of the doctor."""

from __future__ import annotations

from search.records import Record


class Finding(Record):
    """One check; a device is fit to judge when every one is fine."""

    name: str
    fine: bool
    text: str
    section: str = ""
    """`worker`, `device`, `health`, `canaries` or `timing`."""
