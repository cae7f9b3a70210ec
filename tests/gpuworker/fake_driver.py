"""A CUDA driver that computes nothing and writes every call down, for machines without a GPU."""

from __future__ import annotations

import ctypes
from types import ModuleType, SimpleNamespace

SUCCESS = SimpleNamespace(name="CUDA_SUCCESS")
KINDS = {
    *("cuStreamCreate", "cuEventCreate", "cuStreamEndCapture", "cuModuleLoadData"),
    *("cuGraphCreate", "cuGraphAddChildGraphNode", "cuGraphInstantiate"),
}
"""Calls that make something."""


class FakeDriver(ModuleType):
    """Stands in for `cuda.bindings.driver`."""

    CUresult = SimpleNamespace(CUDA_SUCCESS=SUCCESS)

    def __init__(self, buses=("0000:1B:00.0",)):
        super().__init__("cuda.bindings.driver")
        self.calls, self.launched, self.buses, self._made = [], [], buses, 0

    def named(self, name):
        """Arguments of every call of this name."""
        return [arguments for called, arguments in self.calls if called == name]

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        if name.startswith("CU"):
            return _Words()
        return lambda *arguments: self._answer(name, arguments)

    def _answer(self, name, arguments):
        self.calls.append((name, arguments))
        special = getattr(type(self), f"_{name}", None)
        if special:
            return (SUCCESS, special(self, *arguments))
        if name not in KINDS:
            return (SUCCESS,)
        self._made += 1
        return (SUCCESS, f"{name} {self._made}")

    def _cuMemAlloc(self, size):
        self._made += 1
        return (self._made << 32) + size

    def _cuModuleGetFunction(self, module, name):
        return f"{name.decode()} of {module}"

    def _cuEventElapsedTime(self, start, stop):
        return 0.25

    def _cuDeviceGetCount(self):
        return len(self.buses)

    def _cuDeviceGet(self, index):
        return index

    def _cuDeviceGetPCIBusId(self, size, device):
        return self.buses[device].encode().ljust(size, b"\0")

    def _cuDeviceGetByPCIBusId(self, bus):
        return self.buses.index(bus.decode())

    def _cuLaunchKernel(self, function, x, y, z, threads, *rest):
        (*_, arguments, _) = rest
        first = ctypes.c_uint64.from_address(arguments).value
        self.launched.append((function, (x, y, z), ctypes.c_uint64.from_address(first).value))


class _Words:
    """Any enumeration, or handle."""

    def __getattr__(self, name):
        return name

    def __call__(self, handle):
        return handle
