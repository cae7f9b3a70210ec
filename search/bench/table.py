"""A tournament as markdown, for the README."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from search.bench.summary import Duel, Entry, Expected, Report
    from search.records import Interval

HEAD = (
    "strategy",
    "ERT 5 %",
    "ERT 1 %",
    "calls to 5 %",
    "within 5 %",
    "regret 25 %",
    "regret 50 %",
    "regret 100 %",
    "area",
    "final regret",
    "switches",
    "tuning discarded",
)


def markdown(report: Report) -> str:
    """All of a report: over all landscapes, then each, then what the figures mean."""
    parts = [_overall(report)]
    for one in report.landscapes:
        entries = [entry for entry in report.entries if entry.landscape == one["name"]]
        parts.append(
            f"**{one['name']}**: {one['workload']}, case {one['case']}, {one['label']}; {one['structures']} "
            f"structures, {one['points']} points ({one['passed']} passed), best {one['best_speedup']:.3g} x "
            f"{one['baseline']}\n\n" + _table(HEAD, (_row(entry) for entry in entries))
        )
    notes = [
        f"{report.seeds} seeds, {report.budget} evaluations each. ERT: expected evaluations until the incumbent is "
        "within 5 % or 1 % of the best, failed searches started again. Brackets: 95 % bootstrap intervals over seeds.",
        *report.notes,
    ]
    return "\n\n".join([*parts, "\n".join(f"- {note}" for note in notes)]) + "\n"


def _overall(report: Report) -> str:
    head = (
        "strategy",
        "against",
        "regret ratio 25 %",
        "50 %",
        "100 %",
        "worse on (25, 50, 100 %)",
        "calls to 5 %, ratio",
        "better on",
        "least P(better)",
    )
    count = len(report.landscapes)
    return f"Over {count} landscapes\n\n" + _table(head, (_duel_row(duel, count) for duel in report.duels))


def _duel_row(duel: Duel, count: int) -> list[str]:
    return [
        duel.strategy,
        duel.against,
        *(f"{value:.2f}" for value in duel.regret_ratio),
        ", ".join(map(str, duel.worse_on)) + f" of {count}",
        "n/a" if duel.calls_ratio is None else f"{duel.calls_ratio:.2f}",
        f"{duel.better_on} of {count}",
        f"{min(duel.probability_better.values(), default=0.0):.2f}",
    ]


def _row(entry: Entry) -> list[str]:
    return [
        entry.strategy,
        _expected(entry.evaluations_to_5),
        _expected(entry.evaluations_to_1),
        _expected(entry.calls_to_5),
        f"{entry.reached_5:.0%}",
        *(_percent(one) for one in entry.regret),
        f"{entry.area.value:.3f}",
        _percent(entry.final_regret),
        f"{entry.switches:.0f}",
        "n/a" if entry.discarded is None else f"{entry.discarded:.0%}",
    ]


def _expected(one: Expected) -> str:
    if one.value is None:
        return "never"
    high = "∞" if one.high is None else f"{one.high:.0f}"
    return f"{one.value:.0f} ({one.low or 0:.0f} to {high})"


def _percent(one: Interval) -> str:
    return f"{one.value:.1%} ({one.low:.1%} to {one.high:.1%})"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
