"""Compiling a module of the playbook for an H200 on a machine without one, as the JIT would specialise it."""

from __future__ import annotations

import importlib.util
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

if TYPE_CHECKING:
    from search.workload import Workload

TARGET = GPUTarget("cuda", 90, 32)
SHARED_BYTES = 232_448
"""What a program may use on sm_90."""

_POINTERS = {
    torch.float32: "*fp32",
    torch.float16: "*fp16",
    torch.bfloat16: "*bf16",
    torch.int32: "*i32",
    torch.int64: "*i64",
}
_PTXAS = Path(triton.__file__).parent / "backends/nvidia/bin"


@dataclass(frozen=True)
class Compiled:
    """What a kernel takes of an H200."""

    name: str
    shared: int
    """Bytes."""
    registers: int
    """Per thread."""
    spilled: int
    """Bytes stored by spills."""
    warps: int
    matrix_unit: bool


class _Recorder:
    """Stands for a jitted function and notes its launches."""

    def __init__(self, function: Any, launches: list[tuple[Any, tuple[Any, ...], dict[str, Any]]]) -> None:
        self.function, self.launches = function, launches

    def __getitem__(self, grid: object) -> Any:
        return lambda *args, **named: self.launches.append((self.function, args, named))


def compile_module(path: Path, workload: Workload, sizes: dict[str, int]) -> list[Compiled]:
    """Compile every kernel that `run` launches for these sizes; inputs and outputs are tensors without storage."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    launches: list[tuple[Any, tuple[Any, ...], dict[str, Any]]] = []
    entry = set(module.run.__code__.co_names)
    for name, value in vars(module).copy().items():
        if isinstance(value, triton.JITFunction) and name in entry:
            setattr(module, name, _Recorder(value, launches))
    tensors = [
        0.1
        if tensor.shape is None
        else torch.empty(workload.shape(tensor, sizes), dtype=getattr(torch, tensor.dtype), device="meta")
        for tensor in [*workload.inputs.values(), *workload.outputs.values()]
    ]
    module.run(*tensors)
    return [_compile(*launch) for launch in launches]


def _compile(function: Any, given: tuple[Any, ...], named: dict[str, Any]) -> Compiled:
    options = {name: named.pop(name) for name in ("num_warps", "num_stages") if name in named}
    values = dict(zip(function.arg_names, given, strict=False)) | named
    numbers = {name: value for name, value in values.items() if not isinstance(value, torch.Tensor)}
    constants = {name for name, value in numbers.items() if name in named or value == 1}
    signature, constexprs, attributes = {}, {}, {}
    for position, name in enumerate(function.arg_names):
        value = values[name]
        if name in constants:
            signature[name] = "constexpr"
            constexprs[(position,)] = value
            continue
        signature[name] = _type(value)
        if isinstance(value, torch.Tensor) or (isinstance(value, int) and value % 16 == 0):
            attributes[(position,)] = [["tt.divisibility", 16]]
    source = ASTSource(fn=function, signature=signature, constexprs=constexprs, attrs=attributes)
    kernel = triton.compile(source, target=TARGET, options=options)
    return _report(function.__name__, kernel, options["num_warps"])


def _type(value: object) -> str:
    if isinstance(value, torch.Tensor):
        return _POINTERS[value.dtype]
    return "fp32" if isinstance(value, float) else "i32"


def _report(name: str, kernel: Any, warps: int) -> Compiled:
    ptx = kernel.asm["ptx"]
    # Triton ships an assembler for Blackwell that knows sm_90 too; older wheels have one for all.
    tool = next(path for path in (_PTXAS / "ptxas-blackwell", _PTXAS / "ptxas") if path.is_file())
    command = [tool, "-v", "--gpu-name=sm_90a", "/dev/stdin", "-o", "/dev/null"]
    said = subprocess.run(command, input=ptx, capture_output=True, text=True, timeout=120, check=True).stderr
    registers = re.search(r"Used (\d+) registers", said)
    spilled = re.search(r"(\d+) bytes spill stores", said)
    return Compiled(
        name=name,
        shared=kernel.metadata.shared,
        registers=int(registers[1]) if registers else 0,
        spilled=int(spilled[1]) if spilled else 0,
        warps=warps,
        matrix_unit="mma" in ptx,
    )
