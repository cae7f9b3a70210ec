"""The CUDA driver through NVIDIA's own bindings: errors as exceptions, and memory that processes share by file.

Memory comes from `cuMemCreate` with a POSIX file descriptor as handle: unlike legacy IPC handles such a file can be
mapped by another user in other namespaces, and read-only.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from cuda.bindings import driver as cu

from gpuworker.cuda.faults import CudaError

_FILE = cu.CUmemAllocationHandleType.CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR


def check(answer: tuple[Any, ...], what: str) -> Any:
    """The value of a driver call.

    Raises:
        CudaError: it failed.
    """
    code, *values = answer
    if code != cu.CUresult.CUDA_SUCCESS:
        raise CudaError(code.name, what)
    return values[0] if len(values) == 1 else values


_BUS_BYTES = 16


def bus_of(index: int) -> str:
    """PCI address of a device, by which a process that sees fewer devices finds the same one."""
    check(cu.cuInit(0), "cuInit")
    device = check(cu.cuDeviceGet(index), f"device {index}")
    return str(check(cu.cuDeviceGetPCIBusId(_BUS_BYTES, device), "PCI address").split(b"\0")[0].decode())


def number_of(bus: str) -> int:
    """Number of the device at a PCI address among those that this process sees.

    Raises:
        CudaError: it is not among them.
    """
    check(cu.cuInit(0), "cuInit")
    if int(check(cu.cuDeviceGetCount(), "count devices")) == 1:
        return 0  # a cell has the device file of one
    return int(check(cu.cuDeviceGetByPCIBusId(bus.encode()), f"device {bus}"))


def open_context(index: int) -> Any:
    """The primary context of a device, made current in this thread: the one that torch uses too."""
    check(cu.cuInit(0), "cuInit")
    device = check(cu.cuDeviceGet(index), f"device {index}")
    context = check(cu.cuDevicePrimaryCtxRetain(device), "context")
    check(cu.cuCtxSetCurrent(context), "context")
    return device


def synchronise() -> None:
    """Wait until everything this context was given is done.

    Raises:
        CudaError: something of it failed, now or earlier.
    """
    check(cu.cuCtxSynchronize(), "synchronise")


def granularity(index: int) -> int:
    """Allocations are multiples of this."""
    minimum = cu.CUmemAllocationGranularity_flags.CU_MEM_ALLOC_GRANULARITY_MINIMUM
    return int(check(cu.cuMemGetAllocationGranularity(_properties(index), minimum), "granularity"))


def shared_bytes(index: int) -> int:
    """Most shared memory that a block may ask for."""
    attribute = cu.CUdevice_attribute.CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN
    device = check(cu.cuDeviceGet(index), f"device {index}")
    return int(check(cu.cuDeviceGetAttribute(attribute, device), "shared memory"))


@dataclass
class Mapping:
    """A mapped allocation in this process."""

    address: int
    size_bytes: int
    _handle: Any

    def close(self) -> None:
        """Unmap it and give up the handle; the memory goes when no process has it any more."""
        check(cu.cuMemUnmap(self.address, self.size_bytes), "unmap")
        check(cu.cuMemAddressFree(self.address, self.size_bytes), "unmap")
        check(cu.cuMemRelease(self._handle), "release")


def allocate(index: int, size_bytes: int) -> tuple[Mapping, int]:
    """New memory of at least this size, mapped here, and a file by which others may map it.

    Raises:
        CudaError: there is not that much.
    """
    unit = granularity(index)
    size = max(unit, -(-size_bytes // unit) * unit)
    handle = check(cu.cuMemCreate(size, _properties(index), 0), f"{size} bytes of device memory")
    fd = int(check(cu.cuMemExportToShareableHandle(handle, _FILE, 0), "export"))
    os.set_inheritable(fd, False)
    return _mapped(index, handle, size, writable=True), fd


def attach(index: int, fd: int, size_bytes: int, *, writable: bool) -> Mapping:
    """Map what another process allocated; the file may be closed afterwards.

    Raises:
        CudaError: the file is no such memory.
    """
    unit = granularity(index)
    size = max(unit, -(-size_bytes // unit) * unit)
    handle = check(cu.cuMemImportFromShareableHandle(fd, _FILE), "import")
    return _mapped(index, handle, size, writable=writable)


def _mapped(index: int, handle: Any, size: int, *, writable: bool) -> Mapping:
    address = int(check(cu.cuMemAddressReserve(size, 0, 0, 0), "reserve addresses"))
    check(cu.cuMemMap(address, size, 0, handle, 0), "map")
    access = cu.CUmemAccessDesc()
    access.location.type = cu.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE
    access.location.id = index
    flags = cu.CUmemAccess_flags
    access.flags = (
        flags.CU_MEM_ACCESS_FLAGS_PROT_READWRITE if writable else flags.CU_MEM_ACCESS_FLAGS_PROT_READ
    )
    check(cu.cuMemSetAccess(address, size, [access], 1), "access")
    return Mapping(address, size, handle)


def _properties(index: int) -> Any:
    properties = cu.CUmemAllocationProp()
    properties.type = cu.CUmemAllocationType.CU_MEM_ALLOCATION_TYPE_PINNED
    properties.location.type = cu.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE
    properties.location.id = index
    properties.requestedHandleTypes = _FILE
    return properties
