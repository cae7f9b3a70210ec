"""Ways of calling a program on a slot, one file each; `registry.py` lists them."""

from __future__ import annotations
