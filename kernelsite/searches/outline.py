"""A snapshot's rows as tables show them: structures as an outline and a board, failures by cause."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

from kernelsite.searches.models import StructureStatus
from search.records import EvaluationStatus

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kernelsite.searches.rows import CandidateRow, StructureRow
    from kernelsite.searches.snapshot import Sample


class OutlineRow(TypedDict):
    """A structure with its depth in the tree and what it adds to its parent."""

    row: StructureRow
    depth: int
    branch: str
    name: str


def outline(rows: list[StructureRow]) -> list[OutlineRow]:
    """Depth first, children by number; a row whose parent is unknown counts as a root."""
    known = {row["number"]: row for row in rows}
    children: dict[int | None, list[StructureRow]] = {}
    for row in sorted(rows, key=lambda each: each["number"]):
        parent = row["parent"] if row["parent"] in known else None
        children.setdefault(parent, []).append(row)
    result: list[OutlineRow] = []
    stack = [(row, 0) for row in reversed(children.get(None, []))]
    while stack:
        row, depth = stack.pop()
        parent_row = known.get(row["parent"] or 0)
        branch = "│ " * (depth - 1) + "└ " if depth else ""
        result.append({"row": row, "depth": depth, "branch": branch, "name": short_name(row, parent_row)})
        stack += [(child, depth + 1) for child in reversed(children.get(row["number"], []))]
    return result


def short_name(row: StructureRow, parent: StructureRow | None) -> str:
    """What a structure adds to its parent, e.g. `online reduction`."""
    before = set(parent["actions"]) if parent else set()
    added = [action for action in row["actions"] if action not in before] or row["actions"]
    return " + ".join(added).replace("_", " ") or "direct"


class Column(TypedDict):
    """One column of the board: structures at the same point of their way, best first."""

    name: str
    rows: list[StructureRow]
    names: dict[int, str]
    """Short names by number."""


COLUMNS = {
    "Open": (StructureStatus.PROPOSED, StructureStatus.PROBING, StructureStatus.OPEN),
    "Retained": (StructureStatus.RETAINED,),
    "Tuning": (StructureStatus.TUNING,),
    "Tuned": (StructureStatus.TUNED,),
    "Not retained": (StructureStatus.DROPPED, StructureStatus.FAILED),
}


def board(rows: list[StructureRow]) -> list[Column]:
    """Structures by where they stand. `static/js/board.js` keeps the same columns up to date."""
    known = {row["number"]: row for row in rows}
    ranked = sorted(rows, key=lambda row: (-row["best"]["speedup"] if row["best"] else 0.0, row["number"]))
    columns: list[Column] = []
    for name, statuses in COLUMNS.items():
        members = [row for row in ranked if row["status"] in statuses]
        names = {row["number"]: short_name(row, known.get(row["parent"] or 0)) for row in members}
        columns.append({"name": name, "rows": members, "names": names})
    return columns


class FailureGroup(TypedDict):
    """Candidates that ended the same way, and what the judge said of one of them."""

    cause: str
    rows: list[CandidateRow]
    sample: Sample | None


def failures(rows: list[CandidateRow], samples: Mapping[str, Sample]) -> list[FailureGroup]:
    """Failed candidates by cause, the most frequent first."""
    groups: dict[str, list[CandidateRow]] = {}
    for row in rows:
        lost = row["state"] == "lost"
        wrong = row["status"] is not None and row["status"] != EvaluationStatus.PASSED
        if lost or wrong:
            groups.setdefault(row["status"] or row["state"], []).append(row)
    return [
        {"cause": cause, "rows": group, "sample": samples.get(cause)}
        for cause, group in sorted(groups.items(), key=lambda item: -len(item[1]))
    ]
