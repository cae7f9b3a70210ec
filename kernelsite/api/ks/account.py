"""`ks login`, `ks logout`, `ks whoami`."""

from __future__ import annotations

import getpass
import os
import sys
from typing import TYPE_CHECKING

from kernelsite.api.client import Client, Credentials
from kernelsite.api.client import credentials as kept
from kernelsite.api.ks.words import UsageError, say

if TYPE_CHECKING:
    import argparse


def login(parser: argparse.ArgumentParser) -> None:
    """Arguments of `ks login`; a token is never one of them, since other users of a machine see arguments."""
    standard = os.environ.get("KERNELSITE_URL") or kept.DEFAULT_URL
    parser.add_argument("url", nargs="?", default=standard, metavar="URL", help=f"otherwise {standard}")
    parser.set_defaults(run=_login)


def _login(options: argparse.Namespace) -> int:
    url = options.url.rstrip("/")
    if sys.stdin.isatty():
        say(f"Make a token at {url}/settings/tokens/")
        token = getpass.getpass("Token: ").strip()
    else:
        token = sys.stdin.readline(500).strip()
    if not token.startswith("ks_"):
        raise UsageError("a token begins with ks_")
    credentials = Credentials(url, token)
    me = Client(credentials).me()
    file = kept.save(credentials)
    say(f"{me.user} in {me.team} ({me.role}); the token may: {', '.join(me.scopes)}. Kept in {file}")
    return 0


def logout(parser: argparse.ArgumentParser) -> None:
    """`ks logout` takes no arguments."""
    parser.set_defaults(run=_logout)


def _logout(options: argparse.Namespace) -> int:
    gone = kept.forget()
    say("The token is forgotten here; revoke it on the site too." if gone else "No token was kept here.")
    return 0


def whoami(parser: argparse.ArgumentParser) -> None:
    """`ks whoami` takes no arguments."""
    parser.set_defaults(run=_whoami)


def _whoami(options: argparse.Namespace) -> int:
    client = Client()
    me = client.me()
    site = client.transport.credentials.url
    say(f"{me.user} in {me.team} ({me.role}) at {site}; the token {me.token}… may: {', '.join(me.scopes)}")
    return 0
