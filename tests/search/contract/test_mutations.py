"""Whatever the knobs, a source keeps its contract; whatever the style, each structural change breaks it."""

from __future__ import annotations

import re
from functools import lru_cache

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from search.agents.playbook.writers import write_source, writes
from search.contract import check, overall
from search.knobs import with_knobs
from search.library import compose, shipped_library, shipped_workload, structures
from search.records import Candidate, ClauseKind, Language, SourceFile, Verdict

QUICK = settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
CELLS = [
    ("softmax", Language.TRITON),
    ("softmax", Language.CPP),
    ("rmsnorm", Language.TRITON),
    ("gemm_bias_gelu", Language.TRITON),
]


@lru_cache
def everything(slug: str, language: Language):
    workload = shipped_workload(slug)
    return tuple(structures(workload, shipped_library(), language, allowed=writes(workload, language)))


@lru_cache
def written(slug: str, actions: tuple[str, ...], language: Language):
    workload = shipped_workload(slug)
    blueprint = compose(workload, shipped_library(), actions, language)
    return blueprint, write_source(blueprint, workload, language).content


def verdicts_of(blueprint, source: str, language: Language):
    candidate = Candidate(language=language, sources=(SourceFile(path="kernel", content=source),))
    return check(blueprint.contract, candidate)


@QUICK
@given(data=st.data())
@pytest.mark.parametrize(("slug", "language"), CELLS)
def test_no_setting_of_the_knobs_breaks_a_contract(slug, language, data):
    drawn = data.draw(st.sampled_from(everything(slug, language)), label="structure")
    blueprint, source = written(slug, drawn.actions, language)
    knobs = {knob.name: data.draw(st.sampled_from(knob.choices), label=knob.name) for knob in blueprint.knobs}
    found = verdicts_of(blueprint, with_knobs(language, source, knobs), language)
    assert overall(found) is Verdict.PASS, [v.evidence for v in found if v.verdict is not Verdict.PASS]


# Mutations -----------------------------------------------------------------------------------------

Mutation = tuple[str, tuple[str, ...], Language, str, str, ClauseKind]
"""Workload, actions, language, what is replaced (a regular expression), by what, the clause that breaks."""

TRITON, CPP = Language.TRITON, Language.CPP
LAUNCH = r"(?s)\n    (\w+)\[(.*?)\n    \)\n"
AGAIN = "\n    \\1[\\2\n    )\n    \\1[\\2\n    )\n"

MUTATIONS: dict[str, tuple[Language, str, str, ClauseKind]] = {
    "a launch is added": (TRITON, LAUNCH, AGAIN, ClauseKind.KERNELS),
    "torch does a part": (TRITON, r"\ndef run\((.*)\):\n", "\ndef run(\\1):\n    y.zero_()\n", ClauseKind.NO_TORCH_COMPUTE),
    "an intermediate is added": (
        TRITON,
        r"\ndef run\((.*)\):\n",
        "\ndef run(\\1):\n    spare = torch.empty((7,), device=y.device)\n",
        ClauseKind.INTERMEDIATES,
    ),
    "the accumulator is cast down": (
        TRITON,
        r"\.to\(tl\.float32\)\n",
        ".to(tl.float32).to(tl.bfloat16)\n",
        ClauseKind.NUMERICS,
    ),
    "stores become atomic": (TRITON, r"tl\.store\((.*), mask=mask.*\)", "tl.atomic_add(\\1, mask=mask)", ClauseKind.ATOMICS),
    "an intermediate is added in C++": (
        CPP,
        r"(extern \"C\" int run\(.*\) *\{\n)",
        "\\1  std::vector<float> spare(7);\n",
        ClauseKind.INTERMEDIATES,
    ),
    "a library does a part in C++": (
        CPP,
        r"(extern \"C\" int run\(.*\) *\{\n)",
        "\\1  cblas_sscal(7, 1.0f, (float*)buffers[1], 1);\n",
        ClauseKind.NO_TORCH_COMPUTE,
    ),
}  # fmt: skip
"""Changes that break every softmax structure of a language."""

SINGLE: dict[str, Mutation] = {
    "the grid follows the wrong axis": ("softmax", (), TRITON, r"\(M,\)\]", "(N,)]", ClauseKind.GRID),
    "grid axes are swapped": ("softmax", ("split_row",), TRITON, r"\(M, KNOBS\[\"SPLITS\"\]\)", '(KNOBS["SPLITS"], 1)', ClauseKind.GRID),
    "a sweep is dropped": (
        "softmax", (), TRITON,
        r"(?s)    for start in tl\.range\((?:(?!for start).)*?tl\.max.*?\n(?=    for start)", "    top = 0.0\n", ClauseKind.REDUCTION,
    ),
    "the persistent loop is dropped": ("softmax", ("persistent_rows",), TRITON, r"tl\.num_programs\(0\)", "M", ClauseKind.GRID),
    "the dot is removed": (
        "gemm_bias_gelu", ("fused_epilogue",), TRITON, r"tl\.dot\((\w+), (\w+),[^\n]*\)", "tl.sum(\\1[:, :, None] * \\2[None, :, :], axis=1)",
        ClauseKind.CONTRACTION,
    ),
    "the parts are not combined": (
        "gemm_bias_gelu", ("split_k", "fused_epilogue"), TRITON, r"(?s)\n    gemm_combine\[.*?\n    \)\n", "\n", ClauseKind.KERNELS,
    ),
    "atomics instead of partial results": (
        "gemm_bias_gelu", ("split_k", "fused_epilogue"), TRITON, r"tl\.store\((partials[^\n]*)\)", "tl.atomic_add(\\1)", ClauseKind.ATOMICS,
    ),
    "the split is switched off": (
        "softmax", ("split_row",), TRITON, r"\(M, KNOBS\[\"SPLITS\"\]\)", "(M,)", ClauseKind.GRID,
    ),
    "the parallel loop runs over columns": (
        "softmax", (), CPP, r"(#pragma omp parallel for[^\n]*\n\s*for \(\w+ \w+ = 0; \w+ < )M", "\\1N", ClauseKind.GRID,
    ),
    "the sum is kept in half precision": ("softmax", (), CPP, r"float sum = 0", "_Float16 sum = 0", ClauseKind.NUMERICS),
}  # fmt: skip
"""Changes that need one particular structure."""


def assert_broken(blueprint, source: str, language: Language, pattern: str, by: str, kind: ClauseKind):
    changed, count = re.subn(pattern, by, source, count=0)
    assert count, f"nothing to change in {blueprint.title}:\n{source}"
    found = verdicts_of(blueprint, changed, language)
    broken = {one.clause.kind for one in found if one.verdict is Verdict.VIOLATED}
    assert kind in broken, [f"{v.clause.text} {v.verdict}: {v.evidence}" for v in found]
    assert overall(found) is Verdict.VIOLATED


@QUICK
@given(data=st.data())
@pytest.mark.parametrize("name", MUTATIONS)
def test_a_structural_change_breaks_every_structure(name, data):
    language, pattern, by, kind = MUTATIONS[name]
    drawn = data.draw(st.sampled_from(everything("softmax", language)), label="structure")
    blueprint, source = written("softmax", drawn.actions, language)
    knobs = {knob.name: data.draw(st.sampled_from(knob.choices), label=knob.name) for knob in blueprint.knobs}
    assert_broken(blueprint, with_knobs(language, source, knobs), language, pattern, by, kind)


@pytest.mark.parametrize("name", SINGLE)
def test_a_structural_change_breaks_its_structure(name):
    slug, actions, language, pattern, by, kind = SINGLE[name]
    blueprint, source = written(slug, actions, language)
    assert overall(verdicts_of(blueprint, source, language)) is Verdict.PASS
    assert_broken(blueprint, source, language, pattern, by, kind)
