"""The playbook answers every kind of draft, brings one new structure at a time, and refuses in words."""

from __future__ import annotations

from dataclasses import replace

import pytest

from search.agents.agent import Scene
from search.agents.playbook.priors import CPU, GPU
from search.agents.playbook.writers import writes
from search.agents.registry import AGENTS
from search.knobs import read_knobs
from search.library import applicable, compose, shipped_library, shipped_workload, structures
from search.records import Candidate, DraftKind, Language, Stage
from search.steps import Draft, Proposal

LIBRARY = shipped_library()
WORKLOAD = shipped_workload("softmax")
DIRECT = compose(WORKLOAD, LIBRARY, (), Language.CPP)
PLAYBOOK = AGENTS["playbook"]()


def scene(blueprints=(DIRECT,), candidates=None, **fields) -> Scene:
    settings = {
        "workload": WORKLOAD,
        "library": LIBRARY,
        "language": Language.CPP,
        "device_class": "cpu",
        "evaluations": {},
    } | fields
    known = {blueprint.fingerprint: blueprint for blueprint in blueprints}
    return Scene(blueprints=known, candidates=candidates or {}, **settings)


def draft(kind: DraftKind, **fields) -> Draft:
    return Draft(**({"number": 1, "kind": kind, "stage": Stage.EXPLORE, "seed": 0} | fields))


def explored(seed: int, **fields) -> Proposal:
    return PLAYBOOK.propose(
        draft(DraftKind.EXPLORE, structure=DIRECT.fingerprint, seed=seed, **fields), scene()
    )


def candidate_of(proposal: Proposal) -> Candidate:
    assert proposal.failure == ""
    assert proposal.candidate is not None
    return proposal.candidate


@pytest.fixture
def first() -> Candidate:
    return candidate_of(PLAYBOOK.propose(draft(DraftKind.INSTANTIATE), scene(blueprints=())))


def test_the_first_draft_gets_the_direct_implementation(first):
    assert first.structure == DIRECT.fingerprint
    assert first.parent == ""
    assert first.knobs == read_knobs(Language.CPP, first.sources[0].content)
    assert "#pragma omp simd" not in first.sources[0].content


def test_a_known_structure_is_written_on_request():
    tiled = compose(WORKLOAD, LIBRARY, ("vector_lanes",), Language.CPP)
    proposal = PLAYBOOK.propose(
        draft(DraftKind.INSTANTIATE, structure=tiled.fingerprint), scene((DIRECT, tiled))
    )
    assert proposal.blueprint == tiled
    assert candidate_of(proposal).structure == tiled.fingerprint


def test_exploring_takes_one_action_more(first):
    proposal = PLAYBOOK.propose(
        draft(DraftKind.EXPLORE, structure=DIRECT.fingerprint, number=2), scene(candidates={1: first})
    )
    assert proposal.blueprint is not None
    assert len(proposal.blueprint.actions) == 1
    assert candidate_of(proposal).parent == first.hash
    assert candidate_of(proposal).structure == proposal.blueprint.fingerprint


def test_exploring_replaces_an_action_that_cannot_stand_beside_the_new_one():
    parent = compose(WORKLOAD, LIBRARY, ("resident_row", "vector_lanes", "persistent_rows"), Language.CPP)
    beside, instead = set(), {}
    for seed in range(60):
        proposal = PLAYBOOK.propose(
            draft(DraftKind.EXPLORE, structure=parent.fingerprint, seed=seed),
            scene((parent,), device_class="abacus"),
        )
        assert proposal.blueprint is not None
        actions = set(proposal.blueprint.actions)
        (new,) = actions - set(parent.actions)
        if set(parent.actions) < actions:
            beside.add(new)
        else:
            instead[new] = set(parent.actions) - actions
            assert "Instead of" in proposal.note
    assert beside == {"polynomial_exp", "row_groups", "streaming_stores"}
    assert instead["stored_exponentials"] == {"resident_row"}
    assert instead.get("split_row", {"resident_row", "persistent_rows"}) == {
        "resident_row",
        "persistent_rows",
    }
    assert not beside & set(instead)


def test_the_same_seed_explores_the_same_and_seeds_differ():
    assert explored(3) == explored(3)
    titles = [proposal.blueprint.title for seed in range(40) if (proposal := explored(seed)).blueprint]
    assert len(set(titles)) > 3


def test_experts_favourites_come_more_often():
    titles = [proposal.blueprint.title for seed in range(200) if (proposal := explored(seed)).blueprint]
    assert titles.count("vector_lanes") > 3 * titles.count("dynamic_rows")


def test_excluded_structures_are_never_proposed_again_until_none_is_left():
    exclude: tuple[str, ...] = (DIRECT.fingerprint,)
    for _ in applicable(WORKLOAD, LIBRARY, DIRECT, Language.CPP, writes(WORKLOAD, Language.CPP)):
        proposal = explored(7, exclude=exclude)
        assert candidate_of(proposal).structure not in exclude
        exclude += (candidate_of(proposal).structure,)
    assert explored(7, exclude=exclude).failure == "no structure beyond direct is left to try"


def test_what_a_draft_in_flight_brings_is_not_brought_again_while_there_is_other():
    """Engine and agent work on several drafts at once; `exclude` is of when this one was asked for."""
    brought = {DIRECT.fingerprint: DIRECT}
    for _ in range(3):
        asked = draft(DraftKind.EXPLORE, structure=DIRECT.fingerprint, seed=7, exclude=(DIRECT.fingerprint,))
        answer = PLAYBOOK.propose(asked, scene(tuple(brought.values())))
        assert answer.blueprint.fingerprint not in brought
        brought[answer.blueprint.fingerprint] = answer.blueprint
    for _ in applicable(WORKLOAD, LIBRARY, DIRECT, Language.CPP, writes(WORKLOAD, Language.CPP)):
        answer = PLAYBOOK.propose(asked, scene(tuple(brought.values())))
        brought[answer.blueprint.fingerprint] = answer.blueprint
    assert not answer.failure, "a duplicate is better than nothing: its verdict is reused"


def test_every_structure_can_be_reached_by_exploring():
    workload = shipped_workload("rmsnorm")
    known_actions = writes(workload, Language.CPP)
    everything = {
        blueprint.fingerprint
        for blueprint in structures(workload, LIBRARY, Language.CPP, allowed=known_actions)
    }
    direct = compose(workload, LIBRARY, (), Language.CPP)
    known, frontier = {direct.fingerprint: direct}, [direct]
    while frontier:
        asked = draft(
            DraftKind.EXPLORE, structure=frontier[-1].fingerprint, exclude=tuple(known), seed=len(known)
        )
        child = PLAYBOOK.propose(asked, scene(known.values(), workload=workload)).blueprint
        if child is None:
            frontier.pop()
        else:
            assert child.fingerprint not in known
            known[child.fingerprint] = child
            frontier.append(child)
    assert set(known) == everything


def test_only_allowed_actions_are_taken():
    for seed in range(10):
        proposal = PLAYBOOK.propose(
            draft(DraftKind.EXPLORE, structure=DIRECT.fingerprint, seed=seed),
            scene(allowed_actions=("split_row",)),
        )
        assert proposal.blueprint is not None
        assert proposal.blueprint.actions == ("split_row",)


def test_refining_changes_one_knob_and_keeps_the_source(first):
    proposal = PLAYBOOK.propose(
        draft(DraftKind.REFINE, structure=DIRECT.fingerprint, base=1), scene(candidates={1: first})
    )
    refined = candidate_of(proposal)
    assert refined.source_hash == first.source_hash
    assert refined.parent == first.hash
    assert sum(refined.knobs[name] != value for name, value in first.knobs.items()) == 1


def test_refining_ends_when_every_neighbour_was_tried(first):
    candidates = {1: first}
    for number in range(2, 100):
        proposal = PLAYBOOK.propose(
            draft(DraftKind.REFINE, structure=DIRECT.fingerprint, base=1, seed=number),
            scene(candidates=candidates),
        )
        if proposal.failure:
            break
        candidates[number] = candidate_of(proposal)
    assert "every neighbour" in proposal.failure
    assert len({candidate.hash for candidate in candidates.values()}) == len(candidates)
    assert len(candidates) == 1 + sum(len(knob.choices) - 1 for knob in DIRECT.knobs)


def test_a_repair_falls_back_to_planned_then_lightest_then_default_then_drawn_knobs_then_gives_up(first):
    odd = first.model_copy(update={"knobs": first.knobs | {"UNROLL": 8, "PREFETCH": 16}})
    candidates = {2: odd}
    asked = draft(DraftKind.REPAIR, structure=DIRECT.fingerprint, base=2, number=3)
    repaired = candidate_of(PLAYBOOK.propose(asked, scene(candidates=candidates)))
    assert repaired.knobs == first.knobs
    lightest = first.model_copy(update={"knobs": {knob.name: min(knob.choices) for knob in DIRECT.knobs}})
    candidates |= {3: repaired, 4: lightest}
    drawn = candidate_of(PLAYBOOK.propose(asked, scene(candidates=candidates)))
    assert all(drawn.knobs[knob.name] in knob.choices for knob in DIRECT.knobs)
    answer = PLAYBOOK.propose(asked, scene(candidates=candidates | {5: drawn}))
    assert "failed with planned, lightest, default, drawn knobs" in answer.failure


def test_the_lightest_knobs_spread_the_work_over_the_most_warps():
    wide = shipped_workload("softmax_fp16")
    resident = compose(wide, LIBRARY, ("resident_row", "row_groups"), Language.TRITON)
    there = scene((resident,), workload=wide, language=Language.TRITON, device_class="h200")
    written = candidate_of(
        PLAYBOOK.propose(draft(DraftKind.INSTANTIATE, structure=resident.fingerprint), there)
    )
    there = replace(there, candidates={1: written})
    asked = draft(DraftKind.REPAIR, structure=resident.fingerprint, base=1, number=2)
    knobs = candidate_of(PLAYBOOK.propose(asked, there)).knobs
    assert (knobs["NUM_WARPS"], knobs["ROWS"]) == (32, 2)


def test_a_proposal_tells_what_the_cost_model_expects(first):
    vector = compose(WORKLOAD, LIBRARY, ("vector_lanes",), Language.CPP)
    asked = draft(DraftKind.INSTANTIATE, structure=vector.fingerprint)
    expected = PLAYBOOK.propose(asked, scene((DIRECT, vector))).prior
    assert expected is not None
    assert expected > 0.5
    assert PLAYBOOK.propose(draft(DraftKind.INSTANTIATE), scene(blueprints=())).prior == 0.0
    assert PLAYBOOK.propose(asked, scene((DIRECT, vector), device_class="abacus")).prior is None


def test_what_the_cost_model_expects_more_of_is_tried_sooner():
    def count(device_class: str) -> int:
        drawn = [
            PLAYBOOK.propose(
                draft(DraftKind.EXPLORE, structure=DIRECT.fingerprint, seed=seed),
                scene(device_class=device_class),
            )
            for seed in range(60)
        ]
        return sum("vector_lanes" in one.blueprint.actions for one in drawn if one.blueprint)

    assert count("cpu") > 1.5 * count("abacus")


@pytest.mark.parametrize(
    ("asked", "problem"),
    [
        (draft(DraftKind.INSTANTIATE, structure="0" * 16), "is not known here"),
        (draft(DraftKind.EXPLORE, structure="0" * 16), "is not known here"),
        (draft(DraftKind.REPAIR, structure=DIRECT.fingerprint, base=9), "no candidate to repair"),
        (draft(DraftKind.REFINE, structure=DIRECT.fingerprint), "no candidate to refine"),
        (draft(DraftKind.JUDGE), "no beliefs"),
    ],
)
def test_what_cannot_be_answered_is_refused_in_words(asked, problem):
    proposal = PLAYBOOK.propose(asked, scene())
    assert problem in proposal.failure
    assert proposal.candidate is None


def test_an_unknown_operation_is_refused():
    odd = WORKLOAD.model_copy(update={"op_type": "sort"})
    assert (
        "does not write sort" in PLAYBOOK.propose(draft(DraftKind.INSTANTIATE), scene(workload=odd)).failure
    )


def test_a_library_that_does_not_know_the_workload_is_a_failure_too():
    empty = LIBRARY.model_copy(update={"decisions": LIBRARY.decisions[-1:]})
    proposal = PLAYBOOK.propose(draft(DraftKind.INSTANTIATE), scene(library=empty))
    assert "knows no decision" in proposal.failure


def test_priors_name_actions_of_the_core_library():
    ids = {action.id for action in LIBRARY.actions}
    assert set(CPU) <= ids
    assert set(GPU) <= ids
