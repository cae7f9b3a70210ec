"""Source text that we write around programs of other formats, and around references of ours."""

from __future__ import annotations

from typing import TYPE_CHECKING

from search.workload import RandomInput, ScalarInput

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from search.workload import Case, Workload

MARK = "\n# Kernelsite: above stands the file as it was; below, what the judge calls.\n"
"""Between a foreign file and ours. Everything before it is the file, byte by byte."""

_MODEL = '''
import torch as _torch

_MODELS = {{}}


def _model(values):
    """The model, built once for each device and type from a fixed seed, and the places of its weights by path."""
    like = next((value for value in values if isinstance(value, _torch.Tensor) and value.is_floating_point()), None)
    key = (None, None) if like is None else (like.device, like.dtype)
    if key not in _MODELS:
        with _torch.random.fork_rng(devices=[]):
            _torch.manual_seed(0)
            settings = get_init_inputs()
            {build}
        model = model.to(*[part for part in key if part is not None])
        for part in model.modules():
            if "Dropout" in type(part).__name__:
                part.eval()
        _MODELS[key] = model, _places(model)
    return _MODELS[key]


def _places(model):
    """Where each weight is held, in more than one place if it is shared; None for layers that keep copies."""
    if any(isinstance(part, _torch.nn.RNNBase) for part in model.modules()):
        return None
    held = [(part._parameters, name) for part in model.modules() for name in part._parameters]
    return {{
        path: [(table, name) for table, name in held if table[name] is weight]
        for path, weight in model.named_parameters()
    }}


@_torch.no_grad()
def run({arguments}):
{copies}    weights = {{{weights}}}
    model, places = _model([*weights.values(), {inputs}])
    if places is None or _torch.compiler.is_compiling():
        return _torch.func.functional_call(model, weights, ({inputs}))
    for path, weight in weights.items():
        for table, name in places[path]:
            table[name] = weight
    return model({inputs})
'''

_BUILD = """if isinstance(settings, dict):
                model = Model(**settings)
            elif len(settings) == 2 and isinstance(settings[0], (list, tuple)) and isinstance(settings[1], dict):
                model = Model(*settings[0], **settings[1])
            else:
                model = Model(*settings)"""

_MAKE = '''

def make_inputs(axes, device):
    """The file's own inputs, as it draws them."""
    with _torch.device(device):
        values = get_inputs()
    return {{{pairs}}}
'''


def model_reference(
    text: str,
    inputs: Sequence[str],
    weights: Mapping[str, str],
    custom: Sequence[str] = (),
    written: Sequence[str] = (),
) -> str:
    """A KernelBench file as a reference whose weights are inputs.

    Args:
        text: the file.
        inputs: names of the arguments of `forward`.
        weights: names of inputs by dotted path of the parameter.
        custom: inputs that the file makes by itself.
        written: inputs that it writes into, and of which it gets copies.
    """
    made = _MODEL.format(
        build=_BUILD,
        copies="".join(f"    {name} = {name}.clone()\n" for name in written),
        arguments=", ".join([*inputs, *weights.values()]),
        weights=", ".join(f'"{path}": {name}' for path, name in weights.items()),
        inputs="".join(f"{name}, " for name in inputs).rstrip(" "),
    )
    if custom:
        places = {name: place for place, name in enumerate(inputs)}
        made += _MAKE.format(pairs=", ".join(f'"{name}": values[{places[name]}]' for name in custom))
    return text + MARK + made


_PROGRAM = """

def run({arguments}):
    made = _returned({given})
    for output, value in zip([{outputs}], made if isinstance(made, (tuple, list)) else [made]):
        output.copy_(value)
"""


def model_program(
    text: str, kind: str, settings: str, names: tuple[Sequence[str], Mapping[str, str], Sequence[str]]
) -> str:
    """A file with a model as a program that is given inputs, weights and outputs.

    Args:
        text: the file.
        kind: name of the class.
        settings: source that defines `get_init_inputs`, as the problem has it.
        names: inputs, names of the weights by dotted path, outputs.
    """
    inputs, weights, outputs = names
    given = [*inputs, *weights.values()]
    made = model_reference(text, inputs, weights).replace(MARK, f"{MARK}\n{settings}", 1)
    made = made.replace("model = Model(", f"model = {kind}(").replace("\ndef run(", "\ndef _returned(")
    return made + _PROGRAM.format(
        arguments=", ".join([*given, *outputs]), given=", ".join(given), outputs=", ".join(outputs)
    )


def module_reference(
    text: str,
    module: str,
    init: Sequence[object],
    inputs: Sequence[str],
    weights: Mapping[str, str],
    written: Sequence[str],
) -> str:
    """A file with an `nn.Module` as a reference whose weights are inputs.

    Args:
        text: the file.
        module: name of the class.
        init: arguments of its constructor.
        inputs: names of the arguments of `forward`.
        weights: names of inputs by dotted path of the parameter.
        written: inputs that it writes into, and of which it gets copies.
    """
    called = f"_CALLED = {{'module': {module!r}, 'init': {list(init)!r}}}\n"
    names = "".join(f'"{name}", ' for name in inputs)
    built = f"{called}_ARGUMENTS = [{names}]\n\n\ndef get_init_inputs():\n    return {list(init)!r}\n"
    made = model_reference(text, inputs, weights, written=written)
    return made.replace(MARK, f"{MARK}\n{built}", 1).replace("model = Model(", f"model = {module}(")


def function_reference(text: str, function: str, inputs: Sequence[str], written: Sequence[str]) -> str:
    """A file with a function as a reference; it gets copies of inputs that it writes into."""
    called = f"\n_CALLED = {{'function': {function!r}}}\n"
    names = ", ".join(inputs)
    if function == "run" and not written:
        return text + MARK + called
    if function == "run":
        return f"{text}{MARK}{called}\n\n_written = run\n\n\ndef run({names}):\n    return _written({_copied(inputs, written)})\n"
    return f"{text}{MARK}{called}\n\ndef run({names}):\n    return {function}({_copied(inputs, written)})\n"


def _copied(inputs: Sequence[str], written: Sequence[str]) -> str:
    return ", ".join(f"{name}.clone()" if name in written else name for name in inputs)


_CLASS = '''{reference}

import torch
import torch.nn as nn


class Model(nn.Module):
    """{title}"""

    def forward(self, {arguments}):
        return run({arguments})


{sizes}

def get_inputs():
    return [
{inputs}
    ]


def get_init_inputs():
    return []
'''


def model_class(workload: Workload, case: Case) -> str:
    """A KernelBench file whose model calls the workload's reference, with the sizes of one case."""
    sizes = workload.sizes(case)
    lines = [f"        {drawn(workload, case, name)}," for name in workload.inputs]
    return _CLASS.format(
        reference=workload.reference.rstrip("\n"),
        title=workload.title.replace("\\", "").replace('"', "'"),
        arguments=", ".join(workload.inputs),
        sizes="".join(f"{axis_name(name)} = {size}\n" for name, size in sizes.items()),
        inputs="\n".join(lines),
    )


def axis_name(name: str) -> str:
    """Name of an axis as a name of a module, where it cannot meet those of functions."""
    return f"size{name}" if name.startswith("_") else f"size_{name}"


def drawn(workload: Workload, case: Case, name: str) -> str:
    """An expression of PyTorch that draws the input as the judge does."""
    tensor, made = workload.inputs[name], case.inputs.get(name, RandomInput())
    if isinstance(made, ScalarInput):
        return repr(made.value)
    shape = "".join(f"{axis_name(axis)}, " for axis in tensor.shape or ())
    dtype = f"dtype=torch.{tensor.dtype}"
    if not isinstance(made, RandomInput) or not tensor.dtype.is_float:
        low, high = (made.low, made.high) if isinstance(made, RandomInput) else (None, None)
        default = (0, 2) if tensor.dtype == "bool" else (0, 8) if tensor.dtype == "uint8" else (-8, 8)
        return f"torch.randint({default[0] if low is None else low}, {default[1] if high is None else high}, ({shape}), {dtype})"
    text = f"torch.randn({shape}{dtype})"
    if made.distribution == "uniform":
        text = f"(torch.rand({shape}{dtype}) * 2 - 1)"
    return text if made.scale == 1.0 else f"{text} * {made.scale!r}"
