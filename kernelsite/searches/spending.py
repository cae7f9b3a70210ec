"""Where a search's budget went: by stage, and when each cap is reached at the pace so far."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

from search.records import EvaluationStatus, Purpose, Stage

if TYPE_CHECKING:
    from kernelsite.searches.rows import CandidateRow, SearchRow


class StageRow(TypedDict):
    """Spending of one stage, or of the measurements of one other purpose."""

    name: str
    evaluations: int
    passed: int
    failed: int
    device_seconds: float
    share: float
    """Of all device seconds, 0 to 1."""


class CapRow(TypedDict):
    """One axis of the budget."""

    name: str
    spent: float
    cap: float | None
    share: float | None
    left_s: float | None
    """Wall seconds until the cap at the pace so far; None while nothing says."""


def by_stage(rows: list[CandidateRow]) -> list[StageRow]:
    """Spending by stage in the order of stages, then by purposes other than the search itself."""
    found: dict[str, StageRow] = {}
    for row in rows:
        name = stage_of(row)
        empty: StageRow = {
            "name": name, "evaluations": 0, "passed": 0, "failed": 0, "device_seconds": 0.0, "share": 0.0
        }  # fmt: skip
        stage = found.setdefault(name, empty)
        stage["evaluations"] += row["order"] is not None
        stage["passed"] += row["status"] == EvaluationStatus.PASSED
        stage["failed"] += row["status"] not in (None, EvaluationStatus.PASSED)
        stage["device_seconds"] += row["device_seconds"]
    total = sum(stage["device_seconds"] for stage in found.values())
    for stage in found.values():
        stage["share"] = stage["device_seconds"] / total if total else 0.0
    places = {name.value: place for place, name in enumerate(Stage)}
    return sorted(found.values(), key=lambda stage: (places.get(stage["name"], len(places)), stage["name"]))


def stage_of(row: CandidateRow) -> str:
    """The stage that a measurement is charged to; a purpose other than the search's own is a stage of its own."""
    return row["stage"] if row["purpose"] == Purpose.SEARCH else row["purpose"]


def caps(search: SearchRow) -> list[CapRow]:
    """Every axis of the budget with its projected end."""
    wall_s = search["budget"]["wall_seconds"]["spent"]
    rows: list[CapRow] = []
    for name, item in search["budget"].items():
        spent, cap = item["spent"], item["cap"]
        pace = spent / wall_s if wall_s else 0.0
        left = (cap - spent) / pace if cap is not None and pace and search["state"] == "running" else None
        share = min(1.0, spent / cap) if cap else None
        rows.append({"name": name, "spent": spent, "cap": cap, "share": share, "left_s": left})
    return rows
