"""Whether a device may be believed.

1. `nvml.py` reads a GPU through NVML and gives a `GpuSample`; nothing else here imports it.
2. `gpu.py` turns samples into findings, `kernel_log.py` the driver's Xid lines, `host.py` the machine around it.
3. `quarantine.py` counts infrastructure faults and shuts a device out after too many in a row.

Clocks, power limits and MIG are read and never set.
"""

from __future__ import annotations
