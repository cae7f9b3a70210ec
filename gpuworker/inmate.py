"""What runs behind the walls: reads one frame from the judge, then does one kind of work.

Everything here shares its process with code that nobody trusts, so nothing here decides anything.
"""

from __future__ import annotations

import gc
import os
import socket
import struct
import sys
import tarfile
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, cast

import torch

from gpuworker import sandbox, wire, workshop
from gpuworker.adapters.registry import ADAPTERS, CACHE_FOLDER, prepare, unpack_cache
from gpuworker.cuda.faults import exit_code
from gpuworker.devices.cpu import CpuAttachment
from gpuworker.launch import become_launcher
from gpuworker.layout import Layout
from gpuworker.program import Program, WrongOutputError
from gpuworker.seccomp import Profile
from gpuworker.verdicts import Exit

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType

    from gpuworker.cuda.graphs import Clock, Deferred
    from gpuworker.devices.device import Attachment
    from gpuworker.program import Call

PASS = struct.Struct("=8sI")
"""A nonce that the answer must repeat, and how many slot numbers (32 bit) follow."""
CONTEXT = b"C"
"""Said by an inmate that has made the context of its device, before it knows what it will run."""
SECONDS = struct.Struct("=d")
"""After the nonce, where a process of ours or the baseline answers with a time."""


def main(profile: Profile, mode: sandbox.Mode, control: int, device: str = "") -> None:
    """Take the order and carry it out; returns when the judge closes the socket."""
    if device:
        from gpuworker.cuda import driver

        driver.open_context(driver.number_of(device))
        os.write(control, CONTEXT)
    with socket.socket(fileno=control) as judge:
        try:
            frame = wire.receive(judge)
            match profile:
                case Profile.CONTENDER | Profile.COMPARED:
                    _contend(judge, frame, profile, mode)
                case Profile.BUILD:
                    workshop.build(frame, mode)
                case Profile.REHEARSE:
                    _rehearse(frame, mode)
                case Profile.EXAMINE:
                    _examine(frame)
                case Profile.TRACE:
                    _trace(frame, mode)
                case Profile.SCREEN:
                    workshop.screen(frame, mode)
        except wire.WireClosedError:
            return


def _contend(judge: socket.socket, frame: wire.Frame, profile: Profile, mode: sandbox.Mode) -> None:
    order = frame.document
    program = _program(order)
    layout = Layout.load(order["layout"])
    if program.adapter == "native" and not order["device"]:
        become_launcher(order, program, layout, (judge.fileno(), *frame.files), mode)
    memory = _attached(order, layout, frame.files)
    if program.adapter == "replay":
        _replay(judge, frame, layout, memory, mode)
    prepare(program)
    judge.sendall(bytes.fromhex(order["attached"]))
    sandbox.apply_filter(profile, mode)
    with _Ending(Exit.LOAD_FAILED):
        unpack_cache(program, frame.files[2:])
        calls = ADAPTERS[program.adapter](program, layout, memory, frame.files[2:])
    gc.collect()
    gc.disable()
    judge.sendall(bytes.fromhex(order["ready"]))
    with _Ending(Exit.RAISED):
        clock = _clock() if program.clocked else None
        while True:
            _one_pass(judge, calls, memory, clock)


def _rehearse(frame: wire.Frame, mode: sandbox.Mode) -> None:
    program, layout = _program(frame.document), Layout.load(frame.document["layout"])
    memory = _attached(frame.document, layout, frame.files)
    prepare(program)
    sandbox.apply_filter(Profile.REHEARSE, mode)
    with _Ending(Exit.RAISED):
        for call in ADAPTERS[program.adapter](program, layout, memory, ()):
            call()
        memory.synchronise()
    with os.fdopen(frame.files[2], "wb") as file, tarfile.open(fileobj=file, mode="w") as archive:
        archive.add(CACHE_FOLDER, arcname=".")


def _examine(frame: wire.Frame) -> NoReturn:
    order = Path("/tmp/order.json")
    with os.fdopen(frame.files[0], "rb") as file:
        file.seek(0)  # the judge's position came along with the file
        order.write_bytes(file.read())
    environment = {**frame.document["environment"], "HOME": "/tmp", "PATH": "/usr/bin:/bin"}
    program = [sys.executable, "-m", "gpuworker.cuda.examined", str(order)]
    os.execve(frame.document["tool"][0], [*frame.document["tool"], *program], environment)


def _trace(frame: wire.Frame, mode: sandbox.Mode) -> None:
    from gpuworker.cuda import tracer

    tracer.trace(frame, mode)


def _program(order: dict[str, Any]) -> Program:
    """The program with its GPU's number as this cell counts, which sees one GPU of perhaps several."""
    program = Program.load(order["program"])
    if not order["device"] or program.device < 0:
        return program
    from gpuworker.cuda import driver

    return program.model_copy(update={"device": driver.number_of(order["device"])})


def _attached(order: dict[str, Any], layout: Layout, files: Sequence[int]) -> Attachment:
    if not order["device"]:
        return CpuAttachment(layout, files[:2], sealed=order["sealed"])
    from gpuworker.cuda import driver
    from gpuworker.devices.cuda import CudaAttachment

    number = driver.number_of(order["device"])
    return CudaAttachment(number, layout, files[:2], sealed=order["sealed"])


def _replay(
    judge: socket.socket, frame: wire.Frame, layout: Layout, memory: Attachment, mode: sandbox.Mode
) -> NoReturn:
    from gpuworker.cuda import replay

    with _Ending(Exit.OURS):
        replay.serve(judge, frame, layout, memory, mode, _Passes(judge))
    os._exit(0)


class _Passes:
    """Passes that a replay is asked for."""

    def __init__(self, judge: socket.socket) -> None:
        self._judge = judge

    def take(self) -> tuple[bytes, tuple[int, ...]]:
        return _next_pass(self._judge)

    def answer(self, nonce: bytes, seconds: float) -> None:
        self._judge.sendall(nonce + SECONDS.pack(seconds))


def _next_pass(judge: socket.socket) -> tuple[bytes, tuple[int, ...]]:
    nonce, count = PASS.unpack(_exactly(judge, PASS.size))
    return nonce, struct.unpack(f"={count}I", _exactly(judge, 4 * count))


def _one_pass(judge: socket.socket, calls: Sequence[Call], memory: Attachment, clock: Clock | None) -> None:
    nonce, order = _next_pass(judge)
    chosen = [calls[slot] for slot in order]
    if clock:
        deferred = cast("list[Deferred]", chosen)
        nonce += SECONDS.pack(clock.run(deferred))
        for slot in deferred:
            slot.store()
    elif any(call() for call in chosen):
        os._exit(Exit.NONZERO)
    memory.synchronise()
    judge.sendall(nonce)


def _clock() -> Clock:
    from gpuworker.cuda.graphs import Clock

    return Clock()


def _exactly(judge: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        part = judge.recv(size - len(data))
        if not part:
            raise wire.WireClosedError("the judge closed")
        data += part
    return data


class _Ending:
    """Whatever strange code raises ends this process with a code that says what; nothing gets past it."""

    def __init__(self, failure: Exit) -> None:
        self._failure = failure

    def __enter__(self) -> None:
        return

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        match error:
            case None:
                return
            case wire.WireClosedError():
                os._exit(0)
            case WrongOutputError():
                code = error.exit
            case MemoryError() | torch.OutOfMemoryError():
                code = Exit.OUT_OF_MEMORY
            case Exception() if fault := exit_code(error):
                code = fault
            case _:
                code = self._failure
        traceback.print_exception(error)
        sys.stderr.flush()
        os._exit(code)
