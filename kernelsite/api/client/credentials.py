"""Where a token is kept: in the environment, or in a file that only its owner can read. Never in the arguments of a program."""

from __future__ import annotations

import json
import os
import stat
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

DEFAULT_URL = "http://127.0.0.1:8000"
LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
PRIVATE = 0o600


class CredentialsError(Exception):
    """There is no usable token; the message says what to do."""


@dataclass(frozen=True)
class Credentials:
    """A site and a token for it."""

    url: str
    token: str = field(repr=False)

    def __post_init__(self) -> None:
        """Refuse an address over which the token would travel in the clear.

        Raises:
            CredentialsError: no http address, or http to another machine without `KERNELSITE_PLAIN_HTTP=1`.
        """
        parts = urlsplit(self.url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise CredentialsError(f"{self.url!r} is no address of a site, e.g. https://kernels.example.org")
        plain = os.environ.get("KERNELSITE_PLAIN_HTTP") == "1"
        if parts.scheme == "http" and parts.hostname not in LOOPBACK and not plain:
            raise CredentialsError(
                f"{self.url} is not https: the token would travel in the clear. "
                "Set KERNELSITE_PLAIN_HTTP=1 if you want that."
            )
        if not self.token.isascii() or not self.token.isprintable() or not self.token:
            raise CredentialsError("a token is one line of ASCII")


def place() -> Path:
    """The file: `KERNELSITE_CREDENTIALS`, or `kernelsite/credentials.json` below the user's configuration folder."""
    if named := os.environ.get("KERNELSITE_CREDENTIALS"):
        return Path(named)
    folder = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    return Path(folder) / "kernelsite" / "credentials.json"


def find() -> Credentials:
    """From `KERNELSITE_TOKEN` (and `KERNELSITE_URL`), else from the file that `ks login` wrote.

    Raises:
        CredentialsError: there is none, or others could read the file.
    """
    if token := os.environ.get("KERNELSITE_TOKEN"):
        return Credentials((os.environ.get("KERNELSITE_URL") or DEFAULT_URL).rstrip("/"), token.strip())
    file = place()
    try:
        mode = stat.S_IMODE(file.stat().st_mode)
        text = file.read_text(encoding="utf-8")
    except OSError:
        raise CredentialsError("log in first: ks login [URL]") from None
    if mode & 0o077:
        raise CredentialsError(f"others can read {file} (mode {mode:o}): chmod 600 it, and revoke its token")
    try:
        document = json.loads(text)
        return Credentials(str(document["url"]), str(document["token"]))
    except (ValueError, TypeError, KeyError):
        raise CredentialsError(f"{file} cannot be read: log in again") from None


def save(credentials: Credentials) -> Path:
    """Keep them in the file, readable by nobody else at any moment."""
    file = place()
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    draft = file.with_name(f".{file.name}.{os.getpid()}")
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, PRIVATE)
    with os.fdopen(handle, "w", encoding="utf-8") as stream:
        json.dump({"url": credentials.url, "token": credentials.token}, stream)
        stream.write("\n")
    draft.replace(file)
    return file


def forget() -> bool:
    """Delete the file; whether there was one."""
    try:
        place().unlink()
    except FileNotFoundError:
        return False
    return True
