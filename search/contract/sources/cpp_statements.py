"""Statements in C++: declarations, loops with their OpenMP directives, branches."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from search.contract.facts import NO_AXES, Axes, Branch, Buffer, EventKind, Loop, Role, touches_memory
from search.contract.facts import walk as tree
from search.contract.sources.cpp_syntax import (
    LOW_PRECISION,
    Declared,
    declared,
    line,
    named,
    resolved,
    text,
    type_dtype,
    type_rank,
)
from search.contract.sources.value import ALLOCATED, BLOCKED, NOTHING, THREAD, WORKER, WORKERS, Value, join

if TYPE_CHECKING:
    import tree_sitter

    from search.contract.sources.cpp_state import Walk

_IGNORED = {
    "comment", "type_definition", "alias_declaration", "using_declaration", "static_assert_declaration",
    "preproc_include", "preproc_def", "preproc_undef", "break_statement", "continue_statement", ";",
    "struct_specifier", "class_specifier", "enum_specifier", "function_definition", "template_declaration",
    "preproc_function_def", "empty_statement", "namespace_definition", "preproc_directive",
}  # fmt: skip
_HARMLESS_PRAGMAS = re.compile(
    r"(omp (simd|declare|barrier|flush)|GCC (unroll|ivdep|diagnostic)|once|message|unroll|nounroll|nv_diag\w*)\b"
)
_OWNER = re.compile(r"\b(vector|array|unique_ptr)\s*<")
_SIZE = re.compile(r"([A-Za-z_]\w*)(?:\s*\[\s*(\d+)\s*\])?")
_COLLAPSE = re.compile(r"collapse\s*\(\s*(\d+)\s*\)")
_DYNAMIC = re.compile(r"schedule\s*\([^)]*\b(dynamic|guided)\b")


@dataclass(frozen=True)
class Head:
    """What is known of a loop before its body."""

    axes: Axes
    variable: str
    role: Role
    continues: bool
    blocked: bool


def visit(walk: Walk, node: tree_sitter.Node) -> None:
    """Follow one statement."""
    if node.type in _IGNORED:
        return
    reader = _READERS.get(node.type)
    if reader is not None:
        reader(walk, node)
    elif node.type.endswith("_expression") or node.type in {"identifier", "number_literal"}:
        walk.evaluate(node)
    else:
        walk.gap(f"the statement `{text(node)[:60]}` is not understood", node)


def visit_all(walk: Walk, nodes: list[tree_sitter.Node]) -> None:
    """Follow statements in order; what stands after a `return` is never run."""
    for node in nodes:
        visit(walk, node)
        if node.type == "return_statement":
            return


def _compound(walk: Walk, node: tree_sitter.Node) -> None:
    directives = _take_pragmas(walk)
    region = any(re.search(r"omp parallel\b(?!.*\bfor\b)", directive) for directive in directives)
    with walk.block() as nodes:
        visit_all(walk, named(node))
    if region:
        walk.emit(Loop(NO_AXES, line(node), len(walk.loops), "", tuple(nodes), Role.REGION))
    else:
        walk.nodes[-1].extend(nodes)


def _expression(walk: Walk, node: tree_sitter.Node) -> None:
    for child in named(node):
        walk.evaluate(child)


def _return(walk: Walk, node: tree_sitter.Node) -> None:
    walk.returns[-1] += [walk.evaluate(child) for child in named(node)]


# Declarations --------------------------------------------------------------------------------------


def declaration(walk: Walk, node: tree_sitter.Node) -> None:
    """Declare every variable of a declaration; file scope calls this too."""
    if walk.dialect is not None and walk.dialect.declares(walk, node):
        return
    for declarator in node.children_by_field_name("declarator"):
        found = declared(declarator)
        if found.name and not found.function:
            _declare(walk, found, declarator.child_by_field_name("value"), node)
        elif not found.function or len(walk.scopes) > 1:
            _declare_sized(walk, found, declarator, node)


def _declare_sized(walk: Walk, found: Declared, declarator: tree_sitter.Node, node: tree_sitter.Node) -> None:
    """`std::vector<float> row(N);` reads like a function, but a function's parameter is no variable."""
    arguments = named(declarator.child_by_field_name("parameters"))
    sizes = [size for argument in arguments if (size := parameter_size(walk, text(argument))) is not None]
    type_text = resolved(walk.unit, text(node.child_by_field_name("type")))
    if not found.name or len(sizes) != len(arguments) or not _OWNER.search(type_text):
        walk.gap(f"the declaration `{text(node)[:60]}` is not understood", node)
        return
    _declare_array(walk, replace(found, function=False), join(sizes), type_dtype(type_text), node)


def parameter_size(walk: Walk, words: str) -> Value | None:
    """Size in something that reads like a parameter: `M`, `M * SPLITS`, `axes[0]`; None for a real parameter."""
    sizes = []
    for name, index in _SIZE.findall(words):
        variable = walk.find(name)
        if variable is not None and index and variable.value.places == {"entry:axes"}:
            axes = walk.signature.axes
            sizes.append(Value(axes=frozenset(axes[int(index) : int(index) + 1]), dtype="int"))
        elif variable is not None or name in walk.unit.macros or name.isupper():
            sizes.append(walk.macro(name) if variable is None else variable.value)
        else:
            return None
    return join(sizes) if sizes or words.isdigit() else None


def _declare(walk: Walk, found: Declared, value: tree_sitter.Node | None, node: tree_sitter.Node) -> None:
    if value is not None and value.type == "lambda_expression":
        walk.declare(found.name, NOTHING, "").body = value
        return
    type_text = resolved(walk.unit, text(node.child_by_field_name("type")))
    given = walk.evaluate(value) if value is not None else NOTHING
    dtype = type_dtype(type_text) or given.dtype
    if dtype in LOW_PRECISION and value is not None and not found.rank:
        given = given.rounded(dtype)
    on_chip = "__shared__" in text(node) and found.rank > 0
    owns = bool(found.sizes) or on_chip or _OWNER.search(type_text) is not None
    if owns:
        _declare_array(walk, found, given, dtype, node)
    elif ALLOCATED in given.marks:
        _declare_allocated(walk, found, given, dtype, node)
    else:
        rank = found.rank + type_rank(type_text) if "auto" not in type_text else given.rank
        alias = found.reference and bool(given.places)
        variable = walk.declare(found.name, replace(given, rank=rank), dtype, alias=alias)
        variable.vector = type_text.startswith("__m")


def _declare_allocated(walk: Walk, found: Declared, given: Value, dtype: str, node: tree_sitter.Node) -> None:
    """Fresh memory: a buffer in the entry point, a local array in a kernel."""
    if walk.host:
        walk.declare(found.name, walk.allocated(found.name, given, node), dtype)
        return
    variable = walk.declare(found.name, Value(axes=given.axes, rank=1), dtype)
    variable.value = replace(variable.value, places=frozenset({f"local:{variable.id}"}))


def _declare_array(walk: Walk, found: Declared, given: Value, dtype: str, node: tree_sitter.Node) -> None:
    """An array or container has a place of its own; in the entry point it is a buffer between kernels."""
    rank = max(found.rank + type_rank(resolved(walk.unit, text(node.child_by_field_name("type")))), 1)
    axes = join([walk.evaluate(size) for size in found.sizes]).axes | given.axes
    variable = walk.declare(found.name, Value(axes=axes, rank=rank, deps=given.deps), dtype)
    shared = walk.host and not _is_constant(node) and "__shared__" not in text(node)
    place = f"buffer:{found.name}" if shared else f"local:{variable.id}"
    if shared:
        walk.buffers[found.name] = Buffer(found.name, axes, line(node))
    variable.value = replace(variable.value, places=frozenset({place}))


def _is_constant(node: tree_sitter.Node) -> bool:
    return any(text(child) in {"const", "constexpr"} for child in node.children)


# Loops ---------------------------------------------------------------------------------------------


def _pragma(walk: Walk, node: tree_sitter.Node) -> None:
    argument = " ".join(text(node.child_by_field_name("argument")).replace("\\\n", " ").split())
    if text(node.child_by_field_name("directive")) != "#pragma" or _HARMLESS_PRAGMAS.match(argument):
        return
    if re.match(r"omp (parallel|for)\b", argument) and not re.search(
        r"\b(sections|if|num_threads)\b", argument
    ):
        walk.pragmas.append(argument)
    elif re.match(r"omp (atomic|critical)\b", argument):
        walk.event(EventKind.ATOMIC, argument.split()[1], node)
    else:
        walk.gap(f"the directive `{argument[:60]}` is not understood", node)


def _take_pragmas(walk: Walk) -> list[str]:
    taken, walk.pragmas = walk.pragmas, []
    return taken


def _for(walk: Walk, node: tree_sitter.Node) -> None:
    directive = " ".join(_take_pragmas(walk))
    initializer = node.child_by_field_name("initializer")
    with walk.block() as outer:
        if initializer is not None:
            visit(walk, initializer)
        name = _loop_variable(node)
        variable = walk.find(name)
        start = variable.value if variable is not None else NOTHING
        bound = _bound(walk, node)
        identity = variable.id if variable is not None else f"loop@{line(node)}"
        role = _role(walk, directive, join([start, bound]))
        by_threads = walk.program is not None and THREAD in start.marks | bound.marks
        blocked = BLOCKED in bound.marks or _strides(walk, node) or by_threads
        head = Head(start.axes | bound.axes, identity, role, _continues(walk, node, name, start), blocked)
        loop = _run(walk, node, head, _collapse(directive))
        if node.child_by_field_name("condition") is None and touches_memory(loop.body):
            walk.gap("a loop whose length is not told", node)
        walk.emit(loop)
        if variable is not None:
            variable.ended = variable.ended or "loop"
    walk.nodes[-1].extend(outer)


def _run(walk: Walk, node: tree_sitter.Node, head: Head, collapse: int) -> Loop:
    depth, body = len(walk.loops), node.child_by_field_name("body")
    outer_collapsed, walk.collapsed = walk.collapsed, collapse - 1 if collapse else max(walk.collapsed - 1, 0)
    walk.loops.append(head.variable)
    walk.shared += head.role is Role.PERSISTENT
    with walk.block() as nodes:
        update = node.child_by_field_name("update")
        if body is not None:
            visit(walk, body)
        if update is not None:
            walk.evaluate(update)
    walk.loops.pop()
    walk.shared -= head.role is Role.PERSISTENT
    walk.collapsed = outer_collapsed
    inner = (
        [n for n in tree(nodes) if isinstance(n, Loop) and n.role is Role.COLLAPSED] if collapse > 1 else []
    )
    axes = head.axes.union(*(found.axes for found in inner))
    covered = walk.covered.pop(head.variable, NO_AXES)
    axes = axes or covered
    blocked = head.blocked or any(found.blocked for found in inner)
    return Loop(axes, line(node), depth, head.variable, tuple(nodes), head.role, blocked, head.continues)


def _strides(walk: Walk, node: tree_sitter.Node) -> bool:
    """Whether a loop counts in steps of a block; a step of the number of workers deals out single indices."""
    update = node.child_by_field_name("update")
    step = update.child_by_field_name("right") if update is not None else None
    return step is not None and text(step) != "1" and WORKERS not in walk.evaluate(step).marks


def _loop_variable(node: tree_sitter.Node) -> str:
    """Name of the variable a `for` counts with."""
    initializer = node.child_by_field_name("initializer")
    if initializer is not None and initializer.type == "declaration":
        return declared(initializer.child_by_field_name("declarator") or initializer).name
    for part in (initializer, node.child_by_field_name("update"), node.child_by_field_name("condition")):
        for field_name in ("left", "argument"):
            found = part.child_by_field_name(field_name) if part is not None else None
            if found is not None and found.type == "identifier":
                return text(found)
    return ""


def _bound(walk: Walk, node: tree_sitter.Node) -> Value:
    """What a loop runs to, and the step it makes."""
    parts = [node.child_by_field_name("condition")]
    update = node.child_by_field_name("update")
    if update is not None and update.type == "assignment_expression":
        parts.append(update.child_by_field_name("right"))
    return join([walk.evaluate(part) for part in parts if part is not None])


def _role(walk: Walk, directive: str, extent: Value) -> Role:
    if re.search(r"\bfor\b", directive):
        return Role.DYNAMIC if _DYNAMIC.search(directive) else Role.GRID
    if walk.collapsed:
        return Role.COLLAPSED
    return Role.PERSISTENT if WORKER in extent.marks and not walk.shared else Role.SEQUENTIAL


def _collapse(directive: str) -> int:
    found = _COLLAPSE.search(directive)
    return int(found[1]) if found else 0


def _continues(walk: Walk, node: tree_sitter.Node, name: str, start: Value) -> bool:
    """Whether a loop goes on where the one before it ended: it counts up from a value that is no first start."""
    initializer = node.child_by_field_name("initializer")
    variable = walk.find(name)
    if initializer is None or initializer.type == ";":
        return variable is not None and bool(variable.ended)
    first = text(_initial_value(initializer))
    before = walk.starts[-2]  # the block around the loop, whose own scope is open
    upwards = text(node.child_by_field_name("update")).replace(" ", "").find("-") < 0
    if upwards and start.axes and before and first not in before:
        before.append(first)
        return True
    walk.starts[-2] = [first]
    return False


def _initial_value(initializer: tree_sitter.Node) -> tree_sitter.Node | None:
    if initializer.type == "declaration":
        declarator = initializer.child_by_field_name("declarator")
        return declarator.child_by_field_name("value") if declarator is not None else None
    return initializer.child_by_field_name("right")


def _while(walk: Walk, node: tree_sitter.Node) -> None:
    condition, body = node.child_by_field_name("condition"), node.child_by_field_name("body")
    bound = walk.evaluate(condition) if condition is not None else NOTHING
    identity = f"while@{line(node)}"
    depth = len(walk.loops)
    walk.loops.append(identity)
    with walk.block() as nodes:
        if body is not None:
            visit(walk, body)
    walk.loops.pop()
    if not bound.axes and touches_memory(nodes):
        walk.gap("a loop whose length is not told", node)
    role = Role.PERSISTENT if WORKER in bound.marks and not walk.shared else Role.SEQUENTIAL
    walk.emit(Loop(bound.axes, line(node), depth, identity, tuple(nodes), role))


def _range_for(walk: Walk, node: tree_sitter.Node) -> None:
    walk.gap("a loop over a container is not understood", node)


# Branches ------------------------------------------------------------------------------------------


def _if(walk: Walk, node: tree_sitter.Node) -> None:
    condition = node.child_by_field_name("condition")
    if condition is not None:
        walk.evaluate(condition)
    consequence, alternative = (node.child_by_field_name(side) for side in ("consequence", "alternative"))
    walk.compared.append(_comparison(condition))
    _branch(walk, node, [[arm] for arm in (consequence, alternative) if arm is not None])
    walk.compared.pop()


def _branch(walk: Walk, node: tree_sitter.Node, arms: list[list[tree_sitter.Node]]) -> None:
    walk.conditions += walk.host
    collected = []
    for arm in arms:
        with walk.block() as nodes:
            visit_all(walk, arm)
        collected.append(tuple(nodes))
    walk.conditions -= walk.host
    if any(collected):
        walk.emit(Branch(tuple(collected), line(node)))


def _comparison(condition: tree_sitter.Node | None) -> tuple[str, str, str]:
    """Left side, operator and right side of a condition; empty words where it is none."""
    while condition is not None and condition.type in {"condition_clause", "parenthesized_expression"}:
        inner = named(condition)
        condition = inner[0] if len(inner) == 1 else None
    if condition is None or condition.type != "binary_expression":
        return ("", "", "")
    left, right = (text(condition.child_by_field_name(side)) for side in ("left", "right"))
    return (left, text(condition.child_by_field_name("operator"))[:1], right)


def _switch(walk: Walk, node: tree_sitter.Node) -> None:
    condition = node.child_by_field_name("condition")
    if condition is not None:
        walk.evaluate(condition)
    cases = [child for child in named(node.child_by_field_name("body")) if child.type == "case_statement"]
    arms = []
    for case in cases:
        value = case.child_by_field_name("value")
        arms.append([child for child in named(case) if child != value])
    _branch(walk, node, arms)


def _preprocessor(walk: Walk, node: tree_sitter.Node) -> None:
    """`#if` keeps both sides open, but for `#if 0` and `#if 1`."""
    condition = node.child_by_field_name("condition")
    alternative = node.child_by_field_name("alternative")
    marks = [node.child_by_field_name(name) for name in ("condition", "name", "alternative")]
    body = [child for child in named(node) if child not in marks]
    rest = [alternative] if alternative is not None else []
    match text(condition).strip("() "):
        case "0":
            visit_all(walk, rest)
        case "1":
            visit_all(walk, body)
        case _:
            _branch(walk, node, [body, rest])


def _attributed(walk: Walk, node: tree_sitter.Node) -> None:
    visit_all(walk, [child for child in named(node) if not child.type.startswith("attribute")])


def _else(walk: Walk, node: tree_sitter.Node) -> None:
    visit_all(walk, named(node))


_READERS = {
    "compound_statement": _compound,
    "expression_statement": _expression,
    "return_statement": _return,
    "declaration": declaration,
    "for_statement": _for,
    "while_statement": _while,
    "do_statement": _while,
    "for_range_loop": _range_for,
    "if_statement": _if,
    "else_clause": _else,
    "switch_statement": _switch,
    "preproc_call": _pragma,
    "preproc_if": _preprocessor,
    "preproc_ifdef": _preprocessor,
    "preproc_elif": _preprocessor,
    "preproc_else": _else,
    "attributed_statement": _attributed,
}
