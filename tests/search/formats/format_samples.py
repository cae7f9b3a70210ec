"""Small sets in the foreign formats and results of ours, written for these tests, and strategies that make more."""

from __future__ import annotations

import json

from hypothesis import strategies as st

from search.formats.convert import identifier
from search.records import (
    CaseTiming,
    Environment,
    Evaluation,
    EvaluationStatus,
    Interval,
    Purpose,
    Tier,
    TimingMethod,
)

REFERENCE = "import torch\n\n\ndef run({}):\n    return torch.empty(0)\n"


def reference(*inputs: str) -> str:
    return REFERENCE.format(", ".join(inputs))


def decode(files: dict[str, bytes]) -> dict[str, list]:
    """Documents by path; a JSON file is one document."""
    return {
        path: [json.loads(line) for line in content.decode().splitlines()]
        if path.endswith(".jsonl")
        else [json.loads(content)]
        for path, content in files.items()
    }


def encode(documents: dict[str, list]) -> dict[str, bytes]:
    return {
        path: "".join(json.dumps(one) + "\n" for one in many).encode() for path, many in documents.items()
    }


def case_line(definition: str, workload: dict) -> dict:
    return {"definition": definition, "workload": workload, "solution": None, "evaluation": None}


PAGED_REFERENCE = """import math

import torch


def run(q, k_cache, v_cache, kv_indptr, kv_indices, sm_scale):
    wide = torch.promote_types(q.dtype, torch.float32)
    batch, heads, width = q.shape
    group = heads // k_cache.shape[2]
    output = torch.zeros_like(q)
    lse = torch.full((batch, heads), -math.inf, dtype=wide, device=q.device)
    for row in range(batch):
        pages = kv_indices[int(kv_indptr[row]) : int(kv_indptr[row + 1])].long()
        if len(pages):
            k, v = (
                cache[pages].flatten(0, 1).to(wide).repeat_interleave(group, 1) for cache in (k_cache, v_cache)
            )
            scores = torch.einsum("hd,thd->ht", q[row].to(wide), k) * sm_scale
            lse[row] = torch.logsumexp(scores, -1) / math.log(2)
            output[row] = torch.einsum("ht,thd->hd", scores.softmax(-1), v).to(q.dtype)
    return output, lse
"""

# FlashInfer-Trace ------------------------------------------------------------------------------------------

PAGED_DECODE = {
    "name": "gqa_paged_decode_h8_kv2_d64_ps1",
    "op_type": "gqa_paged",
    "axes": {
        "batch_size": {"type": "var", "description": "Requests in the batch"},
        "num_pages": {"type": "var"},
        "len_indptr": {"type": "var"},
        "num_kv_indices": {"type": "var"},
        "num_qo_heads": {"type": "const", "value": 8},
        "num_kv_heads": {"type": "const", "value": 2},
        "head_dim": {"type": "const", "value": 64},
        "page_size": {"type": "const", "value": 1},
    },
    "inputs": {
        "q": {"shape": ["batch_size", "num_qo_heads", "head_dim"], "dtype": "bfloat16"},
        "k_cache": {"shape": ["num_pages", "page_size", "num_kv_heads", "head_dim"], "dtype": "bfloat16"},
        "v_cache": {"shape": ["num_pages", "page_size", "num_kv_heads", "head_dim"], "dtype": "bfloat16"},
        "kv_indptr": {"shape": ["len_indptr"], "dtype": "int32", "description": "CSR row starts"},
        "kv_indices": {"shape": ["num_kv_indices"], "dtype": "int32"},
        "sm_scale": {"shape": None, "dtype": "float32"},
    },
    "outputs": {
        "output": {"shape": ["batch_size", "num_qo_heads", "head_dim"], "dtype": "bfloat16"},
        "lse": {"shape": ["batch_size", "num_qo_heads"], "dtype": "float32"},
    },
    "reference": PAGED_REFERENCE,
    "tags": ["stage:decode", "status:verified"],
    "description": "Decode over a paged cache.",
    "constraints": ["len_indptr == batch_size + 1"],
}


def paged_case(uuid: str, batch: int) -> dict:
    blob = f"./blob/workloads/gqa_paged/{uuid}.safetensors"
    return {
        "axes": {"batch_size": batch, "num_pages": 32, "len_indptr": batch + 1, "num_kv_indices": 21},
        "inputs": {
            "q": {"type": "random"},
            "k_cache": {"type": "random"},
            "v_cache": {"type": "random"},
            "kv_indptr": {"type": "safetensors", "path": blob, "tensor_key": "kv_indptr"},
            "kv_indices": {"type": "safetensors", "path": blob, "tensor_key": "kv_indices"},
            "sm_scale": {"type": "scalar", "value": 0.125},
        },
        "uuid": uuid,
    }


TRITON_SOURCE = (
    "from helpers.math import half\n\nKNOBS = {'BLOCK': 128}\n\n\n"
    "def decode(q, k, v, indptr, indices, scale, out, lse):\n    out.zero_()\n"
)


def solution(**changes) -> dict:
    return {
        "name": "paged-decode triton v1",
        "definition": PAGED_DECODE["name"],
        "author": "somebody",
        "spec": {
            "language": "triton",
            "target_hardware": ["NVIDIA_H100"],
            "entry_point": "src/main.py::decode",
            "dependencies": ["triton >= 3.0"],
        },
        "sources": [
            {"path": "helpers/math.py", "content": "def half(x):\n    return x / 2\n"},
            {"path": "src/main.py", "content": TRITON_SOURCE},
        ],
    } | changes


def trace(status: str, **result) -> dict:
    return {
        "definition": PAGED_DECODE["name"],
        "workload": paged_case("6120f144-b973-4bd9-b884-77ecb132914e", 4),
        "solution": "paged-decode triton v1",
        "evaluation": {
            "status": status,
            "environment": {"hardware": "NVIDIA H100", "libs": {"torch": "2.9.0"}},
            "timestamp": "2025-10-01T10:00:00",
            "log": "",
        }
        | result,
    }


PASSED = trace(
    "PASSED",
    correctness={"max_relative_error": 0.5, "max_absolute_error": "NaN"},
    performance={"latency_ms": 0.021, "reference_latency_ms": 0.4, "speedup_factor": 19.04},
)


def trace_set() -> dict[str, list]:
    """Documents of a set with one workload of two cases, one solution and two results."""
    place = f"gqa_paged/{PAGED_DECODE['name']}"
    cases = [paged_case("6120f144-b973-4bd9-b884-77ecb132914e", 4), paged_case("empty_batch", 0)]
    return {
        f"definitions/{place}.json": [PAGED_DECODE],
        f"workloads/{place}.jsonl": [case_line(PAGED_DECODE["name"], case) for case in cases],
        f"solutions/{place}/paged_decode_triton_v1.json": [solution()],
        f"traces/{place}.jsonl": [PASSED, trace("TIMEOUT")],
    }


def evaluation(status: EvaluationStatus, cases: tuple[str, ...] = ()) -> Evaluation:
    interval = Interval(value=2.0, low=1.9, high=2.1)
    timings = tuple(
        CaseTiming(
            case=case,
            median_us=50.0,
            p10_us=49.0,
            p90_us=52.0,
            samples=9,
            baseline_us=100.0,
            speedup=interval,
        )
        for case in cases
    )
    return Evaluation(
        status=status,
        tier=Tier.FAST,
        purpose=Purpose.SEARCH,
        candidate="c",
        environment=Environment(device_class="cpu", device="a CPU", runtime="g++", workload="w"),
        cases=timings,
        speedup=interval if cases else None,
        median_us=50.0 if cases else None,
        baseline="torch" if cases else "",
        method=TimingMethod.SLOPE if cases else None,
        message="told",
    )


RAGGED_REFERENCE = """import torch


def make_inputs(axes, device):
    x = torch.randn(axes["tokens"], axes["width"], device=device).to(torch.float8_e4m3fn)
    index = torch.randint(0, axes["half"], (axes["tokens"], 3), device=device)
    return {"x": x, "index": index}


def run(x, index):
    half = x.shape[1] // 2
    wide = x.to(torch.float32)
    folded = wide[:, :half] + wide[:, half : 2 * half]
    picked = folded.gather(1, index).sum(1, keepdim=True)
    return folded + picked
"""

# SOL-ExecBench ---------------------------------------------------------------------------------------------

RAGGED = {
    "name": "ragged_gather_d128",
    "axes": {
        "batch": {"type": "var"},
        "length": {"type": "var"},
        "tokens": {"type": "expr", "expression": "batch * length"},
        "half": {"type": "expr", "expression": "(width % 1000) / 2", "description": "Half of the width"},
        "width": {"type": "const", "value": 128},
    },
    "custom_inputs_entrypoint": "make_inputs",
    "inputs": {
        "x": {"shape": ["tokens", "width"], "dtype": "float8_e4m3fn"},
        "index": {"shape": ["tokens", "3"], "dtype": "int64"},
    },
    "outputs": {"y": {"shape": ["tokens", "half"], "dtype": "float32"}},
    "reference": RAGGED_REFERENCE,
    "description": "Rows gathered by an index.",
}


def ragged_case(uuid: str, **changes) -> dict:
    return {
        "uuid": uuid,
        "axes": {"batch": 2, "length": 5},
        "inputs": {"x": {"type": "custom"}, "index": {"type": "custom"}},
        "tolerance": {
            "max_atol": 0.05,
            "max_rtol": 0.02,
            "required_matched_ratio": 0.99,
            "max_error_cap": 1.5,
        },
    } | changes


def sol_solution(**changes) -> dict:
    return {
        "name": "gather",
        "definition": RAGGED["name"],
        "author": "somebody",
        "spec": {
            "languages": ["triton", "pytorch"],
            "target_hardware": ["B200"],
            "entry_point": "kernel.py::run",
            "destination_passing_style": False,
            "compile_options": {"cuda_cflags": ["-O3"]},
        },
        "sources": [{"path": "kernel.py", "content": "def run(x, index):\n    return x\n"}],
    } | changes


def problem(folder: str = "ragged_gather_d128") -> dict[str, list]:
    return {
        f"{folder}/definition.json": [RAGGED],
        f"{folder}/workload.jsonl": [ragged_case("0b1e"), ragged_case("two", axes={"batch": 0, "length": 5})],
        f"{folder}/solution_gather.json": [sol_solution()],
    }


# More of both ----------------------------------------------------------------------------------------------

names = st.text("abcdefgh_XYZ019-. é", min_size=1, max_size=12)
words = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), min_size=1, max_size=20)
sizes = st.integers(0, 64)
dtypes = [
    "float32",
    "float16",
    "bfloat16",
    "float8_e4m3fn",
    "float8_e5m2",
    "int64",
    "int32",
    "int16",
    "int8",
    "bool",
]


def maybe(draw, document: dict, **fields) -> dict:
    """The document with each field, or without."""
    return document | {name: draw(made) for name, made in fields.items() if draw(st.booleans())}


@st.composite
def tensors(draw, axes: list[str]) -> dict:
    shape = draw(st.none() | st.lists(st.sampled_from(axes), max_size=3))
    return maybe(draw, {"shape": shape, "dtype": draw(st.sampled_from(dtypes))}, description=words)


@st.composite
def definitions(draw, *, computed: bool) -> dict:
    axes = {"N": maybe(draw, {"type": "const", "value": draw(sizes)}, description=words)}
    axes |= {
        name: maybe(draw, {"type": "var"}, description=words) for name in ("A", "B") if draw(st.booleans())
    }
    if computed and draw(st.booleans()):
        text = draw(st.sampled_from(["N * 2 + 1", "(N + 4) // 2", "2 ** 3", "N % 3", "N / 1", "+N"]))
        axes["E"] = {"type": "expr", "expression": text}
    usable = [*axes, "7"] if computed else list(axes)
    inputs = draw(st.lists(st.sampled_from(["x", "y", "w", "eps"]), max_size=3, unique=True))
    document = {
        "name": draw(names),
        "axes": axes,
        "inputs": {name: draw(tensors(usable)) for name in inputs},
        "outputs": {"out": draw(tensors(usable))},
        "reference": reference(*inputs),
    }
    op_type = st.sampled_from(["norm", "gemm", "moe"])
    if not computed or draw(st.booleans()):
        document["op_type"] = draw(op_type)
    tags = st.lists(words, min_size=1, max_size=3)
    constraints = st.lists(st.sampled_from(["N > 0", "N == N"]), min_size=1, max_size=2)
    return maybe(draw, document, tags=tags, description=words, constraints=constraints)


scalars = st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False) | st.booleans()
sources = (
    st.just({"type": "random"})
    | scalars.map(lambda value: {"type": "scalar", "value": value})
    | words.map(lambda key: {"type": "safetensors", "path": "./blob/a.safetensors", "tensor_key": key})
)
tolerances = st.fixed_dictionaries(
    {
        "max_atol": st.floats(0, 10),
        "max_rtol": st.floats(0, 10),
        "required_matched_ratio": st.floats(0, 1),
    },
    optional={"max_error_cap": st.floats(0, 10), "allow_negative_inf": st.just(True)},
)


@st.composite
def cases(draw, definition: dict) -> list[dict]:
    uuids = draw(st.lists(names, min_size=1, max_size=4, unique_by=identifier))
    variable = [name for name, axis in definition["axes"].items() if axis["type"] == "var"]
    made = []
    for uuid in uuids:
        case = {
            "uuid": uuid,
            "axes": {name: draw(sizes) for name in variable},
            "inputs": {name: draw(sources) for name in definition["inputs"]},
        }
        made.append(maybe(draw, case, tolerance=tolerances))
    return made


@st.composite
def trace_sets(draw) -> dict[str, list]:
    documents = {}
    for definition in draw(
        st.lists(definitions(computed=False), min_size=1, max_size=2, unique_by=_same_name)
    ):
        place = f"{definition['op_type']}/{identifier(definition['name'])}"
        documents[f"definitions/{place}.json"] = [definition]
        lines = [case_line(definition["name"], case) for case in draw(cases(definition))]
        documents[f"workloads/{place}.jsonl"] = lines
    return documents


@st.composite
def problems(draw) -> dict[str, list]:
    definition = draw(definitions(computed=True))
    folder = identifier(definition["name"])
    return {f"{folder}/definition.json": [definition], f"{folder}/workload.jsonl": draw(cases(definition))}


def _same_name(definition: dict) -> str:
    return identifier(definition["name"])
