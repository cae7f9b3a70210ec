"""Which code this process runs: every search keeps it beside its frozen settings."""

from __future__ import annotations

import os
import subprocess
from functools import cache
from importlib import metadata

from django.conf import settings

GIT_S = 5.0
DESCRIBE = ("git", "describe", "--always", "--exclude=*", "--abbrev=12", "--dirty=, changed since")


@cache
def code_version() -> str:
    """Version of the package and, where one can be known, the commit.

    `KERNELSITE_COMMIT` names the commit where no repository is shipped; otherwise git is asked once per process.
    """
    version = f"kernelsite {metadata.version('kernelsite')}"
    commit = os.environ.get("KERNELSITE_COMMIT", "")[:60] or _commit()
    return f"{version}, commit {commit}" if commit else version


def _commit() -> str:
    if not (settings.BASE_DIR / ".git").exists():
        return ""
    try:
        done = subprocess.run(
            DESCRIBE, cwd=settings.BASE_DIR, capture_output=True, text=True, timeout=GIT_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
