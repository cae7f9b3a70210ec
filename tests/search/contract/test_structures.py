"""Contracts of different structures exclude each other: no source of one passes as the other."""

from __future__ import annotations

import random

import pytest

from search.agents.playbook.writers import write_source, writes
from search.contract.check import judge, read
from search.library import shipped_library, shipped_workload, shipped_workloads, structures
from search.records import Candidate, Language, Verdict

SAMPLE = 14


@pytest.mark.parametrize("language", [Language.CPP, Language.TRITON])
@pytest.mark.parametrize("slug", shipped_workloads())
def test_a_source_passes_only_contracts_with_its_own_clauses(slug, language):
    workload = shipped_workload(slug)
    allowed = writes(workload, language)
    everything = list(structures(workload, shipped_library(), language, allowed=allowed))
    if not allowed:
        pytest.skip(f"the playbook writes no {slug} in {language}")
    drawn = random.Random(1).sample(everything, min(SAMPLE, len(everything)))
    signature = drawn[0].contract.signature
    programs = [
        read(Candidate(language=language, sources=(write_source(b, workload, language),)), signature)
        for b in drawn
    ]
    for wanted in drawn:
        for other, program in zip(drawn, programs, strict=True):
            found = {one.verdict for one in judge(wanted.contract, program)}
            assert Verdict.UNDECIDABLE not in found
            assert (found == {Verdict.PASS}) == (wanted.clauses == other.clauses), (
                f"{other.title} as {wanted.title}"
            )


@pytest.mark.parametrize("slug", shipped_workloads())
def test_only_the_store_policy_is_left_to_tuning(slug):
    """Every decision shows in the contract, but for plain or streaming stores, which no clause speaks of."""
    for language in (Language.CPP, Language.TRITON):
        seen: dict[str, dict[str, str]] = {}
        for blueprint in structures(shipped_workload(slug), shipped_library(), language):
            clauses = str([clause.dump() for clause in blueprint.clauses])
            choices = {name: word for name, word in blueprint.choices.items() if name != "store"}
            assert seen.setdefault(clauses, choices) == choices, blueprint.title
