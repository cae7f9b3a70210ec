"""Structural contracts: does a source keep the structure that its blueprint promised?

1. `sources/` reads C++ and CUDA (tree-sitter) and Triton (`ast`) into the language-free facts of `facts.py`.
2. `sweeps.py` tells how often and how an axis is walked.
3. `clauses/` holds one file per clause kind: what it sees, and whether that is what the contract says.
4. `check.py` puts a verdict on every clause: pass, violated, or undecidable where the reader does not understand.
5. `launches.py` convicts by what was really launched; it never acquits.
"""

from __future__ import annotations

from search.contract.check import check, fingerprint, overall

__all__ = ["check", "fingerprint", "overall"]
