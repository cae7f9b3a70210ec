"""Every comparator by the name that a workload gives it.

`distribution` is not among them: whether samples follow a distribution takes many draws of one candidate on one set of
inputs, while a comparator sees one output of one call.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuworker.comparators import close, exact, matched, permutation, residual, topk_set
from search.workload import Residual, TopkSet

if TYPE_CHECKING:
    from collections.abc import Callable

    from gpuworker.comparators.question import Expected, Question


def expect(question: Question) -> Expected:
    """Look at a golden output with the comparator that its workload names, or the usual one of its type."""
    named = question.comparator
    return COMPARATORS[named.type](question) if named else _elementwise(question)


def _elementwise(question: Question) -> Expected:
    return _close(question) if question.dtype.is_float else exact.expect(question)


def _close(question: Question) -> Expected:
    return matched.expect(question, question.foreign) if question.foreign else close.expect(question)


def _permutation(question: Question) -> Expected:
    return permutation.expect(question, _elementwise)


def _topk_set(question: Question) -> Expected:
    assert isinstance(question.comparator, TopkSet)
    return topk_set.expect(question, question.comparator.of, ordered=question.comparator.ordered)


def _residual(question: Question) -> Expected:
    assert isinstance(question.comparator, Residual)
    return residual.expect(question, question.comparator.matrix, question.comparator.right)


COMPARATORS: dict[str, Callable[[Question], Expected]] = {
    "close": _close,
    "exact": exact.expect,
    "permutation": _permutation,
    "residual": _residual,
    "topk_set": _topk_set,
}
