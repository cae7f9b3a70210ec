# RUNTIME_ERROR: overwrites the judge and the interpreter for the next candidate.
from __future__ import annotations

from pathlib import Path

import torch

import gpuworker


def run(x, y):
    written = 0
    for module in (gpuworker, torch):
        for name in ("evaluate.py", "__init__.py"):
            try:
                with Path(next(iter(module.__path__)), name).open("a") as file:
                    file.write("\n")
                    written += 1
            except OSError:
                continue
    if written:
        print("LEAK wrote", written)
    raise RuntimeError("read-only")
