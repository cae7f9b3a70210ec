"""Contracts in words: what each clause asks of a source, said so that a model can keep it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from search.records import ClauseKind, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from search.records import Clause, ClauseVerdict, Contract

_FORMS = {
    "grid": "one program per unit of work (C++: `omp parallel for` with a static schedule; a plain GPU grid)",
    "dynamic": "threads take the next unit from a shared queue (C++: `omp parallel for schedule(dynamic, …)`)",
    "persistent": "a fixed number of programs or threads, each walking its share of the units in a loop",
}
_UNITS = {"single": "one index per program", "block": "a block of indices per program"}
_ORDERS = {
    "grouped": "flat tile numbers regrouped so that neighbours share operands",
    "row_major": "tiles in row-major order",
}
_REDUCTIONS = {
    "three_pass": "three walks over the row, each reading the input: two statistics, then the result",
    "stored_exp": "maximum; then exponentials written to the output and summed; then the output scaled in place",
    "online": "a running maximum with a sum that is rescaled whenever the maximum grows; the row is read once "
    "for the statistics",
    "two_pass": "one walk for the statistics, one for the result, both reading the input",
    "readd": "the addition is done again in the second walk instead of reading the stored sum",
    "welford": "mean and variance in one walk by Welford's update, then the result",
    "resident": "the row is read from memory once and kept on chip for everything that follows",
    "split_combine": "parts of the axis are reduced to partial results in memory; a later kernel merges them",
    "loop": "a plain loop along the axis into one accumulator",
}
_CONTRACTIONS = {
    "dot": "outputs are sums along the axis (Triton: `tl.dot` of blocks)",
    "axpy": "for each step along the axis a whole row of outputs is updated",
    "register_tile": "for each step a two-dimensional block of accumulators in registers is updated",
}


def contract_text(contract: Contract) -> str:
    """One line per clause."""
    return "\n".join(f"- {clause_text(clause)}" for clause in contract.clauses)


def clause_text(clause: Clause) -> str:
    """The clause as it is named elsewhere, with what it means."""
    explain = _EXPLAINED.get(clause.kind)
    meaning = explain(clause.subject, clause.value) if explain else ""
    return f"`{clause.text}`: {meaning}" if meaning else f"`{clause.text}`"


def verdicts_text(verdicts: Iterable[ClauseVerdict]) -> str:
    """Broken clauses with what was seen and where, then those that could not be decided; empty when all are kept."""
    found = list(verdicts)
    broken = [_verdict(one) for one in found if one.verdict is Verdict.VIOLATED]
    unclear = [_verdict(one) for one in found if one.verdict is Verdict.UNDECIDABLE]
    lines = [f"broken: {one}" for one in broken]
    return "\n".join([*lines, *(f"not decidable: {one}" for one in unclear)])


def _verdict(one: ClauseVerdict) -> str:
    line = f" (line {one.line})" if one.line else ""
    return f"{clause_text(one.clause)}. Seen{line}: {one.evidence}"


def _kernels(_: str, value: Any) -> str:
    return f"`run` launches exactly {_words(value)}, in this order and under these names, each one parallel loop nest"


def _grid(subject: str, value: Any) -> str:
    axes = _words(value.get("axes", []))
    parts = [f"{subject} is parallel over {axes}", _FORMS.get(value.get("form", ""), "")]
    parts += [_UNITS.get(value.get("unit", ""), ""), _ORDERS.get(value.get("order", ""), "")]
    return "; ".join(part for part in parts if part)


def _reduction(subject: str, value: Any) -> str:
    return f"axis {subject}: {_REDUCTIONS.get(str(value), str(value))}"


def _contraction(subject: str, value: Any) -> str:
    if not isinstance(value, dict):
        return f"axis {subject}: {_CONTRACTIONS.get(str(value), str(value))}"
    form = _CONTRACTIONS.get(str(value.get("form")), str(value.get("form")))
    return f"axis {subject}: {form}" + ("; block by block" if value.get("blocked") else "")


def _intermediates(_: str, value: Any) -> str:
    if not value:
        return "no tensor is allocated"
    named = "; ".join(f"`{name}` over {_words(axes) or 'no axis'}" for name, axes in value.items())
    return f"exactly these tensors are allocated, under these names: {named}"


def _atomics(_: str, value: Any) -> str:
    return f"atomic operations: {_words(value)}" if value else "no atomic operation on results"


def _numerics(_: str, value: Any) -> str:
    said = {
        "accumulate": "accumulators are {}",
        "exp": "exponentials come from {}",
        "tf32": "TF32: {}",
        "lanes": "accumulators are {}",
    }
    words = {
        "libm": "the library",
        "polynomial": "a polynomial of our own",
        "vector": "lanes",
        "scalar": "single values",
        "False": "not used",
        "True": "used",
    }
    parts = [said[key].format(words.get(str(told), told)) for key, told in value.items() if key in said]
    return "; ".join([*parts, "no cast to a smaller type on the way"])


def _fusion(subject: str, value: Any) -> str:
    return f"{subject} itself touches {_words(value)}"


def _no_torch(_: str, value: Any) -> str:
    return "no torch operation computes anything; torch may allocate" if value else ""


def _words(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else json.dumps(value)


_EXPLAINED: dict[ClauseKind, Callable[[str, Any], str]] = {
    ClauseKind.KERNELS: _kernels,
    ClauseKind.GRID: _grid,
    ClauseKind.REDUCTION: _reduction,
    ClauseKind.CONTRACTION: _contraction,
    ClauseKind.INTERMEDIATES: _intermediates,
    ClauseKind.ATOMICS: _atomics,
    ClauseKind.NUMERICS: _numerics,
    ClauseKind.FUSION: _fusion,
    ClauseKind.NO_TORCH_COMPUTE: _no_torch,
}
"""Kinds without an entry say enough by their name."""
