"""References of GPU MODE as references of ours: stand-ins for its modules above, what the judge calls below."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from search.formats.format import FormatError
from search.formats.shapes import Array
from search.formats.templates import MARK
from search.workload import CaseTolerance

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from search.formats.format import Notes
    from search.formats.nested import Leaf

TOP = "# Kernelsite: the file as it was begins below.\n"
_KNOWN = {
    "utils": {
        "make_match_reference": "lambda *given, **named: None",
        "verbose_allclose": "lambda *given, **named: []",
        "verbose_allequal": "lambda *given, **named: []",
        "match_reference": "lambda *given, **named: (True, '')",
        "set_seed": "lambda *given: None",
        "DeterministicContext": "_contextlib.nullcontext",
        "DisableCuDNNTF32": "_contextlib.nullcontext",
    }
}
"""What stands in for names of modules that GPU MODE puts beside a reference; the judge sets its own precision."""
_DEFAULT = {"rtol": 1e-5, "atol": 1e-8}
_CHOICES = "_CHOICES"

Generator = tuple["Mapping[str, Sequence[object]]", bool, frozenset[str]]
"""Values of parameters that are no sizes; whether the generator is kept; inputs that are written in place."""


def reference_of(
    text: str, beside: Mapping[str, str], held: Sequence[Leaf], shape: str, generator: Generator, where: str
) -> str:
    """Our reference around one of GPU MODE.

    Args:
        text: the file.
        beside: Python files that it may import, by module name.
        held: leaves of what `generate_input` returns.
        shape: Python that nests them again.
        generator: how the inputs are made.
        where: the file's path, for messages.

    Raises:
        FormatError: it imports names that are neither known nor there; names the line.
    """
    choices, custom, written = generator
    tree = ast.parse(text)
    names = ", ".join(leaf.name for leaf in held)
    copies = "".join(f"    {leaf.name} = {leaf.name}.clone()\n" for leaf in held if leaf.name in written)
    made = f"\n\ndef run({names}):\n{copies}    return ref_kernel({shape})\n"
    table = {name: list(values) for name, values in choices.items()}
    made += f"\n\n{_CHOICES} = {table!r}\n"
    if custom:
        made += _generator(tree, held, table)
    return _stand_ins(tree, beside, where) + TOP + _without_future(text) + MARK + made


def original(reference: str) -> str | None:
    """The file inside a reference that `reference_of` made; None in any other."""
    _, top, rest = reference.partition(TOP)
    text, mark, _ = rest.partition(MARK)
    return text if top and mark else None


def choices_in(reference: str) -> dict[str, list[object]]:
    """Values of parameters that are no sizes, from a reference that `reference_of` made."""
    for node in ast.parse(reference).body:
        match node:
            case ast.Assign(targets=[ast.Name(id="_CHOICES")], value=value):
                found: dict[str, list[object]] = ast.literal_eval(value)
                return found
    return {}


def tolerance_in(tree: ast.Module, where: str, notes: Notes) -> CaseTolerance | None:
    """The tolerance of `check_implementation`, where it is written as numbers."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(id="make_match_reference" | "verbose_allclose"), keywords=keywords):
                given = {one.arg: one.value for one in keywords if one.arg in _DEFAULT}
                values = {
                    name: _number(given.get(name, ast.Constant(default)))
                    for name, default in _DEFAULT.items()
                }
                if None in values.values():
                    continue
                return CaseTolerance(max_atol=values["atol"] or 0.0, max_rtol=values["rtol"] or 0.0)
    notes.drop(where, "its own check: it is no make_match_reference with numbers, so our tolerance counts")
    return None


def _number(node: ast.expr) -> float | None:
    match node:
        case ast.Constant(value=bool()):
            return None
        case ast.Constant(value=int() | float() as value) if 0 <= value < 1e6:
            return float(value)
    return None


def _stand_ins(tree: ast.Module, beside: Mapping[str, str], where: str) -> str:
    """Source that puts stand-ins for the modules that the file imports into `sys.modules`."""
    wanted: dict[str, dict[str, int]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module in ("task", "utils", *beside):
            wanted.setdefault(node.module, {}).update({alias.name: node.lineno for alias in node.names})
    if not wanted:
        return ""
    lines = ["import contextlib as _contextlib", "import sys as _sys", "import types as _types", ""]
    for module, names in wanted.items():
        lines += [f"_made = _types.ModuleType({module!r})", f"_sys.modules[{module!r}] = _made"]
        lines += _module(module, names, beside, where)
    return "\n".join(lines) + "\n\n"


def _module(module: str, names: Mapping[str, int], beside: Mapping[str, str], where: str) -> list[str]:
    known = _KNOWN.get(module, {})
    if module == "task":
        return [f"_made.{name} = object" for name in names]
    if all(name in known for name in names):
        return [f"_made.{name} = {known[name]}" for name in names]
    if module in beside:
        return [f"exec(compile({beside[module]!r}, {module + '.py'!r}, 'exec'), _made.__dict__)"]
    name = next(name for name in names if name not in known)
    raise FormatError(f"it takes {name} from {module}.py, which is not there", where, names[name])


def _without_future(text: str) -> str:
    """The same lines, the one from `__future__` as a comment, since it may only stand at the top."""
    lines = text.splitlines(keepends=True)
    return "".join(f"# {line}" if line.startswith("from __future__ ") else line for line in lines)


class _OnDevice(ast.NodeTransformer):
    """Turns the word "cuda" into the device that the judge asks for."""

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        """A constant; the method's name is that of `ast`."""
        return ast.Name("_DEVICE", ast.Load()) if node.value in ("cuda", "cuda:0") else node


def _generator(tree: ast.Module, held: Sequence[Leaf], choices: Mapping[str, object]) -> str:
    """The file's generator for any device, and the function that the judge calls."""
    function = next(
        node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == "generate_input"
    )
    copied = ast.parse(ast.unparse(function)).body[0]
    assert isinstance(copied, ast.FunctionDef)
    copied.name = "_generate_input"
    source = ast.unparse(ast.fix_missing_locations(_OnDevice().visit(copied)))
    arguments = [
        f"{arg.arg}={f'_CHOICES[{arg.arg!r}][axes[{arg.arg!r}]]' if arg.arg in choices else f'axes[{arg.arg!r}]'}"
        for arg in (*function.args.args, *function.args.kwonlyargs)
        if arg.arg != "seed"
    ]
    if any(arg.arg == "seed" for arg in (*function.args.args, *function.args.kwonlyargs)):
        arguments.append("seed=int(_torch.randint(1 << 31, ()))")
    pairs = ", ".join(f"{leaf.name!r}: data{leaf.path}" for leaf in held if _is_tensor(leaf))
    return (
        f"\n\nimport torch as _torch\n\n\n{source}\n\n\ndef make_inputs(axes, device):\n"
        f'    """Inputs as `generate_input` makes them, on the device of the judge."""\n'
        f"    global _DEVICE\n    _DEVICE = device\n"
        f"    data = _generate_input({', '.join(arguments)})\n    return {{{pairs}}}\n"
    )


def _is_tensor(leaf: Leaf) -> bool:
    return leaf.value is None or isinstance(leaf.value, Array)
