"""One-shot work on hostile text inside a cell: compile a source, or read it and check its contract.

The result goes into a file that the judge made and limits; compilers and parsers never run beside the judge.
"""

from __future__ import annotations

import ast
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from gpuworker import sandbox
from gpuworker.seccomp import Profile
from gpuworker.verdicts import Exit
from search.contract.check import check
from search.records import Candidate, Contract, Language

if TYPE_CHECKING:
    from gpuworker.wire import Frame


def build(frame: Frame, mode: sandbox.Mode) -> None:
    """Run the compiler and copy the library into the judge's file; its text goes to the log."""
    sandbox.apply_filter(Profile.BUILD, mode)
    folder = Path(tempfile.mkdtemp())
    os.chdir(folder)
    for file in Candidate.load(frame.document["candidate"]).sources:
        path = folder / file.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(file.content)
    compiler, *flags = frame.document["command"]
    environment = {"PATH": "/usr/bin:/bin:/usr/local/cuda/bin", "TMPDIR": str(folder), "LC_ALL": "C.UTF-8"}
    pid = os.posix_spawn(compiler, [compiler, *flags, "-o", "library.so"], environment)
    _, ended = os.waitpid(pid, 0)
    library = folder / "library.so"
    if os.waitstatus_to_exitcode(ended) != 0 or not library.is_file():
        os._exit(Exit.COMPILE_FAILED)
    with library.open("rb") as source:
        while os.sendfile(frame.files[0], source.fileno(), None, 1 << 20):
            pass


def screen(frame: Frame, mode: sandbox.Mode) -> None:
    """Parse, and answer with the contract's verdicts as JSON."""
    sandbox.apply_filter(Profile.SCREEN, mode)
    candidate = Candidate.load(frame.document["candidate"])
    _parse(candidate)
    verdicts = []
    if frame.document["contract"] is not None:
        contract = Contract.load(frame.document["contract"])
        verdicts = [verdict.dump() for verdict in check(contract, candidate)]
    os.write(frame.files[0], json.dumps(verdicts).encode())


def _parse(candidate: Candidate) -> None:
    if candidate.language not in {Language.TRITON, Language.PYTORCH}:
        return
    for file in candidate.sources:
        try:
            ast.parse(file.content, file.path)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            line = f", line {error.lineno}" if isinstance(error, SyntaxError) else ""
            sys.stderr.write(f"{file.path}{line}: {error}\n")
            sys.stderr.flush()
            os._exit(Exit.COMPILE_FAILED)
