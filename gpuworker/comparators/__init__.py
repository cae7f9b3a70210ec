"""Ways of telling a right output from a wrong one, one file each; `registry.py` lists them by name.

Each looks once at a golden output (`question.Question`) and keeps what it needs to judge many outputs
(`question.Expected`), on whatever device the golden output lies. `rows.py` cuts large tensors into pieces, so that no
comparison needs a second copy of everything.
"""

from __future__ import annotations
