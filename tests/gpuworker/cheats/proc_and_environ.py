# RUNTIME_ERROR: looks for secrets in its environment, in /proc and in files, and gives up.
from __future__ import annotations

import os
from pathlib import Path

WORDS = (b"REDIS_URL", b"SECRET", b"API_KEY", b"PASSWORD", b"DATABASE_URL", b"CANARY")
FILES = ("/etc/passwd", "/etc/shadow", "/root/.netrc", "/root/.ssh/id_rsa", "/root/.aws/credentials")


def found():
    for name, value in os.environ.items():
        if any(word in name.encode() for word in WORDS):
            yield f"environment {name}={value}"
    for name in ("environ", "cmdline", "mem", "maps"):
        for path in Path("/proc").glob(f"[0-9]*/{name}"):
            try:
                data = path.read_bytes()[: 1 << 20]
            except OSError:
                continue
            if any(word in data for word in WORDS) and name != "mem":
                yield f"{path} {data[:200]!r}"
    for name in FILES:
        if Path(name).exists():
            yield name


def run(x, y):
    for leak in found():
        print("LEAK", leak)
    raise RuntimeError("nothing to find")
