"""Starts the whole site on this machine and keeps it up: what `up` and `demo` share."""

from __future__ import annotations

import fcntl
import json
import os
import socket
import sys
import time
import urllib.error
import urllib.request
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from django.conf import settings
from honcho.printer import Printer

from kernelsite import embedded
from kernelsite.ops import programs
from kernelsite.ops.deaf import Listener
from kernelsite.ops.first_run import FirstLogin, prepare
from kernelsite.ops.programs import Place
from kernelsite.ops.supervisor import Supervisor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

PORTS_TRIED = 50
PROBE_S = 0.25
LISTEN_S = 10.0


class LaunchError(RuntimeError):
    """The site cannot be started here."""


@dataclass
class Site:
    """A site that is being started or running."""

    place: Place
    login: FirstLogin
    supervisor: Supervisor
    ready_file: Path | None = None
    is_ready: bool = False
    listener: Listener = field(default_factory=lambda: Listener(settings.REDIS_URL))
    _told: dict[str, int] = field(default_factory=dict)
    _probe_at: float = 0.0
    _listen_at: float = 0.0

    def tick(self) -> bool:
        """Notice when the site answers, and say so once; keep the ready file in step; wake deaf workers."""
        if not self.is_ready and time.monotonic() >= self._probe_at:
            self._probe_at = time.monotonic() + PROBE_S
            self.is_ready = _answers(f"{self.place.url}/readyz")
            if self.is_ready:
                self.supervisor.say(f"ready: {self.place.url}/  log in as {self.login.text}")
        if self.is_ready and self._told != self.supervisor.pids:
            self._told = self.supervisor.pids
            self._write_ready_file()
        if time.monotonic() >= self._listen_at:
            self._listen_at = time.monotonic() + LISTEN_S
            for queue in self.listener.deaf(time.monotonic()):
                self.supervisor.say(f"the {queue} worker takes no messages; starting it again")
                self.supervisor.restart(queue)
        return True

    def _write_ready_file(self) -> None:
        if self.ready_file is None:
            return
        content = {"url": self.place.url, "pid": os.getpid(), "programs": self._told}
        draft = self.ready_file.with_name(self.ready_file.name + ".new")
        draft.write_text(json.dumps(content) + "\n")
        draft.replace(self.ready_file)


@contextmanager
def running_site(place: Place, ready_file: Path | None = None) -> Iterator[Site]:
    """Start everything; at the end of the context everything is stopped.

    Raises:
        LaunchError: another `up` runs on the same folder, or the embedded server does not start.
    """
    cores, environment = programs.own_cores(), programs.site_environment()
    os.sched_setaffinity(0, cores.site)
    settings.VAR.mkdir(mode=0o700, parents=True, exist_ok=True)
    with (
        _only_one(settings.VAR / "up.lock"),
        Supervisor(Printer(sys.stdout), str(settings.BASE_DIR)) as supervisor,
    ):
        if "REDIS_URL" not in os.environ:
            _start_server(supervisor, environment, cores)
        login = prepare()
        for program in programs.site(place, environment, cores):
            supervisor.start(program)
        yield Site(place, login, supervisor, ready_file)
        supervisor.say("stopping")
    os.sched_setaffinity(0, cores.all)


def _start_server(supervisor: Supervisor, environment: dict[str, str], cores: programs.Cores) -> None:
    try:
        embedded.wait_until_gone(settings.EMBEDDED_SOCKET)
        supervisor.start(programs.server(environment, cores))
        embedded.wait_until_ready(
            settings.EMBEDDED_SOCKET, alive=partial(supervisor.is_running, programs.SERVER)
        )
    except embedded.EmbeddedServerError as error:
        raise LaunchError(str(error)) from error


def free_place(host: str, wanted: int, say: Callable[[str], object]) -> Place:
    """The wanted port, or the next free one.

    Raises:
        LaunchError: none of the next fifty is free.
    """
    for port in range(wanted, min(wanted + PORTS_TRIED, 65536)):
        if _is_free(host, port):
            if port != wanted:
                say(f"port {wanted} is taken; using {port}")
            return Place(host, port)
    raise LaunchError(f"no free port from {wanted} on at {host}")


def _is_free(host: str, port: int) -> bool:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return False
    return True


@contextmanager
def _only_one(file: Path) -> Iterator[None]:
    """Hold the folder's lock: two sites on one database and one socket would fight."""
    with file.open("a") as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise LaunchError(f"the site already runs on {file.parent}") from None
        yield


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=2) as answer:
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError):
        return False
