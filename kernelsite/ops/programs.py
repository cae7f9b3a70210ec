"""What `up` keeps running: embedded server, web, control and agent workers, sweeper, one device worker."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.conf import settings
from honcho.colour import get_colours

from kernelsite import embedded
from kernelsite.ops.gpus import gpus
from kernelsite.ops.supervisor import Program
from search.records import Queue, device_queue

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

SERVER, WEB = "server", "web"
CONTROL_PROCESSES, AGENT_PROCESSES = 2, 2

DEVICE_WORDS = ("PATH", "HOME", "USER", "TMPDIR", "VIRTUAL_ENV", "LD_LIBRARY_PATH", "CC", "CXX")
DEVICE_PREFIXES = ("LANG", "LC_", "PYTHON", "GPUWORKER_", "CUDA_", "NVIDIA_", "TRITON_", "OMP_", "REMAP_")
"""What a device worker inherits. It runs strangers' code: no database address, no key, no password."""


@dataclass(frozen=True)
class Place:
    """Where the site listens."""

    host: str
    port: int

    @property
    def url(self) -> str:
        """Address for a browser on this machine."""
        host = "127.0.0.1" if self.host in {"0.0.0.0", "::"} else self.host
        return f"http://{f'[{host}]' if ':' in host else host}:{self.port}"


@dataclass(frozen=True)
class Cores:
    """The last core measures candidates; everything of the site stays off it, where there are two."""

    all: frozenset[int]

    @property
    def site(self) -> frozenset[int]:
        """For everything but the device worker."""
        return self.all - {max(self.all)} if len(self.all) > 1 else self.all


def own_cores() -> Cores:
    """Those that this process may use."""
    return Cores(frozenset(os.sched_getaffinity(0)))


def server(environment: Mapping[str, str], cores: Cores) -> Program:
    """The embedded server.

    Raises:
        EmbeddedServerError: its folder belongs to somebody else.
    """
    command = embedded.command(settings.EMBEDDED_SOCKET, settings.VAR / "redis")
    return Program(SERVER, command, environment, cores.site, next(get_colours()))


def site(place: Place, environment: Mapping[str, str], cores: Cores) -> list[Program]:
    """Everything else, in the order of start."""
    environment = {"KERNELSITE_SITE_URL": place.url, **environment}
    python = (sys.executable, "-u", "-m")
    web = (*python, "daphne", "-v", "0", "--no-server-name", "-b", place.host, "-p", str(place.port))
    commands = {
        WEB: (*web, "kernelsite.asgi:application"),
        # Answers from landscapes are short and end in rows, as everything on `control`.
        "control": _worker("kernelsite", f"{Queue.CONTROL},{Queue.RECORDED}", "-c", str(CONTROL_PROCESSES)),
        "agent": _worker("kernelsite", Queue.AGENT, "-c", str(AGENT_PROCESSES)),
        "sweeper": (sys.executable, "-u", str(settings.BASE_DIR / "manage.py"), "sweep"),
    }
    programs = [Program(name, words, environment, cores.site) for name, words in commands.items()]
    given = device_environment(environment)
    device = _worker("gpuworker.app", device_queue("cpu"), "--pool", "solo")
    programs.append(Program("device", device, given, cores.all))
    for gpu in gpus():
        words = ("--pool", "solo", "--device", f"cuda:{gpu.index}")
        worker = _worker("gpuworker.app", device_queue(gpu.device_class), *words)
        programs.append(Program(f"gpu-{gpu.index}", worker, given, cores.all))
    return _coloured(programs)


def _worker(app: str, queues: str, *options: str) -> tuple[str, ...]:
    """A Celery worker; it needs no other workers to be found by, so the chatter between workers is off."""
    quiet = ("--without-gossip", "--without-mingle", "--without-heartbeat", "-l", "WARNING")
    celery = (sys.executable, "-u", "-m", "celery", "-q", "-A", app, "worker")
    return (*celery, "-Q", queues, "-n", f"{queues.partition(',')[0]}@%h", *options, *quiet)


def site_environment() -> dict[str, str]:
    """What the site's processes inherit, with the one broker address that all must share."""
    return {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "kernelsite.settings",
        "KERNELSITE_VAR": str(settings.VAR),
        "REDIS_URL": settings.REDIS_URL,
        # Samplers solve tiny systems, for which threads of a linear algebra library cost more than they bring.
        "OPENBLAS_NUM_THREADS": "1",
        # Celery warns root of pickled messages; ours are JSON only.
        "PYTHONWARNINGS": "ignore:You're running the worker with superuser privileges",
        # A stopped worker need not finish what it holds: the sweeper finds it.
        "REMAP_SIGTERM": "SIGQUIT",
    }


def device_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """What the device worker inherits of that."""
    kept = {
        name: value
        for name, value in environment.items()
        if name in DEVICE_WORDS or name.startswith(DEVICE_PREFIXES)
    }
    return kept | {"REDIS_URL": environment["REDIS_URL"]}


def _coloured(programs: list[Program]) -> list[Program]:
    colours: Iterator[str] = get_colours()
    next(colours)
    return [Program(one.name, one.command, one.environment, one.cores, next(colours)) for one in programs]
