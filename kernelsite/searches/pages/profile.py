"""A structure's best candidate beside its parent's: measured times, what was compiled, what the model says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kernelsite.catalog.templatetags.show import count, size, us
from search.cost import structure_cost
from search.devices import device_model
from search.records import EvaluationStage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from search.blueprint import Blueprint
    from search.cost import StructureCost
    from search.records import Evaluation as Record
    from search.workload import Case, Workload


@dataclass(frozen=True)
class Pair:
    """One figure of both; less is better for all of them."""

    title: str
    mine: float | None
    before: float | None
    show: Callable[[float | None], str]

    @property
    def texts(self) -> tuple[str, str]:
        """Both figures as text."""
        return self.show(self.mine), self.show(self.before)

    @property
    def widths(self) -> tuple[float, float]:
        """Lengths of the bars, of 100."""
        top = max(self.mine or 0.0, self.before or 0.0) or 1.0
        return 100.0 * (self.mine or 0.0) / top, 100.0 * (self.before or 0.0) / top

    @property
    def change(self) -> str:
        """Change from the parent to this structure in per cent; empty where there is none to tell."""
        if not self.mine or not self.before:
            return ""
        return f"{(self.mine / self.before - 1) * 100:+.0f} %".replace("-", "\N{MINUS SIGN}")

    @property
    def tone(self) -> str:
        """`good`, `bad` or `muted`; changes under 2 % are no news."""
        if not self.mine or not self.before or abs(self.mine / self.before - 1) < 0.02:
            return "muted"
        return "good" if self.mine < self.before else "bad"


@dataclass(frozen=True)
class Group:
    """Figures of one origin."""

    title: str
    note: str
    pairs: tuple[Pair, ...]


@dataclass(frozen=True)
class Side:
    """A structure with the record behind its best."""

    blueprint: Blueprint
    record: Record | None


def profile(
    mine: Side, before: Side | None, workload: Workload, case: Case, device_class: str
) -> list[Group]:
    """Groups that have anything to show."""
    then = before.record if before else None
    groups = [
        Group("Measured", _conditions(mine.record, then), tuple(_measured(mine.record, then))),
        Group("Compiled", "what the compiler says of each kernel", tuple(_compiled(mine.record, then))),
        Group(
            "Modelled",
            f"by the cost model from class figures of the device, case {case.name}; not measured",
            tuple(_modelled(mine, before, workload, case, device_class)),
        ),
    ]
    return [group for group in groups if group.pairs]


def _conditions(mine: Record | None, before: Record | None) -> str:
    """What keeps two measurements from being compared, in words."""
    if mine is None or before is None:
        return "per call"
    if mine.environment.key != before.environment.key:
        return "per call; the two were measured in different environments, so compare with care"
    return (
        "per call"
        if mine.tier == before.tier
        else f"per call; {mine.tier} tier here, {before.tier} tier for the parent"
    )


def _measured(mine: Record | None, before: Record | None) -> Iterator[Pair]:
    now = {case.case: case.median_us for case in mine.cases} if mine else {}
    then = {case.case: case.median_us for case in before.cases} if before else {}
    for name, median_us in now.items():
        yield Pair(f"time, case {name}", median_us, then.get(name), us)


RESOURCES: Mapping[str, tuple[str, Callable[[Any], str]]] = {
    "registers": ("registers a thread", count),
    "spilled_bytes": ("spilled bytes", size),
    "shared_bytes": ("shared memory", size),
    "threads": ("threads a program", count),
}


def _compiled(mine: Record | None, before: Record | None) -> Iterator[Pair]:
    now, then = compiled(mine), compiled(before)
    for name, kernel in now.items():
        for field, (title, show) in RESOURCES.items():
            if isinstance(kernel.get(field), int | float):
                yield Pair(f"{name}: {title}", kernel[field], _number(then.get(name, {}).get(field)), show)


def compiled(record: Record | None) -> dict[str, dict[str, Any]]:
    """Resources of each kernel as the build stage noted them; empty where it noted none."""
    for stage in record.stages if record else ():
        kernels = stage.details.get("kernels") if stage.stage is EvaluationStage.BUILD else None
        if isinstance(kernels, list):
            return {str(kernel.get("name")): kernel for kernel in kernels if isinstance(kernel, dict)}
    return {}


def _number(value: object) -> float | None:
    return value if isinstance(value, int | float) else None


def _modelled(
    mine: Side, before: Side | None, workload: Workload, case: Case, device_class: str
) -> Iterator[Pair]:
    now = _cost(mine.blueprint, workload, case, device_class)
    then = _cost(before.blueprint, workload, case, device_class) if before else None
    if now is None:
        return
    figures: tuple[tuple[str, Callable[[StructureCost], float], Callable[[float | None], str]], ...] = (
        ("time by the model", lambda cost: cost.floor_us, us),
        ("launches", lambda cost: len(cost.kernels), count),
        ("bytes from memory", lambda cost: sum(kernel.memory_bytes for kernel in cost.kernels), size),
        (
            "bytes met again in the cache",
            lambda cost: sum(kernel.cache_bytes for kernel in cost.kernels),
            size,
        ),
        ("operations", lambda cost: sum(sum(kernel.operations.values()) for kernel in cost.kernels), count),
    )
    for title, figure, show in figures:
        pair = Pair(title, figure(now), figure(then) if then else None, show)
        if pair.mine or pair.before:
            yield pair


def _cost(blueprint: Blueprint, workload: Workload, case: Case, device_class: str) -> StructureCost | None:
    model = device_model(device_class)
    if model is None:
        return None
    try:
        return structure_cost(blueprint, workload, case, model)
    except ValueError:
        return None  # of an older library, whose plans name what no longer is
