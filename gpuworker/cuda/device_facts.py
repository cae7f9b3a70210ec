"""What a program's host code may ask about a GPU."""

from __future__ import annotations

from search.records import Record


class GhostDevice(Record):
    """The device that traced host code believes in."""

    name: str
    capability: tuple[int, int]
    multiprocessors: int
    memory_bytes: int
    shared_bytes: int
    """Most dynamic shared memory of a block."""
    cache_bytes: int


H200 = GhostDevice(
    name="NVIDIA H200",
    capability=(9, 0),
    multiprocessors=132,
    memory_bytes=150_000_000_000,
    shared_bytes=232_448,
    cache_bytes=60 << 20,
)
"""What Triton sources are compiled for on a machine without a GPU."""
