"""What the tests want from the distribution: chromium and PostgreSQL.

`make test` runs this file. As root it installs what is missing; otherwise, or when that fails, it says which tests
will be skipped and what to type. With `CI=true` everything must be there.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path


def chromium() -> Path | None:
    """The system's browser."""
    found = shutil.which("chromium") or shutil.which("chromium-browser")
    return Path(found) if found else None


def postgres() -> Path | None:
    """Folder with `initdb` and `pg_ctl` of the newest PostgreSQL."""
    for home in sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=_version, reverse=True):
        if (home / "initdb").exists():
            return home
    found = shutil.which("initdb")
    return Path(found).parent if found else None


def _version(home: Path) -> float:
    try:
        return float(home.parent.name)
    except ValueError:
        return 0.0


def gpu() -> Path | None:
    """A CUDA device's node."""
    node = Path("/dev/nvidia0")
    return node if node.exists() else None


@dataclass(frozen=True)
class Want:
    """Something that tests with a marker need."""

    marker: str
    package: str

    @property
    def is_there(self) -> bool:
        return FINDERS[self.marker]() is not None


FINDERS = {"browser": chromium, "postgres": postgres, "gpu": gpu}
WANTS = (Want("browser", "chromium"), Want("postgres", "postgresql"))
REQUIRED = os.environ.get("CI") == "true"


def missing() -> list[Want]:
    return [want for want in WANTS if not want.is_there]


def line_to_type(wants: list[Want]) -> str:
    return "apt-get install -y --no-install-recommends " + " ".join(want.package for want in wants)


def install(wants: list[Want]) -> None:
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    for command in ("apt-get update -qq", line_to_type(wants) + " -qq"):
        print(f"$ {command}", flush=True)
        if subprocess.run(
            command.split(), env=environment, stdout=subprocess.DEVNULL, check=False
        ).returncode:
            return


def main() -> int:
    lacking = missing()
    if lacking and os.geteuid() == 0 and shutil.which("apt-get"):
        install(lacking)
        lacking = missing()
    if not lacking:
        return 0
    markers = " and ".join(f"`{want.marker}`" for want in lacking)
    print(f"Tests marked {markers} will be skipped. To run them, type as root:\n  {line_to_type(lacking)}")
    return 1 if REQUIRED else 0


if __name__ == "__main__":
    sys.exit(main())
