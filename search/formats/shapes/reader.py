"""Follows a Python module from its text, as far as shapes and types are concerned.

Only what such files are made of is known: constants, functions, classes of layers, arithmetic, loops of known length.
Each node costs a step and steps are limited, so no text can keep this process busy.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from search.formats.shapes import operators
from search.formats.shapes.builtins import BUILTINS
from search.formats.shapes.functions import FUNCTIONS
from search.formats.shapes.layers import LAYERS, apply
from search.formats.shapes.methods import FLAT, attribute
from search.formats.shapes.objects import (
    Bound,
    Class,
    Function,
    Scope,
    assigned,
    bind_import,
    call_method,
    is_super,
    items,
    set_member,
    truth,
)
from search.formats.shapes.values import Array, Layer, Size, Unread, Word

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

_MOST_STEPS = 60_000
_DEEPEST_CALL = 24
_DEEPEST_NODE = 120
_EMPTY_CALLS = {"print", "torch.manual_seed", "torch.cuda.manual_seed", "random.seed", "numpy.random.seed"}
_RANDOM = (
    "rand",
    "randn",
    "randint",
    "randperm",
    "rand_like",
    "randn_like",
    "normal",
    "bernoulli",
    "multinomial",
)
_OPAQUE = ("torch.Generator", "torch.device")
"""Things that matter to no shape."""


class _Return(Exception):
    def __init__(self, value: object) -> None:
        super().__init__()
        self.value = value


@dataclass
class Module:
    """A module whose top level has been read."""

    tree: ast.Module
    names: Scope = field(default_factory=dict)
    quiet: bool = False
    """Nothing may be drawn at random: results are compared."""
    steps: int = 0
    depth: int = 0
    calls: int = 0
    written: list[Array] = field(default_factory=list)
    """Tensors that were written into."""
    unread: dict[str, Unread] = field(default_factory=dict)
    """Top-level names whose value could not be read."""

    def call(self, name: str, *given: object, **named: object) -> object:
        """The value of a function of the module.

        Raises:
            Unread: there is none, or something in it is not known.
        """
        function = self.names.get(name)
        if not isinstance(function, Function):
            raise Unread(f"there is no function `{name}`")
        return self._enter(function, given, named)

    def build(self, name: str, given: Sequence[object], named: Mapping[str, object]) -> Layer:
        """An instance of a class of the module.

        Raises:
            Unread: there is none, or something in it is not known.
        """
        found = self.names.get(name)
        if not isinstance(found, Class):
            raise Unread(f"there is no class `{name}`")
        return self._instance(found, given, named)

    def forward(self, layer: Layer, given: Sequence[object]) -> object:
        """What the layer makes of its arguments.

        Raises:
            Unread: something in it is not known.
        """
        self.quiet = True
        return self._layer(layer, given, {})

    # Statements ------------------------------------------------------------------------------------------

    def read(self, *, named: bool) -> None:
        """Read the top level; a statement that cannot be read leaves its names unknown."""
        for node in self.tree.body:
            try:
                self._statement(node, self.names)
            except Unread as error:
                for name in assigned(node):
                    self.unread[name] = error
                    self.names.pop(name, None)
        for name, value in self.names.items():
            if named and type(value) is int and value >= 0:
                self.names[name] = Size(value, name)

    def _statement(self, node: ast.stmt, scope: Scope) -> None:
        try:
            self._step()
            self._do(node, scope)
        except Unread as error:
            error.line = error.line or node.lineno
            raise
        finally:
            self.depth -= 1

    def _do(self, node: ast.stmt, scope: Scope) -> None:
        match node:
            case ast.FunctionDef():
                scope[node.name] = Function(node)
            case ast.ClassDef():
                scope[node.name] = Class(node)
            case ast.Import() | ast.ImportFrom():
                bind_import(node, scope)
            case ast.Assign() | ast.AnnAssign() | ast.AugAssign():
                self._assign(node, scope)
            case ast.Return(value=value):
                raise _Return(None if value is None else self.value(value, scope))
            case ast.Expr(value=value):
                if not isinstance(value, ast.Constant):
                    self.value(value, scope)
            case ast.Pass() | ast.Assert() | ast.Global():
                pass
            case _:
                self._block(node, scope)

    def _block(self, node: ast.stmt, scope: Scope) -> None:
        match node:
            case ast.If(test=test, body=body, orelse=orelse):
                self._all(body if truth(self.value(test, scope)) else orelse, scope)
            case ast.With(items=contexts, body=body):
                for item in contexts:
                    if item.optional_vars is not None:
                        raise Unread("a context that is given a name")
                self._all(body, scope)
            case ast.For(target=target, iter=iterator, body=body, orelse=[]):
                for value in items(self.value(iterator, scope)):
                    self._store(target, value, scope)
                    self._all(body, scope)
            case _:
                raise Unread(f"a statement `{type(node).__name__.lower()}`")

    def _all(self, body: Iterable[ast.stmt], scope: Scope) -> None:
        for node in body:
            self._statement(node, scope)

    def _assign(self, node: ast.Assign | ast.AnnAssign | ast.AugAssign, scope: Scope) -> None:
        match node:
            case ast.Assign(targets=targets, value=value):
                made = self.value(value, scope)
                for target in targets:
                    self._store(target, made, scope)
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                self._store(target, self.value(value, scope), scope)
            case ast.AugAssign(target=target, op=op, value=value):
                before = self.value(target, scope)
                made = operators.binary(op, before, self.value(value, scope))
                # A tensor is written in place; a number is replaced.
                self._write(before)
                self._store(target, before.kept() if isinstance(before, Array) else made, scope)

    def _store(self, target: ast.expr, value: object, scope: Scope) -> None:
        match target:
            case ast.Name(id=name):
                scope[name] = value
            case ast.Tuple(elts=targets) | ast.List(elts=targets):
                values = items(value)
                if len(values) != len(targets) or any(isinstance(one, ast.Starred) for one in targets):
                    raise Unread(f"{len(values)} values for {len(targets)} names")
                for one, part in zip(targets, values, strict=True):
                    self._store(one, part, scope)
            case ast.Attribute(value=owner, attr=name):
                set_member(self.value(owner, scope), name, value)
            case ast.Subscript(value=owner, slice=index):
                held = self.value(owner, scope)
                if isinstance(held, dict):
                    held[self.value(index, scope)] = value
                elif not isinstance(held, Array):
                    raise Unread("an assignment to a part of something")
                self._write(held)
            case _:
                raise Unread("an assignment to something")

    # Expressions -----------------------------------------------------------------------------------------

    def value(self, node: ast.expr, scope: Scope) -> object:
        """Value of an expression.

        Raises:
            Unread: it is not known.
        """
        try:
            self._step()
            return self._value(node, scope)
        except Unread as error:
            error.line = error.line or node.lineno
            raise
        finally:
            self.depth -= 1

    def _value(self, node: ast.expr, scope: Scope) -> object:
        match node:
            case ast.Constant(value=value):
                return value
            case ast.Name(id=name):
                return self._name(name, scope)
            case ast.Attribute(value=owner, attr=name):
                return self._attribute(self.value(owner, scope), name)
            case ast.Call():
                return self._call(node, scope)
            case ast.BinOp(left=left, op=op, right=right):
                return operators.binary(op, self.value(left, scope), self.value(right, scope))
            case ast.Subscript(value=owner, slice=index):
                return operators.subscript(self.value(owner, scope), self._index(index, scope))
            case ast.Tuple(elts=parts):
                return tuple(self._parts(parts, scope))
            case ast.List(elts=parts):
                return self._parts(parts, scope)
        return self._rarer(node, scope)

    def _rarer(self, node: ast.expr, scope: Scope) -> object:
        match node:
            case ast.UnaryOp(op=op, operand=operand):
                return operators.unary(op, self.value(operand, scope))
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                return operators.compare(op, self.value(left, scope), self.value(right, scope))
            case ast.BoolOp(op=op, values=values):
                return self._either(values, scope, stop=isinstance(op, ast.Or))
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return self.value(body if truth(self.value(test, scope)) else orelse, scope)
            case ast.Dict(keys=keys, values=values):
                return self._dict(keys, values, scope)
            case ast.ListComp(elt=element, generators=[ast.comprehension(ifs=[]) as loop]):
                return self._comprehension(element, loop, scope)
            case ast.GeneratorExp(elt=element, generators=[ast.comprehension(ifs=[]) as loop]):
                return self._comprehension(element, loop, scope)
        raise Unread(f"`{ast.unparse(node)[:60]}`")

    def _dict(
        self, keys: list[ast.expr | None], values: list[ast.expr], scope: Scope
    ) -> dict[object, object]:
        made: dict[object, object] = {}
        for key, value in zip(keys, values, strict=True):
            name = None if key is None else self.value(key, scope)
            if not isinstance(name, str | int):
                raise Unread("a dictionary that is not keyed by words")
            made[name] = self.value(value, scope)
        return made

    def _either(self, values: list[ast.expr], scope: Scope, *, stop: bool) -> object:
        found: object = not stop
        for value in values:
            found = self.value(value, scope)
            if truth(found) is stop:
                break
        return found

    def _comprehension(self, element: ast.expr, loop: ast.comprehension, scope: Scope) -> list[object]:
        inner = dict(scope)
        made: list[object] = []
        for value in items(self.value(loop.iter, scope)):
            self._store(loop.target, value, inner)
            made.append(self.value(element, inner))
        return made

    def _parts(self, nodes: list[ast.expr], scope: Scope) -> list[object]:
        made: list[object] = []
        for node in nodes:
            if isinstance(node, ast.Starred):
                made += items(self.value(node.value, scope))
            else:
                made.append(self.value(node, scope))
        return made

    def _index(self, node: ast.expr, scope: Scope) -> object:
        match node:
            case ast.Slice(lower=lower, upper=upper, step=step):
                return slice(
                    *(None if part is None else self.value(part, scope) for part in (lower, upper, step))
                )
            case ast.Tuple(elts=parts):
                return tuple(self._index(part, scope) for part in parts)
        return self.value(node, scope)

    def _name(self, name: str, scope: Scope) -> object:
        for names in (scope, self.names):
            if name in names:
                return names[name]
        if name in self.unread:
            raise Unread(self.unread[name].problem, self.unread[name].line)
        if name in BUILTINS or name in ("super", "print"):
            return Word(name)
        raise Unread(f"the name `{name}`")

    def _attribute(self, owner: object, name: str) -> object:
        match owner:
            case Word(name=outer):
                return operators.constant(f"{outer}.{name}")
            case Array():
                found = attribute(owner, name)
                return Bound(owner, name) if found is None else found
            case Layer():
                return self._member(owner, name)
            case Class():
                return self._constant(owner, name)
            case list() | dict() | str() | tuple():
                return Bound(owner, name)
        raise Unread(f"the attribute `{name}`")

    def _member(self, layer: Layer, name: str) -> object:
        for held in (layer.parameters, layer.buffers, layer.inner, layer.settings):
            if name in held:
                return held[name]
        owner = self.names.get(layer.kind)
        if isinstance(owner, Class):
            for node in owner.node.body:
                if isinstance(node, ast.FunctionDef) and node.name == name:
                    return Function(node, layer)
                if name in assigned(node):
                    return self._constant(owner, name)
        if name in ("register_buffer", "register_parameter", "to", "eval", "train"):
            return Bound(layer, name)
        raise Unread(f"the attribute `{name}` of {layer.kind}")

    def _constant(self, owner: Class, name: str) -> object:
        for node in owner.node.body:
            match node:
                case ast.Assign(targets=[ast.Name(id=found)], value=value) if found == name:
                    return self.value(value, self.names)
        raise Unread(f"the attribute `{name}` of {owner.node.name}")

    # Calls -----------------------------------------------------------------------------------------------

    def _call(self, node: ast.Call, scope: Scope) -> object:
        if isinstance(node.func, ast.Attribute) and is_super(node.func.value):
            return None
        target = self.value(node.func, scope)
        if isinstance(target, Word) and (target.name in _EMPTY_CALLS or target.name.endswith(".manual_seed")):
            return None
        if isinstance(target, Word) and target.name in _OPAQUE:
            return target
        given = self._parts(node.args, scope)
        named = {}
        for keyword in node.keywords:
            if keyword.arg is None:
                raise Unread("arguments from a dictionary")
            named[keyword.arg] = self.value(keyword.value, scope)
        return self._apply(target, given, named)

    def _apply(self, target: object, given: Sequence[object], named: Mapping[str, object]) -> object:
        match target:
            case Word(name=name):
                return self._known(name, given, named)
            case Function():
                return self._enter(target, given, named)
            case Class():
                return self._instance(target, given, named)
            case Layer():
                return self._layer(target, given, named)
            case Bound(value=value, name=name):
                if name.endswith("_") and not name.startswith("_"):
                    self._write(value)
                return call_method(value, name, given, named)
        raise Unread("a call of something")

    def _known(self, name: str, given: Sequence[object], named: Mapping[str, object]) -> object:
        if self.quiet and name.removeprefix("torch.") in _RANDOM:
            raise Unread(f"`{name}`, which makes every result another one,")
        if named.get("inplace") and given:
            self._write(given[0])
        for table in (BUILTINS, FUNCTIONS, LAYERS, FLAT):
            if name in table:
                try:
                    return table[name](*given, **named)
                except (TypeError, ValueError, OverflowError, IndexError) as error:
                    raise Unread(f"this use of `{name}`") from error
        raise Unread(f"`{name}`")

    def _layer(self, layer: Layer, given: Sequence[object], named: Mapping[str, object]) -> object:
        if isinstance(self.names.get(layer.kind), Class):
            forward = self._member(layer, "forward")
            if not isinstance(forward, Function):
                raise Unread(f"the forward of {layer.kind}")
            return self._enter(forward, given, named)
        if layer.kind == "Sequential":
            value = given[0]
            for inner in layer.inner.values():
                value = self._layer(inner, [value], {})
            return value
        if layer.settings.get("inplace") and given:
            self._write(given[0])
        try:
            return apply(layer, *given, **named)
        except (TypeError, ValueError, IndexError) as error:
            raise Unread(f"this use of {layer.kind}") from error

    def _instance(self, kind: Class, given: Sequence[object], named: Mapping[str, object]) -> Layer:
        if not any(ast.unparse(base).endswith("Module") for base in kind.node.bases):
            raise Unread(f"an instance of `{kind.node.name}`")
        layer = Layer(kind.node.name)
        for node in kind.node.body:
            if isinstance(node, ast.FunctionDef) and node.name == "__init__":
                self._enter(Function(node, layer), given, named)
        return layer

    def _enter(self, function: Function, given: Sequence[object], named: Mapping[str, object]) -> object:
        if self.calls >= _DEEPEST_CALL:
            raise Unread("calls that nest too deep", function.node.lineno)
        owned = [function.owner, *given] if function.owner is not None else list(given)
        scope = self._arguments(function.node, owned, named)
        self.calls += 1
        try:
            self._all(function.node.body, scope)
        except _Return as returned:
            return returned.value
        finally:
            self.calls -= 1
        return None

    def _arguments(self, node: ast.FunctionDef, given: list[object], named: Mapping[str, object]) -> Scope:
        taken = [*node.args.posonlyargs, *node.args.args]
        if node.args.vararg or node.args.kwarg or len(given) > len(taken):
            raise Unread(f"the arguments of `{node.name}`", node.lineno)
        defaults: list[tuple[ast.arg, ast.expr | None]] = [
            *zip(taken[len(taken) - len(node.args.defaults) :], node.args.defaults, strict=True),
            *zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True),
        ]
        scope: Scope = {}
        for argument, default in defaults:
            if default is not None:
                scope[argument.arg] = self.value(default, self.names)
        scope |= {argument.arg: value for argument, value in zip(taken, given, strict=False)}
        scope |= named
        wanted = {argument.arg for argument in (*taken, *node.args.kwonlyargs)}
        if set(scope) != wanted:
            raise Unread(f"the arguments of `{node.name}`", node.lineno)
        return scope

    def _write(self, value: object) -> None:
        if isinstance(value, Array):
            self.written.append(value.origin)

    def _step(self) -> None:
        """Count a node, and how deep it lies; whoever calls this takes the depth back."""
        self.steps += 1
        self.depth += 1
        if self.depth > _DEEPEST_NODE:
            raise Unread(f"code that nests deeper than {_DEEPEST_NODE} levels")
        if self.steps > _MOST_STEPS:
            raise Unread(f"more than {_MOST_STEPS} steps")


def read_module(source: str, *, named: bool = False) -> Module:
    """The module with its top level read.

    Args:
        source: its text.
        named: whole numbers of the top level remember their names.

    Raises:
        SyntaxError: it is not Python.
        ValueError: it holds a NUL.
        RecursionError: it nests too deep.
    """
    module = Module(ast.parse(source))
    module.read(named=named)
    return module
