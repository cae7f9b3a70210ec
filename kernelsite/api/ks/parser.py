"""The command line: one module per command, and the dictionary that names them."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from kernelsite.api.ks import account, best, export, launch, listing, share, steer, watch, worker

if TYPE_CHECKING:
    from collections.abc import Callable

COMMANDS: dict[str, tuple[str, Callable[[argparse.ArgumentParser], None]]] = {
    "login": ("keep a token for a site; it is read from the terminal or from stdin", account.login),
    "logout": ("forget the token that is kept here", account.logout),
    "whoami": ("whom the token stands for, and what it may", account.whoami),
    "launch": ("launch a search, or a comparison with --compare or several seeds", launch.launch),
    "list": ("the team's searches, newest first", listing.listing),
    "watch": ("the events of a search as they happen, until it is over", watch.watch),
    "pause": ("ask for nothing new; what runs may finish", steer.pause),
    "resume": ("go on after a pause", steer.resume),
    "stop": ("end a search now", steer.stop),
    "best": ("the best candidate of a search, and its program with -o", best.best),
    "candidate": ("one candidate, and its program with -o", best.candidate),
    "export": ("all candidates of a search as CSV, or everything of it as JSON", export.export),
    "share": ("a link to results for people without an account", share.share),
    "worker": ("devices of the site: list, drain, enable", worker.worker),
}
"""What each does, and the function that adds its arguments and, as `run`, what it does."""


def parser() -> argparse.ArgumentParser:
    """The parser of `ks`; after parsing, `options.run(options)` does it."""
    top = argparse.ArgumentParser(prog="ks", description="Kernelsite from a terminal.")
    commands = top.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, (about, add) in COMMANDS.items():
        add(commands.add_parser(name, help=about, description=f"{about[0].upper()}{about[1:]}."))
    return top
