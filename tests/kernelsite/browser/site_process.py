"""A whole site in a folder of its own: `manage.py up` on a free port, as a person would start it."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
READY_S = 240.0


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Site:
    def __init__(self, folder):
        self.folder = folder
        self.ready_file = folder / "ready.json"
        self.log = (folder / "up.log").open("wb")
        outside = {"DATABASE_URL", "REDIS_URL", "DJANGO_SETTINGS_MODULE", "KERNELSITE_HTTPS"}
        environment = {name: value for name, value in os.environ.items() if name not in outside}
        command = [
            sys.executable,
            "manage.py",
            "up",
            "--port",
            str(free_port()),
            "--once-ready-file",
            str(self.ready_file),
        ]
        self.process = subprocess.Popen(
            command,
            cwd=ROOT,
            env=environment | {"KERNELSITE_VAR": str(folder)},
            stdout=self.log,
            stderr=self.log,
        )

    def __enter__(self):
        deadline = time.monotonic() + READY_S
        while not self.ready_file.exists():
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise AssertionError(f"the site did not start:\n{self.tail()}")
            time.sleep(0.1)
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGINT)
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.log.close()

    @property
    def ready(self):
        return json.loads(self.ready_file.read_text())

    @property
    def url(self):
        return self.ready["url"]

    @property
    def password(self):
        return (self.folder / "first_login").read_text().strip()

    def kill(self, program):
        """SIGKILL one program; the supervisor starts it again."""
        os.kill(self.ready["programs"][program], signal.SIGKILL)

    def tail(self, lines=40):
        text = (self.folder / "up.log").read_text(errors="replace")
        return "\n".join(text.splitlines()[-lines:])
