"""Every structure that the core library can reach has a source of its own, whose knobs are the blueprint's."""

from __future__ import annotations

import ast
import re

import pytest

from search.agents.playbook.family import axes_of, epsilon
from search.agents.playbook.writers import refusal, refusal_of, write_source, writes
from search.knobs import read_knobs
from search.library import compose, shipped_library, shipped_workload, structures
from search.records import Language
from search.workload import DType, Workload
from tests.search.agents.playbook_families import CELLS, WORKLOADS

LIBRARY = shipped_library()


PRODUCTS = {"gemm", "gemm_swapped", "gemm_combine", "gemm_fixup"}


@pytest.fixture(params=CELLS, ids=lambda cell: f"{cell[0]}-{cell[1]}", scope="module")
def written(request):
    """Language and (blueprint, source) of every structure of one workload in one language."""
    slug, language = request.param
    workload = WORKLOADS[slug]
    sources = [
        (blueprint, write_source(blueprint, workload, language).content)
        for blueprint in structures(workload, LIBRARY, language, allowed=writes(workload, language))
    ]
    return language, sources


def test_there_are_many_structures(written):
    assert len(written[1]) >= 8
    assert sum(len(blueprint.knobs) >= 3 for blueprint, _ in written[1]) >= 5


def test_every_structure_has_its_own_source(written):
    bodies = {re.sub(r"^(//|#|KNOBS).*\n", "", source, flags=re.MULTILINE) for _, source in written[1]}
    assert len(bodies) == len(written[1])


def test_the_literal_holds_the_knobs_of_the_blueprint(written):
    language, sources = written
    for blueprint, source in sources:
        assert read_knobs(language, source) == {knob.name: knob.default for knob in blueprint.knobs}


def test_every_knob_is_used(written):
    for blueprint, source in written[1]:
        code = source.split("\n", 1)[1]
        for knob in blueprint.knobs:
            assert re.search(rf"\b{knob.name}\b", code), f"{blueprint.title}: {knob.name}"


def test_nothing_in_capitals_is_undefined(written):
    language, sources = written
    known = {"M", "N", "K", "B", "H", "D", "P", "C", "L", "I", "INFINITY", "GCC", "KNOBS", "__AVX__", "LDA"}
    for blueprint, source in sources:
        code = re.sub(r"//.*|#.*" if language is Language.CPP else r"#.*", "", source)
        defined = set(re.findall(r"constexpr \w+ ([A-Z_]+)|^([A-Z_0-9]+) = ", code, re.MULTILINE))
        allowed = (
            known | {knob.name for knob in blueprint.knobs} | {name for pair in defined for name in pair}
        )
        allowed |= set(re.findall(r"([A-Z_0-9]+): tl.constexpr", code))
        used = set(re.findall(r"(?<![\w.\"])[A-Z][A-Z_0-9]+\b", code))
        assert used <= allowed, f"{blueprint.title}: {used - allowed}"


def test_kernels_are_defined_once_and_launched_in_the_order_of_the_plan(written):
    language, sources = written
    for blueprint, source in sources:
        names = [kernel.name for kernel in blueprint.kernels]
        head = r"static void (\w+)\(" if language is Language.CPP else r"^def (\w+)\(\n"
        assert re.findall(head, source, re.MULTILINE) == names
        entry = source.split("int run(" if language is Language.CPP else "def run(")[1]
        assert re.findall(r"^ +(\w+)(?:\[.*\])?\(", entry, re.MULTILINE) == names


def test_python_sources_parse(written):
    language, sources = written
    for _, source in sources:
        assert language is Language.CPP or ast.parse(source)


def test_no_place_of_a_template_is_left(written):
    for _, source in written[1]:
        assert not re.search(r"@\w+@", source)
        assert not re.search(r"[ \t]$", source, re.MULTILINE)


def test_every_action_of_a_writer_is_in_the_library():
    known = {action.id for action in LIBRARY.actions}
    for workload in WORKLOADS.values():
        for language in (Language.CPP, Language.TRITON):
            assert set(writes(workload, language)) <= known


def test_a_structure_that_is_not_written_is_refused_by_name():
    workload = WORKLOADS["gemm_fp16"]
    blueprint = compose(workload, LIBRARY, ("split_k",), Language.TRITON)
    assert not refusal_of(blueprint, workload, Language.TRITON)
    other = blueprint.model_copy(update={"actions": (*blueprint.actions, "fold_into_moon")})
    assert "no triton source for fold_into_moon" in refusal_of(other, workload, Language.TRITON)


@pytest.mark.parametrize(
    ("name", "old", "new", "problem"),
    [
        ("box_stencil_2d", "padding=3", "padding=2", "one centred window"),
        ("add_rmsnorm", '"total":{', '"z":{', "do not tell which one is the sum"),
        ("gqa_paged_decode", '"kv_last_page_len"', '"lengths"', "does not know what lengths"),
        ("gqa_paged_decode", '"value":128', '"value":40', "power of two"),
        ("gqa_paged_decode", '"value":32', '"value":30', "evenly"),
    ],
)
def test_what_the_new_templates_do_not_compute_is_refused(name, old, new, problem):
    text = WORKLOADS[name].model_dump_json()
    assert old in text
    assert not refusal(WORKLOADS[name], Language.TRITON)
    assert problem in refusal(Workload.model_validate_json(text.replace(old, new)), Language.TRITON)


# Workloads that are not the shipped ones --------------------------------------------------------------


def renamed(workload: Workload, names: dict[str, str]) -> Workload:
    """The same workload with other axis names."""
    text = workload.model_dump_json()
    for old in names:
        text = text.replace(f'"{old}"', f'"?{old}"')
    for old, new in names.items():
        text = text.replace(f'"?{old}"', f'"{new}"')
    return Workload.model_validate_json(text)


@pytest.mark.parametrize("language", [Language.CPP, Language.TRITON])
def test_axes_may_have_other_names_even_swapped_ones(language):
    workload = renamed(shipped_workload("softmax"), {"M": "N", "N": "M"})
    assert axes_of(workload) == {"M": "N", "N": "M"}
    blueprint = compose(workload, LIBRARY, ("split_row",), language)
    code = write_source(blueprint, workload, language).content
    if language is Language.CPP:
        assert "const int64_t N = axes[0];" in code
        assert "partial_max.resize(N * SPLITS)" in code
        assert "for (int64_t m = 0; m < N; ++m)" in code
    else:
        assert "N, M = x.shape" in code
        assert 'partial_max = torch.empty((N, KNOBS["SPLITS"])' in code


def test_the_epsilon_is_the_one_of_the_reference():
    workload = shipped_workload("rmsnorm")
    assert epsilon(workload) == "1e-6"
    other = workload.model_copy(update={"reference": workload.reference.replace("1e-6", "1e-5")})
    blueprint = compose(other, LIBRARY, (), Language.CPP)
    assert "constexpr float EPSILON = 1e-5f;" in write_source(blueprint, other, Language.CPP).content


@pytest.mark.parametrize(
    ("slug", "change", "problem"),
    [
        ("rmsnorm", {"reference": "def run(x, weight): return x"}, "must state one epsilon"),
        ("gemm_bias_gelu", {"reference": "def run(a, b, bias): return gelu(a @ b + bias)"}, "tanh form"),
        ("softmax", {"op_type": "sort"}, "does not write sort"),
        ("softmax", {"op_type": "rmsnorm"}, "shapes"),
    ],
)
def test_what_the_templates_do_not_compute_is_refused(slug, change, problem):
    workload = shipped_workload(slug)
    assert not refusal(workload, Language.CPP)
    assert problem in refusal(workload.model_copy(update=change), Language.CPP)


def test_half_precision_is_written_in_triton_only():
    workload = shipped_workload("softmax")
    tensors = {"x": workload.inputs["x"].model_copy(update={"dtype": DType.BFLOAT16})}
    half = workload.model_copy(update={"inputs": tensors})
    assert "bfloat16" in refusal(half, Language.CPP)
    assert not refusal(half, Language.TRITON)
    assert "does not write softmax in pytorch" in refusal(half, Language.PYTORCH)


@pytest.mark.parametrize("language", [Language.CPP, Language.TRITON])
def test_a_product_without_epilogue_is_written_too(language):
    shipped = shipped_workload("gemm_bias_gelu")
    change = {
        "inputs": {name: tensor for name, tensor in shipped.inputs.items() if name != "bias"},
        "title": "GEMM",
        "tags": ("contraction",),
        "reference": "import torch\n\n\ndef run(a, b):\n    return a @ b\n",
    }
    workload = shipped.model_copy(update=change)
    assert not refusal(workload, language)
    for blueprint in structures(workload, LIBRARY, language, allowed=writes(workload, language)):
        source = write_source(blueprint, workload, language).content
        assert "gelu" not in source
        assert "bias" not in source
        assert blueprint.kernels[-1].name in PRODUCTS
