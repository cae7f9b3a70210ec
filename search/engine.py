"""The search engine: ask for steps, tell their outcomes, in any order; replay a history to go on.

A search is its settings, its steps and a reviewer's decisions, nothing else. `Search.replay` puts the steps
into an archive and a ledger (`archive.py`, `budget.py`); `ask` lets the strategy's phases choose the next
steps (`strategies/`); `tell` notes what came of one; `result` says where the search stands and, once nothing is
in flight and nothing more is to be asked, why it ended. With a review gate, stage 1 ends in waiting until
`decide` says what is kept (`review.py`). Wall time is the driver's affair.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from search.archive import Archive
from search.budget import Ending, Ledger, Spent
from search.records import Interval, Record, Stage, WaitReason
from search.review import Gate
from search.strategies import STRATEGIES
from search.strategies.strategy import Turn
from search.tuning import Tuner

if TYPE_CHECKING:
    from collections.abc import Iterable

    from search.review import Decision
    from search.settings import SearchSettings
    from search.steps import Draft, Item, Outcome, Step, Variant

INFRA_STREAK = 6
"""Device failures in a row, over any programs, after which a search gives up."""
FLOOR_SHARE = 0.95
"""Share of the speed-up at the floor that ends a search once the lower end of an interval reaches it."""
STEPS_PER_EVALUATION = 4
"""Steps asked per evaluation of the budget before a search that is never charged gives up."""


class SearchResult(Record):
    """Where a search stands."""

    finished: bool
    reason: str
    """Why it ended, for people (`budget.Ending`); empty while it runs."""
    stage: Stage | Literal["review"]
    waiting: WaitReason | None = None
    """`review`: nothing is asked until a reviewer has decided."""
    best: int | None
    """Step of the best program: of the best confirmation, or else of the fastest search trial."""
    best_confirmed: bool
    speedup: Interval | None
    median_us: float | None
    retained: tuple[str, ...]
    """Structures kept for stage 2, in order of choice; empty before."""
    spent: Spent
    by_stage: dict[Stage, Spent]
    by_structure: dict[str, Spent] = {}
    passed: int
    """Charged evaluations that passed."""
    structures: int
    """Distinct structures of which at least one program has a verdict."""


class Search:
    """One search. Not thread-safe; any process may continue it from its steps."""

    def __init__(self, settings: SearchSettings) -> None:
        """Begin without history.

        Raises:
            ValueError: unknown strategy, or a sampler that cannot run here.
        """
        if settings.strategy not in STRATEGIES:
            raise ValueError(f"unknown strategy {settings.strategy!r}: one of {', '.join(STRATEGIES)}")
        self.settings = settings
        self.archive = Archive()
        self._strategy = STRATEGIES[settings.strategy]
        self._ledger = Ledger(settings.budget)
        self._tuner = Tuner(settings.seed, settings.stages.sampler)
        self._phase = 0
        self._retained: tuple[str, ...] = ()
        self._gate = Gate()
        self._next: Item | None = None
        self._is_chosen = False

    @classmethod
    def replay(
        cls, settings: SearchSettings, history: Iterable[Step], decisions: Iterable[Decision] = ()
    ) -> Search:
        """Rebuild from steps in any order; a step without outcome is in flight.

        Raises:
            ValueError: a number occurs twice, or as in `__init__` and `decide`.
        """
        search = cls(settings)
        pending = sorted(decisions, key=lambda decision: decision.after)
        for step in sorted(history, key=lambda step: step.number):
            while pending and pending[0].after < step.number:
                search._take(pending.pop(0))
            if step.number in search.archive.steps:
                raise ValueError(f"step {step.number} occurs twice in the history")
            search._add(step.item)
            if step.outcome is not None:
                search.tell(step.number, step.outcome)
        for decision in pending:
            search._take(decision)
        return search

    def ask(self, count: int) -> list[Draft | Variant]:
        """Choose up to `count` steps; [] to wait for steps in flight, or at the end.

        At most `settings.parallel` steps are in flight.
        """
        asked: list[Draft | Variant] = []
        while len(asked) < count and len(self.archive.in_flight) < self.settings.parallel:
            item = self._choose()
            if item is None:
                break
            self._add(item)
            asked.append(item)
        return asked

    def tell(self, number: int, outcome: Outcome) -> None:
        """Note what came of a step. The same outcome again is ignored.

        Raises:
            ValueError: the step was never asked, or had another outcome.
        """
        step = self.archive.steps.get(number)
        if step is None:
            raise ValueError(f"step {number} was never asked")
        if step.outcome == outcome:
            return
        if step.outcome is not None:
            raise ValueError(f"step {number} has another outcome already")
        self.archive.settle(number, outcome)
        self._ledger.settle(step.item, outcome)
        self._is_chosen = False

    def decide(self, decision: Decision) -> None:
        """Take in what a reviewer decided at the gate.

        Raises:
            ValueError: the search does not wait for a decision, or it does not fit (`review.Gate.decide`).
        """
        if not self._is_at_gate():
            raise ValueError("the search waits for no decision")
        self._take(decision)

    def _take(self, decision: Decision) -> None:
        """One that was taken stands, even if today's caps would have brought the gate at another step."""
        self._gate.decide(decision, self.archive)
        self._is_chosen = False
        if not decision.asks_for_more:
            self._retained, self._phase = decision.retained, self._phase + 1

    def proposed(self) -> tuple[str, ...]:
        """Structures that the strategy itself would keep, for a reviewer who stands at the gate; () elsewhere."""
        retain = self._strategy.retain
        return retain(self._turn()) if retain is not None and self._is_at_gate() else ()

    def result(self) -> SearchResult:
        """Where the search stands."""
        gate = self._is_at_gate()
        finished = not (self.archive.in_flight or gate) and self._choose() is None
        best = max(self.archive.confirmed.values(), key=lambda trial: trial.rank, default=self.archive.best)
        return SearchResult(
            finished=finished,
            reason=self._ending() if finished else "",
            stage="review" if gate else self._stage(),
            waiting=WaitReason.REVIEW if gate else None,
            best=best.number if best else None,
            best_confirmed=bool(self.archive.confirmed),
            speedup=best.speedup if best else None,
            median_us=best.median_us if best else None,
            retained=self._retained,
            spent=self._ledger.spent,
            by_stage=dict(sorted(self._ledger.by_stage.items())),
            by_structure=dict(sorted(self._ledger.by_structure.items())),
            passed=self.archive.passed,
            structures=sum(bool(each.trials) for each in self.archive.structures.values()),
        )

    def _add(self, item: Item) -> None:
        self._enter(item.stage)
        self.archive.add(item)
        self._ledger.reserve(item)
        self._is_chosen = False

    def _enter(self, stage: Stage) -> None:
        """A phase in which something was asked is never left backwards."""
        if self._is_gated and stage not in self._strategy.phases[0].stages:
            raise ValueError("the history goes beyond the review gate without a decision")
        while stage not in self._strategy.phases[self._phase].stages:
            self._leave()

    def _choose(self) -> Item | None:
        """The next step, chosen once until something changes."""
        if not self._is_chosen:
            self._next, self._is_chosen = self._chosen(), True
        return self._next

    def _chosen(self) -> Item | None:
        if self._has_given_up():
            return None
        if owed := self._owed():
            return owed
        while True:
            item = self._phase_item()
            is_last = self._phase + 1 == len(self._strategy.phases)
            if item is not None or self.archive.in_flight or is_last or self._is_gated:
                return item
            self._leave()

    def _phase_item(self) -> Item | None:
        """What the phase asks, or a reviewer in its place; nothing once a rule says that it is over."""
        turn = self._turn()
        if not turn.left:
            return None
        if self._gate.asks:
            return self._gate.ask(turn)
        is_last = self._phase + 1 == len(self._strategy.phases)
        if not is_last and self._stopped(self._phase):
            return None
        return self._strategy.phases[self._phase].ask(turn)

    def _stopped(self, phase: int) -> Ending | None:
        """The rule by which a phase ends before its allowance is spent."""
        stages, best = self.settings.stages, self.archive.best
        if stages.floor_speedup and best and best.low >= FLOOR_SHARE * stages.floor_speedup:
            return Ending.FLOOR
        if stages.stagnation and self.archive.stale(self._strategy.phases[phase].stages) >= stages.stagnation:
            return Ending.STAGNATION
        return None

    @property
    def _is_gated(self) -> bool:
        """Whether the phase ends at the gate; a search in which nothing works passes by it."""
        has_gate = self.settings.stages.review and self._strategy.retain is not None
        works = any(each.base is not None for each in self.archive.structures.values())
        return has_gate and works and self._phase == 0

    def _is_at_gate(self) -> bool:
        """Whether a reviewer is waited for: stage 1 has nothing more to ask and everything came home."""
        idle = not self.archive.in_flight and self._choose() is None
        return idle and self._is_gated and not self._has_given_up()

    def _owed(self) -> Variant | None:
        """A program under which the device failed, once more; inside the whole budget."""
        owed = self.archive.owed
        if owed is None or not self._ledger.left(self.settings.budget.evaluations):
            return None
        why = f"The device failed under step {owed.number}: the same program again, free of charge."
        return owed.model_copy(update={"number": self.archive.last + 1, "why": why})

    def _leave(self) -> None:
        """End a phase. Structures are kept when the first one ends, with all its steps at home."""
        if self._phase == 0 and self._strategy.retain:
            self._retained = self._strategy.retain(self._turn())
        self._phase += 1

    def _turn(self) -> Turn:
        # What a reviewer asks for may exceed the share of stage 1, but not what is there for all tuning.
        phase = self._strategy.phases[self._phase + self._gate.asks]
        return Turn(
            settings=self.settings,
            archive=self.archive,
            ledger=self._ledger,
            tuner=self._tuner,
            number=self.archive.last + 1,
            allowance=phase.allowance(self.settings.stages, self._ledger.total),
            retained=self._retained,
        )

    def _stage(self) -> Stage:
        stages = self._strategy.phases[self._phase].stages
        if last := self.archive.steps.get(self.archive.last):
            return last.item.stage if last.item.stage in stages else min(stages)
        return min(stages)

    def _has_given_up(self) -> bool:
        return self.archive.infra_streak() >= INFRA_STREAK or self._has_too_many_steps()

    def _has_too_many_steps(self) -> bool:
        return len(self.archive.steps) >= STEPS_PER_EVALUATION * self.settings.budget.evaluations + 20

    def _ending(self) -> Ending:
        """Why nothing more is asked, most telling reason first."""
        if self.archive.infra_streak() >= INFRA_STREAK:
            return Ending.DEVICE_ERRORS
        if self._ledger.ending:
            return self._ledger.ending
        if self._has_too_many_steps():
            return Ending.STEPS
        if stopped := self._stopped(len(self._strategy.phases) - 2):
            return stopped
        if self._ledger.draft_ending:
            return self._ledger.draft_ending
        return Ending.EXHAUSTED if self.archive.best else Ending.NOTHING_CORRECT
