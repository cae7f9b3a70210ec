"""Which network addresses an endpoint may have, checked at the moment of connecting.

A name is resolved once and the connection goes to one of the addresses that were checked: a second
look-up could be answered differently (DNS rebinding).
"""

from __future__ import annotations

import ipaddress
import socket
import threading
from dataclasses import dataclass

Address = ipaddress.IPv4Address | ipaddress.IPv6Address


class AddressRefused(Exception):
    """The host resolves to an address that may not be called."""


class LookUpFailed(OSError):
    """The host has no address, or the resolver did not answer in time."""


@dataclass(frozen=True)
class AddressPolicy:
    """What is allowed besides public addresses. Link-local ones (cloud metadata) never are."""

    private: bool = False
    """RFC 1918, unique local IPv6, shared address space."""
    loopback: bool = False

    def refusal(self, address: str) -> str:
        """Why an address may not be called; empty when it may."""
        for one in _all_readings(ipaddress.ip_address(address.split("%")[0])):
            if word := self._refused_as(one):
                return f"{address} is {word}"
        return ""

    def _refused_as(self, address: Address) -> str:
        if address.is_link_local or address.is_multicast or address.is_unspecified:
            return "link-local, multicast or unspecified"
        if address.is_loopback:
            return "" if self.loopback else "a loopback address"
        if not address.is_global:
            return "" if self.private else "a private address"
        return ""


ANYWHERE = AddressPolicy(private=True, loopback=True)
POLICIES = {"public": AddressPolicy(), "loopback": AddressPolicy(loopback=True), "private": ANYWHERE}
"""By the word that an operator writes into the settings."""


def _all_readings(address: Address) -> list[Address]:
    """An address and the IPv4 addresses that gateways would read out of it."""
    if isinstance(address, ipaddress.IPv4Address):
        return [address]
    inner = [address.ipv4_mapped, address.sixtofour, *(address.teredo or ())]
    if address in ipaddress.ip_network("64:ff9b::/96"):
        inner.append(ipaddress.IPv4Address(int(address) & 0xFFFFFFFF))
    found: list[Address] = [one for one in inner if one is not None]
    # A mapped address is the IPv4 one: Python 3.11 calls the outer form of a public address private.
    return found if address.ipv4_mapped else [address, *found]


def resolve(host: str, port: int, policy: AddressPolicy, timeout_s: float) -> list[str]:
    """Addresses of a host, every one of them allowed.

    Raises:
        AddressRefused: one of them is not; a name with a public and a private address is an attack.
        LookUpFailed: there is none, or not in time.
    """
    addresses = _look_up(host, port, timeout_s)
    for address in addresses:
        if why := policy.refusal(address):
            raise AddressRefused(f"{host} may not be called: {why}")
    return addresses


def _look_up(host: str, port: int, timeout_s: float) -> list[str]:
    """`getaddrinfo` takes no timeout and may block for half a minute, so it runs in a thread that is left behind."""
    answer: list[str] = []
    failure: list[str] = []

    def ask() -> None:
        try:
            found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError) as error:
            failure.append(str(error))
        else:
            answer.extend(dict.fromkeys(str(entry[4][0]) for entry in found))

    thread = threading.Thread(target=ask, daemon=True, name="look-up")
    thread.start()
    thread.join(timeout_s)
    if thread.is_alive():
        raise LookUpFailed(f"no answer to the look-up of {host}")
    if not answer:
        raise LookUpFailed(f"cannot resolve {host}: {' '.join(failure)}")
    return answer
