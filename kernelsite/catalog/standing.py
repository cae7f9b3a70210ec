"""What is known of a workload's checks: may a search begin, and what do its cases let pass?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.db.models import Case, IntegerField, Value, When
from django.utils import timezone

from kernelsite.catalog.device_job import JobState
from kernelsite.catalog.validation import WorkloadValidation

if TYPE_CHECKING:
    from django.contrib.auth.models import User

    from kernelsite.accounts.models import Team
    from kernelsite.catalog.models import WorkloadVersion

UNTRIED = "untried"
"""Stands for all wrong programs where a validation passed and none was tried."""
REASON_LEAST = 10
"""Characters of a reason that says something."""


@dataclass(frozen=True)
class Standing:
    """Of one version for one team."""

    shipped: bool
    told: WorkloadValidation | None
    """The validation that counts."""
    trivial: tuple[str, ...] = ()
    """Programs that compute nothing and would pass."""
    acknowledged: bool = False
    """Somebody has taken note of all of them."""

    @property
    def problem(self) -> str:
        """Why no search may begin; empty where one may."""
        if self.shipped:
            return ""
        if self.told is None:
            return "This workload has not been validated. Validate it on its page first."
        if self.told.state == JobState.FAILED:
            return "The validation of this workload failed: its reference cannot be judged by. See its page."
        if UNTRIED in self.trivial and not self.acknowledged:
            return "Nobody knows what the checks of this workload let pass: its validation could try no wrong program. Validate it again, or acknowledge it on its page."
        if self.trivial and not self.acknowledged:
            names = ", ".join(self.trivial[:4])
            return f"The checks of this workload would let programs pass that compute nothing ({names}). Make it stricter, or acknowledge it on its page."
        return ""


def counting(team: Team | None, content: str, device_class: str = "") -> WorkloadValidation | None:
    """The newest validation of a content that is over; one on the device class goes before all others."""
    near = Case(When(device_class=device_class, then=Value(0)), default=Value(1), output_field=IntegerField())
    rows = WorkloadValidation.objects.of_team(team).filter(hash=content).told()
    return rows.order_by(near, "-id").first()


def standing(version: WorkloadVersion, device_class: str = "") -> Standing:
    """Standing of a version for searches of its own team."""
    if version.team_id is None:
        return Standing(shipped=True, told=None)
    told = counting(version.team, version.hash, device_class)
    trivial = trivial_of(told)
    return Standing(False, told, trivial, acknowledged=set(trivial) <= set(version.acknowledged))


def trivial_of(told: WorkloadValidation | None) -> tuple[str, ...]:
    """Names of programs that compute nothing and would pass, by a validation; `UNTRIED` where none was tried."""
    if told is None or told.record is None or told.state != JobState.PASSED:
        return ()
    selftest = told.record.selftest
    return tuple(one.name for one in selftest.trivial) if selftest else (UNTRIED,)


def problem(version: WorkloadVersion, device_class: str = "") -> str:
    """Why no search of a version may begin; empty where one may."""
    if version.status == "retired":
        return f"{version.short} is retired. Choose another version."
    return standing(version, device_class).problem


def open_mutants(version: WorkloadVersion) -> list[str] | None:
    """Wrong programs that the checks let pass, acknowledged or not; None where nobody has looked.

    A shipped workload was examined when it was made: `docs/mutants.md` explains what survives there.
    """
    found = standing(version)
    if found.shipped:
        return []
    selftest = found.told.record.selftest if found.told and found.told.record else None
    if selftest is None:
        return None
    return list(dict.fromkeys([*found.trivial, *(one.name for one in selftest.survivors)]))


def acknowledge(version: WorkloadVersion, user: User | None, reason: str) -> tuple[str, ...]:
    """Take note of what would pass; the names.

    Raises:
        ValueError: there is nothing to take note of, or no reason; the message is for people.
    """
    names = standing(version).trivial
    if not names:
        raise ValueError("There is nothing to acknowledge.")
    if len(reason.strip()) < REASON_LEAST:
        raise ValueError("Say why this workload is of use as it is, in a few words.")
    version.acknowledged = sorted({*version.acknowledged, *names})
    version.acknowledged_by, version.acknowledged_at = user, timezone.now()
    version.acknowledged_reason = reason.strip()[:500]
    version.save(update_fields=["acknowledged", "acknowledged_by", "acknowledged_at", "acknowledged_reason"])
    return names
