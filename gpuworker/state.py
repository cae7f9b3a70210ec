"""The one folder a worker keeps on disk: built libraries, locks, an empty mount point. Only trusted code writes it."""

from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path


def folder() -> Path:
    """Private folder of this user in the system's temporary directory.

    Raises:
        PermissionError: something of that name is there and is not ours alone.
    """
    path = Path(tempfile.gettempdir()) / f"kernelsite-{os.geteuid()}"
    try:
        path.mkdir(mode=0o700)
    except FileExistsError:
        found = path.lstat()
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o077:
            raise PermissionError(f"{path} is not a private folder of this user") from None
    return path
