"""Self-tests as a page for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuworker.mutants.explained import explanation
from search.validation import Outcome

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from search.validation import Honest, MutantResult, SelfTest

_HEAD = """# Mutants killed

Made by `python -m gpuworker selftest --all --markdown docs/mutants.md`; do not edit.

Each shipped workload is asked whether its cases and tolerance would reject wrong kernels. A mutant is a golden output
spoiled, or the reference run wrongly (an input ignored, less precision inside). It is held against every specimen a
candidate is checked with, by the judge's own comparison, and is *killed* when one specimen rejects it. *Rejected in*
counts the specimens that do, of those where its outputs differ from the golden ones. *Error* is its largest error in
units of what is allowed: it must exceed 1; "pattern" means that no larger tolerance would let it pass (an integer, a
NaN, an infinity). *No effect*: its outputs equal the golden ones. *Refused*: the reference cannot run on what it gets.

*Margin* is how many times smaller than allowed the largest error of the honest eager reference is; at least 4 is asked
for. Outputs of fewer than 64 elements stand apart: rounding to the output's type does not average out there, and 2 is
asked for. *Least scale* is the smallest power of two for `tolerance.scale` that keeps both.
"""


def page(tests: Sequence[SelfTest], most_bytes: int) -> str:
    """The whole page."""
    parts = [_HEAD, _circumstances(tests, most_bytes), _summary(tests), _survivors(tests)]
    return "\n".join([*parts, *(_section(test) for test in tests)]).rstrip() + "\n"


def _circumstances(tests: Sequence[SelfTest], most_bytes: int) -> str:
    devices = ", ".join(sorted({test.device for test in tests}))
    left_out = f"Cases whose inputs and outputs take more than {most_bytes / (1 << 20):g} MiB are left out here, and named"
    return f"Made on: {devices}. {left_out}; seeds are drawn anew each time, so figures vary a little.\n"


def _summary(tests: Sequence[SelfTest]) -> str:
    rows = [
        [
            f"[{test.workload}](#{test.workload})",
            f"{test.killed} of {test.applied}",
            _where(test.honest),
            _where(test.honest_few),
            f"{test.scale:g}",
            f"{test.least_scale:g}" if test.least_scale is not None else "none",
            str(test.specimens),
            ", ".join(test.left_out) or "none",
        ]
        for test in tests
    ]
    names = [
        "workload",
        "killed",
        "margin",
        "margin, few elements",
        "scale",
        "least scale",
        "specimens",
        "cases left out",
    ]
    return "\n".join(_table(names, rows)) + "\n"


def _where(honest: Honest | None) -> str:
    return f"{margin(honest)} ({honest.case}, {honest.values})" if honest else "none"


def margin(honest: Honest | None) -> str:
    """As text; errors too small to tell apart give an open end."""
    if honest is None:
        return "unknown"
    return f"{honest.margin:.3g}" if honest.margin < 1000 else "over 1000"


def _survivors(tests: Sequence[SelfTest]) -> str:
    rows = [
        [
            test.workload,
            one.name,
            _error(one),
            explanation(test.workload, one.name) or "**not explained**",
        ]
        for test in tests
        for one in test.survivors
    ]
    table = _table(["workload", "mutant", "largest error", "why it may live"], rows) if rows else ["None."]
    return "\n".join(["## Survivors", "", *table, ""])


def _section(test: SelfTest) -> str:
    rows = [
        [one.name, one.outcome, _rejected(one), f"{one.case}, {one.values}" if one.case else "", _error(one)]
        for one in test.mutants
        if one.outcome in {Outcome.KILLED, Outcome.SURVIVED}
    ]
    lines = [f"## {test.workload}", "", f"Version `{test.hash[:12]}`, cases {', '.join(test.cases)}.", ""]
    lines += [*_table(["mutant", "outcome", "rejected in", "errs most in", "error"], rows), ""]
    return "\n".join([*lines, *_idle(test)])


def _idle(test: SelfTest) -> Iterator[str]:
    for outcome in (Outcome.NO_EFFECT, Outcome.REFUSED):
        if names := [one.name for one in test.mutants if one.outcome is outcome]:
            yield f"{outcome.capitalize()}: {'; '.join(names)}.\n"


def _rejected(one: MutantResult) -> str:
    return f"{one.rejections} of {one.specimens}"


def _error(one: MutantResult) -> str:
    if one.error is None:
        return "pattern"
    return f"{one.error:.2g}" if one.error < 10 else f"{one.error:,.0f}"


def _table(names: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    lines = [f"| {' | '.join(names)} |", f"|{'---|' * len(names)}"]
    return [*lines, *(f"| {' | '.join(row)} |" for row in rows)]
