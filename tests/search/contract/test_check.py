"""The checker as a whole: signatures, fingerprints, other languages, hostile sources."""

from __future__ import annotations

import random

import pytest

from search.blueprint import Blueprint
from search.contract import check, fingerprint, overall
from search.contract.clauses import CLAUSES
from search.records import Candidate, ClauseKind, Contract, Language, SourceFile, Verdict
from tests.search.contract.contract_factories import (
    MAXIMUM,
    ONLINE,
    SUM,
    TRITON_ONLINE,
    TRITON_THREE,
    WRITE,
    blueprint,
    candidate,
    cpp_rows,
    grid,
    passes,
    triton,
    verdicts,
)

DIRECT = blueprint("softmax")
THREE = cpp_rows(grid(MAXIMUM + SUM + WRITE))
ONE = cpp_rows(grid(ONLINE + WRITE))


def test_there_is_a_verdict_for_every_clause_in_order():
    found = verdicts(DIRECT, THREE)
    assert tuple(one.clause for one in found) == DIRECT.clauses
    assert all(one.evidence for one in found)


def test_the_fingerprint_tells_two_structures_apart_and_ignores_style():
    signature = DIRECT.contract.signature
    facts = fingerprint(candidate(THREE), signature)
    assert facts["complete"]
    assert facts["reduction"]["N"] == "three_pass"
    assert facts["grid"] == {
        "softmax_rows": {"axes": ["M"], "form": "grid", "unit": "single", "order": "row_major"}
    }
    restyled = THREE.replace("s += std::exp(row[j] - m)", "{ const float d = row[j] - m; s = s + expf(d); }")
    assert fingerprint(candidate(restyled), signature) == facts
    assert fingerprint(candidate(ONE), signature) != facts


def test_a_fingerprint_without_a_signature_still_tells_kernels_and_numerics():
    facts = fingerprint(candidate(triton(TRITON_THREE), Language.TRITON))
    assert facts["kernels"] == ["softmax_rows"]
    assert facts["numerics"]["exp"] == "libm"


def test_a_language_without_a_reader_is_undecidable():
    found = check(DIRECT.contract, candidate(THREE, Language.PYTORCH))
    assert {one.verdict for one in found} == {Verdict.UNDECIDABLE}


def test_two_files_are_undecidable():
    file = SourceFile(path="a.cpp", content=THREE)
    both = Candidate(language=Language.CPP, sources=(file, SourceFile(path="b.h", content="")))
    assert {one.verdict for one in check(DIRECT.contract, both)} == {Verdict.UNDECIDABLE}


def test_every_kind_of_clause_has_a_checker():
    assert CLAUSES.keys() == set(ClauseKind)


def test_what_is_seen_to_be_wrong_is_violated_whatever_is_not_understood():
    source = THREE.replace("out[j] =", "out[j] = mystery(row) *").replace("float s =", "_Float16 s =")
    found = {one.clause.kind: one.verdict for one in verdicts(DIRECT, source)}
    assert found[ClauseKind.NUMERICS] is Verdict.VIOLATED
    assert found[ClauseKind.REDUCTION] is Verdict.UNDECIDABLE
    assert overall(verdicts(DIRECT, source)) is Verdict.VIOLATED


def test_a_contract_survives_json():
    again = Contract.load(DIRECT.contract.dump())
    assert check(again, candidate(THREE)) == verdicts(DIRECT, THREE)
    assert Blueprint.load(DIRECT.dump()).contract == DIRECT.contract


CALLS = "".join(
    f"static float f{n}(float v) {{ return {' + '.join([f'f{n - 1}(v)'] * 6) if n else 'v'}; }}\n"
    for n in range(11)
)
JITTED = "".join(
    f"@triton.jit\ndef f{n}(v):\n    return {' + '.join([f'f{n - 1}(v)'] * 6) if n else 'v'}\n\n"
    for n in range(11)
)


@pytest.mark.parametrize(
    ("source", "language"),
    [
        (cpp_rows(grid("    out[0] = " + "(" * 3000 + "row[0]" + ")" * 3000 + ";\n")), Language.CPP),
        (cpp_rows(grid("    out[0] = f10(row[0]);\n"), before=CALLS), Language.CPP),
        (triton("    m = " + "-" * 900 + "1.0\n"), Language.TRITON),
        (triton("    m = f10(1.0)\n", more=JITTED), Language.TRITON),
        (triton("    m = " + "(" * 300 + "1" + ")" * 300), Language.TRITON),
        ("\0", Language.TRITON),
        ("\0", Language.CPP),
        ("", Language.CPP),
    ],
)
def test_a_hostile_source_is_undecidable_in_finite_time(source, language):
    found = verdicts(blueprint("softmax", language=language), source, language)
    assert not passes(found)
    assert Verdict.UNDECIDABLE in {one.verdict for one in found}


@pytest.mark.parametrize(
    ("source", "language"),
    [(THREE, Language.CPP), (ONE, Language.CPP), (triton(TRITON_ONLINE), Language.TRITON)],
)
def test_mangled_sources_never_break_the_checker(source, language):
    structure = blueprint("softmax", language=language)
    for seed in range(150):
        draw = random.Random(seed)
        text = list(source)
        for _ in range(draw.randint(1, 12)):
            at = draw.randrange(len(text))
            text[at : at + draw.randint(0, 6)] = draw.choice(
                ["", "(", "}", "x", "0", "[", ";", "\n", "N", " = "]
            )
        found = verdicts(structure, "".join(text), language)
        assert len(found) == len(structure.clauses)
