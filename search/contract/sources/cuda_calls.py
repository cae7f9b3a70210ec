"""Calls in CUDA C++: launches, the runtime on the host, what device functions and inline assembly do."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from search.contract.facts import NO_AXES, Event, EventKind, Kernel, Loop, Role
from search.contract.sources.cpp_calls import follow
from search.contract.sources.cpp_state import Program
from search.contract.sources.cpp_syntax import line, named, text
from search.contract.sources.value import BLOCKED, NOTHING, WORKERS, Value, join

if TYPE_CHECKING:
    import tree_sitter

    from search.contract.sources.cpp_state import Walk

_BARRIERS = {"__syncthreads": "block", "__syncthreads_or": "block", "__syncthreads_and": "block"}
_EXPONENTIALS = {"__expf", "__exp2f", "exp2f", "expf", "exp", "__tanhf", "tanhf", "h2exp", "hexp", "normcdff"}
_SAME = {
    "__shfl_sync", "__shfl_xor_sync", "__shfl_down_sync", "__shfl_up_sync", "__half2float", "__half22float2",
    "__bfloat162float", "__bfloat1622float2", "__low2float", "__high2float", "__fdividef", "__frcp_rn",
    "__fsqrt_rn", "rsqrtf", "rsqrt", "__frsqrt_rn", "__logf", "__log2f", "__int_as_float", "__float_as_int",
    "__uint_as_float", "__float_as_uint", "make_float2", "make_float4", "__saturatef", "__cvta_generic_to_shared",
    "__float2int_rn", "float2int", "__popc", "__ballot_sync", "__any_sync", "__all_sync", "__activemask", "__fdiv_rn",
    "__fadd_rn", "__fmul_rn", "min", "max",
}  # fmt: skip
_PRODUCTS = {"__fmaf_rn", "__fmaf_rz", "__hfma", "__hfma2"}
_ROUNDS = {
    "__float2half": "float16", "__float2half_rn": "float16", "__floats2half2_rn": "float16",
    "__float22half2_rn": "float16", "__float2bfloat16": "bfloat16", "__float2bfloat16_rn": "bfloat16",
    "__floats2bfloat162_rn": "bfloat16", "__float22bfloat162_rn": "bfloat16",
}  # fmt: skip
_READS = {"__ldg", "__ldcs", "__ldca", "__ldcg", "__ldlu", "__ldcv"}
_WRITES = {"__stcs", "__stcg", "__stwb", "__stwt"}
_COPIES_IN = {"__pipeline_memcpy_async", "memcpy_async"}
_NO_EFFECT = {
    "__syncwarp", "__pipeline_commit", "__pipeline_wait_prior", "__threadfence", "__threadfence_block", "__nanosleep",
    "cudaGetLastError", "cudaPeekAtLastError", "cudaFuncSetAttribute", "cudaFreeAsync", "cudaFree", "cudaGetDevice",
    "cudaGetDeviceProperties", "cudaFuncSetCacheConfig", "__builtin_assume", "__trap", "cudaGetErrorString",
    "commit", "wait", "arrive_and_wait", "thread_rank", "size", "num_threads", "meta_group_rank", "printf",
}  # fmt: skip
_ATOMICS = re.compile(r"atomic(Add|Max|Min|Exch|CAS|Inc|Dec|Sub|And|Or|Xor)(_system|_block)?")
_LOCKS = {"Exch", "CAS", "Inc", "Dec", "And", "Or", "Xor"}
_ALLOCATES = {"cudaMalloc", "cudaMallocAsync"}
_MOVES = {"cudaMemcpyAsync", "cudaMemcpy", "cudaMemsetAsync", "cudaMemset", "cudaMemcpy2DAsync"}
_LIBRARY = re.compile(r"(cublas|cudnn|cusparse|cutlass|cufft|nvrtc)\w*")
_LIBRARY_SCOPES = re.compile(r"\b(thrust|cutlass|cudnn_frontend|at|torch)::|\bcub::Device")
_HALF = {"float16", "bfloat16"}
_BLOCK_FOLDS = {"Sum": "sum", "Reduce": "other", "reduce": "other"}


def call(walk: Walk, node: tree_sitter.Node, name: str) -> Value | None:
    """Value of a call that CUDA knows; None for one that C++ is to judge."""
    arguments = named(node.child_by_field_name("arguments"))
    configuration = next((child for child in node.children if child.type == "kernel_call_syntax"), None)
    if configuration is not None:
        return _launch(walk, name, named(configuration), arguments, node)
    if name in walk.unit.functions:
        return None
    function = node.child_by_field_name("function")
    if function is not None and function.type == "field_expression":
        return _method(walk, function, name, arguments)
    if walk.host:
        return _runtime(walk, name, arguments, node)
    return _device(walk, name, arguments, node)


# Host ----------------------------------------------------------------------------------------------


def _launch(
    walk: Walk,
    name: str,
    configuration: list[tree_sitter.Node],
    arguments: list[tree_sitter.Node],
    node: tree_sitter.Node,
) -> Value:
    """Follow a kernel as one program of its grid."""
    if name not in walk.unit.functions:
        return walk.gap(f"the kernel {name} is not in this file", node)
    if walk.program is not None:
        return walk.gap(f"{name} is launched from the device", node)
    walk.program = Program(_sizes(walk, configuration[0]))
    nodes, _ = follow(walk, name, arguments, node)
    used = [size for dimension, size in enumerate(walk.program.sizes) if dimension in walk.program.used]
    walk.program = None
    walk.covered.clear()
    axes = NO_AXES.union(*(size.axes for size in used))
    blocked = any(BLOCKED in size.marks for size in used)
    walk.launch(name, (Loop(axes, line(node), 0, "program", tuple(nodes), Role.GRID, blocked),), node)
    return NOTHING


def _sizes(walk: Walk, grid: tree_sitter.Node) -> tuple[Value, ...]:
    """Sizes of a grid: a `dim3` by name or on the spot, or a number."""
    if text(grid) in walk.grids:
        return walk.grids[text(grid)]
    if grid.type == "call_expression" and text(grid.child_by_field_name("function")) == "dim3":
        return tuple(walk.evaluate(size) for size in named(grid.child_by_field_name("arguments")))
    return (walk.evaluate(grid),)


def _runtime(
    walk: Walk, name: str, arguments: list[tree_sitter.Node], node: tree_sitter.Node
) -> Value | None:
    function = text(node.child_by_field_name("function"))
    if _LIBRARY.fullmatch(name) or _LIBRARY_SCOPES.search(function):
        walk.kernels.append(Kernel(function.split("<")[0], line(node), (), library=True))
        return NOTHING
    if name in _MOVES:
        walk.kernels.append(Kernel(name, line(node), ()))
        return NOTHING
    if name in _ALLOCATES and len(arguments) >= 2:
        return _allocate(walk, arguments, node)
    if name in {"cudaDeviceGetAttribute", "cudaOccupancyMaxActiveBlocksPerMultiprocessor"} and arguments:
        return _query(walk, arguments)
    return NOTHING if name in _NO_EFFECT else None


def _allocate(walk: Walk, arguments: list[tree_sitter.Node], node: tree_sitter.Node) -> Value:
    """`cudaMalloc(&pointer, bytes)`: a buffer with the pointer's name."""
    target = text(arguments[0]).rsplit("&", 1)[-1].strip("() ")
    variable = walk.find(target)
    if variable is None:
        return walk.gap(f"memory for {target[:40]}, which is not declared here", node)
    rank = max(variable.value.rank, 1)
    variable.value = replace(walk.allocated(target, walk.evaluate(arguments[1]), node), rank=rank)
    return NOTHING


def _query(walk: Walk, arguments: list[tree_sitter.Node]) -> Value:
    """`cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, 0)` and how many programs a unit holds."""
    variable = walk.find(text(arguments[0]).strip("&() "))
    if variable is not None:
        variable.value = Value(marks=frozenset({WORKERS}), dtype="int")
    return NOTHING


# Device --------------------------------------------------------------------------------------------


def _device(walk: Walk, name: str, arguments: list[tree_sitter.Node], node: tree_sitter.Node) -> Value | None:
    if found := _ATOMICS.fullmatch(name):
        return _atomic(walk, found[1], arguments, node)
    if name in _BARRIERS:
        walk.event(EventKind.BARRIER, _BARRIERS[name], node)
        return NOTHING
    if name == "sync":  # cooperative groups as functions: `cg::sync(grid)`
        return _sync(walk, text(arguments[0]) if arguments else "", node)
    values = [walk.evaluate(argument) for argument in arguments]
    if name in _READS:
        return _read(walk, values, node)
    if name in _WRITES:
        return _write(walk, values, node)
    if name in _COPIES_IN:
        return _read(walk, values, node)
    if name.startswith(("load_matrix", "store_matrix", "mma_sync", "fill_fragment")):
        return _matrix(walk, name, arguments, values, node)
    return _arithmetic(walk, name, values, node)


def _arithmetic(walk: Walk, name: str, values: list[Value], node: tree_sitter.Node) -> Value | None:
    if name in _EXPONENTIALS:
        walk.event(EventKind.EXP, "libm", node)
        return replace(join(values), op="")
    if name in _ROUNDS:
        return replace(join(values), op="").rounded(_ROUNDS[name])
    if name in {"min", "max"}:
        return join(values, name)
    if name in _SAME:
        return replace(join(values), op="", dtype="float32" if "float" in name else join(values).dtype)
    if name in _PRODUCTS:
        return join([join(values[:2], "*"), join(values[2:])], "+")
    return NOTHING if name in _NO_EFFECT else None


def _atomic(walk: Walk, kind: str, arguments: list[tree_sitter.Node], node: tree_sitter.Node) -> Value:
    """An update of memory; whole numbers are counted or locked, anything else is added up."""
    values = [walk.evaluate(argument) for argument in arguments]
    pointer = values[0] if values else NOTHING
    places = sorted(place for place in pointer.places if not place.startswith("local:"))
    for place in places:
        walk.event(EventKind.WRITE, place, node)
    if places or not pointer.places:
        dtype = "int" if kind in _LOCKS or pointer.dtype == "int" else pointer.dtype
        walk.emit(Event(EventKind.ATOMIC, f"atomic{kind}", line(node), dtype=dtype))
    return Value(dtype=pointer.dtype)


def _read(walk: Walk, values: list[Value], node: tree_sitter.Node) -> Value:
    pointer = join(values)
    for place in sorted(pointer.places):
        if not place.startswith("local:"):
            walk.event(EventKind.READ, place, node)
    return replace(pointer, places=frozenset(), rank=0, op="")


def _write(walk: Walk, values: list[Value], node: tree_sitter.Node) -> Value:
    for place in sorted(values[0].places if values else ()):
        walk.event(EventKind.WRITE, place, node)
    return NOTHING


def _matrix(
    walk: Walk, name: str, arguments: list[tree_sitter.Node], values: list[Value], node: tree_sitter.Node
) -> Value:
    """`wmma`: fragments are loaded, multiplied on matrix units and stored."""
    if name.startswith("load_matrix"):
        return _read(walk, values[1:2], node)
    if name.startswith("store_matrix"):
        return _write(walk, values, node)
    if name == "mma_sync":
        fragments = [walk.find(text(argument)) for argument in arguments]
        types = {fragment.dtype for fragment in fragments if fragment is not None}
        walk.event(EventKind.DOT, "tf32" if "float32" in types and not types & _HALF else "ieee", node)
        if (accumulator := fragments[0] if fragments else None) is not None:
            fold = Event(EventKind.FOLD, "sum", line(node), target=accumulator.id, level=accumulator.level)
            walk.emit(replace(fold, dtype=accumulator.dtype))
    return NOTHING


def _method(
    walk: Walk, function: tree_sitter.Node, name: str, arguments: list[tree_sitter.Node]
) -> Value | None:
    holder = text(function.child_by_field_name("argument"))
    if name == "sync":
        return _sync(walk, holder, function)
    if name in _BLOCK_FOLDS and walk.program is not None:
        value = join([walk.evaluate(argument) for argument in arguments[:1]])
        event = Event(EventKind.FOLD, _BLOCK_FOLDS[name], line(function), target=f"block@{line(function)}")
        walk.emit(replace(event, level=len(walk.loops) + 1, dtype=value.dtype))
        return value
    return NOTHING if name in _NO_EFFECT else None


def _sync(walk: Walk, holder: str, node: tree_sitter.Node) -> Value:
    scope = walk.scopes_of_groups.get(holder, "")
    for word, meant in (("this_grid", "grid"), ("this_cluster", "cluster"), ("this_thread_block", "block")):
        scope = meant if word in holder else scope
    if not scope:
        return walk.gap(f"how far {holder[:40]}.sync() reaches is not told", node)
    walk.event(EventKind.BARRIER, scope, node)
    return NOTHING


# Expressions ---------------------------------------------------------------------------------------


def expression(walk: Walk, node: tree_sitter.Node) -> Value | None:
    """Inline assembly; everything else is C++."""
    if node.type != "gnu_asm_expression":
        return None
    code = text(node.child_by_field_name("assembly_code"))
    operands = node.child_by_field_name("input_operands")
    given = [one.child_by_field_name("value") for one in named(operands)]
    values = [walk.evaluate(value) for value in given if value is not None]
    known = False
    for pattern, kind, what in _ASSEMBLY:
        if re.search(pattern, code):
            known = True
            if kind is EventKind.READ:
                _read(walk, values, node)
            elif kind is EventKind.DESCRIPTOR:
                _describe(walk, values, node)
            elif kind is not None:
                walk.event(kind, what, node)
    return NOTHING if known else walk.gap("inline assembly that is not understood", node)


def _describe(walk: Walk, values: list[Value], node: tree_sitter.Node) -> None:
    places = sorted(place for place in join(values).places if not place.startswith("local:"))
    for place in places or ["unknown"]:
        walk.event(EventKind.DESCRIPTOR, place, node)


_ASSEMBLY: tuple[tuple[str, EventKind | None, str], ...] = (
    (r"cp\.async\.bulk\.tensor", EventKind.DESCRIPTOR, ""),
    (r"cp\.async\.(ca|cg|bulk\.shared)", EventKind.READ, ""),
    (r"cp\.async\.(commit|wait|bulk\.(commit|wait))", None, ""),
    (r"ld\.global", EventKind.READ, ""),
    (r"mma\.\S*tf32", EventKind.DOT, "tf32"),
    (r"mma\.(?!\S*tf32)", EventKind.DOT, "ieee"),
    (r"ldmatrix", None, ""),
    (r"setmaxnreg", EventKind.ROLES, "setmaxnreg"),
    (r"barrier\.cluster", EventKind.BARRIER, "cluster"),
    (r"\bbar\.sync|barrier\.sync|mbarrier", EventKind.BARRIER, "block"),
    (r"ex2\.approx|tanh\.approx", EventKind.EXP, "libm"),
    (r"griddepcontrol|prefetch|fence|nanosleep", None, ""),
)
"""What instructions do that a contract may care about."""
