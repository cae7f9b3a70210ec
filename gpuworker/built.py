"""What came out of the build stage: how a candidate will be started."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pydantic import JsonValue

    from gpuworker.cuda.plan import LaunchPlan


@dataclass(frozen=True)
class Built:
    """A candidate that compiles; Python sources that need no build leave everything empty."""

    library: bytes = b""
    """Shared library of a compiled candidate."""
    plans: dict[bool, LaunchPlan] = field(default_factory=dict)
    """Launch plans by whether they are of the hidden cases; empty when its host code runs on the device."""
    caches: dict[bool, bytes] = field(default_factory=dict)
    """Filled by rehearsals on the hidden cases and on the others, for host code that compiles when it launches."""
    details: dict[str, JsonValue] = field(default_factory=dict)
    """For the evidence of the stage."""
