"""Frames between trusted processes, and from the judge to a cell: a length, JSON, and open files beside it.

A cell never sends a frame. What it may send back are the fixed-size answers of `contender.py`.
"""

from __future__ import annotations

import json
import os
import socket
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

_HEADER = struct.Struct("!I")
_LIMIT_BYTES = 64 * 1024 * 1024
_MOST_FILES = 8


class WireClosedError(Exception):
    """The other side is gone."""


@dataclass(frozen=True)
class Frame:
    """One message; the receiver owns the files that came with it."""

    document: dict[str, Any]
    files: tuple[int, ...] = ()

    def close_files(self) -> None:
        """Close what came along."""
        for fd in self.files:
            os.close(fd)


def send(sock: socket.socket, document: dict[str, Any], files: Sequence[int] = ()) -> None:
    """Send one frame; the files stay open here.

    Raises:
        WireClosedError: nobody reads at the other side.
    """
    body = json.dumps(document, allow_nan=False).encode()
    try:
        socket.send_fds(sock, [_HEADER.pack(len(body))], list(files))
        sock.sendall(body)
    except (BrokenPipeError, ConnectionResetError) as error:
        raise WireClosedError from error


def receive(sock: socket.socket) -> Frame:
    """Wait for one frame.

    Raises:
        WireClosedError: the other side closed, or sent what is no frame.
    """
    try:
        header, files, _, _ = socket.recv_fds(sock, _HEADER.size, _MOST_FILES, socket.MSG_CMSG_CLOEXEC)
        header += _exactly(sock, _HEADER.size - len(header))
        (size,) = _HEADER.unpack(header)
        if size > _LIMIT_BYTES:
            raise WireClosedError(f"a frame of {size} bytes is too long")
        document = json.loads(_exactly(sock, size))
    except (ConnectionResetError, json.JSONDecodeError) as error:
        raise WireClosedError(str(error)) from error
    if not isinstance(document, dict):
        raise WireClosedError("a frame must be an object")
    return Frame(document, tuple(files))


def _exactly(sock: socket.socket, size: int) -> bytes:
    parts = []
    while size:
        part = sock.recv(min(size, 1 << 20))
        if not part:
            raise WireClosedError("the other side closed")
        parts.append(part)
        size -= len(part)
    return b"".join(parts)
