"""What actions of a library brought in a team's searches.

An action is tried once for each structure that took it when its parent had not. Searches on recorded landscapes are
left out: they answer from one measurement many times.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from statistics import median
from typing import TYPE_CHECKING

from kernelsite.catalog.models import LibraryVersion
from search.landscapes.files import is_recorded
from search.records import EvaluationStatus

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kernelsite.accounts.models import Team

LEAST = 10
"""Below this many, no interval is shown."""
_Z = 1.959964
_BUILT = [
    status.value
    for status in EvaluationStatus
    if status not in {EvaluationStatus.COMPILE_ERROR, EvaluationStatus.INFRA_ERROR}
]

_COLUMNS = (
    "pk",
    "blueprint__actions",
    "parent__blueprint__actions",
    "passed_count",
    "retained",
    "best_speedup",
    "parent__best_speedup",
)


@dataclass
class ActionFigures:
    """Counts of structures that took an action newly."""

    action: str
    tried: int = 0
    built: int = 0
    correct: int = 0
    retained: int = 0
    gains: list[float] = field(default_factory=list)
    """Best speed-up over that of the parent, where both were measured."""

    @property
    def median(self) -> float | None:
        """Median gain; None where nothing was measured."""
        return median(self.gains) if self.gains else None

    @property
    def is_small(self) -> bool:
        """Too few gains for an interval."""
        return len(self.gains) < LEAST

    @property
    def low(self) -> float | None:
        """Lower end of the median's 95 % interval."""
        return None if self.is_small else median_interval(self.gains)[0]

    @property
    def high(self) -> float | None:
        """Upper end."""
        return None if self.is_small else median_interval(self.gains)[1]


def wilson(hits: float, count: int) -> tuple[float, float]:
    """95 % interval of a share (Wilson, JASA 22, 1927); `count` is above 0."""
    share = hits / count
    middle = share + _Z**2 / (2 * count)
    reach = _Z * math.sqrt(share * (1 - share) / count + _Z**2 / (4 * count**2))
    whole = 1 + _Z**2 / count
    return max(0.0, (middle - reach) / whole), min(1.0, (middle + reach) / whole)


def median_interval(values: Sequence[float]) -> tuple[float, float]:
    """95 % interval of a median: the values at the ranks that Wilson's interval of one half names."""
    ordered = sorted(values)
    low, high = wilson(len(ordered) / 2, len(ordered))
    return ordered[math.floor(low * len(ordered))], ordered[math.ceil(high * len(ordered)) - 1]


def figures(row: LibraryVersion, team: Team | None) -> list[ActionFigures]:
    """Figures of every action of a version, in its order, over all versions of the library."""
    found = {action.id: ActionFigures(action.id) for action in row.record.actions}
    versions = LibraryVersion.objects.filter(slug=row.slug, team=row.team)
    searches = versions.filter(searches__team=team).values_list("searches__pk", "searches__device_class")
    _count(found, [pk for pk, device_class in searches if not is_recorded(device_class)])
    return list(found.values())


def _count(found: dict[str, ActionFigures], searches: list[int]) -> None:
    # Relations lead upwards from here: this app may not import that of the searches.
    base = "searches__structures__"
    evaluations = f"{base}candidates__evaluations__"
    rows = LibraryVersion.objects.order_by().filter(**{"searches__in": searches, f"{base}isnull": False})
    passed_build = LibraryVersion.objects.order_by().filter(
        **{
            "searches__in": searches,
            f"{evaluations}counted": True,
            f"{evaluations}status__in": _BUILT,
        }
    )
    built = set(passed_build.values_list(f"{base}pk", flat=True))
    for pk, actions, earlier, passed, retained, speed, before in rows.values_list(
        *(base + name for name in _COLUMNS)
    ):
        for action in set(actions) - set(earlier or ()):
            if figure := found.get(action):
                figure.tried += 1
                figure.built += pk in built
                figure.correct += passed > 0
                figure.retained += retained
                if speed and before:
                    figure.gains.append(speed / before)
