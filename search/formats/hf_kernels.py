"""Hugging Face kernels: a repository that `kernel-builder` builds and `kernels.get_kernel` loads.

    build.toml                          name, version, licence, backends
    flake.nix                           what kernel-builder is started with
    torch-ext/<package>/__init__.py     a function that allocates the outputs, and one that is given them
    torch-ext/<package>/*.py            the sources of a Python program
    <package>/kernel.cu, torch-ext/torch_binding.cpp    those of a CUDA or C++ program
    README.md                           what it computes, and how it was judged here

Layout: huggingface.co/docs/kernels, "Writing Hub kernels", edition 5. A Python program needs no build (`torch-noarch`).
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from search.formats.calling import wrapper
from search.formats.format import FormatError, Notes, add_file
from search.formats.programs import PYTHON
from search.knobs import KnobError, with_knobs
from search.records import EvaluationStatus, Language

if TYPE_CHECKING:
    from search.formats.format import Report
    from search.records import Candidate, Evaluation
    from search.workload import Workload

TITLE = "Hugging Face kernels"
_SPDX = re.compile(r"[A-Za-z0-9][A-Za-z0-9.+-]{1,60}")
_REPOSITORY = re.compile(r"[\w.-]{1,90}/[\w.-]{1,90}")
_VERSION = 1
_TYPES = {"float32", "float16", "bfloat16", "float64", "int64", "int32", "int16", "int8", "uint8", "bool"}

_FLAKE = """{
  description = "Flake for a kernel of the Hub";

  inputs.kernel-builder.url = "github:huggingface/kernels";

  outputs =
    { self, kernel-builder }:
    kernel-builder.lib.genKernelFlakeOutputs {
      inherit self;
      path = ./.;
    };
}
"""


@dataclass(frozen=True)
class Kernel:
    """What is exported."""

    workload: Workload
    candidate: Candidate
    license: str
    """SPDX identifier, chosen by whoever publishes it."""
    repository: str = ""
    """`owner/name` on the Hub."""
    evaluation: Evaluation | None = None
    harness: str = "Kernelsite"

    @property
    def package(self) -> str:
        """Name of the Python package."""
        return re.sub(r"\W+", "_", self.workload.name.lower(), flags=re.ASCII).strip("_") or "kernel"

    @property
    def name(self) -> str:
        """Name of the kernel: small letters, digits and hyphens, at least two, the first a letter."""
        name = re.sub(r"[^a-z0-9]+", "-", self.package).strip("-")
        return name if len(name) > 1 and name[0].isalpha() else f"kernel-{name}"


def write(kernel: Kernel) -> tuple[dict[str, bytes], Report]:
    """The files of the repository.

    Raises:
        FormatError: no licence identifier, a knob that the source does not have, or what the layout cannot say.
    """
    if not _SPDX.fullmatch(kernel.license):
        raise FormatError(
            "a licence must be an SPDX identifier such as Apache-2.0", kernel.name, field="license"
        )
    if kernel.repository and not _REPOSITORY.fullmatch(kernel.repository):
        raise FormatError("a repository is owner/name", kernel.name, field="repository")
    notes = Notes()
    sources = _sources(kernel)
    files: dict[str, bytes] = {"build.toml": _build(kernel, sources).encode(), "flake.nix": _FLAKE.encode()}
    made = (
        _python(kernel, sources, notes) if kernel.candidate.language in PYTHON else _compiled(kernel, sources)
    )
    for path, text in made.items():
        add_file(files, path, text.encode())
    files["README.md"] = _readme(kernel).encode()
    notes.take(kernel.name, f"{len(files)} files")
    if kernel.evaluation is None:
        notes.change(kernel.name, "the README names no time, since there is no evaluation")
    return files, notes.report()


def _sources(kernel: Kernel) -> dict[str, str]:
    """Sources with the knob values written in; C++ and CUDA take them as macros."""
    program = kernel.candidate
    first, *rest = program.sources
    try:
        text = with_knobs(program.language, first.content, program.knobs)
    except KnobError as error:
        raise FormatError(str(error), kernel.name, field=first.path) from error
    if program.language not in PYTHON and program.knobs:
        values = {
            name: int(value) if isinstance(value, bool) else value for name, value in program.knobs.items()
        }
        line, _, after = text.partition("\n")
        text = "\n".join([line, *(f"#define {name} {value}" for name, value in values.items()), after])
    return {first.path: text} | {file.path: file.content for file in rest}


def _build(kernel: Kernel, sources: dict[str, str]) -> str:
    backend = "cpu" if kernel.candidate.language is Language.CPP else "cuda"
    lines = [
        "[general]",
        f"name = {json.dumps(kernel.name)}",
        f"version = {_VERSION}",
        "edition = 5",
        f"license = {json.dumps(kernel.license)}",
        f"backends = [{json.dumps(backend)}]",
    ]
    if kernel.repository:
        lines += ["", "[general.hub]", f"repo-id = {json.dumps(kernel.repository)}"]
    if kernel.candidate.language in PYTHON:
        return "\n".join([*lines, "", "[torch-noarch]", ""])
    paths = [f"{kernel.package}/{path}" for path in sources]
    lines += ["", "[torch]", 'src = ["torch-ext/torch_binding.cpp"]', "", f"[kernel.{kernel.package}]"]
    return "\n".join(
        [*lines, f'backend = "{backend}"', 'depends = ["torch"]', f"src = {json.dumps(paths)}", ""]
    )


# Python --------------------------------------------------------------------------------------------------

_INIT = '''"""{title}. {harness}, workload {hash}."""

import torch

from .{module} import {entry} as _run


def {name}_out({arguments}):
    """Write the outputs into the tensors given last."""
    _run({arguments})


{wrapper}

__all__ = ["{name}", "{name}_out"]
'''


def _python(kernel: Kernel, sources: dict[str, str], notes: Notes) -> dict[str, str]:
    folder = f"torch-ext/{kernel.package}"
    first = next(iter(sources))
    module = PurePosixPath(first).with_suffix("").as_posix().replace("/", ".")
    if module == "__init__":
        raise FormatError("a program may not be called __init__.py here", kernel.name, field=first)
    if len(sources) > 1:
        notes.change(
            kernel.name, "imports between the sources stay as they are: in a package they need a leading dot"
        )
    made = {f"{folder}/{path}": text for path, text in sources.items()}
    made[f"{folder}/__init__.py"] = _init(
        kernel, f"from .{module} import {kernel.candidate.entry_point} as _run"
    )
    return made


def _init(kernel: Kernel, imported: str) -> str:
    workload = kernel.workload
    title = workload.title.replace("\\", "").replace('"', "'")
    text = _INIT.format(
        title=title,
        harness=kernel.harness,
        hash=workload.hash[:16],
        module="{module}",
        entry="{entry}",
        name=kernel.package,
        arguments=", ".join([*workload.inputs, *workload.outputs]),
        wrapper=wrapper(workload, kernel.package, f"{kernel.package}_out"),
    )
    return text.replace("from .{module} import {entry} as _run", imported)


# C++ and CUDA --------------------------------------------------------------------------------------------

_BINDING = """// Called as our judge calls it: buffers in the order of the arguments, axes in the workload's order.
#include <torch/all.h>
#include <torch/library.h>

#include "registration.h"
{cuda_include}
extern "C" int run(void** buffers, const int64_t* axes, void* stream);

namespace {{

void {name}({parameters}) {{
{checks}  void* buffers[] = {{{pointers}}};
  const int64_t axes[] = {{{axes}}};
  TORCH_CHECK(run(buffers, axes, {stream}) == 0, "{name} failed");
}}

}}  // namespace

TORCH_LIBRARY_EXPAND(TORCH_EXTENSION_NAME, ops) {{
  ops.def("{name}({schema}) -> ()");
  ops.impl("{name}", torch::{key}, &{name});
}}

REGISTER_EXTENSION(TORCH_EXTENSION_NAME)
"""


def _compiled(kernel: Kernel, sources: dict[str, str]) -> dict[str, str]:
    made = {f"{kernel.package}/{path}": text for path, text in sources.items()}
    made["torch-ext/torch_binding.cpp"] = _binding(kernel)
    imported = f"from ._ops import ops\n\n_run = ops.{kernel.package}"
    made[f"torch-ext/{kernel.package}/__init__.py"] = _init(kernel, imported)
    return made


def _binding(kernel: Kernel) -> str:
    workload = kernel.workload
    tensors = {**workload.inputs, **workload.outputs}
    for name, tensor in tensors.items():
        if tensor.shape is None or tensor.dtype not in _TYPES:
            raise FormatError("a binding in C++ takes tensors of plain types only", kernel.name, field=name)
    cuda = kernel.candidate.language is Language.CUDA
    checks = [f'  TORCH_CHECK({name}.is_contiguous(), "{name} must be contiguous");\n' for name in tensors]
    return _BINDING.format(
        cuda_include="#include <ATen/cuda/CUDAContext.h>\n" if cuda else "",
        name=kernel.package,
        parameters=", ".join(
            f"{'' if name in workload.outputs else 'const '}torch::Tensor& {name}" for name in tensors
        ),
        checks="".join(checks),
        pointers=", ".join(f"{name}.data_ptr()" for name in tensors),
        axes=", ".join(_axis(kernel, axis) for axis in workload.axes),
        stream="at::cuda::getCurrentCUDAStream().stream()" if cuda else "nullptr",
        schema=", ".join(f"Tensor{'!' if name in workload.outputs else ''} {name}" for name in tensors),
        key="kCUDA" if cuda else "kCPU",
    )


def _axis(kernel: Kernel, axis: str) -> str:
    for name, tensor in (kernel.workload.inputs | kernel.workload.outputs).items():
        if axis in (tensor.shape or ()):
            return f"{name}.size({(tensor.shape or ()).index(axis)})"
    made = kernel.workload.axes[axis]
    if made.type == "const":
        return str(made.value)
    raise FormatError("no tensor has this size", kernel.name, field=f"axes.{axis}")


# README --------------------------------------------------------------------------------------------------


def _readme(kernel: Kernel) -> str:
    workload = kernel.workload
    lines = [
        "---",
        "library_name: kernels",
        f"license: {kernel.license.lower()}",
        "tags:",
        "- kernel",
        "---",
        "",
    ]
    lines += [f"# {_plain(workload.title)}", ""]
    if workload.description:
        lines += [_plain(workload.description), ""]
    lines += ["| | shape | type |", "|---|---|---|"]
    for kind, tensors in (("input", workload.inputs), ("output", workload.outputs)):
        for name, tensor in tensors.items():
            shape = "scalar" if tensor.shape is None else " x ".join(tensor.shape) or "one element"
            lines.append(f"| {kind} `{name}` | {shape} | {tensor.dtype} |")
    lines += ["", "## How it was judged", "", *_judged(kernel), ""]
    lines += [f"Workload {workload.hash}, candidate {kernel.candidate.hash}.", ""]
    return "\n".join(lines)


def _plain(text: str) -> str:
    """One line without markup of its own."""
    return re.sub(r"([\\`*_<>|\[\]#])", r"\\\1", " ".join(text.split()))


def _judged(kernel: Kernel) -> list[str]:
    found = kernel.evaluation
    if found is None:
        return ["It was not judged before it was exported."]
    if found.status is not EvaluationStatus.PASSED or found.speedup is None:
        return [f"Status {found.status}: no time is claimed."]
    where = found.environment
    lines = [
        f"Checked against the workload's reference and timed on {_plain(where.device)} ({found.purpose}, {found.tier} tier,",
        f"{found.method}); the baseline is {_plain(found.baseline)}. Speed-up {found.speedup.value:.3f}, interval "
        f"{found.speedup.low:.3f} to {found.speedup.high:.3f}.",
        "",
        "| case | median, µs | 10 % to 90 %, µs | baseline, µs | speed-up |",
        "|---|---|---|---|---|",
    ]
    hidden = {case.name for case in kernel.workload.cases if case.hidden}
    return lines + [
        f"| {one.case} | {one.median_us:.2f} | {one.p10_us:.2f} to {one.p90_us:.2f} | {one.baseline_us:.2f} | "
        f"{one.speedup.value:.3f} |"
        for one in found.cases
        if one.case not in hidden
    ]
