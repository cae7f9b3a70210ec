"""A library small enough to be checked fast, and broken in one place."""

from __future__ import annotations

NAME = "small"
HEAD = "name: small\nversion: '1'\ntitle: Small\n"
DECISIONS = """\
decisions:
  - name: exp
    when: [trait softmax]
    initial: libm
    words: {libm: of the library, polynomial: a polynomial}
"""
ACTION = """\
actions:
  - id: poly
    family: numerics
    title: Polynomial exponential
    summary: The exponential is a polynomial.
    when: [trait softmax]
    sets: {exp: polynomial}
    contract: No call of the library.
    notes: Pays where the exponential bounds.
"""
ACTION_FILE = "10_poly.yaml"
FILES = {"00_library.yaml": HEAD, "01_decisions.yaml": DECISIONS, ACTION_FILE: ACTION}
EVIL = "<script>alert(1)</script>"
