"""The frame of a program: knobs, entry point and the names that a contract fixes, ready to be filled in."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from search.records import Language
from search.workload import DType

if TYPE_CHECKING:
    from search.blueprint import Blueprint
    from search.workload import Tensor, Workload

_C_TYPES: dict[DType, str] = {
    DType.FLOAT64: "double",
    DType.FLOAT32: "float",
    DType.INT64: "int64_t",
    DType.INT32: "int32_t",
    DType.INT16: "int16_t",
    DType.INT8: "int8_t",
    DType.UINT8: "uint8_t",
    DType.BOOL: "bool",
}
_CPP_TYPES = _C_TYPES | {DType.FLOAT16: "_Float16", DType.BFLOAT16: "uint16_t"}
_CUDA_TYPES = _C_TYPES | {DType.FLOAT16: "__half", DType.BFLOAT16: "__nv_bfloat16"}
_CUDA_HEADERS = {DType.FLOAT16: "cuda_fp16.h", DType.BFLOAT16: "cuda_bf16.h"}


def frame_text(blueprint: Blueprint, workload: Workload, language: Language) -> str:
    """A fenced block with everything that is fixed before the first line of a kernel is written."""
    match language:
        case Language.CPP:
            return _block("cpp", _c(blueprint, workload, cuda=False))
        case Language.CUDA:
            return _block("cuda", _c(blueprint, workload, cuda=True))
        case Language.TRITON | Language.PYTORCH:
            return _block("python", _python(blueprint, workload))


def _block(word: str, lines: list[str]) -> str:
    return "\n".join([f"```{word}", *lines, "```"])


def _c(blueprint: Blueprint, workload: Workload, *, cuda: bool) -> list[str]:
    knobs = json.dumps({knob.name: knob.default for knob in blueprint.knobs})
    head = "__global__ void" if cuda else "static void"
    lines = [f"// KNOBS {knobs}", *(f"#include <{header}>" for header in _headers(workload, cuda=cuda)), ""]
    for kernel in blueprint.kernels:
        lines += [f"// {kernel.computes}", f"{head} {kernel.name}(/* … */) {{ /* … */ }}", ""]
    lines.append('extern "C" int run(void** buffers, const int64_t* axes, void* stream) {')
    lines += [f"  const int64_t {axis} = axes[{at}];" for at, axis in enumerate(workload.axes)]
    types = _CUDA_TYPES if cuda else _CPP_TYPES
    tensors = [(name, tensor, "const ") for name, tensor in workload.inputs.items()]
    tensors += [(name, tensor, "") for name, tensor in workload.outputs.items()]
    lines += [_pointer(at, *each, types) for at, each in enumerate(tensors)]
    lines += [f"  // {tensor.name}[{', '.join(tensor.shape)}]" for tensor in blueprint.intermediates]
    lines += [f"  // launch {kernel.name}" for kernel in blueprint.kernels]
    return [*lines, "  return cudaGetLastError();" if cuda else "  return 0;", "}"]


def _headers(workload: Workload, *, cuda: bool) -> list[str]:
    if not cuda:
        return ["cstdint"]
    used = {tensor.dtype for tensor in (*workload.inputs.values(), *workload.outputs.values())}
    return [
        "cstdint",
        *(header for dtype, header in _CUDA_HEADERS.items() if dtype in used),
        "cuda_runtime.h",
    ]


def _pointer(at: int, name: str, tensor: Tensor, qualifier: str, types: dict[DType, str]) -> str:
    kind = f"{qualifier}{types.get(tensor.dtype, 'uint8_t')}*"
    return f"  {kind} {name} = static_cast<{kind}>(buffers[{at}]);"


def _python(blueprint: Blueprint, workload: Workload) -> list[str]:
    knobs = {knob.name: knob.default for knob in blueprint.knobs}
    lines = [
        f"KNOBS = {knobs!r}",
        "",
        "import torch",
        "import triton",
        "import triton.language as tl",
        "",
        "",
    ]
    for kernel in blueprint.kernels:
        lines += ["@triton.jit", f"def {kernel.name}(…):", f"    # {kernel.computes}", "", ""]
    lines.append(f"def run({', '.join([*workload.inputs, *workload.outputs])}):")
    lines += [f"    {', '.join(tensor.shape or ())} = {name}.shape" for name, tensor in _told(workload)]
    lines += [f"    # {tensor.name}[{', '.join(tensor.shape)}]" for tensor in blueprint.intermediates]
    return lines + [f"    # launch {kernel.name}" for kernel in blueprint.kernels]


def _told(workload: Workload) -> list[tuple[str, Tensor]]:
    """Tensors whose shapes name axes that no earlier one named."""
    known: set[str] = set()
    found: list[tuple[str, Tensor]] = []
    for name, tensor in workload.inputs.items():
        shape = tensor.shape or ()
        if len(shape) > 1 and not set(shape) <= known and len(set(shape)) == len(shape):
            found.append((name, tensor))
            known |= set(shape)
    return found
