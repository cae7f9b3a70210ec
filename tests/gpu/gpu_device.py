"""Which GPU the tests of this process use.

`KS_TEST_DEVICE` names it, `cuda:0` unless told. Where it names several (`cuda:0,cuda:1`), workers of pytest-xdist
share them out.
"""

from __future__ import annotations

import os


def chosen_device() -> str:
    """Of this process, e.g. `cuda:1`."""
    named = [word.strip() for word in os.environ.get("KS_TEST_DEVICE", "cuda:0").split(",")]
    worker = os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")
    return named[int(worker) % len(named)]
