"""`grid(kernel)`: which axes are mapped to programs or to the outer parallel loop, and how.

`form` is the scheduling (`grid`, `dynamic`, `persistent`), `unit` what one program owns along the axes (a `single`
index or a `block`), `order` whether flat numbers are regrouped (`grouped`) or not (`row_major`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from search.contract.facts import Branch, EventKind, Loop, Node, Program, Role, events, gaps
from search.contract.observation import Observation

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pydantic import JsonValue

PARALLEL = {Role.GRID, Role.DYNAMIC, Role.PERSISTENT}


def observe(program: Program, subject: str) -> Observation:
    """Axes and form of the kernel's parallel loop nest."""
    kernels = [kernel for kernel in program.kernels if kernel.name == subject]
    if len(kernels) != 1:
        return Observation(None, f"{subject} is launched {len(kernels)} times", None, program.gaps)
    loops = nests(kernels[0].body)
    unclear = program.gaps + gaps(kernels[0].body)
    if len(loops) != 1:
        return Observation(None, f"{len(loops)} parallel loops", kernels[0].line, unclear)
    loop = loops[0]
    unit = "block" if loop.blocked else "single"
    regrouped = any(event.kind is EventKind.REGROUP for event in events(kernels[0].body))
    order = "grouped" if regrouped else "row_major"
    value: JsonValue = {"axes": _sorted(loop.axes), "form": loop.role.value, "unit": unit, "order": order}
    evidence = f"{loop.role} over {', '.join(sorted(loop.axes)) or 'no axis'}, {unit}, {order}"
    return Observation(value, evidence, loop.line, unclear)


def agrees(wanted: JsonValue, seen: JsonValue) -> bool:
    """What the contract names, over the same axes in any order: several axes may share one program number."""
    if not isinstance(wanted, dict) or not isinstance(seen, dict):
        return False
    rest = {key: value for key, value in wanted.items() if key != "axes"}
    return all(seen.get(key) == value for key, value in rest.items()) and same_axes(
        wanted.get("axes"), seen.get("axes")
    )


def same_axes(one: JsonValue, other: JsonValue) -> bool:
    """Two lists of axes, compared without order."""
    return isinstance(one, list) and isinstance(other, list) and set(map(str, one)) == set(map(str, other))


def nests(nodes: Iterable[Node]) -> list[Loop]:
    """Outermost parallel loops; in a region or a grid it is the inner loop over a worker's share, if there is one."""
    found: list[Loop] = []
    for node in nodes:
        match node:
            case Loop(role=Role.GRID):
                shares = [loop for loop in nests(node.body) if loop.role is Role.PERSISTENT]
                found += shares or [node]
            case Loop(role=role) if role in PARALLEL:
                found.append(node)
            case Loop():
                found += nests(node.body)
            case Branch():
                found += next((loops for arm in node.arms if (loops := nests(arm))), [])
    return found


def _sorted(axes: Iterable[str]) -> list[JsonValue]:
    return [*sorted(axes)]
