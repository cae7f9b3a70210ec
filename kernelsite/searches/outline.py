"""A snapshot's rows in the order in which tables show them: structures as an outline, failures by cause."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

from search.records import EvaluationStatus

if TYPE_CHECKING:
    from kernelsite.searches.rows import CandidateRow, StructureRow


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


class FailureGroup(TypedDict):
    """Candidates that ended the same way."""

    cause: str
    rows: list[CandidateRow]


def failures(rows: list[CandidateRow]) -> list[FailureGroup]:
    """Failed candidates by cause, the most frequent first."""
    groups: dict[str, list[CandidateRow]] = {}
    for row in rows:
        lost = row["state"] == "lost"
        wrong = row["status"] is not None and row["status"] != EvaluationStatus.PASSED
        if lost or wrong:
            groups.setdefault(row["status"] or row["state"], []).append(row)
    return [
        {"cause": cause, "rows": group}
        for cause, group in sorted(groups.items(), key=lambda item: -len(item[1]))
    ]
