"""Orders to one-shot cells: screen a source, build a library. What comes back is data, checked like a stranger's."""

from __future__ import annotations

import hashlib
import itertools
import os
import re
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import TypeAdapter, ValidationError

import gpuworker
from gpuworker.cells import Order
from gpuworker.sandbox import BUILDING_SLOTS, Limits, View
from gpuworker.seccomp import Profile
from gpuworker.verdicts import Exit, InfrastructureError, RejectedError, read_exit
from search.knobs import macro_flags, read_knobs
from search.records import TEXT_LIMIT, Candidate, ClauseVerdict, EvaluationStatus, Language, SourceFile

if TYPE_CHECKING:
    from typing import Any

    from gpuworker.cells import CellBlock
    from gpuworker.devices.device import Device
    from search.records import Contract

COMPILER = "/usr/bin/g++"
CUDA_COMPILER = "/usr/local/cuda/bin/nvcc"
FLAGS = (
    *("-O3", "-march=native", "-fopenmp", "-shared", "-fPIC", "-std=c++17", "-fno-math-errno"),
    # What is not in the libraries of the language itself is refused here and not found by chance later.
    "-Wl,-z,defs",
)
CUDA_FLAGS = ("-O3", "-std=c++17", "-shared", "-Xcompiler", "-fPIC", "-Xptxas", "-v", "-lineinfo")
_LAUNCHER = "launcher.cpp"
_LAUNCHER_FLAGS = ("-O2", "-std=c++17", "-Wall")
BUILD_S = 120.0
_BUILD_LIMITS = Limits(memory_bytes=4 << 30, cpu_s=130, processes=48, file_bytes=32 << 20)
_SCREEN_LIMITS = Limits(memory_bytes=1 << 30, cpu_s=25)
_SCREEN_S = 20.0
_VERDICTS_BYTES = 1 << 20
_LIBRARY_BYTES = 32 << 20
_KEPT_BUILDS = 500
_FOLDER = re.compile(r"/tmp/tmp\w+/")

_VERDICTS = TypeAdapter(tuple[ClauseVerdict, ...])


class Shop:
    """Screens and builds; keeps built libraries by content."""

    @property
    def uid_slot(self) -> int:
        """Of the next cell that builds."""
        return next(self._slots)

    def __init__(self, block: CellBlock, device: Device, state: Path, compiler_version: str) -> None:
        """Remember where and for what to build, and what the compiler is."""
        cores, ghost = device.judge_cores, device.ghost
        self.architecture = "sm_{}{}".format(*ghost.capability) if ghost else ""
        if self.architecture == "sm_90":
            self.architecture = "sm_90a"  # with what only Hopper has
        self._block = block
        self._slots = itertools.cycle(BUILDING_SLOTS)
        self.cores = cores
        self._compiler_version = compiler_version
        self._builds = state / "builds"
        self._builds.mkdir(exist_ok=True)
        self.launcher = self._build_launcher() if compiler_version else b""
        """The program that runs compiled candidates; empty where there is no compiler."""

    def _build_launcher(self) -> bytes:
        source = (Path(next(iter(gpuworker.__path__))) / _LAUNCHER).read_text()
        candidate = Candidate(language=Language.CPP, sources=(SourceFile(path=_LAUNCHER, content=source),))
        try:
            built, _ = self._built(
                candidate, [COMPILER, *_LAUNCHER_FLAGS, "-x", "c++"], time.monotonic() + BUILD_S
            )
        except RejectedError as error:
            raise InfrastructureError(f"the launcher does not build: {error.message}") from error
        return built

    def screen(self, candidate: Candidate, contract: Contract | None) -> tuple[ClauseVerdict, ...]:
        """Parse, and check the contract.

        Raises:
            RejectedError: it does not parse.
        """
        document = {"candidate": candidate.dump(), "contract": contract.dump() if contract else None}
        order = Order(Profile.SCREEN, View.PYTHON, self.uid_slot, self.cores, _SCREEN_LIMITS)
        data = self.artefact(order, document, time.monotonic() + _SCREEN_S, _VERDICTS_BYTES)
        try:
            return _VERDICTS.validate_json(data)
        except ValidationError as error:
            raise RejectedError(EvaluationStatus.COMPILE_ERROR, "the source could not be read") from error

    def build(self, candidate: Candidate, deadline: float) -> tuple[bytes, bool]:
        """The shared library of a C++ or CUDA candidate, and whether it was built before.

        Raises:
            RejectedError: it does not compile, or not in time.
            InfrastructureError: there is no compiler.
        """
        knobs = macro_flags(read_knobs(candidate.language, candidate.sources[0].content))
        if candidate.language is Language.CUDA:
            if not Path(CUDA_COMPILER).is_file():
                raise InfrastructureError("there is no nvcc on this device host")
            flags = [*CUDA_FLAGS, f"-arch={self.architecture}", *knobs]
            return self._built(candidate, [CUDA_COMPILER, *flags, "-x", "cu"], deadline)
        if not self.launcher:
            raise InfrastructureError("there is no g++ on this device host")
        return self._built(candidate, [COMPILER, *FLAGS, *knobs, "-x", "c++"], deadline)

    def _built(self, candidate: Candidate, command: list[str], deadline: float) -> tuple[bytes, bool]:
        # The language is named because a file's ending may say anything.
        command = [*command, candidate.sources[0].path]
        path = self._builds / f"{self._key(candidate, command)}.so"
        if path.is_file():
            path.touch()
            return path.read_bytes(), True
        order = Order(Profile.BUILD, View.COMPILER, self.uid_slot, self.cores, _BUILD_LIMITS)
        document = {"candidate": candidate.dump(), "command": command}
        deadline = min(deadline, time.monotonic() + BUILD_S)
        library = self.artefact(order, document, deadline, _LIBRARY_BYTES)
        self._keep(path, library)
        return library, False

    def artefact(self, order: Order, document: dict[str, Any], deadline: float, most_bytes: int) -> bytes:
        """What a one-shot cell wrote.

        Raises:
            RejectedError: it failed, or took too long.
        """
        artefact = os.memfd_create("artefact", os.MFD_CLOEXEC)
        began = time.monotonic()
        cell = self._block.start(order)
        try:
            cell.send(document, [artefact])
            code = cell.join(deadline)
            log = _FOLDER.sub("", cell.log())[:TEXT_LIMIT]
            if code is None:
                took_s = time.monotonic() - began
                raise RejectedError(EvaluationStatus.TIMEOUT, f"did not compile within {took_s:.0f} s", log)
            if code != 0:
                raise RejectedError(EvaluationStatus.COMPILE_ERROR, _why(code, log), log, code)
            return os.pread(artefact, most_bytes, 0)
        finally:
            cell.close()
            os.close(artefact)

    def _key(self, candidate: Candidate, command: list[str]) -> str:
        parts = [self._compiler_version, *command]
        for file in candidate.sources:
            parts += [file.path, file.content]
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()

    def _keep(self, path: Path, library: bytes) -> None:
        """Store under the final name only when whole; drop the oldest beyond a number."""
        with tempfile.NamedTemporaryFile(dir=self._builds, delete=False) as file:
            file.write(library)
        Path(file.name).replace(path)
        builds = sorted(self._builds.glob("*.so"), key=_age, reverse=True)
        for old in builds[_KEPT_BUILDS:]:
            old.unlink(missing_ok=True)


def _age(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except FileNotFoundError:
        return 0.0  # another worker has just dropped it


def _why(code: int, log: str) -> str:
    """First error line of a compiler, else how the cell ended."""
    if code in {Exit.UNREPLAYABLE, Exit.TORCH_COMPUTE}:
        return log.strip().splitlines()[-1][:500]
    for line in log.splitlines():
        if "error" in line.lower():
            return line.strip()[:500]
    return read_exit(code)[1] + (f": {log.strip()[:300]}" if log.strip() else "")
