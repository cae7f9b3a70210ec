"""`ks pause`, `ks resume`, `ks stop`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelsite.api.client import Client
from kernelsite.api.ks.words import say, search_number, status

if TYPE_CHECKING:
    import argparse


def pause(parser: argparse.ArgumentParser) -> None:
    """Arguments of `ks pause`."""
    _steering(parser)


def resume(parser: argparse.ArgumentParser) -> None:
    """Arguments of `ks resume`."""
    _steering(parser)


def stop(parser: argparse.ArgumentParser) -> None:
    """Arguments of `ks stop`."""
    _steering(parser)


def _steering(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("search", type=search_number, metavar="S-142")
    parser.set_defaults(run=_steer)


def _steer(options: argparse.Namespace) -> int:
    search = Client().searches.get(options.search)
    {"pause": search.pause, "resume": search.resume, "stop": search.stop}[options.command]()
    say(f"{search.row.short} {status(search.row)}")
    return 0
