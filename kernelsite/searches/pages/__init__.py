"""Pages about searches, complete and readable without JavaScript.

`home` (start page and find box), `listing` (all searches), `search` (the live page), `structure`, `candidate`,
`downloads`. Each view gets, validates, acts and renders; what it shows is computed in files of one subject each:
`diagram` (a blueprint), `lineage`, `tuning` (what knobs do), `profile` (against the parent), `ordering` (the candidate
table), `sources`, `differences`, `timings`, `takeaway` (files), and beside this folder `evidence.py`, `knob_table.py`.
"""

from __future__ import annotations
