# RUNTIME_ERROR: tries every way out to the network.
from __future__ import annotations

import socket

PLACES = (("127.0.0.1", 6379), ("127.0.0.1", 5432), ("169.254.169.254", 80), ("1.1.1.1", 53))


def reached():
    for place in PLACES:
        for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
            try:
                with socket.socket(socket.AF_INET, kind) as link:
                    link.settimeout(0.2)
                    link.connect(place)
                    link.send(b"x")
                    return place
            except OSError:
                continue
    return None


def run(x, y):
    if place := reached():
        print(f"LEAK {place}")
    raise RuntimeError("no way out")
