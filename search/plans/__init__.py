"""What follows from the choices of a structure: kernels, intermediates and contract clauses, one file per kind of work."""

from __future__ import annotations
