"""Self-test of the walls: a program of ours that tries to get out, before any program of others may run.

It is an ordinary contender whose reference tries each escape and reports by output values, so a wall that does
not stand stops the worker from starting.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from gpuworker import layout
from gpuworker.contender import CANARY, Contender, Patience
from gpuworker.program import Program
from gpuworker.sandbox import Mode
from gpuworker.verdicts import InfrastructureError, RejectedError
from search.records import SourceFile
from search.workload import Case, ConstAxis, DType, Tensor, Workload

if TYPE_CHECKING:
    from gpuworker.cells import CellBlock
    from gpuworker.devices.device import Device

_PATIENCE_S = 20.0

ESCAPES = (
    "runs as the worker's user",
    "holds a capability",
    "sees the worker's environment",
    "sees other processes",
    "opens a network socket",
    "writes to the system",
    "reads files of the worker",
    "gains privileges by exec",
    "has no system call filter",
    "sees a network interface that is up",
)
"""What each output element stands for; 1 means that the escape worked."""

_SOURCE = """
import os, pathlib, socket, torch

def tried(action):
    try:
        return bool(action())
    except OSError:
        return False

def status(word):
    for line in pathlib.Path("/proc/self/status").read_text().splitlines():
        if line.startswith(word + ":"):
            return line.split()[1]

def write_system():
    pathlib.Path("/usr/canary").write_text("x")
    return True

def open_socket():
    socket.socket().close()
    return True

def interface_up():
    return any(int(p.read_text(), 16) & 1 for p in pathlib.Path("/sys/class/net").glob("*/flags"))

def run(owner, pid):
    return torch.tensor([
        os.getuid() == int(owner),
        int(status("CapEff"), 16) != 0 or int(status("CapBnd"), 16) != 0,
        set(os.environ) - {"PATH", "HOME", "OMP_NUM_THREADS", "LANG", "LC_CTYPE", "CUDA_MODULE_LOADING"} != set(),
        len([e for e in os.listdir("/proc") if e.isdigit()]) > 2 or os.getpid() == int(pid),
        tried(open_socket),
        tried(write_system),
        any(os.path.exists(path) for path in ("/etc/passwd", "/etc/hostname", "/var", "/home", "/sys", "/dev/shm")),
        status("NoNewPrivs") != "1",
        status("Seccomp") != "2",
        tried(interface_up),
    ], dtype=torch.int32)
"""


def prove(block: CellBlock, device: Device) -> None:
    """Run the canary.

    Raises:
        InfrastructureError: a wall is down; the message says which.
    """
    if block.mode is Mode.UNSANDBOXED:
        return
    found = escapes(block, device)
    if block.mode is Mode.USER_NAMESPACE:
        found.discard(ESCAPES[0])  # one user id is all that a user namespace has
    if found:
        raise InfrastructureError(f"the sandbox leaks: a candidate {', '.join(sorted(found))}")


def escapes(block: CellBlock, device: Device) -> set[str]:
    """Sentences of `ESCAPES` that came true.

    Raises:
        InfrastructureError: the canary did not run.
    """
    plan = layout.plan(_WORKLOAD, {"canary": 1})
    contender = Contender(block, device, plan, CANARY)
    program = Program(
        adapter="reference",
        sources=(SourceFile(path="canary.py", content=_SOURCE),),
        input_count=2,
        output_count=1,
    )
    patience = Patience(time.monotonic() + _PATIENCE_S, _PATIENCE_S)
    try:
        contender.load(program, (), patience)
        contender.arena.poison([0])
        contender.run([0], patience)
        answers = contender.arena.outputs(0)[0].tolist()
    except RejectedError as error:
        raise InfrastructureError(f"the canary {error.message}: {error.log[-500:]}") from error
    finally:
        contender.close()
    return {sentence for sentence, answer in zip(ESCAPES, answers, strict=True) if answer != 0}


_WORKLOAD = Workload(
    name="canary",
    title="Canary",
    op_type="canary",
    axes={"E": ConstAxis(value=len(ESCAPES))},
    inputs={"owner": Tensor(shape=None, dtype=DType.INT64), "pid": Tensor(shape=None, dtype=DType.INT64)},
    outputs={"escaped": Tensor(shape=("E",), dtype=DType.INT32)},
    reference=_SOURCE,
    cases=(Case(name="canary", axes={}),),
)
