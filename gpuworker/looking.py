"""Runs a stranger's program in a cell and tells what it saw: shapes of each case, or where the time goes.

What is told is JSON in a buffer. Nothing here is believed: the judge checks it, and it only makes drafts.
"""

from __future__ import annotations

import importlib.util
import inspect
import json
import sys
import time
import types
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROOM = 1 << 18
"""Bytes of the buffer: eight of length, then JSON."""
OURS = "told_by.py"
"""File that calls `look`; the program's lie beside it."""
_WARM, _TIMED = 2, 5
_MOST_OPERATORS = 200


@dataclass(frozen=True)
class Case:
    """One call of a program."""

    inputs: dict[str, Any]
    weights: dict[str, torch.Tensor]
    call: Callable[[], object]


def look(task: str, form: str, main: str, device: torch.device) -> dict[str, torch.Tensor]:
    """What a program told, in a buffer.

    Args:
        task: `shapes` or `profile`.
        form: name of the program's format.
        main: path of a file in its folder.
        device: where it runs.

    Raises:
        ValueError: there is too much to tell.
    """
    with torch.no_grad():
        told = _TASKS[task](_PROGRAMS[form](Path(main).parent, device), device)
    content = json.dumps(told, allow_nan=False).encode()
    if len(content) > ROOM - 8:
        raise ValueError(f"it would tell {len(content)} bytes, over the limit of {ROOM}")
    held = bytearray(len(content).to_bytes(8, "little") + content)
    held.extend(bytes(ROOM - len(held)))
    return {"told": torch.frombuffer(held, dtype=torch.uint8).to(device)}


# Programs ------------------------------------------------------------------------------------------------


def _kernelbench(folder: Path, device: torch.device) -> Iterator[Case]:
    module = _module(next(path for path in folder.glob("*.py") if path.name != OURS))
    torch.manual_seed(0)
    given, named = _split(module.get_init_inputs())
    model = module.Model(*given, **named).to(device)
    values = [_there(value, device) for value in module.get_inputs()]
    names = list(inspect.signature(model.forward).parameters)
    names += [f"input_{place}" for place in range(len(names), len(values))]
    yield Case(dict(zip(names, values, strict=False)), dict(model.named_parameters()), lambda: model(*values))


def _split(settings: Any) -> tuple[list[Any], dict[str, Any]]:
    if isinstance(settings, dict):
        return [], settings
    if len(settings) == 2 and isinstance(settings[0], list | tuple) and isinstance(settings[1], dict):
        return list(settings[0]), settings[1]
    return list(settings), {}


def _function(folder: Path, device: torch.device) -> Iterator[Case]:
    (described,) = folder.glob("*.inputs.json")
    told = json.loads(described.read_text())
    module = _module(folder / described.name.replace(".inputs.json", ".py"))
    for case in told["cases"]:
        sizes = case.get("sizes", {})
        inputs = {name: _made(one, sizes, device) for name, one in case["inputs"].items()}
        torch.manual_seed(0)
        weights: dict[str, torch.Tensor] = {}
        if told.get("function"):
            run = getattr(module, told["function"])
        else:
            run = getattr(module, told["module"])(*told.get("init", ())).to(device)
            weights = dict(run.named_parameters())
        yield Case(inputs, weights, lambda run=run, inputs=inputs: run(*inputs.values()))  # type: ignore[misc]


def _made(one: Any, sizes: dict[str, int], device: torch.device) -> Any:
    if not isinstance(one, dict):
        return one
    shape = [sizes[length] if isinstance(length, str) else length for length in one["shape"]]
    dtype = getattr(torch, one.get("dtype", "float32"))
    if dtype.is_floating_point:
        return torch.randn(shape, device=device).to(dtype)
    low, high = one.get("low"), one.get("high")
    return torch.randint(0 if low is None else low, 2 if high is None else high, shape, device=device).to(
        dtype
    )


def _gpu_mode(folder: Path, device: torch.device) -> Iterator[Case]:
    for name in ("task", "utils"):
        if not (folder / f"{name}.py").exists():
            sys.modules[name] = _Anything(name)
    if device.type == "cpu":
        # Such tasks are written for a GPU, and say so wherever they make a tensor.
        for path in folder.glob("*.py"):
            path.write_text(path.read_text().replace('"cuda"', '"cpu"').replace("'cuda'", "'cpu'"))
    module = _module(folder / "reference.py")
    task = json.loads((folder / "task.json").read_text())
    for values in [*(task.get("tests") or ()), *(task.get("benchmarks") or ())]:
        data = module.generate_input(**values)
        parts = list(data) if isinstance(data, list | tuple) else [data]
        names = [f"input_{place}" for place in range(len(parts))] if len(parts) > 1 else ["x"]
        before = [part.clone() if isinstance(part, torch.Tensor) else part for part in parts]
        yield Case(
            dict(zip(names, before, strict=True)),
            {},
            lambda data=data: module.ref_kernel(data),  # type: ignore[misc]
        )


class _Anything(types.ModuleType):
    """A module of the contest's harness, which names types and comparisons that a run does not need."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *_, **__: None


def _module(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location("program", path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path.name} is no Python module")
    module = importlib.util.module_from_spec(spec)
    sys.modules["program"] = module
    spec.loader.exec_module(module)
    return module


def _there(value: Any, device: torch.device) -> Any:
    return value.to(device) if isinstance(value, torch.Tensor) else value


# What is told --------------------------------------------------------------------------------------------


def _shapes(cases: Iterator[Case], device: torch.device) -> list[dict[str, Any]]:
    """Inputs, weights and outputs of every case, as `search.formats.probes.Probed` reads them."""
    return [
        {
            "inputs": {name: _seen(value) for name, value in case.inputs.items()},
            "weights": {name: _seen(value) for name, value in case.weights.items()},
            "outputs": [_seen(value) for value in _flat(case.call())],
        }
        for case in cases
    ]


def _seen(value: Any) -> dict[str, Any]:
    if isinstance(value, torch.Tensor):
        return {"shape": list(value.shape), "dtype": str(value.dtype).removeprefix("torch.")}
    if isinstance(value, bool | int | float):
        return {"value": value}
    raise TypeError(f"{type(value).__name__} is neither a tensor nor a number")


def _flat(value: Any) -> list[Any]:
    if isinstance(value, list | tuple):
        return [leaf for part in value for leaf in _flat(part)]
    return list(value.values()) if isinstance(value, dict) else [value]


def _profile(cases: Iterator[Case], device: torch.device) -> list[dict[str, Any]]:
    """Operators of the first case by their time, as `search.formats.operators.Operator` reads them."""
    case = next(cases)
    for _ in range(_WARM):
        case.call()
    recorder = _Recorder(device)
    with recorder:
        for _ in range(_TIMED):
            case.call()
    found = sorted(recorder.found.values(), key=lambda one: -one["seconds"])
    for one in found:
        one["calls"] /= _TIMED
        one["seconds"] /= _TIMED
    return found[:_MOST_OPERATORS]


class _Recorder(TorchDispatchMode):  # type: ignore[no-untyped-call]  # torch's own is untyped
    """Times every operator with its arguments; on a GPU each is waited for."""

    def __init__(self, device: torch.device) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # as above
        self._device = device
        self.found: dict[str, dict[str, Any]] = {}

    def __torch_dispatch__(
        self, function: Any, kinds: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        given = {"args": [_argument(one) for one in args], "named": _named(kwargs or {})}
        key = json.dumps([str(function), given])
        began = time.perf_counter()
        made = function(*args, **(kwargs or {}))
        if self._device.type == "cuda":
            torch.cuda.synchronize()
        spent = time.perf_counter() - began
        if key not in self.found:
            outputs = [_argument(one) for one in _flat(made)]
            self.found[key] = {
                "name": str(function),
                **given,
                "outputs": outputs,
                "calls": 0.0,
                "seconds": 0.0,
            }
        self.found[key]["calls"] += 1
        self.found[key]["seconds"] += spent
        return made


def _named(values: dict[str, Any]) -> dict[str, Any]:
    return {name: _argument(value) for name, value in values.items()}


def _argument(value: Any) -> dict[str, Any]:
    """A tensor with the range of whole numbers in it, plain values, or a word for what is neither."""
    if isinstance(value, torch.Tensor):
        told = _seen(value)
        if value.dtype in (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8) and value.numel():
            told |= {"low": int(value.min()), "high": int(value.max()) + 1}
        return told
    if value is None or isinstance(value, bool | int | float | str):
        return {"plain": value}
    if isinstance(value, list | tuple) and all(isinstance(one, bool | int | float) for one in value):
        return {"plain": list(value)}
    return {"strange": type(value).__name__}


_PROGRAMS: dict[str, Callable[[Path, torch.device], Iterator[Case]]] = {
    "kernelbench": _kernelbench,
    "python_function": _function,
    "gpu_mode": _gpu_mode,
}
_TASKS: dict[str, Callable[[Iterator[Case], torch.device], list[dict[str, Any]]]] = {
    "shapes": _shapes,
    "profile": _profile,
}
