"""Devices as data for the cost model: rates and sizes of a device class, with where each figure comes from.

Rates are of the whole device. A unit is what runs programs beside the others: a streaming multiprocessor, a core.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from search.records import Record

Rate = Annotated[float, Field(gt=0)]


class DeviceModel(Record):
    """What the cost model knows of a device class."""

    name: str
    title: str
    units: Annotated[int, Field(ge=1)]
    programs_per_unit: Annotated[int, Field(ge=1)]
    """Most programs that a unit holds at once."""
    memory_bytes_per_us: Rate
    cache_size_bytes: Rate
    """Size of the last cache that all units share, as far as data that is met again can rely on it."""
    cache_bytes_per_us: Rate
    """Between that cache and all units."""
    chip_size_bytes: Rate
    """Registers or shared memory that the programs of one unit share."""
    latency_us: Annotated[float, Field(ge=0)]
    """From asking for data to having it, under load."""
    launch_us: Annotated[float, Field(ge=0)]
    """What one more kernel costs: its start and the drain of the one before it."""
    operations_per_us: dict[str, Rate]
    """By kind of work: `matrix16` and `matrix32` (matrix units), `vector`, `scalar` (a chain of dependent
    additions per program), `special` (exponentials of the hardware or the library)."""
    sources: dict[str, str] = {}
    """Where figures come from, by field."""


H200 = DeviceModel(
    name="h200",
    title="NVIDIA H200",
    units=132,
    programs_per_unit=32,
    memory_bytes_per_us=4.24e6,
    cache_size_bytes=25 * 2**20,
    cache_bytes_per_us=6.5e6,
    chip_size_bytes=227 * 2**10,
    latency_us=0.8,
    launch_us=2.5,
    operations_per_us={
        "matrix16": 7.9e8,
        "matrix32": 3.9e8,
        "vector": 6.0e7,
        "scalar": 3.0e7,
        "special": 3.7e6,
    },
    sources={
        "memory_bytes_per_us": "measured device-to-device copy, 4.24 TB/s",
        "cache_size_bytes": "50 MB L2 in two halves; data that both halves read is kept twice",
        "cache_bytes_per_us": "between published H100 L2 read measurements of 5.5 and 7 TB/s",
        "chip_size_bytes": "227 KiB shared memory per SM that a program may use; registers are 256 KiB",
        "operations_per_us": "measured class of bf16 dense and fp32; special: 16 per SM and clock at 1.755 GHz",
        "launch_us": "back-to-back launches on one stream, rough",
    },
)

CPU = DeviceModel(
    name="cpu",
    title="One core of an x86-64 server",
    units=1,
    programs_per_unit=1,
    memory_bytes_per_us=1.0e4,
    cache_size_bytes=8 * 2**20,
    cache_bytes_per_us=3.0e4,
    chip_size_bytes=2**20,
    latency_us=0.0,
    launch_us=3.0,
    operations_per_us={
        "matrix16": 4.0e4,
        "matrix32": 4.0e4,
        "vector": 4.0e4,
        "scalar": 8.0e2,
        "special": 2.0e2,
    },
    sources={"": "class figures of a 2.5 GHz core with AVX2, not of one machine"},
)

DEVICES: dict[str, DeviceModel] = {device.name: device for device in (H200, CPU)}
"""Device models by class."""


def device_model(device_class: str) -> DeviceModel | None:
    """Model of a device class; `recorded:h200` and `recorded:h200_…` are modelled as `h200`, an unknown one as nothing."""
    name = device_class.removeprefix("recorded:")
    return DEVICES.get(name) or DEVICES.get(name.partition("_")[0])
