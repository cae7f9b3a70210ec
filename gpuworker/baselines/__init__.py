"""Named programs that a candidate is compared with besides the workload's own reference as it stands.

`registry.py` lists them by name; `library.py` holds calls of torch's libraries by operation. `measure.py` times each against
the running eager baseline, in turns, and keeps what it found per environment.
"""

from __future__ import annotations
