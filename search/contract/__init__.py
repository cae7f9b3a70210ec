"""Structural contracts: does a source keep the structure that its blueprint promised?

1. `sources/` reads C++ (tree-sitter) and Triton (`ast`) into the language-free facts of `facts.py`.
2. `sweeps.py` tells how often and how an axis is walked.
3. `clauses/` holds one file per clause kind: what it sees, and whether that is what the contract says.
4. `check.py` puts a verdict on every clause: pass, violated, or undecidable where the reader does not understand.
"""

from __future__ import annotations

from search.contract.check import check, fingerprint

__all__ = ["check", "fingerprint"]
