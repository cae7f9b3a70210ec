"""The landscape record: structures, the grid of each, and one row per evaluation, kept as columns.

A point that was measured several times has several rows. Times are in microseconds, speed-ups are baseline over
candidate of that evaluation. What was not measured is not in the file.
"""

from __future__ import annotations

import statistics
from functools import cached_property
from itertools import product
from typing import Annotated, Literal, Self

from pydantic import Field, JsonValue, StringConstraints, model_validator

from search.blueprint import Blueprint
from search.records import (
    Candidate,
    Environment,
    EvaluationStatus,
    KnobValue,
    Language,
    Record,
    Sha256,
    SourceFile,
    Tier,
    TimingMethod,
)
from search.structure import Point, point_of
from search.workload import Workload

TIMED = {EvaluationStatus.PASSED, EvaluationStatus.UNSTABLE_TIMING, EvaluationStatus.TIMING_MISMATCH}
LandscapeName = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9_]{0,38}$")]
"""Short enough for `recorded:<name>` to be a device class."""


class RecordedStructure(Record):
    """A structure and the program that was measured; its knobs are the recorded grid."""

    blueprint: Blueprint
    sources: Annotated[tuple[SourceFile, ...], Field(min_length=1)]
    source_hash: Sha256
    resources: dict[str, JsonValue] = {}
    """What the build said of the first point that was built, e.g. registers and spills."""

    def candidate(self, language: Language, knobs: dict[str, KnobValue] | None = None) -> Candidate:
        """The program, at its default knobs unless others are given."""
        defaults = {knob.name: knob.default for knob in self.blueprint.knobs}
        return Candidate(
            language=language,
            sources=self.sources,
            knobs=defaults | (knobs or {}),
            structure=self.blueprint.fingerprint,
        )


class Moves(Record):
    """Ways from one recorded structure to another by one action, in columns of one length."""

    parent: tuple[int, ...] = ()
    child: tuple[int, ...] = ()
    action: tuple[str, ...] = ()
    weight: tuple[Annotated[float, Field(gt=0)], ...] = ()
    """How soon the playbook tries it, against the other moves of the parent."""


class Measurements(Record):
    """One row per evaluation, in columns of one length; times are None where there is none."""

    structure: tuple[int, ...]
    """Position in `structures`."""
    knobs: tuple[tuple[int, ...], ...]
    """Positions on the choices of each knob, in the blueprint's order."""
    status: tuple[EvaluationStatus, ...]
    charged: tuple[bool, ...]
    device_seconds: tuple[Annotated[float, Field(ge=0)], ...]
    message: tuple[int, ...]
    """Position in `messages`; -1 where there is none."""
    median_us: tuple[float | None, ...]
    p10_us: tuple[float | None, ...]
    p90_us: tuple[float | None, ...]
    samples: tuple[int | None, ...]
    baseline_us: tuple[float | None, ...]
    speedup: tuple[float | None, ...]
    low: tuple[float | None, ...]
    high: tuple[float | None, ...]


class Landscape(Record):
    """A measured space of one case of one workload in one language on one device."""

    schema_version: Literal[1] = 1
    name: LandscapeName
    workload: Workload
    workload_hash: Sha256
    case: str
    """The case that was checked and timed; the others were not run."""
    language: Language
    library: str
    library_hash: Sha256
    environment: Environment
    """Of the evaluations; its workload is the one cut down to the case."""
    versions: dict[str, str] = {}
    """What the device worker says of itself."""
    date: Annotated[str, StringConstraints(pattern=r"^\d{4}-\d{2}-\d{2}$")]
    """Day (UTC) on which the recording began."""
    tier: Tier
    method: TimingMethod
    baseline: str
    design: str
    """How structures and points were chosen, for people."""
    seed: Annotated[int, Field(ge=0)]
    structures: Annotated[tuple[RecordedStructure, ...], Field(min_length=1)]
    moves: Moves
    measurements: Measurements
    messages: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """What stands beside every number that comes from here."""
        return f"recorded on {self.environment.device}, {self.date}"

    @model_validator(mode="after")
    def _is_of_its_workload(self) -> Self:
        if self.workload.hash != self.workload_hash:
            raise ValueError("workload_hash: is not the hash of the workload")
        if self.case not in [case.name for case in self.workload.cases]:
            raise ValueError(f"case: the workload has no case {self.case!r}")
        return self

    @model_validator(mode="after")
    def _structures_are_whole(self) -> Self:
        if self.structures[0].blueprint.actions:
            raise ValueError("structures[0]: the direct implementation comes first")
        seen: set[str] = set()
        for place, one in enumerate(self.structures):
            if one.candidate(self.language).source_hash != one.source_hash:
                raise ValueError(f"structures[{place}].source_hash: is not the hash of its sources")
            if one.source_hash in seen or one.blueprint.fingerprint in seen:
                raise ValueError(f"structures[{place}]: its source or fingerprint is there twice")
            seen |= {one.source_hash, one.blueprint.fingerprint}
        return self

    @model_validator(mode="after")
    def _moves_are_whole(self) -> Self:
        _must_be_even("moves", self.moves)
        for column in ("parent", "child"):
            for row, place in enumerate(getattr(self.moves, column)):
                if not 0 <= place < len(self.structures):
                    raise ValueError(f"moves.{column}[{row}]: there is no structure {place}")
        return self

    @model_validator(mode="after")
    def _measurements_are_whole(self) -> Self:
        table = self.measurements
        _must_be_even("measurements", table)
        for row, place in enumerate(table.structure):
            if not 0 <= place < len(self.structures):
                raise ValueError(f"measurements.structure[{row}]: there is no structure {place}")
            self._check_point(row)
            if not -1 <= table.message[row] < len(self.messages):
                raise ValueError(f"measurements.message[{row}]: there is no message {table.message[row]}")
            _check_times(table, row)
        return self

    def _check_point(self, row: int) -> None:
        knobs = self.structures[self.measurements.structure[row]].blueprint.knobs
        places = self.measurements.knobs[row]
        if len(places) != len(knobs):
            raise ValueError(
                f"measurements.knobs[{row}]: {len(places)} values for a structure of {len(knobs)} knobs"
            )
        for knob, place in zip(knobs, places, strict=True):
            if not 0 <= place < len(knob.choices):
                raise ValueError(f"measurements.knobs[{row}]: knob {knob.name} has no choice {place}")

    # Looking things up -------------------------------------------------------------------------------

    @cached_property
    def by_source(self) -> dict[str, int]:
        """Position of a structure by the hash of its source."""
        return {one.source_hash: place for place, one in enumerate(self.structures)}

    @cached_property
    def by_fingerprint(self) -> dict[str, int]:
        """Position of a structure by the fingerprint of its blueprint."""
        return {one.blueprint.fingerprint: place for place, one in enumerate(self.structures)}

    @cached_property
    def rows(self) -> dict[tuple[int, Point], tuple[int, ...]]:
        """Rows of the measurements by structure and knob values."""
        found: dict[tuple[int, Point], list[int]] = {}
        for row, place in enumerate(self.measurements.structure):
            knobs = self.structures[place].blueprint.knobs
            places = self.measurements.knobs[row]
            point = tuple(knob.choices[position] for knob, position in zip(knobs, places, strict=True))
            found.setdefault((place, point), []).append(row)
        return {point: tuple(rows) for point, rows in found.items()}

    @cached_property
    def truth(self) -> dict[tuple[int, Point], float]:
        """Speed-up of every point that passed in most of its repeats: the median of those that did."""
        table, found = self.measurements, {}
        for point, rows in self.rows.items():
            passed = [
                value
                for row in rows
                if table.status[row] is EvaluationStatus.PASSED and (value := table.speedup[row])
            ]
            if 2 * len(passed) > len(rows):
                found[point] = statistics.median(passed)
        return found

    def rows_of(self, candidate: Candidate) -> tuple[int, ...]:
        """Evaluations of a program; empty where its source or its point was never measured."""
        place = self.by_source.get(candidate.source_hash)
        if place is None:
            return ()
        knobs = self.structures[place].blueprint.knobs
        if not candidate.knobs.keys() <= {knob.name for knob in knobs}:
            return ()
        return self.rows.get((place, point_of(knobs, candidate.knobs)), ())

    def missing(self) -> int:
        """Points of the recorded grids that have no row."""
        grid = sum(
            len(list(product(*(knob.choices for knob in one.blueprint.knobs)))) for one in self.structures
        )
        return grid - len(self.rows)


def _must_be_even(name: str, table: Moves | Measurements) -> None:
    lengths = {column: len(getattr(table, column)) for column in type(table).model_fields}
    first = next(iter(lengths.values()))
    for column, length in lengths.items():
        if length != first:
            raise ValueError(f"{name}.{column}: has {length} rows where the first column has {first}")


def _check_times(table: Measurements, row: int) -> None:
    columns = ("median_us", "p10_us", "p90_us", "samples", "baseline_us", "speedup", "low", "high")
    values = [getattr(table, column)[row] for column in columns]
    given = [value is not None for value in values]
    status = table.status[row]
    if any(given) != all(given) or (any(given) and status not in TIMED):
        raise ValueError(f"measurements row {row}: {status} with a time that is not whole, or not its own")
    if status is EvaluationStatus.PASSED and not all(given):
        raise ValueError(f"measurements row {row}: PASSED needs a time")
    if all(given) and not (min(values) > 0 and values[6] <= values[5] <= values[7]):
        raise ValueError(f"measurements row {row}: times are above 0, and low <= speedup <= high")
