"""A blueprint: an abstract, language-free structure composed from library actions.

The *choices* say how the work is decomposed and coordinated, one word per decision (see
`search/library.py` for the vocabulary and how actions set them). Kernels, intermediates and the contract
follow from the choices. Two action lists that lead to the same choices are one structure.
"""

from __future__ import annotations

from search.records import Clause, Contract, Knob, Record, Signature, content_hash

GIVEN = "given"
"""The one choice of a structure that is a program from before the search; its word is the program."""


class Move(Record):
    """How often a kernel moves a tensor between memory and chip; for the cost model."""

    tensor: str
    """Input, output or intermediate."""
    times: str = "1"
    """Expression over axes and whole-number knobs: how often each element is moved."""
    between: str = ""
    """Expression: elements of the tensor that pass until one is met again, e.g. `FLIGHT * N` where every program
    walks its own row; FLIGHT is the number of programs at work. Empty: the whole tensor."""
    gathered: bool = False
    """An index decides which elements a program touches."""


class KernelPlan(Record):
    """One launch: a GPU kernel, or one parallel loop nest on a CPU.

    The optional fields are what the cost model needs (`search/cost.py`); they are no part of the structure.
    """

    name: str
    computes: str
    """For people: what it computes, in one line."""
    parallel: tuple[str, ...]
    """Axes mapped to programs (Triton) or to the outer parallel loop (C++), outermost first."""
    sequential: tuple[str, ...] = ()
    """Axes walked inside one program."""
    programs: str = ""
    """Expression over axes and knobs: programs, or units of work that a fixed number of programs shares."""
    workers: str = ""
    """Expression: how many programs share the work, where that does not follow from the axes."""
    reads: tuple[Move, ...] = ()
    writes: tuple[Move, ...] = ()
    operations: dict[str, str] = {}
    """Expression of the number of operations by kind: `matrix`, `vector`, `scalar`, `special`."""
    chip_bytes: str = ""
    """Expression: bytes that a program keeps in registers and shared memory."""
    flight_bytes: str = ""
    """Expression: bytes that a program has asked for at once."""
    overlapped: bool = False
    """A program loads its next piece while it works on this one."""


class Intermediate(Record):
    """A tensor in global memory between kernels."""

    name: str
    shape: tuple[str, ...]
    """Axis names or knob names."""
    dtype: str
    written_by: str
    read_by: str


class Blueprint(Record):
    """A structure: the actions that led to it and everything that follows from them."""

    workload: str
    """Name of the workload it is for."""
    actions: tuple[str, ...]
    """Action ids in canonical order; empty is the direct implementation."""
    choices: dict[str, str]
    kernels: tuple[KernelPlan, ...]
    intermediates: tuple[Intermediate, ...] = ()
    clauses: tuple[Clause, ...] = ()
    knobs: tuple[Knob, ...] = ()
    signature: Signature = Signature()

    @property
    def fingerprint(self) -> str:
        """Identity of the structure: workload and choices, whatever path led there (16 hex digits)."""
        return content_hash({"workload": self.workload, "choices": dict(self.choices)})[:16]

    @property
    def contract(self) -> Contract:
        """What every candidate of this structure must keep."""
        return Contract(
            structure=self.fingerprint, clauses=self.clauses, knobs=self.knobs, signature=self.signature
        )

    @property
    def title(self) -> str:
        """One line for people, e.g. `online_reduction + split_row`."""
        given = f"given {self.choices[GIVEN][:6]}" if GIVEN in self.choices else "direct"
        return " + ".join(self.actions) or given


def distance(one: Blueprint, other: Blueprint) -> float:
    """Share of decisions on which two blueprints differ, 0 (same structure) to 1."""
    names = set(one.choices) | set(other.choices)
    if not names:
        return 0.0
    return sum(one.choices.get(name) != other.choices.get(name) for name in names) / len(names)
