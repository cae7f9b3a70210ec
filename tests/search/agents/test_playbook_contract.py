"""Every source of the playbook keeps the contract of its own blueprint, whatever its knobs."""

from __future__ import annotations

import random

import pytest

from search.agents.playbook.writers import write_source, writes
from search.contract.check import check
from search.knobs import with_knobs
from search.library import shipped_library, structures
from search.records import Candidate, Language, SourceFile, Verdict
from tests.search.agents.playbook_families import CELLS, WORKLOADS

LIBRARY = shipped_library()
SAMPLE = 12
"""Structures checked per cell in every run: the shortest third, and a fixed draw of the others."""


def broken(slug: str, language: Language, blueprints, seed: int | None) -> list[str]:
    """Clauses that are not passed, with evidence; knobs are the defaults, or drawn if there is a seed."""
    workload, found = WORKLOADS[slug], []
    for number, blueprint in enumerate(blueprints):
        file = write_source(blueprint, workload, language)
        knobs = {knob.name: knob.default for knob in blueprint.knobs}
        if seed is not None:
            draw = random.Random(1000 * seed + number)
            knobs = {knob.name: draw.choice(knob.choices) for knob in blueprint.knobs}
            file = SourceFile(path=file.path, content=with_knobs(language, file.content, knobs))
        candidate = Candidate(
            language=language, sources=(file,), knobs=knobs, structure=blueprint.fingerprint
        )
        for verdict in check(blueprint.contract, candidate):
            if verdict.verdict is not Verdict.PASS:
                where = f"{blueprint.title}, line {verdict.line}"
                found.append(f"{where}: {verdict.clause.text} {verdict.verdict}: {verdict.evidence}")
    return found


def all_structures(slug: str, language: Language):
    workload = WORKLOADS[slug]
    return list(structures(workload, LIBRARY, language, allowed=writes(workload, language)))


def sample(slug: str, language: Language):
    everything = all_structures(slug, language)
    if len(everything) <= SAMPLE:
        return everything
    short, rest = everything[: SAMPLE // 3], everything[SAMPLE // 3 :]
    return short + random.Random(0).sample(rest, SAMPLE - len(short))


@pytest.mark.parametrize(("slug", "language"), CELLS)
def test_sources_keep_their_contract_with_default_knobs(slug, language):
    assert broken(slug, language, sample(slug, language), seed=None) == []


@pytest.mark.parametrize(("slug", "language"), CELLS)
def test_sources_keep_their_contract_with_drawn_knobs(slug, language):
    assert broken(slug, language, sample(slug, language)[::2], seed=1) == []


@pytest.mark.parametrize(("slug", "language"), CELLS)
def test_every_reachable_structure_keeps_its_contract(slug, language):
    assert broken(slug, language, all_structures(slug, language), seed=None) == []


@pytest.mark.parametrize("language", [Language.CPP, Language.TRITON])
def test_a_source_of_another_structure_breaks_the_contract(language):
    workload = WORKLOADS["softmax"]
    everything = all_structures("softmax", language)
    first = everything[0]
    wanted_choices = {"reduction": "online"}, {"scheduling": "persistent"}, {"ownership": "split_row"}
    for wanted in wanted_choices:
        other = next(b for b in everything if b.choices == first.choices | b.choices | wanted)
        candidate = Candidate(language=language, sources=(write_source(other, workload, language),))
        verdicts = {verdict.verdict for verdict in check(first.contract, candidate)}
        assert Verdict.VIOLATED in verdicts, f"{other.title} passes as {first.title}"
