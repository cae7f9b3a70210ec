"""Reading a Triton module: imports, jitted functions, plain functions and module-level constants (Python `ast`)."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

LOW_PRECISION = {"float16", "bfloat16", "float8e5", "float8e4nv", "float8e4b15", "float8e4b8", "float8e5b16"}
DTYPES = LOW_PRECISION | {"float32", "float64"}


@dataclass
class Module:
    """One module, indexed."""

    aliases: dict[str, str] = field(default_factory=dict)
    """Imported names with their full dotted names."""
    jitted: dict[str, ast.FunctionDef] = field(default_factory=dict)
    plain: dict[str, ast.FunctionDef] = field(default_factory=dict)
    constants: dict[str, ast.expr] = field(default_factory=dict)
    opaque: list[ast.stmt] = field(default_factory=list)
    """Statements at module level that could change what a name means."""

    def dotted(self, node: ast.expr) -> str:
        """Full dotted name of `tl.load` or `libdevice.exp`; empty if the expression is no name."""
        match node:
            case ast.Name(id=name):
                return self.aliases.get(name, name)
            case ast.Attribute(value=value, attr=attribute):
                base = self.dotted(value)
                return f"{base}.{attribute}" if base else ""
        return ""


def index(tree: ast.Module) -> Module:
    """Index what stands at module level; of functions with one name the last counts, as in Python."""
    module = Module()
    for node in tree.body:
        match node:
            case ast.Import(names=names):
                for name in names:
                    module.aliases[name.asname or name.name.split(".")[0]] = (
                        name.name if name.asname else name.name.split(".")[0]
                    )
            case ast.ImportFrom(module=source, names=names):
                for name in names:
                    module.aliases[name.asname or name.name] = f"{source}.{name.name}"
            case ast.FunctionDef(name=name):
                module.jitted.pop(name, None)
                module.plain.pop(name, None)
                (module.jitted if _is_jitted(module, node) else module.plain)[name] = node
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                module.constants[name] = value
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                module.constants[name] = value
            case ast.Expr(value=ast.Constant()):
                continue
            case _:
                module.opaque.append(node)
    functions = module.jitted.keys() | module.plain.keys()
    module.opaque += [
        node for node in tree.body if isinstance(node, ast.Assign) and _targets(node) & functions
    ]
    return module


def _targets(node: ast.Assign) -> set[str]:
    return {target.id for target in node.targets if isinstance(target, ast.Name)}


def device_function(module: Module, node: ast.expr) -> str:
    """`load` for `tl.load`, `exp` for `libdevice.exp`; empty for anything that is not Triton's."""
    name = module.dotted(node)
    return name.rsplit(".", 1)[-1] if name.startswith("triton.language") else ""


def dtype_name(module: Module, node: ast.expr) -> str:
    """`float32` for `tl.float32` or `torch.float32`; empty for anything else."""
    name = module.dotted(node)
    last = name.rsplit(".", 1)[-1]
    return last if name.startswith(("triton.language.", "torch.")) and last in DTYPES else ""


def _is_jitted(module: Module, node: ast.FunctionDef) -> bool:
    return any(
        module.dotted(decorator) in {"triton.jit", "triton.runtime.jit.jit"}
        for decorator in node.decorator_list
    )
