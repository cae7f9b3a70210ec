"""Pages about searches, complete and readable without JavaScript.

`home` (start page and find box), `listing` (all searches), `search` (the live page),
`structure`, `candidate`. Each view gets, validates, acts and renders; what it shows is computed in the
file of the same subject beside this folder: `estimate.py`, `evidence.py`, `knob_table.py`.
"""

from __future__ import annotations
