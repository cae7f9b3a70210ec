"""Prompts: golden files, the budget of tokens, what gives way first.

The golden files are written anew with `REWRITE_GOLDENS=1`; read the difference before it is committed.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from types import SimpleNamespace

import pytest

from search.agents.llm import render_structure, render_workload
from search.agents.llm.agent import LlmAgent
from search.agents.llm.prompts import PROMPT_TOKENS, Part, PromptError, budget, build, read_template
from search.agents.llm.roles import analyst, coder, planner, repairer, tuner
from search.agents.llm.tokens import estimate_messages
from search.library import applicable, shipped_library, shipped_workloads
from search.records import DraftKind, Language
from tests.search.agents.llm.llm_scenes import (
    MemoryCaller,
    blueprint,
    code,
    draft,
    full_scene,
    passed,
    program,
    scene,
)

GOLDEN = Path(__file__).parent / "golden"
LANES = blueprint("vector_lanes").fingerprint


DEVICE = SimpleNamespace(
    title="A device of the tests",
    units=4,
    memory_bytes_per_us=1e5,
    cache_size_bytes=2**20,
    cache_bytes_per_us=2e5,
    chip_size_bytes=2**16,
    launch_us=2.0,
)
"""Golden files follow neither device figures nor the cost model."""


def _cost(made, workload, case, device):
    kernels = [
        SimpleNamespace(name=kernel.name, floor_us=100.0, bound="memory", memory_bytes=2**22)
        for kernel in made.kernels
    ]
    return SimpleNamespace(case=case.name, floor_us=100.0 * len(kernels), kernels=kernels)


def _rendered(prompt):
    return "\n".join(f"[{message.role}]\n{message.content}\n" for message in prompt.messages)


def _gpu(language):
    made = blueprint("split_row", slug="softmax_fp16", language=language)
    direct = blueprint(slug="softmax_fp16", language=language)
    return scene(direct, made, slug="softmax_fp16", language=language), made


def _prompts():
    here = full_scene()
    online, lanes = blueprint("online_softmax"), blueprint("vector_lanes")
    judged = draft(DraftKind.JUDGE, beliefs={LANES: 0.8, blueprint().fingerprint: 0.3})
    triton, cuda = _gpu(Language.TRITON), _gpu(Language.CUDA)
    return {
        "planner": ("planner", planner.parts(here, lanes, here.evaluations[2])),
        "coder": ("coder", coder.parts(here, online, (here.candidates[2], here.evaluations[2]))),
        "coder_triton": ("coder", coder.parts(*triton, None)),
        "coder_cuda": ("coder", coder.parts(*cuda, None)),
        "repairer": ("repairer", repairer.parts(here, online, here.candidates[3], here.evaluations[3])),
        "tuner": ("tuner", tuner.parts(here, lanes, here.candidates[2], here.evaluations[2])),
        "analyst": ("analyst", analyst.parts(judged, here)),
    }


@pytest.mark.parametrize(
    "name", ["planner", "coder", "coder_triton", "coder_cuda", "repairer", "tuner", "analyst"]
)
def test_golden(name, monkeypatch):
    monkeypatch.setattr(render_structure, "structure_cost", _cost)
    monkeypatch.setattr(render_workload, "device_model", lambda name: DEVICE)
    template, parts = _prompts()[name]
    prompt = build(template, parts, PROMPT_TOKENS)
    path = GOLDEN / f"{name}.md"
    if os.environ.get("REWRITE_GOLDENS"):
        path.write_text(_rendered(prompt), "utf-8")
    assert not prompt.dropped
    assert _rendered(prompt) == path.read_text("utf-8")


def test_a_prompt_is_the_same_each_time():
    assert _rendered_all() == _rendered_all()


def _rendered_all():
    return [_rendered(build(template, parts, PROMPT_TOKENS)) for template, parts in _prompts().values()]


@pytest.mark.parametrize("slug", sorted(shipped_workloads()))
@pytest.mark.parametrize("language", [Language.CPP, Language.TRITON, Language.CUDA])
def test_shipped_workloads_fit_with_everything(slug, language):
    """Structures of one action each: planner and coder prompts, with a program to borrow from."""
    direct = blueprint(slug=slug, language=language)
    here = scene(direct, slug=slug, language=language)
    workload = here.workload
    planning = build("planner", planner.parts(here, direct, None), PROMPT_TOKENS)
    assert not planning.dropped
    assert estimate_messages(planning.messages) <= PROMPT_TOKENS
    relative = _relative(slug, language)
    for action in applicable(workload, shipped_library(), direct, language, device_class=here.device_class)[
        :4
    ]:
        made = blueprint(action.id, slug=slug, language=language)
        writing = build("coder", coder.parts(here, made, relative), PROMPT_TOKENS)
        assert not writing.dropped
        assert estimate_messages(writing.messages) <= PROMPT_TOKENS


def _relative(slug, language):
    try:
        candidate = program(slug=slug, language=language)
    except KeyError:  # the playbook does not write it
        return None
    return candidate, passed(candidate)


@pytest.mark.parametrize("tokens", [11_000, 5_000, 4_200, 3_600, 3_000, 2_600])
def test_parts_give_way_by_rank(tokens):
    template, parts = _prompts()["coder"]
    prompt = build(template, parts, tokens)
    assert estimate_messages(prompt.messages) <= tokens
    ranks = {part.name: part.rank for part in parts}
    gone = [name for name in prompt.dropped if not name.endswith("(shortened)")]
    kept = [part for part in parts if part.rank and part.text and part.name not in prompt.dropped]
    kept = [part for part in kept if f"{part.name} (shortened)" not in prompt.dropped]
    for name in gone:
        assert ranks[name] > 0
        assert all(part.rank <= ranks[name] for part in kept)


def test_dropped_parts_are_listed_in_the_request():
    here = full_scene()
    caller = MemoryCaller(lambda texts: code("online_softmax"), context_tokens=6_000)
    asked = draft(DraftKind.INSTANTIATE, blueprint("online_softmax").fingerprint)
    LlmAgent(caller).propose(asked, here)
    request = caller.requests[0]
    assert "relative" in request.dropped
    assert "## A program of another structure" not in request.messages[1].content
    whole = MemoryCaller(lambda texts: code("online_softmax"))
    LlmAgent(whole).propose(asked, here)
    assert whole.requests[0].dropped == ()
    assert "## A program of another structure" in whole.requests[0].messages[1].content


def test_needed_parts_that_do_not_fit_are_a_failure_with_numbers():
    caller = MemoryCaller(lambda texts: pytest.fail("nothing may be sent"), context_tokens=1_500)
    answer = LlmAgent(caller).propose(draft(DraftKind.INSTANTIATE), scene())
    assert "tokens" in answer.failure
    assert answer.candidate is None


def test_a_long_program_is_shown_whole_where_the_context_allows():
    long = program("vector_lanes")
    filler = "\n".join(f"static float unused_{number}(float x) {{ return x; }}" for number in range(1200))
    source = long.sources[0].model_copy(update={"content": f"{long.sources[0].content}\n{filler}\n"})
    base = long.model_copy(update={"sources": (source,)})
    here = scene(blueprint("vector_lanes"), candidates={2: base}, evaluations={2: passed(base)})
    asked = draft(DraftKind.REFINE, LANES, base=2)
    caller = MemoryCaller(lambda texts: code("vector_lanes"), context_tokens=64_000)
    assert LlmAgent(caller).propose(asked, here).candidate is not None
    assert "unused_1199" in caller.requests[0].messages[1].content
    assert estimate_messages(caller.requests[0].messages) > PROMPT_TOKENS
    small = MemoryCaller(lambda texts: pytest.fail("nothing may be sent"), context_tokens=16_000)
    assert "are allowed" in LlmAgent(small).propose(asked, here).failure


def test_a_part_shrinks_before_it_goes():
    parts = _prompts()["planner"][1]
    whole = estimate_messages(build("planner", parts, PROMPT_TOKENS).messages)
    dropped = [build("planner", parts, whole - cut).dropped for cut in (1, 700, 1_200)]
    assert dropped[0] == ("experience",)
    assert "tried (shortened)" in dropped[2] or "workload (shortened)" in dropped[2]


def test_the_budget_leaves_room_for_an_answer():
    assert budget(128_000) == PROMPT_TOKENS
    assert budget(8_192) == 4_096
    assert budget(4_096) == 2_048
    assert budget(128_000, 5_000) == 5_000


def test_values_are_not_looked_at_for_places():
    parts = [Part(name, "{{workload}}" if name == "device" else "text") for name in _places("analyst")]
    prompt = build("analyst", parts, PROMPT_TOKENS)
    assert "{{workload}}" in prompt.messages[1].content


def test_sections_without_parts_leave_no_heading():
    parts = [Part(name, "" if name == "experience" else "text") for name in _places("analyst")]
    assert "like workloads" not in build("analyst", parts, PROMPT_TOKENS).messages[1].content


def test_too_small_a_budget_says_both_numbers():
    with pytest.raises(PromptError, match=r"needs \d+ tokens, and 100 are allowed"):
        build("coder", _prompts()["coder"][1], 100)


@pytest.mark.parametrize("name", ["planner", "coder", "repairer", "tuner", "analyst"])
def test_every_place_of_a_template_has_its_part(name):
    prompts = dict(_prompts().values())
    assert _places(name) == {part.name for part in prompts[name]}


def _places(template):
    return set(re.findall(r"\{\{(\w+)\}\}", read_template(template)))
