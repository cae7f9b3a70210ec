"""What kind of work a workload is: facts that decide which actions may apply to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from search.workload import ConstAxis, DType

if TYPE_CHECKING:
    from collections.abc import Callable

    from search.workload import Tensor, Workload

WIDE_ROW = 8192
"""A row of so many elements leaves more parallelism inside a row than between few rows."""
SHORT_ROW = 1024
"""A row of at most so many elements fits the registers of one warp."""
DEEP_CONTRACTION = 1024
SKINNY = 64
"""An output with so few rows or less fills no tile of the usual height."""
SMALL_SELECTION = 64
SMALL_FILTER = 5

TRAITS: dict[str, str] = {
    "row_reduction": "every output row depends on all of one input row",
    "row_output": "a row reduction whose output is as wide as its rows",
    "row_statistic": "a row reduction that leaves one value of a row",
    "softmax": "a row reduction by maximum and sum of exponentials",
    "exponentials": "a row reduction that sums exponentials",
    "sum_of_squares": "a row reduction by a sum of squares",
    "mean_variance": "a row reduction by mean and variance",
    "cross_entropy": "a row reduction by the logarithm of a sum of exponentials, less one element of the row",
    "residual_add": "a second tensor is added to the rows before they are reduced, and the sum is an output",
    "wide_rows": f"some case has rows of at least {WIDE_ROW} elements",
    "short_rows": f"some case has rows of at most {SHORT_ROW} elements",
    "contraction": "two inputs share an axis that the output lacks",
    "pointwise_epilogue": "a contraction followed by a function of each output and a vector",
    "gelu": "the epilogue is GELU",
    "deep_contraction": f"some case contracts at least {DEEP_CONTRACTION} elements",
    "skinny_output": f"some case of a contraction has at most {SKINNY} output rows",
    "constant_weights": "the second operand of a contraction has the same shape in every case",
    "transposed_operand": "the contracted axis is the contiguous one of both operands",
    "quantised": "an operand has elements of one byte or less",
    "block_scaled": "a quantised operand comes with a tensor of scales",
    "quantised_output": "an output has elements of one byte or less",
    "diagonal_product": "a matrix times a diagonal one, which is given as a vector",
    "triangular_operand": "one operand or the output is triangular (tag `triangular`)",
    "sibling_products": "several products share their first operand",
    "product_chain": "a product of three matrices",
    "dense_attention": "attention over keys and values that lie contiguously",
    "causal": "attention in which a query sees no later key (tag `causal`)",
    "ragged": "sequences or groups of different lengths, told by an index tensor",
    "convolution": "a window of the input is weighted and summed for every output",
    "small_filter": f"a convolution of stride 1 with a square window of 3 to {SMALL_FILTER} elements a side",
    "scan": "every output depends on all inputs before it along an axis",
    "linear_recurrence": "a state is scaled and added to, step by step",
    "selection": "the largest elements of a row, with their places",
    "small_k": f"at most {SMALL_SELECTION} elements are selected",
    "moe_routing": "every token goes through a few of many experts, told by an index tensor",
    "gated_experts": "an expert's first product has a gate and an up projection",
    "pointwise": "every output element depends on the input elements of its own place",
    "several_outputs": "a pointwise operation with several outputs",
    "gather": "rows are picked by an index tensor",
    "total": "all elements are reduced to one value",
    "histogram": "elements are counted into bins",
    "paged_decode": "attention of one query per sequence over keys and values in pages, found by an index tensor",
    "shared_key_heads": "several query heads of a decode use the same key head",
    "stencil": "every output depends on the inputs in a window around its own place",
    "box_stencil": "all inputs of the window of a stencil weigh the same (tag or name `box`)",
    "composite": "several steps, or one of no kind that is known here",
    "low_precision": "a floating-point input has elements of two bytes or less",
    "library_allowed": "the policy allows operations of torch",
    "tf32_allowed": "the operands of a contraction are float32, and the policy allows TF32 products",
    "unordered_sums": "the policy does not ask for the same bits in every run",
}
"""Every trait that a library may name, with its meaning."""

_COMMON = frozenset({"low_precision", "library_allowed", "unordered_sums"})
_ROWS = _COMMON | {"row_reduction", "wide_rows", "short_rows"}
_PRODUCT = _COMMON | {
    "contraction",
    "deep_contraction",
    "skinny_output",
    "constant_weights",
    "transposed_operand",
    "tf32_allowed",
}

TRAIT_SETS: tuple[frozenset[str], ...] = (
    _ROWS | {"row_output", "softmax", "exponentials"},
    _ROWS | {"row_output", "sum_of_squares"},
    _ROWS | {"row_output", "sum_of_squares", "residual_add"},
    _ROWS | {"row_output", "mean_variance"},
    _ROWS | {"row_statistic", "cross_entropy", "exponentials"},
    _PRODUCT | {"pointwise_epilogue", "gelu"},
    _PRODUCT | {"quantised", "block_scaled", "quantised_output"},
    _PRODUCT | {"triangular_operand"},
    _COMMON | {"sibling_products"},
    _COMMON | {"product_chain"},
    _COMMON | {"diagonal_product"},
    _COMMON | {"dense_attention", "causal", "ragged"},
    _COMMON | {"convolution", "small_filter"},
    _COMMON | {"scan"},
    _COMMON | {"linear_recurrence"},
    _COMMON | {"selection", "small_k"},
    _COMMON | {"moe_routing", "gated_experts", "ragged"},
    _COMMON | {"pointwise", "several_outputs"},
    _COMMON | {"gather"},
    _COMMON | {"total"},
    _COMMON | {"histogram"},
    _COMMON | {"paged_decode", "shared_key_heads"},
    _COMMON | {"stencil", "box_stencil"},
    _COMMON | {"composite"},
)
"""The richest combinations that `traits` can answer; an action that fits none of them is unreachable."""

_ROW_OPERATIONS = {
    "softmax": {"softmax", "exponentials", "row_output"},
    "rmsnorm": {"sum_of_squares", "row_output"},
    "add_rmsnorm": {"sum_of_squares", "residual_add", "row_output"},
    "layernorm": {"mean_variance", "row_output"},
    "cross_entropy": {"cross_entropy", "exponentials", "row_statistic"},
}
_KINDS = {
    "attention": "dense_attention",
    "diagonal_matmul": "diagonal_product",
    "convolution": "convolution",
    "cumsum": "scan",
    "scan": "scan",
    "linear_recurrence": "linear_recurrence",
    "top_k": "selection",
    "topk": "selection",
    "argmax": "selection",
    "moe": "moe_routing",
    "pointwise": "pointwise",
    "activation": "pointwise",
    "gather": "gather",
    "embedding": "gather",
    "sum": "total",
    "mean": "total",
    "histogram": "histogram",
}
"""Operations whose shapes vary too much to tell them by; the operation is what the workload says it is."""


def traits(workload: Workload) -> frozenset[str]:
    """Traits of a workload, from its shapes, operation, tags, policy and public cases.

    A workload whose kind of work is not known is `composite`: what is common to all kinds is no kind.
    """
    found = {trait for derive in _DERIVATIONS for trait in derive(workload)}
    return frozenset((found or {"composite"}) | _common_traits(workload))


def row_axes(workload: Workload) -> tuple[str, str]:
    """Row axis and column axis: those of the first input of two axes, which holds the rows."""
    first = next(tensor.shape for tensor in workload.inputs.values() if len(tensor.shape or ()) == 2)
    rows, columns = first or ()
    return rows, columns


def routed_axes(workload: Workload) -> tuple[str, str, str, str]:
    """Axes of tokens, of a token's choices, of experts and of the hidden layer of a mixture of experts."""
    tokens, places = _routes(workload)[0]
    weights = [tensor.shape or () for tensor in workload.inputs.values() if len(tensor.shape or ()) == 3]
    width = _output_axes(workload)[-1]
    experts, hidden = (axis for axis in weights[0] if axis != width)
    return tokens, places, experts, hidden


def _routes(workload: Workload) -> list[tuple[str, ...]]:
    """Shapes of the index tensors that tell the experts of each token."""
    shapes = [workload.inputs[name].shape or () for name in _index_inputs(workload)]
    return [shape for shape in shapes if len(shape) == 2]


def contracted_axis(workload: Workload) -> str | None:
    """The axis that exactly two inputs share and the first output lacks; None if this is no contraction."""
    output = _output_axes(workload)
    for axis in workload.axes:
        holders = _holders(workload, axis)
        if axis not in output and len(holders) == 2 and all(len(t.shape or ()) == 2 for t in holders):
            return axis
    return None


def _holders(workload: Workload, axis: str) -> list[Tensor]:
    return [tensor for tensor in workload.inputs.values() if axis in (tensor.shape or ())]


def _output_axes(workload: Workload) -> tuple[str, ...]:
    return next(iter(workload.outputs.values())).shape or ()


def _row_traits(workload: Workload) -> set[str]:
    reduced = _ROW_OPERATIONS.get(workload.op_type)
    if reduced is None or not any(len(t.shape or ()) == 2 for t in workload.inputs.values()):
        return set()
    rows, columns = row_axes(workload)
    shape = (rows, columns) if "row_output" in reduced else (rows,)
    if _output_axes(workload) != shape:
        return set()
    found = {"row_reduction", *reduced}
    sizes = _sizes(workload, columns)
    if max(sizes, default=0) >= WIDE_ROW:
        found.add("wide_rows")
    if min(sizes, default=WIDE_ROW) <= SHORT_ROW:
        found.add("short_rows")
    return found


def _contraction_traits(workload: Workload) -> set[str]:
    axis = contracted_axis(workload)
    output = _output_axes(workload)
    if axis is None or len(output) != 2:
        return set()
    first, second = (tensor.shape or () for tensor in _holders(workload, axis))
    if {*first, *second} - {axis} != set(output):
        return set()
    found = {"contraction"} | ({"triangular_operand"} if "triangular" in workload.tags else set())
    if max(_sizes(workload, axis), default=0) >= DEEP_CONTRACTION:
        found.add("deep_contraction")
    if min(_sizes(workload, output[0]), default=SKINNY + 1) <= SKINNY:
        found.add("skinny_output")
    if all(isinstance(workload.axes[name], ConstAxis) for name in second):
        found.add("constant_weights")
    if first[-1] == second[-1] == axis:
        found.add("transposed_operand")
    if workload.policy.tf32 and all(t.dtype is DType.FLOAT32 for t in _holders(workload, axis)):
        found.add("tf32_allowed")
    return found | _epilogue_traits(workload, output) | _quantisation_traits(workload, axis)


def _epilogue_traits(workload: Workload, output: tuple[str, ...]) -> set[str]:
    vectors = [t.shape for t in workload.inputs.values() if t.shape == output[1:]]
    return {"pointwise_epilogue", "gelu"} if vectors and "gelu" in workload.tags else set()


_ONE_BYTE = {
    DType.FLOAT8_E4M3FN,
    DType.FLOAT8_E5M2,
    DType.FLOAT4_E2M1FN_X2,
    DType.INT8,
    DType.UINT8,
}


def _quantisation_traits(workload: Workload, axis: str) -> set[str]:
    if not any(tensor.dtype in _ONE_BYTE for tensor in _holders(workload, axis)):
        return set()
    found = {"quantised"}
    others = [tensor for tensor in workload.inputs.values() if axis not in (tensor.shape or ())]
    if any(tensor.dtype.is_float and tensor.dtype not in _ONE_BYTE for tensor in others):
        found.add("block_scaled")
    if any(tensor.dtype in _ONE_BYTE for tensor in workload.outputs.values()):
        found.add("quantised_output")
    return found


def _products_traits(workload: Workload) -> set[str]:
    """Several products of one matrix, or a product of three."""
    matrices = all(len(tensor.shape or ()) == 2 for tensor in workload.outputs.values())
    written = {axis for tensor in workload.outputs.values() for axis in tensor.shape or ()}
    shared = [
        [t for t in _holders(workload, axis) if len(t.shape or ()) == 2]
        for axis in workload.axes
        if axis not in written
    ]
    if not matrices or not shared:
        return set()
    if len(workload.outputs) >= 2 and any(len(holders) == len(workload.outputs) + 1 for holders in shared):
        return {"sibling_products"}
    chain = len(workload.outputs) == 1 and len(shared) == 2 and all(len(holders) == 2 for holders in shared)
    return {"product_chain"} if chain else set()


def _named_traits(workload: Workload) -> set[str]:
    kind = _KINDS.get(workload.op_type)
    if kind is None or (kind in _HAS_SHAPES and not _HAS_SHAPES[kind](workload)):
        return set()
    found = {kind}
    if kind == "dense_attention" and "causal" in workload.tags:
        found.add("causal")
    if kind in {"dense_attention", "moe_routing"} and _index_inputs(workload):
        found.add("ragged")
    if kind == "pointwise" and len(workload.outputs) > 1:
        found.add("several_outputs")
    if kind == "moe_routing" and "gated" in workload.tags:
        found.add("gated_experts")
    if kind == "selection" and _selected(workload) <= SMALL_SELECTION:
        found.add("small_k")
    if kind == "convolution" and _has_small_filter(workload):
        found.add("small_filter")
    return found


def _is_routed(workload: Workload) -> bool:
    """Whether there are index pairs and experts' weights of (experts, two widths), the output's width among them."""
    width = _output_axes(workload)[-1:]
    weights = [tensor.shape or () for tensor in workload.inputs.values() if len(tensor.shape or ()) == 3]
    sound = all(len({*shape} - {*width}) == 2 for shape in weights)
    return bool(_routes(workload) and width and len(weights) >= 2 and sound)


def _is_row_selection(workload: Workload) -> bool:
    matrices = any(len(tensor.shape or ()) == 2 for tensor in workload.inputs.values())
    return matrices and row_axes(workload)[0] in _output_axes(workload)


def _has_a_filter(workload: Workload) -> bool:
    filters = [tensor.shape or () for tensor in workload.inputs.values()][1:2]
    return bool(filters) and len(filters[0]) >= 3


def _has_a_vector(workload: Workload) -> bool:
    return any(len(tensor.shape or ()) == 1 for tensor in workload.inputs.values())


_HAS_SHAPES: dict[str, Callable[[Workload], bool]] = {
    "moe_routing": _is_routed,
    "selection": _is_row_selection,
    "convolution": _has_a_filter,
    "diagonal_product": _has_a_vector,
    "dense_attention": lambda workload: len(_output_axes(workload)) >= 2,
    "scan": lambda workload: bool(_output_axes(workload)),
    "linear_recurrence": lambda workload: len(_output_axes(workload)) >= 2,
    "gather": lambda workload: bool(_output_axes(workload) and _index_inputs(workload)),
    "histogram": lambda workload: bool(_output_axes(workload)),
}
"""What the shapes must show beside the operation's name."""


def _index_inputs(workload: Workload) -> list[str]:
    whole = (DType.INT32, DType.INT64)
    return [name for name, tensor in workload.inputs.items() if tensor.shape and tensor.dtype in whole]


def _selected(workload: Workload) -> int:
    """Elements selected per row; one where the output has one axis."""
    shape = _output_axes(workload)
    return max(_sizes(workload, shape[-1]), default=1) if len(shape) > 1 else 1


def _has_small_filter(workload: Workload) -> bool:
    """A filter (…, R, R) whose sides are constant axes, and no tag that says it strides."""
    filters = [tensor.shape or () for tensor in workload.inputs.values()][1:2]
    sides = [workload.axes[name] for shape in filters for name in shape[-2:]]
    lengths = {side.value for side in sides if isinstance(side, ConstAxis)}
    square = len(sides) == 2 and len(lengths) == 1 and all(isinstance(side, ConstAxis) for side in sides)
    return square and 3 <= max(lengths) <= SMALL_FILTER and "strided" not in workload.tags


PAGED_DECODES = ("gqa_paged", "gqa_paged_decode", "paged_decode")
"""Operation types of attention decoding over a paged cache."""


def _decode_traits(workload: Workload) -> set[str]:
    """Queries (sequences, heads, d) and caches (pages, tokens, key heads, d) found by an index tensor."""
    ranks = [len(tensor.shape or ()) for tensor in workload.inputs.values()]
    fits = ranks.count(3) == 1 and ranks.count(4) == 2 and _index_inputs(workload)
    if workload.op_type not in PAGED_DECODES or not fits:
        return set()
    query, cache = (
        next(t.shape or () for t in workload.inputs.values() if len(t.shape or ()) == n) for n in (3, 4)
    )
    sizes = workload.sizes(workload.cases[0])
    shared = sizes[query[1]] > sizes[cache[2]]
    return {"paged_decode"} | ({"shared_key_heads"} if shared else set())


def _stencil_traits(workload: Workload) -> set[str]:
    if workload.op_type != "stencil":
        return set()
    box = "box" in workload.tags or "box" in workload.name.split("_")
    return {"stencil"} | ({"box_stencil"} if box else set())


_DERIVATIONS: tuple[Callable[[Workload], set[str]], ...] = (
    _row_traits,
    _contraction_traits,
    _products_traits,
    _named_traits,
    _decode_traits,
    _stencil_traits,
)
"""One function per way to tell a kind of work."""


def _common_traits(workload: Workload) -> set[str]:
    policy = workload.policy
    floats = [tensor.dtype for tensor in workload.inputs.values() if tensor.dtype.is_float]
    held = {
        "low_precision": any(dtype not in {DType.FLOAT32, DType.FLOAT64} for dtype in floats),
        "library_allowed": policy.torch_ops,
        "unordered_sums": not policy.deterministic,
    }
    return {trait for trait, holds in held.items() if holds}


def _sizes(workload: Workload, axis: str) -> list[int]:
    """Sizes of an axis in the public cases."""
    return [workload.sizes(case)[axis] for case in workload.cases if not case.hidden]
