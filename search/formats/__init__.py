"""What people already have, taken in and given back: one file per foreign format.

1. `format.py` says what a format is: it reads and writes named files, and reports what was taken, changed, dropped.
2. `reading.py` turns bytes into JSON that is safe to look at; every refusal names file, line or field.
3. `schema.py` holds the records on the wire, which FlashInfer-Trace and SOL-ExecBench share.
4. `convert.py` turns a definition with its cases into a `Workload`, and back.
5. `flashinfer_trace.py` and `sol_execbench.py` know the folders, programs and results of their format.
6. `folders.py` is the only file that touches a disk.

`FORMATS` in `registry.py` lists them.
"""

from __future__ import annotations

from search.formats.format import Collection, Format, FormatError, Report
from search.formats.registry import FORMATS, recognise

__all__ = ["FORMATS", "Collection", "Format", "FormatError", "Report", "recognise"]
