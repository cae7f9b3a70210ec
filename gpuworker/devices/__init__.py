"""What is special about a kind of device: buffers, cores, caches, freezing, leases. One file per device class."""

from __future__ import annotations
