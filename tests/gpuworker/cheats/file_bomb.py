# RUNTIME_ERROR: fills the disk, or what it takes for one.
from __future__ import annotations

import os
from pathlib import Path


def run(x, y):
    for number in range(10_000):
        with Path(f"/tmp/fill-{number}").open("wb") as file:
            for _ in range(64):
                file.write(os.urandom(1 << 20))
