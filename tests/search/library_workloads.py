"""One workload per kind of work that the library knows, each with the traits that its kind can have."""

from __future__ import annotations

from search.workload import Workload


def workload(op_type: str, inputs: dict, outputs: dict, cases: list[dict], **more) -> Workload:
    """A workload over the axes of its cases.

    Args:
        op_type: Operation; also the name.
        inputs: By name, `AXES dtype` with one letter per axis, e.g. `MK float16`.
        outputs: Likewise.
        cases: Axis sizes; an axis with one size everywhere that is in `const` is constant.
        more: `const` (axis sizes), `tags`, `policy`.
    """
    const = more.pop("const", {})
    axes = {name: {"type": "const", "value": size} for name, size in const.items()}
    axes |= {name: {"type": "var"} for name in cases[0]}
    return Workload.load(
        {
            "name": more.pop("name", op_type),
            "title": op_type,
            "op_type": op_type,
            "axes": axes,
            "inputs": {name: _tensor(text) for name, text in inputs.items()},
            "outputs": {name: _tensor(text) for name, text in outputs.items()},
            "reference": "def run(*inputs):\n    return inputs\n",
            "cases": [{"name": f"case{n}", "axes": sizes} for n, sizes in enumerate(cases)],
            **more,
        }
    )


def _tensor(text: str) -> dict:
    axes, dtype = text.split() if " " in text else ("", text)
    return {"shape": list(axes) or None, "dtype": dtype}


FREE = {"torch_ops": True, "tf32": True, "deterministic": False}
ROWS = [{"M": 4096, "N": 512}, {"M": 16, "N": 65536}]
TILES = [{"M": 16, "N": 4096, "K": 4096}, {"M": 4096, "N": 4096, "K": 512}]
FP8 = "float8_e4m3fn"

WORKLOADS: dict[str, Workload] = {
    "softmax": workload("softmax", {"x": "MN float16"}, {"y": "MN float16"}, ROWS, policy=FREE),
    "rmsnorm": workload(
        "rmsnorm", {"x": "MN bfloat16", "w": "N bfloat16"}, {"y": "MN bfloat16"}, ROWS, policy=FREE
    ),
    "add_rmsnorm": workload(
        "add_rmsnorm",
        {"x": "MN bfloat16", "residual": "MN bfloat16", "w": "N bfloat16"},
        {"y": "MN bfloat16", "added": "MN bfloat16"},
        ROWS,
        policy=FREE,
    ),
    "layernorm": workload(
        "layernorm",
        {"x": "MN bfloat16", "w": "N bfloat16", "b": "N bfloat16"},
        {"y": "MN bfloat16"},
        ROWS,
        policy=FREE,
    ),
    "cross_entropy": workload(
        "cross_entropy",
        {"logits": "MN bfloat16", "target": "M int64"},
        {"loss": "M float32"},
        ROWS,
        policy=FREE,
    ),
    "gemm": workload("gemm", {"a": "MK float16", "b": "KN float16"}, {"c": "MN float16"}, TILES),
    "gemm_fp32": workload(
        "gemm", {"a": "MK float32", "b": "KN float32"}, {"c": "MN float32"}, TILES, policy=FREE
    ),
    "gemm_gelu": workload(
        "gemm",
        {"a": "MK float16", "b": "NK float16", "bias": "N float16"},
        {"c": "MN float16"},
        [{"M": 16}, {"M": 4096}],
        const={"N": 4096, "K": 4096},
        tags=["gelu"],
        policy=FREE,
    ),
    "gemm_fp8": workload(
        "gemm",
        {"a": f"MK {FP8}", "b": f"NK {FP8}", "scale_a": "M float32", "scale_b": "N float32"},
        {"c": f"MN {FP8}"},
        [{"M": 16}, {"M": 4096}],
        const={"N": 4096, "K": 4096},
        policy=FREE,
    ),
    "trmm": workload(
        "gemm",
        {"a": "MK float16", "b": "NK float16"},
        {"c": "MN float16"},
        [{"M": 16}, {"M": 4096}],
        const={"N": 4096, "K": 4096},
        tags=["triangular"],
        policy=FREE,
    ),
    "siblings": workload(
        "qkv",
        {"x": "MK float16", "wq": "KN float16", "wk": "KP float16"},
        {"q": "MN float16", "k": "MP float16"},
        [{"M": 16, "N": 64, "P": 64, "K": 64}, {"M": 512, "N": 64, "P": 64, "K": 64}],
        policy=FREE,
    ),
    "chain": workload(
        "lora",
        {"x": "MK float16", "down": "KL float16", "up": "LN float16"},
        {"y": "MN float16"},
        [{"M": 16, "N": 64, "L": 8, "K": 64}, {"M": 512, "N": 64, "L": 8, "K": 64}],
        policy=FREE,
    ),
    "diagonal": workload(
        "diagonal_matmul",
        {"d": "M float16", "b": "MN float16"},
        {"y": "MN float16"},
        [{"M": 16, "N": 64}, {"M": 512, "N": 64}],
        policy=FREE,
    ),
    "attention": workload(
        "attention",
        {"q": "BHLD float16", "k": "BHSD float16", "v": "BHSD float16", "lengths": "B int32"},
        {"o": "BHLD float16"},
        [{"B": 1, "H": 8, "L": 64, "S": 512}, {"B": 4, "H": 8, "L": 2048, "S": 2048}],
        const={"D": 128},
        tags=["causal"],
        policy=FREE,
    ),
    "convolution": workload(
        "convolution",
        {"x": "NCHW float16", "f": "KCRR float16"},
        {"y": "NKPQ float16"},
        [
            {"N": 1, "C": 64, "K": 64, "H": 18, "W": 18, "P": 16, "Q": 16},
            {"N": 32, "C": 64, "K": 64, "H": 18, "W": 18, "P": 16, "Q": 16},
        ],
        const={"R": 3},
        policy=FREE,
    ),
    "scan": workload("cumsum", {"x": "MN float16"}, {"y": "MN float16"}, ROWS, policy=FREE),
    "recurrence": workload(
        "linear_recurrence",
        {"x": "BTD float16", "decay": "BT float16"},
        {"y": "BTD float16"},
        [{"B": 1, "T": 64, "D": 64}, {"B": 2, "T": 4096, "D": 64}],
        policy=FREE,
    ),
    "top_k": workload(
        "top_k",
        {"x": "MN float16"},
        {"values": "MK float16", "indices": "MK int64"},
        ROWS,
        const={"K": 8},
        policy=FREE,
    ),
    "argmax": workload("argmax", {"x": "MN float16"}, {"place": "M int64"}, ROWS, policy=FREE),
    "moe": workload(
        "moe",
        {
            "x": "TH float16",
            "experts": "TK int32",
            "share": "TK float16",
            "up": "EIH float16",
            "down": "EHI float16",
        },
        {"y": "TH float16"},
        [{"T": 4}, {"T": 4096}],
        const={"H": 128, "I": 256, "E": 8, "K": 2},
        tags=["gated"],
        policy=FREE,
    ),
    "pointwise": workload(
        "pointwise",
        {"x": "MN float16"},
        {"y": "MN float16", "z": "MN float16"},
        ROWS,
        policy=FREE,
    ),
    "gather": workload(
        "gather",
        {"table": "VD float16", "rows": "M int64"},
        {"y": "MD float16"},
        [{"V": 1000, "M": 16, "D": 64}, {"V": 1000, "M": 4096, "D": 64}],
        policy=FREE,
    ),
    "total": workload("sum", {"x": "MN float16"}, {"y": "float32"}, ROWS, policy=FREE),
    "histogram": workload(
        "histogram",
        {"x": "N float16"},
        {"counts": "B int64"},
        [{"N": 100, "B": 64}, {"N": 9999, "B": 64}],
        policy=FREE,
    ),
}
