"""Every adapter by name, and what must be set before strange code is loaded."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import torch

from gpuworker.adapters import python, reference

if TYPE_CHECKING:
    from collections.abc import Callable

    from gpuworker.devices.device import Attachment
    from gpuworker.layout import Layout
    from gpuworker.program import Call, Program

    Load = Callable[[Program, Layout, Attachment], list[Call]]

ADAPTERS: dict[str, Load] = {"python": python.load, "reference": reference.load}


def prepare(program: Program) -> None:
    """Threads and interpreter of this process."""
    torch.set_num_threads(program.threads)
    if program.interpret:
        os.environ["TRITON_INTERPRET"] = "1"
