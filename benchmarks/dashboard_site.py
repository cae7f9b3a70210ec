"""A site in a folder of its own for the measurements of the dashboard. `KERNELSITE_VAR` must be set before import."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kernelsite.settings")
ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
django.setup()

from dashboard_seed import Size, blueprints_of, seed_search  # noqa: E402  # models need the lines above

from kernelsite.ops import first_run  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Iterator

READY_S = 120.0
STRUCTURES, CANDIDATES = 200, 5000
SMALL_STRUCTURES, SMALL_CANDIDATES = 20, 500


def seeded(searches: int) -> int:
    """Prepare the folder and write one large search and many small ones; the large one's number."""
    first_run.prepare()
    blueprints = blueprints_of(STRUCTURES)
    for seed in range(searches):
        small = Size(SMALL_STRUCTURES, SMALL_CANDIDATES, seed, events_per_candidate=0)
        seed_search(small, blueprints, f"Small {seed}")
    return seed_search(Size(STRUCTURES, CANDIDATES), blueprints, "Large").pk


@contextmanager
def running_site(folder: Path) -> Iterator[tuple[str, str]]:
    """Run `manage.py up` on the folder; address and password of its first user."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    ready = folder / "ready.json"
    ready.unlink(missing_ok=True)  # of an earlier run on the same folder
    command = [sys.executable, "manage.py", "up", "--port", str(port), "--once-ready-file", str(ready)]
    with (folder / "up.log").open("wb") as log:
        process = subprocess.Popen(command, cwd=ROOT, stdout=log, stderr=log)
    try:
        deadline = time.monotonic() + READY_S
        while not ready.exists():
            if process.poll() is not None or time.monotonic() > deadline:
                raise SystemExit((folder / "up.log").read_text(errors="replace")[-2000:])
            time.sleep(0.2)
        yield json.loads(ready.read_text())["url"], (folder / "first_login").read_text().strip()
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(30)
