"""A PostgreSQL of its own for tests: in a temporary folder, on a unix socket, gone afterwards."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import system_packages

FAST = "-c fsync=off -c synchronous_commit=off -c full_page_writes=off -c listen_addresses="


@contextmanager
def postgres_server():
    """Address of a server with an empty database `kernelsite`."""
    home = system_packages.postgres()
    folder = Path(tempfile.mkdtemp(prefix="ks-postgres-"))
    person = {}
    if os.geteuid() == 0:  # the server refuses to run as root
        entry = pwd.getpwnam("postgres")
        os.chown(folder, entry.pw_uid, entry.pw_gid)
        person = {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}

    def run(tool, *arguments):
        command = [home / tool, *arguments]
        log = folder / f"{tool}.log"
        with log.open("ab") as stream:
            done = subprocess.run(command, stdout=stream, stderr=stream, cwd=folder, check=False, **person)
        assert done.returncode == 0, log.read_text()

    data = str(folder / "data")
    try:
        run("initdb", "-D", data, "-A", "trust", "-U", "kernelsite", "--no-sync")
        run(
            "pg_ctl", "-D", data, "-w", "-l", str(folder / "server.log"), "-o", f"{FAST} -k {folder}", "start"
        )
        try:
            run("createdb", "-h", str(folder), "-U", "kernelsite", "kernelsite")
            yield f"postgres://kernelsite@{quote(str(folder), safe='')}/kernelsite"
        finally:
            run("pg_ctl", "-D", data, "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
