"""The registration self-test: would this workload's cases and tolerance reject wrong kernels?

1. `selftest.py` takes the specimens that candidates are checked with (`yardstick.py`) and holds mutants against
   them with the judge's own comparison.
2. `outputs.py` spoils golden outputs: zeros, another seed's, a tile left out, one percent off.
3. `reruns.py` runs the reference wrongly, in a cell as always: an input ignored, a lower precision inside
   (`rounding.py`).
4. `record.py` has its bounds, `search/validation.py` the answer; `markdown.py` prints it and `explained.py` says why a survivor of a shipped
   workload is no danger.
5. `station.py` is the device side of `python -m gpuworker selftest`, `command.py` the other end.
"""

from __future__ import annotations
