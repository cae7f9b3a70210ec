"""The model agent: which calls a draft makes, what is said back, what becomes of an answer."""

from __future__ import annotations

import json
from itertools import islice

import pytest

from search.agents.agent import Tried
from search.agents.llm.agent import LlmAgent
from search.agents.llm.memory import MOST_REPEATS
from search.agents.llm.outcomes import CallOutcome
from search.agents.playbook.writers import refusal_of, writes
from search.contract import check, overall
from search.library import shipped_workload, structures
from search.records import DraftKind, EvaluationStatus, Language, Verdict
from search.steps import DraftFailure
from tests.search.agents.llm.llm_scenes import (
    LIBRARY,
    MemoryCaller,
    blueprint,
    code,
    draft,
    failed,
    fault,
    full_scene,
    in_turn,
    passed,
    program,
    scene,
)
from tests.search.agents.playbook_families import CELLS

PLAIN = blueprint()
ROWS = blueprint("row_groups")
ONLINE = blueprint("online_softmax")
EXPLORE = draft(DraftKind.EXPLORE, PLAIN.fingerprint, exclude=(PLAIN.fingerprint,))
DIRECT = draft(DraftKind.INSTANTIATE)
PROSE = "I would keep the row in a buffer."


def plan(*structures: tuple[str, ...]) -> str:
    told = [{"actions": list(one), "reason": "fewer bytes", "expectation": "20 % less"} for one in structures]
    return json.dumps({"structures": told})


def said_back(caller: MemoryCaller) -> str:
    return caller.requests[-1].messages[-1].content


# Exploring ---------------------------------------------------------------------------------------------


def test_explore_asks_planner_and_coder():
    caller = in_turn(plan(("row_groups",), ("online_softmax",)), code("row_groups"))
    answer = LlmAgent(caller).propose(EXPLORE, scene(PLAIN))
    assert caller.turns == ["7/planner-1", "7/coder-1"]
    assert caller.requests[0].answer_schema
    assert caller.requests[1].answer_schema is None
    assert answer.blueprint == ROWS
    assert answer.candidate.structure == ROWS.fingerprint
    assert answer.note == "fewer bytes Expected: 20 % less"
    assert answer.usage.calls == 2
    assert answer.usage.cost_usd == pytest.approx(0.002)
    assert overall(check(ROWS.contract, answer.candidate)) is Verdict.PASS


def test_unused_structures_of_a_plan_need_no_second_call():
    caller = in_turn(plan(("row_groups",), ("online_softmax",)), code("row_groups"), code("online_softmax"))
    agent = LlmAgent(caller)
    agent.propose(EXPLORE, scene(PLAIN))
    later = EXPLORE.model_copy(update={"number": 8, "exclude": (PLAIN.fingerprint, ROWS.fingerprint)})
    answer = agent.propose(later, scene(PLAIN, ROWS))
    assert answer.blueprint == ONLINE
    assert caller.turns[2:] == ["8/coder-1"]


def test_unused_structures_survive_a_restart_through_the_scene():
    caller = in_turn(code("online_softmax"))
    told = {PLAIN.fingerprint: ("no JSON", plan(("row_groups",), ("online_softmax",)))}
    later = EXPLORE.model_copy(update={"exclude": (PLAIN.fingerprint, ROWS.fingerprint)})
    answer = LlmAgent(caller).propose(later, scene(PLAIN, ROWS, planner_replies=told))
    assert answer.blueprint == ONLINE
    assert answer.usage.calls == 1


def test_plans_for_another_parent_are_not_taken():
    caller = in_turn(plan(("row_groups",)), code("row_groups"))
    told = {ONLINE.fingerprint: (plan(("online_softmax",)),)}
    LlmAgent(caller).propose(EXPLORE, scene(PLAIN, planner_replies=told))
    assert caller.turns == ["7/planner-1", "7/coder-1"]


def test_a_planner_that_sees_nothing_is_not_asked_again():
    agent = LlmAgent(in_turn(plan()))
    first = agent.propose(EXPLORE, scene(PLAIN))
    assert "no structure that is left" in first.failure
    assert first.cause is DraftFailure.NOTHING_LEFT
    assert agent.propose(EXPLORE, scene(PLAIN)).failure == first.failure


@pytest.mark.parametrize(
    ("structure", "why"),
    [
        (("no_such_action",), "no such action"),
        (("resident_row", "online_softmax"), "conflicts with"),
        (("output_tiles",), "needs `trait contraction`"),
        (("vector_lanes",), "is not allowed in this search"),
        ((), "was tried already"),
        (("split_k",), "needs `trait"),
    ],
)
def test_what_cannot_be_built_is_said_back_once(structure, why):
    caller = in_turn(plan(structure), plan(("row_groups",)), code("row_groups"))
    allowed = ("row_groups", "no_such_action", "resident_row", "online_softmax", "output_tiles", "split_k")
    answer = LlmAgent(caller).propose(EXPLORE, scene(PLAIN, allowed_actions=allowed))
    assert caller.turns == ["7/planner-1", "7/planner-2", "7/coder-1"]
    assert why in caller.requests[1].messages[-1].content
    assert answer.blueprint == ROWS
    assert answer.usage.calls == 3


@pytest.mark.parametrize("device", ["h200", "a100"])
def test_a_device_gate_holds_for_planners_too(device):
    slug, cuda = "gemm_fp16", Language.CUDA
    direct = blueprint(slug=slug, language=cuda)
    caller = in_turn(plan(("descriptor_loads",)), PROSE, PROSE)
    here = scene(direct, slug=slug, language=cuda, device_class=device)
    LlmAgent(caller).propose(draft(DraftKind.EXPLORE, direct.fingerprint), here)
    assert caller.turns[1] == ("7/coder-1" if device == "h200" else "7/planner-2")
    assert ("device sm>=90" in caller.requests[1].messages[-1].content) is (device == "a100")


@pytest.mark.parametrize("text", [PROSE, '{"structures": 3}', "", "```json\n{\n```"])
def test_a_planner_without_json_is_asked_twice_in_all(text):
    caller = in_turn(text, text)
    answer = LlmAgent(caller).propose(EXPLORE, scene(PLAIN))
    assert caller.turns == ["7/planner-1", "7/planner-2"]
    assert "malformed" in answer.failure
    assert answer.cause is DraftFailure.UNREADABLE
    assert answer.usage.calls == 2


# Writing -----------------------------------------------------------------------------------------------


def test_the_direct_implementation_needs_one_call():
    answer = LlmAgent(in_turn(code())).propose(DIRECT, scene())
    assert answer.blueprint == PLAIN
    assert answer.candidate.sources[0].path == "kernel.cpp"
    assert answer.candidate.hash == program().hash


def test_a_broken_contract_is_said_back_once_before_anything_is_evaluated():
    asked = draft(DraftKind.INSTANTIATE, blueprint("stored_exponentials", "polynomial_exp").fingerprint)
    here = scene(PLAIN, blueprint("stored_exponentials", "polynomial_exp"))
    caller = in_turn(code("polynomial_exp"), code("stored_exponentials", "polynomial_exp"))
    answer = LlmAgent(caller).propose(asked, here)
    assert "reduction(N) = stored_exp" in said_back(caller)
    assert "broken" in said_back(caller)
    assert [message.role for message in caller.requests[1].messages] == [
        "system",
        "user",
        "assistant",
        "user",
    ]
    assert overall(check(answer.blueprint.contract, answer.candidate)) is Verdict.PASS
    assert answer.usage.calls == 2


def test_a_contract_broken_twice_is_left_to_the_judge():
    made = blueprint("stored_exponentials", "polynomial_exp")
    caller = in_turn(code("polynomial_exp"), code("polynomial_exp"))
    answer = LlmAgent(caller).propose(draft(DraftKind.INSTANTIATE, made.fingerprint), scene(made))
    assert answer.candidate is not None
    assert answer.candidate.structure == made.fingerprint
    assert answer.usage.calls == 2


def test_without_a_contract_nothing_is_said_back():
    made = blueprint("stored_exponentials", "polynomial_exp")
    caller = in_turn(code("polynomial_exp"))
    answer = LlmAgent(caller).propose(
        draft(DraftKind.INSTANTIATE, made.fingerprint), scene(made, keeps_contract=False)
    )
    assert answer.usage.calls == 1
    assert "## Its contract" not in caller.requests[0].messages[1].content


@pytest.mark.parametrize(
    ("text", "reading"),
    [
        (PROSE, "no_block"),
        (code()[:-5], "unclosed"),
        (code().replace("```cpp", "```python"), "other_language"),
        (code().replace("int run(", "int start("), "no_entry_point"),
        (code().replace('"TASK": 1, ', ""), "KNOBS lacks TASK"),
        (code().replace('"TASK": 1', '"TASK": true'), "takes a value of type int"),
        (code().replace("// KNOBS {", "// KNOBS ["), "KNOBS is not JSON"),
    ],
)
def test_an_answer_without_a_program_is_said_back_once(text, reading):
    caller = in_turn(text, code())
    answer = LlmAgent(caller).propose(DIRECT, scene())
    assert reading in said_back(caller)
    assert answer.candidate.hash == program().hash
    twice = LlmAgent(in_turn(text, text)).propose(DIRECT, scene())
    assert twice.candidate is None
    assert twice.failure.startswith("malformed")
    assert twice.cause is DraftFailure.NO_PROGRAM
    assert twice.blueprint == PLAIN
    assert twice.usage.calls == 2


def test_knobs_that_nothing_uses_are_said_back():
    unused = code().replace("PREFETCH > 0", "false").replace("16 * PREFETCH", "0")
    caller = in_turn(unused, code())
    LlmAgent(caller).propose(DIRECT, scene())
    assert "Nothing in the program uses PREFETCH" in said_back(caller)


def test_a_form_fault_and_a_contract_fault_are_each_said_back_once():
    made = blueprint("stored_exponentials", "polynomial_exp")
    other = code("polynomial_exp")
    caller = in_turn(PROSE, other, PROSE)
    answer = LlmAgent(caller).propose(draft(DraftKind.INSTANTIATE, made.fingerprint), scene(made))
    assert len(caller.requests) == 3
    assert answer.candidate is not None  # the second answer was a program, and the judge says more than we do


def test_knob_values_that_are_no_choice_become_the_default():
    answer = LlmAgent(in_turn(code().replace('"TASK": 1', '"TASK": 3'))).propose(DIRECT, scene())
    assert answer.candidate.knobs["TASK"] == 1


@pytest.mark.parametrize(
    ("outcome", "cause"),
    [
        (CallOutcome.REFUSED, DraftFailure.REFUSED),
        (CallOutcome.EMPTY, DraftFailure.EMPTY),
        (CallOutcome.INCOMPLETE, DraftFailure.BROKEN_ANSWER),
        (CallOutcome.BAD_GATEWAY_RESPONSE, DraftFailure.BROKEN_ANSWER),
        (CallOutcome.NOT_RECORDED, DraftFailure.NOT_RECORDED),
        (CallOutcome.QUOTA, DraftFailure.OTHER),
        (CallOutcome.TIMEOUT, DraftFailure.OTHER),
        (CallOutcome.BUDGET, DraftFailure.NOT_ASKED),
    ],
)
def test_a_fault_of_the_server_is_a_typed_failure(outcome, cause):
    for asked, here in ((DIRECT, scene()), (EXPLORE, scene(PLAIN))):
        caller = in_turn(fault(outcome, code(), "not today"))
        answer = LlmAgent(caller).propose(asked, here)
        assert answer.failure == f"{outcome}: not today"
        assert answer.cause is cause
        assert answer.candidate is None
        assert answer.usage.calls == 1


def test_a_truncated_answer_is_never_used_and_asked_for_again_shorter():
    caller = in_turn(fault(CallOutcome.TRUNCATED, code()), code())
    answer = LlmAgent(caller).propose(DIRECT, scene())
    assert answer.candidate is not None
    assert [message.role for message in caller.requests[1].messages] == ["system", "user"]
    assert "shorter" in said_back(caller)
    twice = LlmAgent(in_turn(*[fault(CallOutcome.TRUNCATED, code())] * 2)).propose(DIRECT, scene())
    assert twice.candidate is None
    assert (twice.failure, twice.cause) == ("truncated", DraftFailure.TRUNCATED)


def test_nothing_is_asked_again_where_the_context_is_full():
    caller = MemoryCaller(lambda texts: PROSE, context_tokens=3_000)
    answer = LlmAgent(caller).propose(DIRECT, scene())
    assert answer.failure
    assert len(caller.requests) <= 1


def test_exceptions_of_the_caller_pass_through():
    class StopError(Exception):
        pass

    def stop(texts):
        raise StopError

    with pytest.raises(StopError):
        LlmAgent(MemoryCaller(stop)).propose(DIRECT, scene())


@pytest.mark.parametrize(
    ("language", "slug", "path"),
    [(Language.TRITON, "softmax_fp16", "kernel.py"), (Language.TRITON, "gemm_fp16", "kernel.py")],
)
def test_triton(language, slug, path):
    answer = LlmAgent(in_turn(code(slug=slug, language=language))).propose(
        DIRECT, scene(slug=slug, language=language)
    )
    assert answer.candidate.sources[0].path == path
    assert answer.candidate.hash == program(slug=slug, language=language).hash
    assert answer.usage.calls == 1


def test_cuda():
    source = """// KNOBS {KNOBS}
__global__ void softmax_rows(const __half* x, __half* y, int64_t M, int64_t N) {}
extern "C" int run(void** buffers, const int64_t* axes, void* stream) { return 0; }
"""
    made = blueprint(slug="softmax_fp16", language=Language.CUDA)
    knobs = json.dumps({knob.name: knob.default for knob in made.knobs})
    text = f"```cuda\n{source.replace('{KNOBS}', knobs)}```"
    here = scene(slug="softmax_fp16", language=Language.CUDA, keeps_contract=False)
    answer = LlmAgent(in_turn(text, text)).propose(DIRECT, here)
    assert answer.candidate.language is Language.CUDA
    assert answer.candidate.sources[0].path == "kernel.cu"


@pytest.mark.parametrize(("slug", "language"), CELLS)
def test_programs_of_the_playbook_show_no_fault(slug, language):
    """What is looked at before the judge must not send honest programs back: that would be paid for."""
    workload = shipped_workload(slug)
    written = structures(workload, LIBRARY, language, allowed=writes(workload, language))
    for made in islice(written, 1, 120, 40):
        if refusal_of(made, workload, language):
            continue
        caller = in_turn(code(*made.actions, slug=slug, language=language))
        here = scene(made, slug=slug, language=language)
        answer = LlmAgent(caller).propose(draft(DraftKind.INSTANTIATE, made.fingerprint), here)
        assert answer.candidate.hash == program(*made.actions, slug=slug, language=language).hash


# Changing ----------------------------------------------------------------------------------------------


def _broken():
    base = program("online_softmax")
    evaluation = failed(
        base, EvaluationStatus.COMPILE_ERROR, "kernel.cpp:60:10: error: zero was not declared"
    )
    here = scene(PLAIN, ONLINE, candidates={3: base}, evaluations={3: evaluation})
    return base, here


def test_repair_shows_the_evidence_and_says_the_cause():
    base, here = _broken()
    fixed = code("online_softmax").replace("LOWEST;", "LOWEST + 0.0f;")
    caller = in_turn(f"**CAUSE:** a name that is not there\n\n{fixed}")
    answer = LlmAgent(caller).propose(draft(DraftKind.REPAIR, ONLINE.fingerprint, base=3), here)
    shown = caller.requests[0].messages[1].content
    assert caller.turns == ["7/repairer-1"]
    assert "zero was not declared" in shown
    assert base.sources[0].content.strip() in shown
    assert answer.note == "a name that is not there"
    assert answer.candidate.parent == base.hash
    assert answer.candidate.source_hash != base.source_hash


def test_refine_states_one_hypothesis():
    here = full_scene()
    edited = code("vector_lanes").replace("const float* row =", "const float* __restrict row =")
    caller = in_turn(f"HYPOTHESIS: pointers may overlap\nEXPECTATION: 5 % less\n{edited}")
    lanes = blueprint("vector_lanes")
    answer = LlmAgent(caller).propose(draft(DraftKind.REFINE, lanes.fingerprint, base=2), here)
    assert answer.note == "pointers may overlap Expected: 5 % less"
    assert answer.candidate.parent == here.candidates[2].hash
    assert "8 % of its speed" in caller.requests[0].messages[1].content


def test_an_edit_is_measured_at_the_knobs_of_the_program_that_it_changes():
    """The model wrote the defaults back; tuned values must not be lost to that."""
    lanes, base = blueprint("vector_lanes"), program("vector_lanes")
    knob = lanes.knobs[0]
    tuned = base.knobs | {knob.name: next(value for value in knob.choices if value != knob.default)}
    base = base.model_copy(update={"knobs": tuned})
    here = scene(lanes, candidates={1: base}, evaluations={1: passed(base)})
    edited = code("vector_lanes").replace("const float* row =", "const float* __restrict row =")
    answer = LlmAgent(in_turn(edited)).propose(draft(DraftKind.REFINE, lanes.fingerprint, base=1), here)
    assert answer.candidate.source_hash != base.source_hash
    assert answer.candidate.knobs == tuned


@pytest.mark.parametrize(
    "kind", [DraftKind.REPAIR, DraftKind.REFINE, DraftKind.EXPLORE, DraftKind.INSTANTIATE]
)
def test_drafts_about_unknown_things_fail_without_a_call(kind):
    caller = MemoryCaller(lambda texts: pytest.fail("nothing may be asked"))
    answer = LlmAgent(caller).propose(draft(kind, "0123456789abcdef", base=99), scene())
    assert answer.failure
    assert answer.usage.calls == 0


# Judging -----------------------------------------------------------------------------------------------


def test_judge_maps_labels_to_structures():
    here = full_scene()
    told = '{"beliefs": [{"structure": "S2", "worth": 0.9}, {"structure": "S77", "worth": 0.1}]}'
    caller = in_turn(told)
    answer = LlmAgent(caller).propose(draft(DraftKind.JUDGE, PLAIN.fingerprint), here)
    assert answer.beliefs == {blueprint("vector_lanes").fingerprint: 0.9}
    assert caller.turns == ["7/analyst-1"]


@pytest.mark.parametrize("text", [PROSE, '{"beliefs": []}', '{"beliefs": [{"structure": "S1", "worth": 2}]}'])
def test_a_judgement_that_cannot_be_read_is_asked_for_twice(text):
    caller = in_turn(text, text)
    answer = LlmAgent(caller).propose(draft(DraftKind.JUDGE), full_scene())
    assert answer.failure.startswith("malformed")
    assert len(caller.requests) == 2


# Duplicates --------------------------------------------------------------------------------------------


def _again(number: int, reused: bool) -> Tried:
    return Tried(number, PLAIN.fingerprint, "direct", EvaluationStatus.PASSED, 1.0, reused=reused)


def test_the_same_program_in_other_clothes_is_the_earlier_candidate():
    base = program()
    here = scene(PLAIN, candidates={1: base}, evaluations={1: passed(base)})
    dressed = code().replace("// Row softmax", "// my softmax").replace("  return 0;", "\n\n      return 0 ;")
    answer = LlmAgent(in_turn(dressed)).propose(draft(DraftKind.REFINE, PLAIN.fingerprint, base=1), here)
    assert answer.candidate.hash == base.hash
    assert answer.note.startswith("the same program as step 1")


def test_a_program_of_another_structure_takes_no_verdict_from_there():
    """The earlier verdict was found under another contract."""
    base = program("polynomial_exp")
    made = blueprint("stored_exponentials", "polynomial_exp")
    here = scene(made, blueprint("polynomial_exp"), candidates={1: base}, evaluations={1: passed(base)})
    caller = in_turn(code("polynomial_exp"), code("polynomial_exp"))
    answer = LlmAgent(caller).propose(draft(DraftKind.INSTANTIATE, made.fingerprint), here)
    assert answer.candidate is None
    assert answer.failure == "the same program as step 1: it is of another structure"


@pytest.mark.parametrize(("reused", "asks"), [(1, False), (2, True), (3, True)])
def test_repeated_duplicates_bring_a_word_into_the_prompt(reused, asks):
    steps = (_again(1, False), *(_again(number + 2, True) for number in range(reused)))
    base = program()
    here = scene(PLAIN, candidates={1: base}, evaluations={1: passed(base)}, tried=steps)
    caller = in_turn(code())
    LlmAgent(caller).propose(draft(DraftKind.REFINE, PLAIN.fingerprint, base=1), here)
    assert ("## Do not repeat" in caller.requests[0].messages[1].content) is asks


def test_the_fifth_duplicate_in_a_row_is_no_answer():
    steps = (_again(1, False), *(_again(number + 2, True) for number in range(MOST_REPEATS - 1)))
    base = program()
    here = scene(PLAIN, candidates={1: base}, evaluations={1: passed(base)}, tried=steps)
    answer = LlmAgent(in_turn(code())).propose(draft(DraftKind.REFINE, PLAIN.fingerprint, base=1), here)
    assert answer.candidate is None
    assert answer.failure == "the same program as step 1: 5 duplicates in a row"
    assert answer.cause is DraftFailure.DUPLICATE
