"""Runs the site's processes as `up` does, restarts what dies, and kills them with SIGKILL."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

from kernelsite import embedded

HERE = Path(__file__).resolve().parent
BIN = Path(sys.executable).parent


def database_url(settings_dict):
    """The address of the database that this test process uses, for its children."""
    if settings_dict["ENGINE"].endswith("sqlite3"):
        return f"sqlite:///{settings_dict['NAME']}"
    person, password, host = (
        quote(str(settings_dict[name]), safe="") for name in ("USER", "PASSWORD", "HOST")
    )
    secret = f":{password}" if password else ""
    port = f":{settings_dict['PORT']}" if settings_dict["PORT"] else ""
    return f"postgres://{person}{secret}@{host}{port}/{settings_dict['NAME']}"


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def stat_fields(pid):
    """(state, parent, start time) of a process, or None."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return fields[0], int(fields[1]), int(fields[19])


def descendants(pid):
    """{(pid, start time)} of all living processes under one."""
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal() and (found := stat_fields(entry.name)) is not None:
            parents[int(entry.name)] = (found[1], found[2])
    family, grew = {pid}, True
    while grew:
        more = {child for child, (parent, _) in parents.items() if parent in family} - family
        family |= more
        grew = bool(more)
    return {(child, parents[child][1]) for child in family - {pid} if child in parents}


def is_alive(process):
    pid, started = process
    found = stat_fields(pid)
    return found is not None and found[2] == started and found[0] not in "ZX"


@dataclass
class Rig:
    folder: Path
    database: str
    device: list[str]
    extra: dict[str, str]
    wanted: dict[str, subprocess.Popen] = field(default_factory=dict)
    kills: list[str] = field(default_factory=list)
    orphans: set = field(default_factory=set)
    is_running: bool = True
    restarts: int = 0

    def __post_init__(self):
        self.socket = self.folder / "redis.sock"
        self.port = free_port()
        celery = [str(BIN / "celery"), "-A", "kernelsite", "worker", "--loglevel", "INFO", "--without-mingle"]
        self.commands = {
            "server": list(embedded.command(self.socket, self.folder)),
            "web": [
                str(BIN / "daphne"),
                "-b",
                "127.0.0.1",
                "-p",
                str(self.port),
                "kernelsite.asgi:application",
            ],
            "control": [*celery, "-Q", "control", "-c", "2", "-n", "control@rig"],
            "agent": [*celery, "-Q", "agent", "-c", "1", "-n", "agent@rig"],
            "sweeper": [sys.executable, "-m", "django", "sweep"],
            "device": self.device,
        }

    @property
    def environment(self):
        return {
            **os.environ,
            **self.extra,
            "DATABASE_URL": self.database,
            "REDIS_URL": f"unix://{self.socket}",
            "DJANGO_SETTINGS_MODULE": "rig_settings",
            "PYTHONPATH": os.pathsep.join(
                [str(HERE), str(HERE.parents[2]), os.environ.get("PYTHONPATH", "")]
            ).rstrip(os.pathsep),
        }

    def __enter__(self):
        for name in self.commands:
            self.start(name)
        self.keeper = threading.Thread(target=self.keep, daemon=True)
        self.keeper.start()
        return self

    def __exit__(self, *_):
        self.is_running = False
        self.keeper.join()
        self.orphans |= descendants(self.wanted["device"].pid)
        for name, process in self.wanted.items():
            process.send_signal(signal.SIGKILL if name == "server" else signal.SIGTERM)
        for process in self.wanted.values():
            try:
                process.wait(5)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()

    def start(self, name):
        log = (self.folder / f"{name}.log").open("ab")
        self.wanted[name] = subprocess.Popen(
            self.commands[name],
            stdout=log,
            stderr=log,
            env=self.environment,
            cwd=HERE,
            start_new_session=True,
        )
        log.close()

    def keep(self):
        """The supervisor: whatever died is started again."""
        while self.is_running:
            for name, process in list(self.wanted.items()):
                if process.poll() is not None:
                    self.restarts += 1
                    self.start(name)
            time.sleep(0.05)

    def kill(self, name):
        process = self.wanted[name]
        below = descendants(process.pid)
        if name == "device":
            self.orphans |= below
        process.kill()
        if name == "agent":
            # The process of its pool holds the call, and outlives the one above it by as long as that takes.
            for pid, _ in below:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        self.kills.append(name)

    def survivors(self, within_s=5.0):
        """Processes of killed device workers that are still there after a while."""
        deadline = time.monotonic() + within_s
        while time.monotonic() < deadline and any(map(is_alive, self.orphans)):
            time.sleep(0.1)
        return {process for process in self.orphans if is_alive(process)}

    def logs(self, lines=15):
        tails = []
        for path in sorted(self.folder.glob("*.log")):
            tails.append(
                f"--- {path.name}\n" + "\n".join(path.read_text(errors="replace").splitlines()[-lines:])
            )
        return "\n".join(tails)
