"""Gate: the judge found the structure's contract kept; what it could not decide, a person has looked at."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelsite.reviews.gates.gate import Gate
from kernelsite.reviews.models.entry import SUBJECT_LIMIT
from search.records import Verdict
from search.strategies import STRATEGIES

if TYPE_CHECKING:
    from kernelsite.reviews.subject import Subject


def contract(subject: Subject) -> Gate:
    """By the verdicts at the promotion tier."""
    strategy = subject.candidate.search.strategy
    if not STRATEGIES[strategy].keeps_contract:
        return Gate("green", f"Searches of strategy {strategy} hold candidates to no contract.")
    record = subject.promoted
    if record is None:
        return Gate("wait", "Judged at the promotion tier.")
    broken = [each.clause.text for each in record.verdicts if each.verdict is Verdict.VIOLATED]
    open_ = [each.clause.text for each in record.verdicts if each.verdict is Verdict.UNDECIDABLE]
    if broken or not record.verdicts:
        return Gate("red", f"Violated: {'; '.join(broken)}." if broken else "The judge gave no verdict.")
    left = tuple(text for text in open_ if text[:SUBJECT_LIMIT] not in subject.acknowledged)
    if left:
        return Gate("red", f"The judge could not decide {_clauses(len(left))}.", unsettled=left)
    seen = f", {len(open_)} of them acknowledged by a person" if open_ else ""
    return Gate("green", f"{_clauses(len(record.verdicts))} kept{seen}.")


def _clauses(count: int) -> str:
    return f"{count} clause{'' if count == 1 else 's'}"
