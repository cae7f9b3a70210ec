"""Every trait, action and plan of the shipped library belongs to some real workload."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from library_workloads import WORKLOADS, workload

from search.blueprint import Blueprint, distance
from search.compose import is_buildable
from search.library import applicable, compose, shipped_library, traits
from search.plans.registry import PLANS
from search.reachability import LANGUAGES, path_to
from search.records import ClauseKind, Language
from search.traits import TRAIT_SETS, TRAITS

LIBRARY = shipped_library()
ELSEWHERE = frozenset().union(
    *(known for known in TRAIT_SETS if known & {"paged_decode", "stencil", "composite"})
)
ELSEWHERE -= frozenset().union(*(traits(one) for one in WORKLOADS.values()))
"""Traits of kinds that have tests of their own."""
ANY_KIND = {"low_precision", "library_allowed", "unordered_sums"}
"""Traits that no kind of work has to itself."""
MEMORY_POLICIES = {"store", "residual"}
"""Decisions on how memory is met that no clause speaks of and no kernel's name tells."""
CELLS = [(slug, language) for slug in WORKLOADS for language in LANGUAGES]


def has_direct(slug: str, language: Language) -> bool:
    return any(d.initial_word(language) for d in LIBRARY.decisions if _asked(d, slug, language))


def _asked(decision, slug, language):
    known = traits(WORKLOADS[slug])
    spoken = not decision.languages or language in decision.languages
    return spoken and all(text.removeprefix("trait ") in known for text in decision.when)


BUILDABLE = [cell for cell in CELLS if has_direct(*cell)]


def assert_consistent(blueprint: Blueprint, slug: str) -> None:
    """What holds for every structure, whatever its kind."""
    axes, knobs = set(WORKLOADS[slug].axes), {knob.name for knob in blueprint.knobs}
    kernels = [kernel.name for kernel in blueprint.kernels]
    tensors = [tensor.name for tensor in blueprint.intermediates]
    assert len(set(kernels)) == len(kernels), blueprint.title
    assert len(set(tensors)) == len(tensors), blueprint.title
    for tensor in blueprint.intermediates:
        assert {tensor.written_by, tensor.read_by} <= set(kernels), blueprint.title
        assert set(tensor.shape) <= axes | knobs, blueprint.title
    for kernel in blueprint.kernels:
        assert {*kernel.parallel, *kernel.sequential} <= axes | knobs, blueprint.title
    values = {clause.kind: clause.value for clause in blueprint.clauses}
    assert values[ClauseKind.KERNELS] == kernels
    assert set(values[ClauseKind.INTERMEDIATES]) == set(tensors)
    assert len(blueprint.knobs) >= 2, blueprint.title


# Traits --------------------------------------------------------------------------------------------


def test_traits_that_the_library_names_can_all_be_had():
    named = {
        text.split()[1]
        for one in (*LIBRARY.actions, *LIBRARY.decisions)
        for text in one.when
        if text.startswith("trait")
    }
    had = set().union(*(traits(one) for one in WORKLOADS.values()))
    ours = {trait for trait in TRAITS if trait in named}
    assert not ours - had - ELSEWHERE


@pytest.mark.parametrize("slug", WORKLOADS)
def test_what_a_workload_has_is_within_one_trait_set(slug):
    known = traits(WORKLOADS[slug])
    assert known <= set(TRAITS)
    assert any(known <= possible for possible in TRAIT_SETS), known


def test_every_kind_has_one_plan():
    for slug, one in WORKLOADS.items():
        assert len([trait for trait in PLANS if trait in traits(one)]) == 1, slug


@pytest.mark.parametrize(
    ("slug", "change", "gone"),
    [
        ("softmax", {"op_type": "sort"}, traits(WORKLOADS["softmax"]) - ANY_KIND),
        ("moe", {"op_type": "gemm"}, traits(WORKLOADS["moe"]) - ANY_KIND),
        ("moe", {"tags": ()}, {"gated_experts"}),
        ("attention", {"tags": ()}, {"causal"}),
        ("gemm_gelu", {"tags": ()}, {"gelu", "pointwise_epilogue"}),
        ("convolution", {"tags": ("strided",)}, {"small_filter"}),
        ("softmax", {"cases": WORKLOADS["softmax"].cases[:1]}, {"wide_rows"}),
        ("softmax", {"cases": WORKLOADS["softmax"].cases[1:]}, {"short_rows"}),
    ],
)
def test_a_trait_goes_with_what_it_is_told_by(slug, change, gone):
    before = traits(WORKLOADS[slug])
    assert before - traits(WORKLOADS[slug].model_copy(update=change)) == gone


def test_shapes_and_policy_decide_as_well_as_names():
    many = workload("top_k", {"x": "MN float32"}, {"v": "MK float32"}, [{"M": 8, "N": 999, "K": 500}])
    assert traits(many) == {"selection"}
    sized = workload("moe", {"x": "TH float16"}, {"y": "TH float16"}, [{"T": 4, "H": 8}])
    assert traits(sized) == {"composite", "low_precision"}
    middle = workload(
        "gemm", {"a": "MK float32", "b": "KN float32"}, {"c": "MN float32"}, [{"M": 99, "N": 9, "K": 9}]
    )
    assert traits(middle) == {"contraction"}


def test_a_product_of_three_is_no_plain_contraction():
    assert "contraction" not in traits(WORKLOADS["chain"])
    assert "contraction" not in traits(WORKLOADS["siblings"])


# Actions and plans -----------------------------------------------------------------------------------


def test_the_library_has_nine_families_and_the_knowledge_of_an_expert():
    assert len(LIBRARY.actions) >= 66
    assert len({action.family for action in LIBRARY.actions}) == 9
    for action in LIBRARY.actions:
        assert len(action.notes) > 120, action.id
        assert len(action.contract) > 20, action.id
        assert action.sources, action.id


def test_every_action_can_be_taken_for_a_workload_of_ours():
    for action in LIBRARY.actions:
        if ELSEWHERE & {text.removeprefix("trait ") for text in action.when}:
            continue
        assert any(_taken(action, *cell) for cell in CELLS), action.id


def _taken(action, slug, language) -> bool:
    path = path_to(LIBRARY, action, traits(WORKLOADS[slug]), language)
    if path is None:
        return False
    blueprint = compose(WORKLOADS[slug], LIBRARY, path, language)
    assert set(blueprint.actions) == set(path)
    assert_consistent(blueprint, slug)
    return True


@pytest.mark.parametrize(("slug", "language"), BUILDABLE)
def test_the_direct_implementation_and_each_first_step_are_whole(slug, language):
    one = WORKLOADS[slug]
    direct = compose(one, LIBRARY, (), language)
    assert_consistent(direct, slug)
    for action in applicable(one, LIBRARY, direct, language):
        blueprint = compose(one, LIBRARY, (action.id,), language)
        assert_consistent(blueprint, slug)
        assert distance(direct, blueprint) > 0


@pytest.mark.parametrize(("slug", "language"), BUILDABLE)
def test_every_action_but_a_memory_policy_shows_in_the_contract(slug, language):
    """Stage 2 could undo in silence what no clause speaks of."""
    one = WORKLOADS[slug]
    for action in LIBRARY.actions:
        path = path_to(LIBRARY, action, traits(one), language)
        if path is None or MEMORY_POLICIES & set(action.sets):
            continue
        rest = [name for name in path if name != action.id]
        if _buildable(rest, slug, language):
            before = compose(one, LIBRARY, rest, language)
            after = compose(one, LIBRARY, path, language)
            assert before.clauses != after.clauses, action.id


def _buildable(ids, slug, language) -> bool:
    return is_buildable(LIBRARY, [LIBRARY.action(one) for one in ids], traits(WORKLOADS[slug]), language)


@settings(max_examples=80, deadline=None)
@given(st.sampled_from(BUILDABLE), st.data())
def test_any_order_of_the_same_actions_is_the_same_structure(cell, data):
    slug, language = cell
    one = WORKLOADS[slug]
    blueprint = compose(one, LIBRARY, (), language)
    for _ in range(data.draw(st.integers(1, 6))):
        following = applicable(one, LIBRARY, blueprint, language)
        if not following:
            break
        chosen = data.draw(st.sampled_from([action.id for action in following]))
        blueprint = compose(one, LIBRARY, (*blueprint.actions, chosen), language)
    assert_consistent(blueprint, slug)
    again = compose(one, LIBRARY, data.draw(st.permutations(blueprint.actions)), language)
    assert again == blueprint
    assert again.fingerprint == blueprint.fingerprint


# Architectures ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("device_class", "offered"),
    [
        ("", True),
        ("h200", True),
        ("recorded:h200", True),
        ("a100", False),
        ("cpu", False),
        ("unheard_of", False),
    ],
)
def test_an_architecture_gate_opens_for_devices_that_have_it(device_class, offered):
    one = WORKLOADS["gemm"]
    direct = compose(one, LIBRARY, (), Language.CUDA)
    ids = {a.id for a in applicable(one, LIBRARY, direct, Language.CUDA, device_class=device_class)}
    assert ("descriptor_loads" in ids) is offered
    assert "swapped_roles" in ids
