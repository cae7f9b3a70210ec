"""Tensors without memory that say they lie on a CUDA device, for host code that only launches kernels.

Built on torch's fake tensors, which compute shapes and nothing else. They are CPU tensors to torch, so that a
torch without CUDA can trace too, and CUDA tensors to the program that asks.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import torch
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from typing_extensions import override

from gpuworker.cuda.plan import Fill

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from gpuworker.cuda.device_facts import GhostDevice

_ADDRESS_SHIFT = 42
"""Every buffer gets an address range of its own; allocations of a real device are aligned as well."""
_CUDA = torch.device("cuda", 0)
_CPU = torch.device("cpu")
_WITHOUT_WORK = {
    "empty",
    "empty_like",
    "empty_strided",
    "new_empty",
    "new_empty_strided",
    "device",
    "lift_fresh",
}
_FILLS = {
    "zeros",
    "zeros_like",
    "new_zeros",
    "ones",
    "ones_like",
    "new_ones",
    "full",
    "full_like",
    "new_full",
}
_FILLS_IN_PLACE = {"zero_", "fill_"}
_MOVES = {"_local_scalar_dense", "_to_copy", "copy_", "clone", "equal", "is_nonzero"}
"""Reads and copies values, but computes nothing."""


class UnreplayableError(Exception):
    """The host code does something that a launch plan cannot hold; the message says what."""


class TorchComputeError(UnreplayableError):
    """It lets torch compute, which a workload may forbid."""


@dataclass
class Buffer:
    """One storage: kept alive so that its identity is never reused."""

    storage: torch.UntypedStorage
    number: int


class Ghosts:
    """Buffers by storage, and what is done to them apart from launches."""

    def __init__(self, on_fill: Callable[[Fill], None]) -> None:
        """Fake tensors of one traced call; `on_fill` is told of every fill in order."""
        self.mode = FakeTensorMode(allow_non_fake_inputs=False)
        self._buffers: dict[int, Buffer] = {}
        self._on_fill = on_fill

    def tensor(self, shape: Sequence[int], dtype: torch.dtype) -> torch.Tensor:
        """A contiguous tensor in a buffer of its own; buffers are numbered in the order of these calls."""
        with self.mode:
            made = torch.empty(tuple(shape), dtype=dtype)
        self.made(made)
        return made

    def made(self, tensor: torch.Tensor) -> None:
        """Note a tensor that was just allocated: a buffer of its own."""
        storage = tensor.untyped_storage()
        self._buffers.setdefault(storage._cdata, Buffer(storage, len(self._buffers)))

    def buffer(self, tensor: torch.Tensor) -> Buffer:
        """The buffer that a tensor lies in.

        Raises:
            UnreplayableError: it was made outside of this call, so a replay would not know its values.
        """
        found = self._buffers.get(tensor.untyped_storage()._cdata)
        if found is None:
            raise UnreplayableError("uses a tensor that was made outside of the call")
        return found

    def sizes(self, first: int) -> tuple[int, ...]:
        """Bytes of the buffers from number `first` on."""
        return tuple(each.storage.nbytes() for each in self._buffers.values() if each.number >= first)

    def address(self, tensor: torch.Tensor) -> int:
        """A made-up address, unique and aligned like a real one."""
        start = (self.buffer(tensor).number + 1) << _ADDRESS_SHIFT
        return int(start + tensor.storage_offset() * tensor.element_size())

    @contextlib.contextmanager
    def entered(self, device: GhostDevice) -> Iterator[None]:
        """Inside, tensors that are made are ghosts, and torch speaks of `device`."""
        outside = _OntoGhosts()
        with _appearance(self, device, outside), self.mode, _Watch(self), outside:
            yield

    def filled(self, tensor: torch.Tensor, value: object) -> None:
        """Note that a tensor is set to a value.

        Raises:
            UnreplayableError: it is not contiguous, or too wide for a fill.
        """
        width = tensor.element_size()
        if not tensor.is_contiguous():
            raise UnreplayableError("fills a tensor with gaps")
        pattern = _pattern(tensor, value)
        count = tensor.numel()
        if width == 8:
            if pattern not in {0, (1 << 64) - 1}:
                raise UnreplayableError(
                    "fills a tensor of eight-byte elements with another value than 0 or -1"
                )
            width, count, pattern = 4, 2 * count, pattern & 0xFFFFFFFF
        if not count:
            return
        offset = int(tensor.storage_offset()) * tensor.element_size()
        number = self.buffer(tensor).number
        fill = {"buffer": number, "offset": offset, "count": count, "width": width, "pattern": pattern}
        self._on_fill(Fill.load(fill))


def _pattern(tensor: torch.Tensor, value: object) -> int:
    if isinstance(value, torch.Tensor) or not isinstance(value, (bool, int, float)):
        raise UnreplayableError("fills a tensor with a value that lies on the device")
    with torch.utils._python_dispatch._disable_current_modes():
        bits = torch.full((1,), value, dtype=tensor.dtype).view(torch.uint8)
        return int.from_bytes(bytes(bits.tolist()), "little")


class _Watch(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Lets allocations and views through, notes fills, refuses whatever would run on the device."""

    def __init__(self, ghosts: Ghosts) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._ghosts = ghosts

    @override
    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        name = func._schema.name.split("::")[-1]
        known = func.is_view or name in _WITHOUT_WORK or func.namespace == "prim"
        if not (known or name in _FILLS or name in _FILLS_IN_PLACE):
            kind = UnreplayableError if name in _MOVES else TorchComputeError
            raise kind(f"calls torch's `{name}`, which runs outside the launched kernels")
        result = func(*args, **(kwargs or {}))
        if isinstance(result, torch.Tensor) and not func.is_view and not func._schema.is_mutable:
            self._ghosts.made(result)
        if name in _FILLS or name in _FILLS_IN_PLACE:
            self._ghosts.filled(result, _fill_value(name, args, kwargs or {}))
        return result


def _fill_value(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> object:
    if "zero" in name:
        return 0
    if "one" in name:
        return 1
    return kwargs["fill_value"] if "fill_value" in kwargs else args[1]


class _OntoGhosts(TorchFunctionMode):
    """`device="cuda"` means a ghost; and inside torch a ghost is the CPU tensor that it is."""

    def __init__(self) -> None:
        super().__init__()
        self.depth = 0

    @override
    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = dict(kwargs or {})
        if kwargs.get("device") is not None:
            kwargs["device"] = _CPU
        self.depth += 1
        try:
            return func(*args, **kwargs)
        finally:
            self.depth -= 1


def _refusal(name: str) -> Callable[..., object]:
    def refuse(*_: object, **__: object) -> object:
        raise UnreplayableError(f"uses torch.cuda.{name}, which orders work in ways a plan does not hold")

    return refuse


@contextlib.contextmanager
def _appearance(ghosts: Ghosts, device: GhostDevice, outside: _OntoGhosts) -> Iterator[None]:
    """Fake tensors look like CUDA tensors to the program, and `torch.cuda` answers for the device."""
    properties = SimpleNamespace(
        name=device.name,
        major=device.capability[0],
        minor=device.capability[1],
        multi_processor_count=device.multiprocessors,
        total_memory=device.memory_bytes,
        shared_memory_per_block_optin=device.shared_bytes,
        L2_cache_size=device.cache_bytes,
        warp_size=32,
    )
    looks = {
        "data_ptr": lambda tensor: ghosts.address(tensor),
        "is_cuda": property(lambda _: outside.depth == 0),
        "device": property(lambda _: _CPU if outside.depth else _CUDA),
        "get_device": lambda _: -1 if outside.depth else 0,
    }
    answers = {
        "is_available": lambda: True,
        "device_count": lambda: 1,
        "current_device": lambda: 0,
        "get_device_name": lambda _=None: device.name,
        "get_device_capability": lambda _=None: device.capability,
        "get_device_properties": lambda _=None: properties,
        "current_stream": lambda _=None: SimpleNamespace(cuda_stream=0, synchronize=lambda: None),
        **{name: _refusal(name) for name in ("Stream", "Event", "CUDAGraph", "graph", "stream")},
        "synchronize": lambda _=None: None,
        "device": lambda _: contextlib.nullcontext(),
    }
    with patched(FakeTensor, looks), patched(torch.cuda, answers):
        yield


@contextlib.contextmanager
def patched(owner: object, values: dict[str, Any]) -> Iterator[None]:
    """Other attributes of an object for a while."""
    missing = object()
    before = {name: vars(owner).get(name, missing) for name in values}
    for name, value in values.items():
        setattr(owner, name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is missing:
                delattr(owner, name)
            else:
                setattr(owner, name, value)
