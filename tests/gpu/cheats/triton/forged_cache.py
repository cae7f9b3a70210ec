# expect: REWARD_HACK, COMPILE_ERROR, RUNTIME_ERROR, CRASH
# Hands over garbage for the compiler's cache.
from __future__ import annotations

import os


def run(x, y):
    x[0, 0].item()
    for fd in range(3, 64):
        try:
            os.write(fd, b"no archive at all" * 1000)
        except OSError:
            pass
    os._exit(0)
