"""Attention decoding over a paged cache in Triton: one query per sequence, grouped query heads.

A program owns query heads of one sequence (or of a part of it) and walks its tokens in steps of BLOCK_T: page
numbers first, then keys, scores, the running maximum and sum, then values. `h` is one query head, or the column of
the heads of one key head; so statistics are one number or a row of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from search.agents.playbook.decode_tensors import DecodeTensors
from search.agents.playbook.text import fill
from search.agents.playbook.triton import LIBM_EXPONENTIAL, LOWEST, Kernel, Program, knob, source_file

if TYPE_CHECKING:
    from collections.abc import Mapping

    from search.blueprint import Blueprint
    from search.workload import Workload

OPTIONS = {"num_warps": knob("NUM_WARPS")}
STATISTICS = ("partial_max", "partial_sum", "partial_values")


def paged_decode(blueprint: Blueprint, workload: Workload) -> str:
    """The Triton module for a decode blueprint."""
    tensors = DecodeTensors.of(workload)
    program = Program(
        functions=[LOWEST, LIBM_EXPONENTIAL],
        kernels=_kernels(blueprint.choices, tensors),
        inputs=tensors.inputs,
        outputs=tensors.outputs,
        sizes="B, H, D = q.shape\n_, P, K, _ = k_cache.shape",
        axes=tensors.axes,
    )
    return source_file(blueprint, workload, program)


def _kernels(choices: Mapping[str, str], tensors: DecodeTensors) -> list[Kernel]:
    constants = _constants(choices)
    split = choices["sequence"] == "split"
    owned = "H" if choices["heads"] == "single" else "K"
    sizes = [owned, "B", *([knob("SPLITS")] if split else [])]
    persistent = choices["scheduling"] == "persistent"
    grid = f"({knob('PROGRAMS')},)" if persistent else f"({', '.join(sizes)})"
    finish = _STORE_PARTIALS if split else _outputs(tensors, single=choices["heads"] == "single")
    body = _deal(choices, fill(_TOKENS, **_walk(choices, tensors), finish=_finish(choices, finish)))
    targets = STATISTICS if split else tensors.outputs
    name = "decode_partials" if split else "decode"
    kernels = [Kernel(name, (*tensors.inputs, *targets), grid, body, constants, OPTIONS)]
    if split:
        merge = fill(_MERGE, store=_outputs(tensors, single=True))
        kernels.append(
            Kernel("decode_merge", (*STATISTICS, *tensors.outputs), "(H, B)", merge, constants, OPTIONS)
        )
    return kernels


def _constants(choices: Mapping[str, str]) -> dict[str, str]:
    # The matrix unit takes 16 rows.
    padded = "max(16, triton.next_power_of_2(H // K))"
    return {
        "HEAD_DIM": "D",
        "PAGE": "P",
        "KEY_HEADS": "K",
        "SHARING": "H // K",
        "GROUP": padded if choices["product"] == "matrix" else "triton.next_power_of_2(H // K)",
        "BLOCK_T": knob("BLOCK_T"),
        "STAGES": knob("NUM_STAGES"),
        "EXP2": knob("EXP2"),
        "SPLITS": knob("SPLITS"),
    }


# Which sequence, heads and part a program owns -----------------------------------------------------

_ONE = """\
@head@ = tl.program_id(0)
b = tl.program_id(1)
@part@
@program@
"""

_PERSISTENT = """\
for unit in tl.range(tl.program_id(0), B * @heads@@parts@, tl.num_programs(0)):
    @part@
    @head@ = unit@number@ % @heads@
    b = unit@number@ // @heads@
    @program@
"""


def _deal(choices: Mapping[str, str], program: str) -> str:
    split = choices["sequence"] == "split"
    head, heads = ("h", "H") if choices["heads"] == "single" else ("kv", "K")
    if choices["scheduling"] == "grid":
        return fill(_ONE, head=head, part="s = tl.program_id(2)" if split else "", program=program)
    return fill(
        _PERSISTENT,
        head=head,
        heads=heads,
        parts=" * SPLITS" if split else "",
        number=" // SPLITS" if split else "",
        part="s = unit % SPLITS" if split else "",
        program=program,
    )


# Walking the tokens --------------------------------------------------------------------------------

_TOKENS = """\
@rows@
page_first = tl.load(kv_indptr + b)
tokens = (tl.load(kv_indptr + b + 1) - page_first) * PAGE
@last_page@
@span@
d = tl.arange(0, HEAD_DIM)
@query@
top = tl.full(@stats@, LOWEST, tl.float32)
total = tl.zeros(@stats@, tl.float32)
values = tl.zeros(@block@, tl.float32)
for start in tl.range(first, last, BLOCK_T, num_stages=STAGES):
    t = start + tl.arange(0, BLOCK_T)
    page = tl.load(kv_indices + page_first + t // PAGE, mask=t < last, other=0)
    row = (page.to(tl.int64) * PAGE + t % PAGE) * KEY_HEADS + kv
    @scores@
    best = tl.maximum(top, tl.max(scores, axis=@along@))
    shrink = exponential(top - best, EXP2)
    weights = exponential(scores - best@column@, EXP2)
    total = total * shrink + tl.sum(weights, axis=@along@)
    v = tl.load(v_cache + row[:, None] * HEAD_DIM + d[None, :], mask=t[:, None] < last, other=0.0)
    @values@
    top = best
@finish@
"""

_LAST_PAGE = """\
tokens = tl.where(tokens > 0, tokens - PAGE + tl.load(kv_last_page_len + b), 0)
"""

_WHOLE = """\
first = 0
last = tokens
"""

_PART = """\
length = tl.cdiv(tl.cdiv(tokens, SPLITS), BLOCK_T) * BLOCK_T
first = s * length
last = tl.minimum(first + length, tokens)
"""

_SINGLE = {
    "rows": "kv = h // SHARING\n",
    "query": "query = tl.load(q + (b * H + h) * HEAD_DIM + d).to(tl.float32) * @scale@\n",
    "stats": "()",
    "block": "(HEAD_DIM,)",
    "along": "0",
    "column": "",
    "scores": """\
k = tl.load(k_cache + row[:, None] * HEAD_DIM + d[None, :], mask=t[:, None] < last, other=0.0).to(tl.float32)
scores = tl.where(t < last, tl.sum(k * query[None, :], axis=1), -float("inf"))
""",
    "values": "values = values * shrink + tl.sum(weights[:, None] * v.to(tl.float32), axis=0)\n",
}

_PACKED = {
    "rows": "g = tl.arange(0, GROUP)\nh = kv * SHARING + g\n",
    "query": """\
owned = (g < SHARING)[:, None]
query = tl.load(q + (b * H + h)[:, None] * HEAD_DIM + d[None, :], mask=owned, other=0.0)@float@
""",
    "stats": "(GROUP,)",
    "block": "(GROUP, HEAD_DIM)",
    "along": "1",
    "column": "[:, None]",
}

_PACKED_VECTOR = _PACKED | {
    "scores": """\
k = tl.load(k_cache + row[:, None] * HEAD_DIM + d[None, :], mask=t[:, None] < last, other=0.0).to(tl.float32)
products = tl.sum(query[:, None, :] * k[None, :, :], axis=2) * @scale@
scores = tl.where(t[None, :] < last, products, -float("inf"))
""",
    "values": """\
values = values * shrink[:, None] + tl.sum(weights[:, :, None] * v.to(tl.float32)[None, :, :], axis=1)
""",
}

_PACKED_MATRIX = _PACKED | {
    "scores": """\
k = tl.load(k_cache + row[None, :] * HEAD_DIM + d[:, None], mask=t[None, :] < last, other=0.0)
products = tl.dot(query, k, input_precision="ieee") * @scale@
scores = tl.where(t[None, :] < last, products, -float("inf"))
""",
    "values": """\
values = tl.dot(weights.to(v_cache.dtype.element_ty), v, values * shrink[:, None], input_precision="ieee")
""",
}


def _walk(choices: Mapping[str, str], tensors: DecodeTensors) -> dict[str, str]:
    """Pieces of the walk that differ between one head, packed heads and matrix products."""
    packed = _PACKED_MATRIX if choices["product"] == "matrix" else _PACKED_VECTOR
    pieces = _SINGLE if choices["heads"] == "single" else packed
    places = {"scale": tensors.scale, "float": "" if choices["product"] == "matrix" else ".to(tl.float32)"}
    filled = {name: fill(text, **places) if "\n" in text else text for name, text in pieces.items()}
    return filled | {
        "last_page": _LAST_PAGE if "kv_last_page_len" in tensors.inputs else "",
        "span": _PART if choices["sequence"] == "split" else _WHOLE,
    }


# Results -------------------------------------------------------------------------------------------

_STORE_PARTIALS = """\
part = (b * H + h) * SPLITS + s
tl.store(partial_max + part, top@mask@)
tl.store(partial_sum + part, total@mask@)
tl.store(partial_values + @at@, values@wide_mask@)
"""

# A sequence without tokens has sum 0: its output is 0 and the logarithm of its sum -inf.
_OUTPUT = """\
result = values / tl.where(total > 0.0, total, 1.0)@column@
tl.store(output + @at@, result.to(output.dtype.element_ty)@wide_mask@)
"""

_LSE = """\
tl.store(lse + b * H + h, @value@@mask@)
"""


def _outputs(tensors: DecodeTensors, *, single: bool) -> str:
    value = "(top + tl.log(total)) * 1.4426950408889634" if tensors.base_two else "top + tl.log(total)"
    lse = fill(_LSE, value=value, mask="" if single else "@mask@") if "lse" in tensors.outputs else ""
    if not single:
        return _OUTPUT + lse
    at = "(b * H + h) * HEAD_DIM + d"
    return fill(_OUTPUT, at=at, column="", wide_mask="") + lse


def _finish(choices: Mapping[str, str], text: str) -> str:
    split = choices["sequence"] == "split"
    row = "part" if split else "(b * H + h)"
    if choices["heads"] == "single":
        pieces = {"at": f"{row} * HEAD_DIM + d", "mask": "", "wide_mask": "", "column": ""}
    else:
        pieces = {
            "at": f"{row}[:, None] * HEAD_DIM + d[None, :]",
            "mask": ", mask=g < SHARING",
            "wide_mask": ", mask=owned",
            "column": "[:, None]",
        }
    return fill(text, **pieces)


_MERGE = """\
h = tl.program_id(0)
b = tl.program_id(1)
parts = (b * H + h) * SPLITS + tl.arange(0, SPLITS)
d = tl.arange(0, HEAD_DIM)
tops = tl.load(partial_max + parts)
top = tl.max(tops, axis=0)
shrink = exponential(tops - top, EXP2)
total = tl.sum(tl.load(partial_sum + parts) * shrink, axis=0)
values = tl.sum(tl.load(partial_values + parts[:, None] * HEAD_DIM + d[None, :]) * shrink[:, None], axis=0)
@store@
"""
