"""Launch of a comparison: searches with equal settings but strategy and seed, in one transaction."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from django.db import IntegrityError, transaction

from kernelsite.compare.models import Comparison
from kernelsite.searches.launch import IdempotencyConflictError, LaunchError, Order, create
from search.strategies import STRATEGIES

if TYPE_CHECKING:
    from pydantic import JsonValue

FIRST_FOUR = ("two_stage", "mixed", "structure_only", "local_only")


@dataclass(frozen=True)
class ComparisonOrder:
    """A launch of arms: `base` names everything they share; its strategy and seed are replaced by each arm's."""

    base: Order
    strategies: tuple[str, ...] = FIRST_FOUR
    seeds: tuple[int, ...] = (0,)

    @property
    def arms(self) -> list[Order]:
        """One order per strategy and seed.

        Raises:
            LaunchError: an unknown or repeated strategy, or a repeated seed.
        """
        self._check()
        return [self._arm(strategy, seed) for seed in self.seeds for strategy in self.strategies]

    @property
    def request(self) -> dict[str, JsonValue]:
        """What is asked for, to be told apart from another request under the same key."""
        return {
            "workload": self.base.workload.hash,
            "library": self.base.library.hash,
            "options": self.base.options.dump(),
            "strategies": list(self.strategies),
            "seeds": list(self.seeds),
            "matched_on": "evaluations",
        }

    def _arm(self, strategy: str, seed: int) -> Order:
        options = self.base.options.model_copy(update={"strategy": strategy, "seed": seed})
        title = f"{self.base.workload.title}: {strategy}, seed {seed}"
        return replace(self.base, options=options, key=f"{self.base.key}:{strategy}:{seed}", title=title)

    def _check(self) -> None:
        for strategy in self.strategies:
            if strategy not in STRATEGIES:
                raise LaunchError(
                    "strategies", f"there is no strategy {strategy!r}; there are {', '.join(STRATEGIES)}"
                )
        for field, values in (("strategies", self.strategies), ("seeds", self.seeds)):
            if not values or len(set(values)) != len(values):
                raise LaunchError(field, f"{field} must be given once each, and at least one")


def launch_comparison(order: ComparisonOrder) -> tuple[Comparison, bool]:
    """Create every arm and start them; the same key again gives the first comparison.

    Returns:
        The comparison, and whether this call created it.

    Raises:
        LaunchError: an arm cannot be launched, or the key belongs to another request.
    """
    base = order.base
    known = Comparison.objects.filter(team=base.team, idempotency_key=base.key).first()
    if known is None:
        try:
            with transaction.atomic():
                return _create(order), True
        except IntegrityError:  # the other click of a double click was faster
            known = Comparison.objects.get(team=base.team, idempotency_key=base.key)
    if known.request != order.request:
        raise IdempotencyConflictError
    return known, False


def _create(order: ComparisonOrder) -> Comparison:
    base = order.base
    comparison = Comparison.objects.create(
        team=base.team,
        created_by=base.user,
        title=base.title or f"{base.workload.title}: {len(order.strategies)} strategies at one budget",
        idempotency_key=base.key,
        request=order.request,
    )
    for arm in order.arms:
        create(arm, comparison_id=comparison.pk)
    return comparison
