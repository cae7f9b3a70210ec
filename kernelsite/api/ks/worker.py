"""`ks worker`: devices of the site."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelsite.api.client import Client
from kernelsite.api.ks.words import UsageError, say, say_json

if TYPE_CHECKING:
    import argparse

    from kernelsite.api.records import DeviceAnswer

ACTIONS = ("list", "drain", "enable")


def worker(parser: argparse.ArgumentParser) -> None:
    """Arguments of `ks worker`."""
    parser.add_argument("action", choices=ACTIONS)
    parser.add_argument("device", nargs="?", type=int, metavar="ID", help="as `ks worker list` shows it")
    parser.add_argument("--reason", default="", help="why, for the others")
    parser.add_argument("--json", action="store_true", help="every device as a line of JSON")
    parser.set_defaults(run=_worker)


def _worker(options: argparse.Namespace) -> int:
    client = Client()
    if options.action == "list":
        for row in client.devices:
            _say(row, options.json)
        return 0
    if options.device is None:
        raise UsageError(f"which device? ks worker {options.action} ID")
    decide = client.devices.drain if options.action == "drain" else client.devices.enable
    _say(decide(options.device, options.reason), options.json)
    return 0


def _say(row: DeviceAnswer, as_json: bool) -> None:
    if as_json:
        say_json(row.model_dump(mode="json"))
    else:
        reason = f" · {row.reason}" if row.reason else ""
        say(f"{row.id:<4} [{row.state}] {row.device_class} {row.name} · {row.model}{reason}")
