"""Shapes and element types of PyTorch programs, found by reading their text; nothing of it is executed.

1. `values.py`: sizes that remember how they came about, tensors without elements, what cannot be read.
2. `reader.py` follows a module: constants, functions, classes, expressions and statements, within a limit of steps.
3. `builtins.py`, `functions.py`, `methods.py` and `layers.py` say what Python, `torch`, tensors and `torch.nn` make of shapes.

What a rule does not know raises `Unread` with its line: the file then needs a probe, which runs it in a sandbox.
"""

from __future__ import annotations

from search.formats.shapes.reader import Module, read_module
from search.formats.shapes.values import Array, Size, Unread

__all__ = ["Array", "Module", "Size", "Unread", "read_module"]
