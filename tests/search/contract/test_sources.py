"""Sources written by hand, half of which keep their contract; each file's header says which and what is expected.

Header lines: `WORKLOAD: ACTION, ACTION` (or `direct`), `also: KIND(SUBJECT) = JSON` for clauses beside the
blueprint's, `violated: …` and `undecidable: …` with the clauses that are not passed.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from search.contract import check, overall
from search.library import compose, shipped_library, shipped_workload
from search.records import Candidate, Clause, ClauseKind, Language, SourceFile, Verdict

ROOT = Path(__file__).parent / "sources"
FILES = sorted(file.relative_to(ROOT).as_posix() for file in ROOT.glob("*/*"))
LANGUAGES = {".triton": Language.TRITON, ".cpp": Language.CPP, ".cu": Language.CUDA}

SHOWN = {
    ClauseKind.NUMERICS,
    ClauseKind.ATOMICS,
    ClauseKind.BARRIERS,
    ClauseKind.DESCRIPTORS,
    ClauseKind.WARP_SPECIALISATION,
    ClauseKind.NO_TORCH_COMPUTE,
}
"""Kinds whose violation is something that stands in a line; the others may break by what is missing."""

UNDECIDABLE: dict[str, set[str]] = {
    "break/calls_blas.cpp": {"numerics"},
    "break/cublas_product.cu": {"numerics"},
    "break/launched_in_a_loop.cu": {
        "atomics",
        "grid(rmsnorm_rows)",
        "intermediates",
        "kernels",
        "no_torch_compute",
        "numerics",
        "reduction(N)",
    },
    "break/mystery_inside.triton": {
        "atomics",
        "grid(softmax_rows)",
        "no_torch_compute",
        "numerics",
        "reduction(N)",
    },
    "break/torch_matmul_inside.triton": {"numerics"},
}
"""Clauses that the readers leave open, by file; anything else is decided."""

_CLAUSE = re.compile(r"(\w+)(?:\((\w+)\))?")


@dataclass(frozen=True)
class Header:
    """What the comment at the head of a source says."""

    slug: str
    actions: tuple[str, ...]
    also: tuple[Clause, ...]
    violated: frozenset[str]
    undecidable: frozenset[str]


def header(text: str) -> Header:
    lines = [line.lstrip("#/ ") for line in text.splitlines() if line.startswith(("# ", "// "))]
    lines = [line for line in lines if not line.startswith("KNOBS")]
    slug, named = lines[0].split(":")
    actions = [word.strip() for word in named.split(",")]
    return Header(
        slug=slug,
        actions=() if actions == ["direct"] else tuple(actions),
        also=tuple(_clause(line.removeprefix("also:")) for line in lines if line.startswith("also:")),
        violated=_listed(lines, "violated:"),
        undecidable=_listed(lines, "undecidable:"),
    )


def _clause(text: str) -> Clause:
    what, value = text.split("=", 1)
    kind, subject = _CLAUSE.fullmatch(what.strip()).groups()
    return Clause(kind=ClauseKind(kind), subject=subject or "", value=json.loads(value))


def _listed(lines: list[str], start: str) -> frozenset[str]:
    found = [line.removeprefix(start) for line in lines if line.startswith(start)]
    return frozenset(word.strip() for line in found for word in line.split(","))


def name_of(clause: Clause) -> str:
    return f"{clause.kind}({clause.subject})" if clause.subject else str(clause.kind)


def verdicts_of(file: str):
    text = (ROOT / file).read_text("utf-8")
    head, language = header(text), LANGUAGES[Path(file).suffix]
    blueprint = compose(shipped_workload(head.slug), shipped_library(), head.actions, language)
    own = {name_of(clause) for clause in head.also}
    kept = tuple(clause for clause in blueprint.clauses if name_of(clause) not in own)
    contract = blueprint.contract.model_copy(update={"clauses": (*kept, *head.also)})
    candidate = Candidate(language=language, sources=(SourceFile(path="kernel", content=text),))
    return head, check(contract, candidate)


@pytest.mark.parametrize("file", FILES)
def test_every_clause_has_the_verdict_that_the_header_says(file):
    head, found = verdicts_of(file)
    named = {verdict: set() for verdict in Verdict}
    for one in found:
        named[one.verdict].add(name_of(one.clause))
    told = [
        f"{name_of(v.clause)} {v.verdict} line {v.line}: {v.evidence}" for v in found if v.verdict != "pass"
    ]
    assert named[Verdict.VIOLATED] == head.violated, told
    assert named[Verdict.UNDECIDABLE] == head.undecidable, told
    assert file.startswith("keep") == (overall(found) is Verdict.PASS)


@pytest.mark.parametrize("file", [file for file in FILES if file.startswith("break")])
def test_a_violation_shows_its_line(file):
    _, found = verdicts_of(file)
    for one in found:
        if one.verdict is Verdict.VIOLATED:
            assert one.evidence
            assert one.line or one.clause.kind not in SHOWN


def test_undecidable_clauses_are_the_listed_ones():
    assert {file: head.undecidable for file in FILES if (head := header_of(file)).undecidable} == UNDECIDABLE


def header_of(file: str) -> Header:
    return header((ROOT / file).read_text("utf-8"))


def test_there_are_enough_sources_in_every_language_and_half_of_them_keep_their_contract():
    kept = [file for file in FILES if file.startswith("keep")]
    assert len(FILES) >= 60
    assert abs(2 * len(kept) - len(FILES)) <= 6
    for suffix in LANGUAGES:
        assert sum(file.endswith(suffix) for file in FILES) >= 14
    kinds = {_CLAUSE.match(name)[1] for file in FILES for name in header_of(file).violated}
    assert kinds == set(ClauseKind)
