"""A comparison as data: JSON for the chart and for people, CSV of each chart."""

from __future__ import annotations

import csv
import io
from dataclasses import asdict
from typing import TYPE_CHECKING

from kernelsite.compare.cases import by_case
from kernelsite.compare.fairness import fairness, settings_diff
from kernelsite.compare.groups import Group, pairings, shares
from kernelsite.compare.ribbons import ribbons
from kernelsite.compare.runs import AXES, Axis

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from kernelsite.compare.runs import Charged, Run

CSV_HEAD = (
    "group", "search", "seed", "evaluation", "candidate", "structure", "tuning", "speedup", "best_so_far",
    "device_seconds", "wall_seconds", "tokens", "cost_usd",
)  # fmt: skip
FORMULA = ("=", "+", "-", "@", "\t", "\r")


def curves(groups: Sequence[Group], axes: Sequence[Axis]) -> dict[str, object]:
    """What the chart draws."""
    searches = [search for group in groups for search in group.searches]
    timed = [search for search in searches if search.best_baseline]
    return {
        "baseline": timed[0].best_baseline if timed else "",
        "over": all(group.is_over for group in groups),
        "version": sum(search.event_seq for search in searches),
        "cap": max((group.cap for group in groups), default=0),
        "groups": [_group_row(group, axes) for group in groups],
    }


def _group_row(group: Group, axes: Sequence[Axis]) -> dict[str, object]:
    return {
        "name": group.name,
        "index": group.index,
        "bands": {axis.name: group.band(axis) for axis in axes},
        "seeds": [_seed_row(run, axes) for run in group.runs],
    }


def _seed_row(run: Run, axes: Sequence[Axis]) -> dict[str, object]:
    return {
        "search": run.search,
        "seed": run.seed,
        "spent": {axis.name: run.spent(axis.name) for axis in axes},
        "points": [
            {"speedup": each.speedup, "candidate": each.candidate, "spent": each.spent}
            for each in run.records
        ],
    }


def document(groups: Sequence[Group], reference: Group) -> dict[str, object]:
    """Everything that the page says, as JSON."""
    return {
        **curves(groups, list(AXES.values())),
        "reference": reference.name,
        "shares": {group.name: [asdict(row) for row in shares(group, reference)] for group in groups},
        "pairings": {
            group.name: asdict(result) | {"verdict": result.verdict}
            for group, result in pairings(groups, reference)
        },
        "fairness": [
            {"name": row.name, "equal": row.is_equal, "values": list(row.values)} for row in fairness(groups)
        ],
        "settings": [asdict(row) for row in settings_diff(groups)],
        "discarded_tuning": {row.group.name: row.share for row in ribbons(groups)},
    }


def csv_text(groups: Sequence[Group], of: str = "evaluations") -> str:
    """One of `FILES`; texts that a spreadsheet would run are made plain."""
    head, rows = FILES[of]
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(head)
    writer.writerows(rows(groups))
    return out.getvalue()


def _evaluation_rows(groups: Sequence[Group]) -> Iterator[list[object]]:
    for group in groups:
        for run in group.runs:
            best = 0.0
            for each in run.charged:
                best = max(best, each.speedup or 0.0)
                yield _csv_row(group, run, each, best)


def _case_rows(groups: Sequence[Group]) -> Iterator[list[object]]:
    for row in by_case(groups).rows:
        for bar in row.bars:
            yield [_plain(row.case), _plain(bar.group.name), bar.speedup, bar.low, bar.high]


def _fast_p_rows(groups: Sequence[Group]) -> Iterator[list[object]]:
    for group, steps in by_case(groups).fast_p:
        for p, share in steps:
            yield [_plain(group.name), p, share]


def _ribbon_rows(groups: Sequence[Group]) -> Iterator[list[object]]:
    for row in ribbons(groups):
        for ribbon in row.ribbons:
            done = 0
            for piece in ribbon.pieces:
                place = f"ST-{ribbon.search.pk}.{piece.structure}"
                yield [_plain(row.group.name), ribbon.search.short, place, done + 1, done + piece.count]
                done += piece.count


def _plain(text: str) -> str:
    return f"'{text}" if text.startswith(FORMULA) else text


FILES: dict[str, tuple[tuple[str, ...], Callable[[Sequence[Group]], Iterator[list[object]]]]] = {
    "evaluations": (CSV_HEAD, _evaluation_rows),
    "cases": (("case", "group", "speedup", "slowest_seed", "fastest_seed"), _case_rows),
    "fast_p": (("group", "p", "share_of_cases"), _fast_p_rows),
    "ribbons": (("group", "search", "structure", "first_evaluation", "last_evaluation"), _ribbon_rows),
}
"""Head and rows of each file, by its word in the address."""


def _csv_row(group: Group, run: Run, each: Charged, best: float) -> list[object]:
    place = [
        _plain(group.name),
        f"S-{run.search}",
        run.seed,
        each.order,
        f"C-{each.candidate}",
        each.structure,
    ]
    spent = [each.spent["device"], each.spent["wall"], each.spent["tokens"], each.spent["cost"]]
    return [*place, int(each.is_tuning), each.speedup, best or None, *spent]
