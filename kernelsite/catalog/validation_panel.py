"""What pages show of the validations of a content, and on which devices it may be validated."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kernelsite.catalog.standing import counting, trivial_of
from kernelsite.catalog.validation import WorkloadValidation
from kernelsite.fleet.models import Device
from search.validation import Outcome, Part

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kernelsite.accounts.middleware import TeamRequest
    from search.validation import MutantResult, SelfTest, Validation

SHOWN = 8
"""Validations of one content in the list of earlier ones."""
PARTS = {
    Part.CASES: "Reference on every case",
    Part.MUTANTS: "Wrong programs",
    Part.BASELINES: "Baselines and floor",
}


def panel(request: TeamRequest, content: str) -> dict[str, Any]:
    """Context of `_validation.html` for a content; an empty one has no validation."""
    rows = WorkloadValidation.objects.of_team(request.team).filter(hash=content).defer("document")
    found = list(rows.select_related("created_by")[: SHOWN + 1]) if content else []
    # What is under way is shown, else what counts, else what was last.
    row = next((one for one in found if one.is_open), None) or (
        counting(request.team, content) if content else None
    )
    row = row or next(iter(found), None)
    known = row.record if row else None
    return {
        "validation": row,
        "known": known,
        "earlier": [one for one in found if row and one.pk != row.pk],
        "parts": _parts(row, known) if row else [],
        "mutants": _mutants(known.selftest) if known and known.selftest else {},
        "trivial": trivial_of(row) if row and not row.is_open else (),
        "devices": device_classes(),
    }


def device_classes() -> list[tuple[str, int]]:
    """Classes that have ever been seen, with how many are online, those first; `cpu` is always there."""
    online = dict.fromkeys(["cpu", *Device.objects.values_list("device_class", flat=True)], 0)
    for name in Device.objects.online().values_list("device_class", flat=True):
        online[name] += 1
    return sorted(online.items(), key=lambda each: (-each[1], each[0] != "cpu", each[0]))


def _parts(row: WorkloadValidation, known: Validation | None) -> list[tuple[str, str]]:
    """Each part with its state in a word of the site."""
    order = list(PARTS)
    at = order.index(known.part) if known else 0
    states = ["done" if place < at else "queued" for place in range(len(order))]
    if row.state == "passed":
        states = ["done"] * len(order)
    elif row.state == "running":
        states[at] = "running"
    elif row.state == "failed":
        states[at] = "failed"
    if not row.is_open:
        states = ["not tried" if state == "queued" else state for state in states]
    return [(PARTS[part], state) for part, state in zip(order, states, strict=True)]


def _mutants(test: SelfTest) -> dict[str, Sequence[MutantResult]]:
    """Results in groups: what people must look at first."""
    trivial = [one for one in test.mutants if one.is_trivial]
    survived = [one for one in test.survivors if not one.is_trivial]
    rest = [one for one in test.mutants if one not in trivial and one not in survived]
    killed = [one for one in rest if one.outcome is Outcome.KILLED]
    other = [one for one in rest if one.outcome is not Outcome.KILLED]
    return {"trivial": trivial, "survived": survived, "killed": killed, "other": other}
