"""What people already have, taken in and given back: one file per foreign format.

1. `format.py` says what a format is: it reads and writes named files, and reports what was taken, changed, dropped.
2. `reading.py` turns bytes into JSON that is safe to look at; every refusal names file, line or field.
3. `schema.py` holds the records on the wire, which FlashInfer-Trace and SOL-ExecBench share.
4. `convert.py` turns a definition with its cases into a `Workload`, and back.
5. `flashinfer_trace.py` and `sol_execbench.py` know the folders, programs and results of their format.
6. `kernelbench.py`, `gpu_mode.py` and `python_function.py` take Python programs. `shapes/` reads what these compute
   without running them, `assemble.py` makes workloads of it, `templates.py` holds the source that we write around them,
   and `probes.py` says what a sandbox has to find out where the text does not tell.
7. `hf_kernels.py` and `standalone.py` write a candidate for the use elsewhere.
8. `containers.py` opens uploads: all limits, all faults. `folders.py` and it are the only files that touch a disk.

`FORMATS` in `registry.py` lists them.
"""

from __future__ import annotations

from search.formats.format import Collection, Format, FormatError, Report
from search.formats.registry import FORMATS, recognise

__all__ = ["FORMATS", "Collection", "Format", "FormatError", "Report", "recognise"]
