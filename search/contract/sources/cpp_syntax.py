"""Reading C++ syntax trees: functions, declarators and types of one file (tree-sitter)."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import tree_sitter_cpp
from tree_sitter import Language, Parser

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node

CPP_GRAMMAR = Language(tree_sitter_cpp.language())

FLOATS = {
    "float": "float32",
    "double": "float64",
    "__m128": "float32",
    "__m256": "float32",
    "__m512": "float32",
    "__m256d": "float64",
    "__m512d": "float64",
    "_Float16": "float16",
    "__fp16": "float16",
    "half": "float16",
    "__half": "float16",
    "__bf16": "bfloat16",
    "bfloat16": "bfloat16",
    "__nv_bfloat16": "bfloat16",
    "float2": "float32",
    "float4": "float32",
    "half2": "float16",
    "__half2": "float16",
    "__nv_bfloat162": "bfloat16",
}
LOW_PRECISION = frozenset({"float16", "bfloat16"})
_FLOAT_WORD = re.compile(r"\b(" + "|".join(sorted(FLOATS, key=len, reverse=True)) + r")\b")
_INT_WORD = re.compile(
    r"\b(int|long|short|unsigned|signed|char|bool|s?size_t|ptrdiff_t|u?int(8|16|32|64)_t|u?intptr_t|__m\d+i)\b"
)
_RESERVED = {
    "float", "double", "int", "int64_t", "void", "const", "static", "for", "while", "if", "else", "return",
    "do", "auto", "axes", "buffers", "run", "exp", "expf", "max", "min", "memcpy", "SPLITS",
}  # fmt: skip
_CONTAINER = re.compile(r"\b(vector|array|unique_ptr|span)\s*<")
_HOLDERS = {
    "init_declarator",
    "parameter_declaration",
    "optional_parameter_declaration",
    "function_definition",
}
TRANSPARENT = {"linkage_specification", "namespace_definition", "declaration_list"}


@dataclass
class Unit:
    """One file: its functions, macros and file-scope declarations."""

    root: Node
    functions: dict[str, Node] = field(default_factory=dict)
    macros: dict[str, str] = field(default_factory=dict)
    """Object-like macros with their text."""
    macro_functions: set[str] = field(default_factory=set)
    declarations: list[Node] = field(default_factory=list)
    types: dict[str, str] = field(default_factory=dict)
    """Names that the file gives to types, with the type's text."""
    opaque: list[tuple[str, Node]] = field(default_factory=list)
    """What could do work that no call shows, with the reason."""


@dataclass(frozen=True)
class Declared:
    """What one declarator declares."""

    name: str
    rank: int
    sizes: tuple[Node, ...]
    reference: bool
    function: bool


def parse(source: str, grammar: Language = CPP_GRAMMAR) -> Unit:
    """Parse a file and index what stands at file scope."""
    unit = Unit(Parser(grammar).parse(source.encode()).root_node)
    for node in _top_level(unit.root):
        match node.type:
            case "function_definition":
                name = declared(node).name
                if name in unit.functions:
                    unit.opaque.append((f"{name} is defined twice", node))
                unit.functions.setdefault(name, node)
            case "declaration":
                unit.declarations.append(node)
            case "preproc_include" if '"' in text(node):
                unit.opaque.append(("a header of its own is included", node))
    _index_macros(unit)
    _index_types(unit)
    return unit


def _index_macros(unit: Unit) -> None:
    """Macros may stand anywhere; one that renames a function or a word of the language hides what is run."""
    for node in _descendants(unit.root, {"preproc_def", "preproc_function_def"}):
        name, value = text(node.child_by_field_name("name")), text(node.child_by_field_name("value"))
        if node.type == "preproc_function_def":
            unit.macro_functions.add(name)
        unit.macros[name] = value
        if name in unit.functions or name in _RESERVED or re.search(r"[A-Za-z_]\w*\s*\(|[;{}=#]", value):
            unit.opaque.append((f"the macro {name} hides code", node))


def _index_types(unit: Unit) -> None:
    for node in _descendants(unit.root, {"type_definition", "alias_declaration"}):
        names = [*node.children_by_field_name("name"), *node.children_by_field_name("declarator")]
        unit.types |= {text(name): text(node.child_by_field_name("type")) for name in names}
    for node in _descendants(unit.root, {"struct_specifier", "class_specifier", "operator_name"}):
        if (
            node.type == "operator_name"
            or next(_descendants(node, {"function_definition"}), None) is not None
        ):
            unit.opaque.append(("a class or operator with code of its own", node))
    for node in _descendants(unit.root, {"attribute_specifier", "attribute_declaration"}):
        if "optimize" in text(node):
            unit.opaque.append(("an attribute changes compiler options", node))


def _descendants(node: Node, types: set[str]) -> Iterator[Node]:
    for child in node.named_children:
        if child.type in types:
            yield child
        yield from _descendants(child, types)


def first_error(node: Node) -> Node | None:
    """First place that does not parse."""
    if not node.has_error:
        return None
    if node.type == "ERROR" or node.is_missing:
        return node
    return next((found for child in node.children if (found := first_error(child))), node)


def text(node: Node | None) -> str:
    """Source text of a node; empty for none."""
    return node.text.decode(errors="replace") if node is not None and node.text is not None else ""


def line(node: Node) -> int:
    """1-based line where a node starts."""
    return int(node.start_point[0]) + 1


def named(node: Node | None) -> list[Node]:
    """Named children without comments."""
    return [child for child in node.named_children if child.type != "comment"] if node is not None else []


def declared(node: Node) -> Declared:
    """Name and rank of a declarator, or of the one in a parameter, function or initialised declaration."""
    rank, sizes, reference, function = 0, [], False, False
    here: Node | None = node.child_by_field_name("declarator") if node.type in _HOLDERS else node
    while here is not None:
        match here.type:
            case "pointer_declarator" | "abstract_pointer_declarator":
                rank += 1
            case "array_declarator" | "abstract_array_declarator":
                rank += 1
                size = here.child_by_field_name("size")
                sizes += [size] if size is not None else []
            case "reference_declarator" | "abstract_reference_declarator":
                reference = True
            case "function_declarator":
                function = True
            case "identifier" | "field_identifier" | "qualified_identifier":
                return Declared(text(here), rank, tuple(sizes), reference, function)
        here = _inner_declarator(here)
    return Declared("", rank, tuple(sizes), reference, function)


def _inner_declarator(node: Node) -> Node | None:
    inner = node.child_by_field_name("declarator")
    if inner is not None:
        return inner
    return next(
        (child for child in node.named_children if child.type.endswith(("declarator", "identifier"))), None
    )


def resolved(unit: Unit, type_text: str) -> str:
    """A type's text with the names that the file gives to types replaced."""
    for _ in range(4):
        longer = re.sub(r"[A-Za-z_]\w*", lambda word: unit.types.get(word[0], word[0]), type_text)
        if longer == type_text:
            break
        type_text = longer
    return type_text


def type_rank(type_text: str) -> int:
    """How often a value of this type can be dereferenced, pointers and containers counted."""
    return type_text.count("*") + len(_CONTAINER.findall(type_text))


def type_dtype(type_text: str) -> str:
    """Element type in FlashInfer-Trace's words; `int` for whole numbers, empty for `auto` and unknown types."""
    if found := _FLOAT_WORD.search(type_text):
        return FLOATS[found[1]]
    return "int" if _INT_WORD.search(type_text) else ""


def _top_level(node: Node) -> Iterator[Node]:
    for child in node.named_children:
        if child.type in TRANSPARENT or child.type.startswith(("preproc_if", "preproc_else")):
            yield from _top_level(child)
        elif child.type == "template_declaration":
            yield from (inner for inner in child.named_children if inner.type == "function_definition")
        else:
            yield child
