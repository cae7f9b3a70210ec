"""Errors of the CUDA driver, and the exit codes by which a cell tells the judge of them."""

from __future__ import annotations

from gpuworker.verdicts import Exit

_EXITS = {
    "CUDA_ERROR_ILLEGAL_ADDRESS": Exit.ILLEGAL_ADDRESS,
    "CUDA_ERROR_MISALIGNED_ADDRESS": Exit.ILLEGAL_ADDRESS,
    "CUDA_ERROR_INVALID_ADDRESS_SPACE": Exit.ILLEGAL_ADDRESS,
    "CUDA_ERROR_ASSERT": Exit.DEVICE_ASSERT,
    "CUDA_ERROR_OUT_OF_MEMORY": Exit.OUT_OF_MEMORY,
}


class CudaError(Exception):
    """The driver refused; `name` is its own word for why."""

    def __init__(self, name: str, what: str) -> None:
        """Say what was asked."""
        super().__init__(f"{what}: {name}")
        self.name = name


def exit_code(error: BaseException) -> Exit | None:
    """Of an error that a GPU caused, ours or torch's; None for any other."""
    if isinstance(error, CudaError):
        return _EXITS.get(error.name, Exit.DEVICE_FAULT)
    if not isinstance(error, RuntimeError):
        return None
    # torch passes the driver's words on in its text.
    text = str(error)
    if "illegal memory access" in text or "misaligned address" in text:
        return Exit.ILLEGAL_ADDRESS
    if "device-side assert" in text:
        return Exit.DEVICE_ASSERT
    return Exit.DEVICE_FAULT if "CUDA error" in text else None
