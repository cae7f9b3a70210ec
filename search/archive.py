"""All that a search knows: its steps, what they say about each structure, and what is owed.

Built step by step, never recomputed. Everything kept here is a sum, a minimum, a maximum or keyed by
step number, so the same set of steps gives the same archive whatever the order in which outcomes arrived.

A step that ended in an infrastructure error, or was lost after its candidate existed, says nothing about
the program: it leaves no trial behind and is owed again, at most `INFRA_RETRIES` times.
"""

from __future__ import annotations

import heapq
from collections import Counter
from typing import TYPE_CHECKING

from search.records import DraftKind, EvaluationStatus, KnobValue, Purpose
from search.steps import Draft, Item, Outcome, Step, Variant
from search.structure import Structure, Trial

if TYPE_CHECKING:
    from search.blueprint import Blueprint
    from search.records import Stage

INFRA_RETRIES = 2
"""Times that one program is sent again after the device failed under it."""

GAIN = 0.01
"""Smallest relative gain that counts as progress: the noise of one measurement."""

Program = tuple[int, tuple[tuple[str, KnobValue], ...], Purpose]
"""A source (its draft's step), knob values and why it is measured."""


class Archive:
    """Steps by number and structures by fingerprint: `add` what is asked, `settle` what is told."""

    def __init__(self) -> None:
        self.steps: dict[int, Step] = {}
        self.last = 0
        """Highest step number."""
        self.in_flight: dict[int, Item] = {}
        self.structures: dict[str, Structure] = {}
        self.best: Trial | None = None
        """Fastest search trial."""
        self.confirmed: dict[int, Trial] = {}
        """Passed confirmations, by step number."""
        self.confirming: set[Program] = set()
        """Programs that were sent for confirmation."""
        self.unconfirmed: set[Program] = set()
        """Those of them that failed it."""
        self.expanded: list[str] = []
        """Parents of the explorations that were asked, in order."""
        self.beliefs: dict[str, float] = {}
        """Worth of structures, 0 to 1, as the agent rated them last; empty when it never did."""
        self.judgements = 0
        """Times that the agent was asked for its beliefs."""
        self._rated = 0
        self.passed = 0
        self.rootless = 0
        """Drafts of the direct implementation that brought not even a blueprint."""
        self._owed: dict[Program, Variant] = {}
        self._undecided: Counter[Program] = Counter()
        self._words: Counter[tuple[str, str]] = Counter()

    @property
    def owed(self) -> Variant | None:
        """A program that must be sent again, under a new number."""
        return min(self._owed.values(), key=lambda item: item.number, default=None)

    def surest(self, count: int) -> list[Trial]:
        """Passed search trials of different programs, best lower end of the interval first.

        The highest of many noisy measurements is high by luck as well; the lower end is less so.
        """
        trials = (trial for each in self.structures.values() for trial in each.trials.values())
        passed = (trial for trial in trials if trial.speedup and not trial.reused)
        return heapq.nlargest(count, passed, key=lambda trial: (trial.low, *trial.rank))

    def stale(self, stages: frozenset[Stage]) -> int:
        """Search trials of these stages since the first that came within 1 % of the fastest."""
        if self.best is None:
            return 0
        trials = [trial for each in self.structures.values() for trial in each.trials.values()]
        enough = self.best.value / (1 + GAIN)
        reached = min(trial.number for trial in trials if trial.value >= enough)
        return sum(trial.stage in stages and trial.number > reached for trial in trials)

    def novelty(self, structure: Structure) -> float:
        """Mean share of decisions on which it differs from the other structures, 0 to 1."""
        choices = structure.blueprint.choices if structure.blueprint else {}
        others = len(self.structures) - 1
        if not choices or others < 1:
            return 0.0
        shared = sum(self._words[decision] - 1 for decision in choices.items())
        return max(0.0, 1.0 - shared / (len(choices) * others))

    def infra_streak(self) -> int:
        """Last steps, by number, under which the device failed one after another."""
        streak = 0
        for number in range(self.last, 0, -1):
            step = self.steps.get(number)
            if step is None or step.outcome is None:
                continue
            if _is_undecided(step.outcome):
                streak += 1
            elif step.outcome.status is not None:
                break
        return streak

    def add(self, item: Item) -> None:
        """Note a step that was asked."""
        self.steps[item.number] = Step(item=item)
        self.last = max(self.last, item.number)
        self.in_flight[item.number] = item
        self.judgements += isinstance(item, Draft) and item.kind is DraftKind.JUDGE
        if isinstance(item, Variant):
            self._owed.pop(program_of(item), None)
            if item.purpose is Purpose.CONFIRM:
                self.confirming.add(program_of(item))
                return
        structure = self.structures.get(item.structure)
        if structure is not None and _explores(item):
            structure.children += 1
            self.expanded.append(item.structure)
        elif structure is not None:
            structure.in_flight[item.number] = item

    def plant(self, blueprint: Blueprint) -> None:
        """Take in a structure that a person added."""
        self._words.update(blueprint.choices.items())
        planted = Structure(blueprint.fingerprint, self.last + 1, blueprint=blueprint, is_planted=True)
        self.structures[blueprint.fingerprint] = planted

    def settle(self, number: int, outcome: Outcome) -> None:
        """Note what became of a step in flight."""
        item = self.in_flight.pop(number)
        self.steps[number] = Step(item=item, outcome=outcome)
        self.passed += outcome.charged and outcome.status is EvaluationStatus.PASSED
        asked = self.structures.get(item.structure)
        if asked is not None:
            asked.in_flight.pop(number, None)
        if isinstance(item, Draft) and item.kind is DraftKind.JUDGE:
            if outcome.beliefs and number > self._rated:
                self.beliefs, self._rated = outcome.beliefs, number
            return
        structure = asked if isinstance(item, Variant) else self._brought(item, outcome)
        if isinstance(item, Draft):
            self._note_draft(item, structure)
        if structure is not None and not self._owe(item, outcome, structure):
            self._judge(item, outcome, structure)

    def _brought(self, draft: Draft, outcome: Outcome) -> Structure | None:
        """The structure that a draft's outcome belongs to; of two that bring it the lower number is first."""
        explores = _explores(draft)
        fingerprint = outcome.structure or (outcome.blueprint.fingerprint if outcome.blueprint else "")
        fingerprint = fingerprint or ("" if explores else draft.structure)
        if not fingerprint:
            return None
        parent = draft.structure if explores else ""
        structure = self.structures.setdefault(fingerprint, Structure(fingerprint, draft.number, parent))
        if structure.blueprint is None and outcome.blueprint is not None:
            self._words.update(outcome.blueprint.choices.items())
            structure.blueprint = outcome.blueprint
        if outcome.prior is not None and (structure.prior is None or draft.number < structure.first):
            structure.prior, structure.promise = outcome.prior, outcome.promise
        if draft.number < structure.first:
            structure.first, structure.parent = draft.number, parent
            structure.blueprint = outcome.blueprint or structure.blueprint
        return structure

    def _note_draft(self, draft: Draft, structure: Structure | None) -> None:
        """Count the attempt where it was made, and a refusal where nothing new came."""
        if structure is not None:
            structure.drafts.add(draft.number)
        if _explores(draft):
            # Two explorations in flight may meet in one structure; that is no refusal.
            if structure is None or structure.fingerprint in draft.exclude:
                self.structures[draft.structure].refusals += 1
        elif draft.structure:
            self.structures[draft.structure].drafts.add(draft.number)
        elif structure is None:
            self.rootless += 1

    def _owe(self, item: Item, outcome: Outcome, structure: Structure) -> bool:
        """Whether the step says nothing and its program is sent again."""
        if not _is_undecided(outcome) or (isinstance(item, Draft) and not outcome.candidate):
            return False
        again = item if isinstance(item, Variant) else _remeasured(item, outcome, structure)
        program = program_of(again)
        self._undecided[program] += 1
        if self._undecided[program] > INFRA_RETRIES:
            return False
        self._owed[program] = again
        return True

    def _judge(self, item: Item, outcome: Outcome, structure: Structure) -> None:
        """Take in a verdict: a trial, a confirmation, or a draft that brought no program."""
        base = item.base if isinstance(item, Variant) else item.number
        status = outcome.status
        if status is not None and status.is_correct:
            structure.bases.add(base)
        else:
            structure.failures[item.number] = outcome
        if isinstance(item, Draft) and not outcome.candidate:
            return
        trial = _trial(item, base, outcome, structure)
        if isinstance(item, Variant) and item.purpose is Purpose.CONFIRM:
            if trial.speedup:
                self.confirmed[item.number] = trial
            else:
                self.unconfirmed.add(program_of(item))
            return
        structure.note(trial, charged=outcome.charged, device_seconds=outcome.device_seconds)
        if trial.speedup and (self.best is None or trial.rank > self.best.rank):
            self.best = trial


def program_of(item: Variant | Trial) -> Program:
    """What is measured, whatever the step number."""
    purpose = item.purpose if isinstance(item, Variant) else Purpose.CONFIRM
    return (item.base, tuple(sorted(item.knobs.items())), purpose)


def _explores(item: Item) -> bool:
    return isinstance(item, Draft) and item.kind is DraftKind.EXPLORE


def _is_undecided(outcome: Outcome) -> bool:
    """The device failed, or the step was lost with a candidate at hand."""
    lost = outcome.status is None and bool(outcome.candidate)
    return lost or outcome.status is EvaluationStatus.INFRA_ERROR


def _remeasured(draft: Draft, outcome: Outcome, structure: Structure) -> Variant:
    """The draft's own program, to be measured again without a second call of the agent."""
    return Variant(
        number=draft.number,
        stage=draft.stage,
        structure=structure.fingerprint,
        base=draft.number,
        knobs=outcome.knobs,
    )


def _trial(item: Item, base: int, outcome: Outcome, structure: Structure) -> Trial:
    timed = outcome.status is EvaluationStatus.PASSED
    return Trial(
        number=item.number,
        stage=item.stage,
        structure=structure.fingerprint,
        base=base,
        knobs=dict(item.knobs if isinstance(item, Variant) else outcome.knobs),
        status=outcome.status,
        speedup=outcome.speedup if timed else None,
        median_us=outcome.median_us if timed else None,
        reused=outcome.reused,
    )
