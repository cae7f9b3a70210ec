"""Judges what was really launched against a structural contract.

The judge of a device fills a `LaunchRecord` from what it saw one pass of a candidate do. A launch record can
convict, never acquit: a clause is `violated` or, at best, `undecidable` here. `with_launches` puts the verdicts
beside those on the source, where a conviction wins.
"""

from __future__ import annotations

import itertools
import math
import re
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from search.records import Clause, ClauseKind, ClauseVerdict, Contract, KnobValue, Record, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

_LARGEST_BLOCK = 1 << 17
_ALIGNMENT_BYTES = 512
_ITEM_BYTES = 4
"""Intermediates are at most this wide; the contract fixes their shapes, not their types."""
_EVIDENCE_LIMIT = 600
_MANGLED = re.compile(r"_Z(?:N[KVr]*)?((?:\d+[A-Za-z_]\w*)+)")
_SPECIALISED = re.compile(r"_\d+(d[\de]*|c|e)[\ddec]*$")

Count = Annotated[int, Field(ge=0)]


class Launch(Record):
    """One thing that the device was asked to do."""

    kind: Literal["kernel", "copy", "fill"] = "kernel"
    name: Annotated[str, Field(max_length=2000)] = ""
    """As the driver tells it; C++ names may be mangled."""
    grid: tuple[Count, Count, Count] = (1, 1, 1)
    threads: Count = 0
    """Threads per program."""
    shared_bytes: Count = 0
    """Shared memory per program, static and dynamic."""


class Scratch(Record):
    """Memory that the candidate asked for besides inputs and outputs."""

    name: str = ""
    size_bytes: Count


class LaunchRecord(Record):
    """What one pass of a candidate did, in order."""

    launches: Annotated[tuple[Launch, ...], Field(max_length=10_000)] = ()
    scratch: Annotated[tuple[Scratch, ...], Field(max_length=10_000)] = ()
    """Every buffer of the pass, also ones that were freed again."""
    high_water_bytes: Count = 0
    """Most scratch memory that was held at once."""
    library_calls: Annotated[tuple[str, ...], Field(max_length=10_000)] = ()
    """Calls of torch operators or vendors' libraries that did work."""
    descriptors: Count = 0
    """Tensor maps that were made."""


class Pass(Record):
    """A launch record with the sizes and knob values it belongs to."""

    record: LaunchRecord
    axes: dict[str, int]
    knobs: dict[str, KnobValue] = {}


def check_launches(
    contract: Contract,
    record: LaunchRecord,
    axes: Mapping[str, int],
    *,
    knobs: Mapping[str, KnobValue] | None = None,
    others: Sequence[Pass] = (),
) -> tuple[ClauseVerdict, ...]:
    """A verdict per clause, in the contract's order; never a pass.

    Args:
        contract: What the structure promised.
        record: What one pass did.
        axes: Size of every axis in that pass.
        knobs: Values of the candidate's knobs in that pass.
        others: Passes of the same candidate at other sizes or knobs, which show what scales with what.
    """
    passes = (Pass(record=record, axes=dict(axes), knobs=dict(knobs or {})), *others)
    return tuple(_judge(contract, clause, passes) for clause in contract.clauses)


def with_launches(
    static: Iterable[ClauseVerdict], dynamic: Iterable[ClauseVerdict]
) -> tuple[ClauseVerdict, ...]:
    """Verdicts on the source, overruled where the launches convict.

    Raises:
        ValueError: the verdicts are not on the same clauses.
    """
    pairs = list(itertools.zip_longest(static, dynamic))
    for source, launched in pairs:
        if source is None or launched is None or source.clause != launched.clause:
            raise ValueError("the verdicts are not on the same clauses")
    return tuple(launched if launched.verdict is Verdict.VIOLATED else source for source, launched in pairs)


def plain_name(name: str) -> str:
    """Name of a kernel as its source has it: not mangled, without template arguments or Triton's suffixes."""
    if found := _MANGLED.match(name):
        parts = _length_prefixed(found[1])
        name = parts[-1] if parts else name
    name = name.split("(", 1)[0].split("<", 1)[0].strip().rsplit(" ", 1)[-1].rsplit("::", 1)[-1]
    return _SPECIALISED.sub("", name)


def _length_prefixed(text: str) -> list[str]:
    """`4dots9gemm_rows` is `dots` and `gemm_rows`; what follows is types."""
    parts = []
    while found := re.match(r"\d+", text):
        length = int(found[0])
        parts.append(text[found.end() : found.end() + length])
        text = text[found.end() + length :]
    return [part for part in parts if part]


def _judge(contract: Contract, clause: Clause, passes: Sequence[Pass]) -> ClauseVerdict:
    check = _CHECKS.get(clause.kind)
    problem = ""
    if check is not None:
        problem = next((found for one in passes if (found := check(contract, clause, one))), "")
    if not problem and clause.kind is ClauseKind.GRID and len(passes) > 1:
        problem = _scales_wrongly(clause, passes)
    if problem:
        return ClauseVerdict(clause=clause, verdict=Verdict.VIOLATED, evidence=problem[:_EVIDENCE_LIMIT])
    evidence = "nothing that was launched speaks against it" if check else "launches do not show it"
    return ClauseVerdict(clause=clause, verdict=Verdict.UNDECIDABLE, evidence=evidence)


# Clauses; each returns what convicts, or nothing -----------------------------------------------------


def _kernels(_: Contract, clause: Clause, seen: Pass) -> str:
    names = [
        plain_name(launch.name) if launch.kind == "kernel" else launch.kind for launch in seen.record.launches
    ]
    if names == clause.value:
        return ""
    return f"launched in order: {_listed(names)}"


def _grid(_: Contract, clause: Clause, seen: Pass) -> str:
    launch = _only(clause.subject, seen.record)
    if launch is None or not isinstance(clause.value, dict):
        return "" if launch is not None else f"{clause.subject} was not launched once"
    programs = math.prod(launch.grid)
    sizes = _axis_sizes(clause.value.get("axes"), seen)
    form, unit = clause.value.get("form"), clause.value.get("unit")
    if sizes is None or form == "dynamic":
        return ""
    if form == "persistent":
        most = seen.knobs.get("PROGRAMS")
        over = type(most) is int and programs > most
        return f"{programs} programs where PROGRAMS is {most}" if over else ""
    wanted = math.prod(sizes.values())
    told = ", ".join(f"{axis} = {size}" for axis, size in sizes.items())
    if unit == "single" and programs != wanted:
        return f"{programs} programs for {told}"
    if unit == "block" and not _is_blocks(programs, sizes, seen.knobs):
        return f"{programs} programs are no number of blocks of {told}"
    return ""


def _scales_wrongly(clause: Clause, passes: Sequence[Pass]) -> str:
    """A fixed grid that grows with the axes, or a grid over axes that does not."""
    value = clause.value if isinstance(clause.value, dict) else {}
    counts = [
        (math.prod(launch.grid), one) for one in passes if (launch := _only(clause.subject, one.record))
    ]
    for (few, one), (many, other) in itertools.permutations(counts, 2):
        if one.knobs != other.knobs:
            continue
        small, large = _axis_sizes(value.get("axes"), one), _axis_sizes(value.get("axes"), other)
        if small is None or large is None:
            continue
        units, more = math.prod(small.values()), math.prod(large.values())
        if value.get("form") == "persistent" and few < many and few < units and value.get("unit") == "single":
            return f"{few} programs for {units} units of work, {many} for {more}: the grid is not fixed"
        if value.get("form") == "grid" and few == many and more > units * _LARGEST_BLOCK:
            return f"{few} programs for {units} units of work and for {more}: the grid is fixed"
    return ""


def _reduction(_: Contract, clause: Clause, seen: Pass) -> str:
    if clause.value != "split_combine":
        return ""
    if len([launch for launch in seen.record.launches if launch.kind == "kernel"]) < 2:
        return "partial results are combined by a second kernel, but one kernel was launched"
    return "" if seen.record.high_water_bytes else "partial results need memory, but none was asked for"


def _intermediates(_: Contract, clause: Clause, seen: Pass) -> str:
    if not isinstance(clause.value, dict):
        return ""
    used = [buffer.size_bytes for buffer in seen.record.scratch if buffer.size_bytes]
    if len(used) > len(clause.value):
        return f"{len(used)} buffers were asked for, the contract has {len(clause.value)}"
    sizes = [_axis_sizes(axes, seen) for axes in clause.value.values()]
    known = [shape for shape in sizes if shape is not None]
    if len(known) < len(sizes) or not all(known):
        return ""  # a tensor whose size the contract does not state, such as one per program
    padding = max([1, *(value for value in seen.knobs.values() if type(value) is int)])
    most = sum(_padded(shape, padding) for shape in known)
    if seen.record.high_water_bytes > most:
        return f"{seen.record.high_water_bytes} bytes were held at once, the contract's tensors need at most {most}"
    return ""


def _no_library(contract: Contract, clause: Clause, seen: Pass) -> str:
    if clause.value is not True:
        return ""
    if seen.record.library_calls:
        return f"library calls: {_listed(list(seen.record.library_calls))}"
    own = next((c.value for c in contract.clauses if c.kind is ClauseKind.KERNELS), None)
    names = {plain_name(launch.name) for launch in seen.record.launches if launch.kind == "kernel"}
    foreign = sorted(names - set(map(str, own))) if isinstance(own, list) else []
    return f"kernels that are not the structure's: {_listed(foreign)}" if foreign else ""


def _fusion(_: Contract, clause: Clause, seen: Pass) -> str:
    return "" if _only(clause.subject, seen.record) else f"{clause.subject} was not launched once"


def _descriptors(_: Contract, clause: Clause, seen: Pass) -> str:
    unwanted = clause.value in (False, []) and seen.record.descriptors
    return f"{seen.record.descriptors} descriptors were made" if unwanted else ""


_CHECKS: dict[ClauseKind, Callable[[Contract, Clause, Pass], str]] = {
    ClauseKind.KERNELS: _kernels,
    ClauseKind.GRID: _grid,
    ClauseKind.REDUCTION: _reduction,
    ClauseKind.INTERMEDIATES: _intermediates,
    ClauseKind.DESCRIPTORS: _descriptors,
    ClauseKind.FUSION: _fusion,
    ClauseKind.NO_TORCH_COMPUTE: _no_library,
}
"""Clauses that launches can convict."""


# Sizes ---------------------------------------------------------------------------------------------


def _only(name: str, record: LaunchRecord) -> Launch | None:
    found = [one for one in record.launches if one.kind == "kernel" and plain_name(one.name) == name]
    return found[0] if len(found) == 1 else None


def _axis_sizes(names: object, seen: Pass) -> dict[str, int] | None:
    """Sizes of axes and of knobs that act as axes; None if one is not known."""
    if not isinstance(names, list):
        return None
    known: dict[str, int] = {name: value for name, value in seen.knobs.items() if type(value) is int}
    known |= seen.axes
    return {name: known[name] for name in map(str, names)} if set(map(str, names)) <= known.keys() else None


def _is_blocks(programs: int, sizes: Mapping[str, int], knobs: Mapping[str, KnobValue]) -> bool:
    """Whether some block size per axis, a knob's value or a power of two, gives so many programs."""
    blocks = {value for value in knobs.values() if type(value) is int and value > 0}
    blocks |= {1 << place for place in range(_LARGEST_BLOCK.bit_length())}
    counts = {1}
    for axis, size in sizes.items():
        cut = {size} if axis in knobs else {-(-size // block) for block in blocks}
        counts = {count * one for count in counts for one in cut if count * one <= programs or not programs}
    return programs in counts


def _padded(shape: Mapping[str, int], padding: int) -> int:
    """Most bytes of a tensor whose axes may be rounded up to whole blocks."""
    elements = math.prod(-(-size // padding) * padding for size in shape.values())
    return _ITEM_BYTES * elements + _ALIGNMENT_BYTES


def _listed(names: list[str]) -> str:
    """Names for people, cut short; they come from a candidate."""
    shown = ", ".join(repr(name[:80])[1:-1] for name in names[:12])
    return (shown or "nothing") + (f" and {len(names) - 12} more" if len(names) > 12 else "")
