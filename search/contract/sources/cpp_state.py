"""Where a walk through C++ stands: variables in scope, open loops, what was found."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from search.contract.facts import AXIS_KNOBS, Axes, Buffer, Event, EventKind, Gap, Kernel, Node
from search.contract.sources.cpp_syntax import Unit, line, text
from search.contract.sources.value import NONE, NOTHING, WORKERS, Effort, Value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import tree_sitter

    from search.records import Signature

PROGRAMS = "PROGRAMS"
"""The knob that says how many programs a fixed grid has."""


@dataclass
class Variable:
    """A variable, array or pointer of the source."""

    id: str
    value: Value
    dtype: str
    level: int
    """Loops that were open where it was declared."""
    vector: bool = False
    """A vector register."""
    alias: bool = False
    """A reference to an element in memory."""
    body: tree_sitter.Node | None = None
    """The lambda it holds."""
    ended: str = ""
    """Text of the bound at which the last loop over it ended."""


@dataclass(frozen=True)
class Dialect:
    """What a language adds to C++; each part answers None (or False) where it has nothing to say."""

    call: Callable[[Walk, tree_sitter.Node, str], Value | None]
    """Takes the call and the plain name of what is called."""
    part: Callable[[Walk, tree_sitter.Node], Value | None]
    """Value of `object.field` or of a name."""
    declares: Callable[[Walk, tree_sitter.Node], bool]
    """Whether it took care of a declaration."""
    expression: Callable[[Walk, tree_sitter.Node], Value | None]
    """Value of an expression that C++ does not have."""


@dataclass
class Program:
    """The kernel of CUDA that is being followed."""

    sizes: tuple[Value, ...]
    """Sizes of the grid."""
    used: set[int] = field(default_factory=set)
    """Dimensions whose program number is used."""

    @property
    def fixed(self) -> bool:
        """The number of programs does not follow the axes."""
        return any(WORKERS in size.marks for size in self.sizes)


@dataclass
class Walk:
    """State of a walk that starts in the entry point and follows every call."""

    unit: Unit
    signature: Signature
    evaluator: Callable[[Walk, tree_sitter.Node], Value]
    visitor: Callable[[Walk, tree_sitter.Node], None]
    scopes: list[dict[str, Variable]] = field(default_factory=lambda: [{}])
    nodes: list[list[Node]] = field(default_factory=lambda: [[]])
    """Collected nodes, one list per open block."""
    loops: list[str] = field(default_factory=list)
    """Ids of the variables of the open loops."""
    returns: list[list[Value]] = field(default_factory=lambda: [[]])
    calls: list[str] = field(default_factory=list)
    """Functions being followed; empty in the entry point."""
    conditions: int = 0
    """Branches and loops open in the entry point."""
    kernels: list[Kernel] = field(default_factory=list)
    buffers: dict[str, Buffer] = field(default_factory=dict)
    hidden: list[list[dict[str, Variable]]] = field(default_factory=list)
    """Scopes of the callers, which names do not reach but places do."""
    pragmas: list[str] = field(default_factory=list)
    """OpenMP directives that wait for their statement."""
    starts: list[list[str]] = field(default_factory=lambda: [[]])
    """Per open block: where the loops of its latest sweep began."""
    compared: list[tuple[str, str, str]] = field(default_factory=list)
    """Left side, operator and right side of the open `if` conditions."""
    collapsed: int = 0
    """Inner loops that still belong to an open collapsed nest."""
    shared: int = 0
    """Open loops over a worker's share."""
    serial: int = 0
    effort: Effort = field(default_factory=Effort)
    dialect: Dialect | None = None
    program: Program | None = None
    """The launch that is being followed (CUDA)."""
    grids: dict[str, tuple[Value, ...]] = field(default_factory=dict)
    """Sizes that a `dim3` holds."""
    scopes_of_groups: dict[str, str] = field(default_factory=dict)
    """How far a cooperative group reaches: `block`, `cluster`, `grid`."""
    covered: dict[str, Axes] = field(default_factory=dict)
    """Axes that a loop variable, or a thread's own index, is held against."""

    @property
    def host(self) -> bool:
        """Whether the walk is in host code that may launch or allocate: the entry point; in CUDA what it calls too."""
        return not self.calls if self.dialect is None else self.program is None

    def evaluate(self, node: tree_sitter.Node) -> Value:
        """Value of an expression, with the events it causes."""
        value = self.evaluator(self, node)
        self.effort.spend(value)
        return value

    def visit(self, node: tree_sitter.Node) -> None:
        """Follow a statement."""
        self.effort.spend()
        self.visitor(self, node)

    def emit(self, node: Node) -> None:
        """Add a node to the open block."""
        self.nodes[-1].append(node)

    def gap(self, reason: str, node: tree_sitter.Node) -> Value:
        """Note that something is not understood."""
        self.emit(Gap(reason, line(node)))
        return NOTHING

    def event(self, kind: EventKind, what: str, node: tree_sitter.Node) -> None:
        """Add a plain event."""
        self.emit(Event(kind, what, line(node)))

    @contextmanager
    def block(self) -> Iterator[list[Node]]:
        """Collect nodes of an inner block, in a scope of its own."""
        collected: list[Node] = []
        outside = self.scopes
        self.nodes.append(collected)
        self.scopes = [*outside, {}]
        self.starts.append([])
        try:
            yield collected
        finally:
            self.starts.pop()
            self.scopes = outside
            self.nodes.pop()

    def declare(self, name: str, value: Value, dtype: str, *, alias: bool = False) -> Variable:
        """A new variable in the innermost scope."""
        self.serial += 1
        variable = Variable(f"{name}#{self.serial}", value, dtype, len(self.loops), alias=alias)
        self.scopes[-1][name] = variable
        return variable

    def find(self, name: str) -> Variable | None:
        """The variable that a name means here."""
        return next((scope[name] for scope in reversed(self.scopes) if name in scope), None)

    def by_id(self, wanted: str) -> Variable | None:
        """A variable by its id, in this function or one that called it."""
        return next((variable for variable in self._alive() if variable.id == wanted), None)

    def local(self, place: str) -> Variable | None:
        """The local array that a place `local:ID` names, wherever it was declared."""
        return self.by_id(place.removeprefix("local:")) if place.startswith("local:") else None

    def pointers(self, place: str) -> frozenset[str]:
        """Ids of the variables that may point into a place."""
        return frozenset(variable.id for variable in self._alive() if place in variable.value.places)

    def arrays(self) -> frozenset[str]:
        """Ids of the local arrays."""
        return frozenset(v.id for v in self._alive() if f"local:{v.id}" in v.value.places)

    def _alive(self) -> Iterator[Variable]:
        for scopes in (self.scopes, *reversed(self.hidden)):
            for scope in reversed(scopes):
                yield from scope.values()

    def measure(self, place: str, axes: Axes) -> None:
        """Note the size of a buffer of the entry point."""
        name = place.removeprefix("buffer:")
        if name in self.buffers and place.startswith("buffer:"):
            held = self.buffers[name]
            self.buffers[name] = Buffer(name, held.axes | axes, held.line)

    def allocated(self, name: str, value: Value, node: tree_sitter.Node) -> Value:
        """Fresh memory of the entry point gets the name of the variable that holds it."""
        self.buffers[name] = Buffer(name, value.axes, line(node))
        return Value(axes=value.axes, places=frozenset({f"buffer:{name}"}), rank=1)

    def launch(self, name: str, nodes: tuple[Node, ...], node: tree_sitter.Node) -> None:
        """Note that the entry point runs a kernel."""
        if self.conditions or (self.dialect is not None and self.loops):
            self.gap(f"{name} is launched under a condition or in a loop", node)
        self.kernels.append(Kernel(name, line(self.unit.functions[name]), nodes))

    def name(self, node: tree_sitter.Node) -> Value:
        """Value of an identifier."""
        name = text(node)
        variable = self.find(name)
        if variable:
            deps = variable.value.deps | {variable.id}
            return Value(
                variable.value.axes,
                variable.value.span,
                variable.value.places,
                variable.value.rank,
                variable.value.op,
                deps,
                variable.value.scaled,
                variable.value.marks,
                variable.dtype,
            )
        return self.macro(name)

    def macro(self, name: str) -> Value:
        """Value of a name that no declaration has: a knob, or a macro of the file."""
        if name in AXIS_KNOBS:
            return Value(axes=frozenset({name}))
        if name == PROGRAMS:
            return Value(marks=frozenset({WORKERS}), dtype="int")
        words = self.unit.macros.get(name, "").replace("(", " ").replace(")", " ").split()
        known = [self.find(word) for word in words]
        axes = NONE.union(*(variable.value.axes for variable in known if variable))
        return Value(axes=axes | (AXIS_KNOBS & set(words)))
