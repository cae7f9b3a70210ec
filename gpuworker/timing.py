"""Timing stage: candidate and baseline on the same cores, in turns, by the judge's clock."""

from __future__ import annotations

import itertools
import math
import random
import time
from dataclasses import dataclass
from statistics import median, quantiles
from typing import TYPE_CHECKING

from gpuworker import floor, yardstick
from gpuworker.clock import Pair, charge, checked_pass, disbelief, overhead_s, plain_pass
from gpuworker.intervals import median_interval
from gpuworker.verdicts import InfrastructureError, RejectedError
from search.records import CaseTiming, EvaluationStatus, Tier

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from gpuworker.contender import Contender, Patience
    from gpuworker.devices.device import Ceiling
    from gpuworker.specimen import Specimen
    from gpuworker.yardstick import Yardstick

WARM_UP_S = 0.02
_ABSURD = 2.0
"""A 95 % interval wider than this factor is no measurement."""
_PATIENT = 3
"""So many times the usual number of pairs before an absurd interval is given up."""
_LEAST_PAIRS = 3
_USUAL = 1.3
"""A pass this many times longer than the middle one of its kind was broken into."""
_SHORT_PASS = 0.5
"""Passes shorter than this share of the wanted length are made again with more calls."""


@dataclass(frozen=True)
class Effort:
    """How much to measure."""

    least_pairs: int
    most_pairs: int
    most_s: float
    enough: float
    """Stop when the interval of the ratio is narrower than this share."""


EFFORTS: dict[bool, dict[Tier, Effort]] = {
    False: {Tier.FAST: Effort(5, 10, 2.0, 0.1), Tier.FULL: Effort(8, 40, 20.0, 0.01)},
    True: {Tier.FAST: Effort(5, 10, 0.5, 0.02), Tier.FULL: Effort(8, 40, 10.0, 0.01)},
}
"""By whether the device is a GPU, whose own clock is finer."""


@dataclass
class Samples:
    """Pairs of one case, candidate and baseline measured next to each other."""

    candidate: list[Pair]
    baseline: list[Pair]

    def undisturbed(self) -> Samples:
        """Without pairs that something else on the machine broke into.

        A contender that makes some passes slow on purpose only loses them: what is kept still did all its work,
        and long passes bound the time from below.
        """
        whole = [_is_usual(pairs) for pairs in (self.candidate, self.baseline)]
        kept = [index for index, marks in enumerate(zip(*whole, strict=True)) if all(marks)]
        return Samples([self.candidate[index] for index in kept], [self.baseline[index] for index in kept])

    def seconds(self, empty_pass_s: float) -> list[tuple[float, float]]:
        """Seconds per call of candidate and baseline, pair by pair."""
        extra = charge(self.candidate, overhead_s(self.baseline, empty_pass_s)) if self.candidate else 0.0
        return [
            (ours.slope_s + extra, theirs.slope_s)
            for ours, theirs in zip(self.candidate, self.baseline, strict=True)
        ]

    def spread(self, empty_pass_s: float) -> float:
        """Upper over lower end of the ratio's interval; infinite while there are too few pairs."""
        kept = self.undisturbed().seconds(empty_pass_s)
        if len(kept) < _LEAST_PAIRS:
            return math.inf
        ratio = median_interval([theirs / ours for ours, theirs in kept])
        return ratio.high / ratio.low


def _is_usual(pairs: Sequence[Pair]) -> list[bool]:
    half_s, whole_s = median(pair.half_s for pair in pairs), median(pair.whole_s for pair in pairs)
    return [
        pair.half_s <= _USUAL * half_s and pair.whole_s <= _USUAL * whole_s and pair.slope_s > 0
        for pair in pairs
    ]


@dataclass(frozen=True)
class Result:
    """Time of one case, and the paired ratios its speed-up came from."""

    timing: CaseTiming
    ratios: tuple[float, ...]
    passes_us: tuple[tuple[float, float], ...]
    """Short and long pass of every pair that was kept, of the candidate."""


@dataclass
class Match:
    """A candidate against the baseline on one case."""

    candidate: Contender
    stick: Yardstick
    case: str
    effort: Effort
    patience: Patience

    def play(self, ceiling: Ceiling, lift: Callable[[], Ceiling]) -> Result:
        """Warm both up, measure, and judge the samples.

        Args:
            ceiling: what the device can do at most.
            lift: measures that again, for a time that would be impossible.

        Raises:
            RejectedError: a wrong output in a timed pass, UNSTABLE_TIMING, TIMING_MISMATCH.
        """
        ours, theirs = self._warm_up(self.candidate), self._baseline_s()
        specimens = iter(self.stick.shuffled(self.case))
        calls = self._calls(ours)
        samples = self._measure(calls, self._calls(theirs), specimens)
        # Dawdling in the warm-up would leave passes so short that slack hides a share of them.
        while (
            whole := self._whole_s(samples)
        ) < _SHORT_PASS * self.stick.budget.pass_s and calls < self._most():
            calls = max(calls + 2, self._calls(whole / calls))
            samples = self._measure(calls, self._calls(theirs), specimens)
        return self._result(samples, ceiling, lift)

    def _result(self, samples: Samples, ceiling: Ceiling, lift: Callable[[], Ceiling]) -> Result:
        samples = samples.undisturbed()
        kept = samples.seconds(self.stick.empty_pass_s)
        if len(kept) < _LEAST_PAIRS:
            raise RejectedError(
                EvaluationStatus.UNSTABLE_TIMING, "the machine is too noisy to time this candidate"
            )
        if why := disbelief(samples.candidate, overhead_s(samples.baseline, self.stick.empty_pass_s)):
            raise RejectedError(EvaluationStatus.TIMING_MISMATCH, why)
        slot = self.candidate.layout.slots[self.candidate.layout.of_case(self.case)[0]]
        swept = samples.candidate[0].whole_calls * slot.size_bytes
        case = next(case for case in self.stick.workload.cases if case.name == self.case)
        timing = _timing(self.case, kept, floor.floor_us(self.stick.workload, case, swept, ceiling))
        if _is_impossible(timing):
            # A ceiling that was measured on a busy machine is too low, and must convict nobody.
            timing = _timing(self.case, kept, floor.floor_us(self.stick.workload, case, swept, lift()))
        if _is_impossible(timing):
            message = (
                f"{timing.median_us:.2f} us is below the {timing.floor_us:.2f} us that moving the data takes"
            )
            raise RejectedError(EvaluationStatus.REWARD_HACK, message)
        passes_us = [
            (round(pair.half_s * 1e6, 2), round(pair.whole_s * 1e6, 2)) for pair in samples.candidate
        ]
        return Result(timing, tuple(theirs / ours for ours, theirs in kept), tuple(passes_us))

    def _most(self) -> int:
        """Calls of the longest pass for which there are enough unused specimens; even."""
        enough = int(len(self.stick.timed[self.case]) / (1.5 * self.effort.least_pairs))
        most = min(enough, yardstick.most_calls(self.stick, self.case))
        return max(2, most - most % 2)

    def _calls(self, per_call_s: float) -> int:
        return min(self._most(), yardstick.calls_for(per_call_s, self.stick.budget.pass_s))

    @staticmethod
    def _whole_s(samples: Samples) -> float:
        return median(pair.whole_s for pair in samples.candidate)

    def _baseline_s(self) -> float:
        """Rough seconds of one call of the baseline; one that waits on a GPU stays warm between candidates."""
        if not (self.stick.baseline.is_trusted and self.case in self.stick.warm_s):
            # Not counted: on a GPU the first call makes graphs of all slots.
            self._pass(self.stick.baseline, self._slots(self.stick.baseline)[:1], self._checks()[:1])
            self.stick.warm_s[self.case] = self._warm_up(self.stick.baseline)
        return self.stick.warm_s[self.case]

    def _slots(self, contender: Contender) -> list[int]:
        return contender.layout.of_case(self.case)

    def _checks(self) -> list[Specimen]:
        """Specimens of the checks, of one flavour."""
        checks = self.stick.checks[self.case]
        return [one for one in checks if one.flavour == checks[0].flavour]

    def _warm_up(self, contender: Contender) -> float:
        """Run for a while on values of the checks; rough seconds of one call."""
        slots, checks = self._slots(contender), self._checks()
        spent, fastest, calls, filled = 0.0, math.inf, 1, 0
        while spent < WARM_UP_S:
            specimens = list(itertools.islice(itertools.cycle(checks), calls))
            if contender.is_trusted and calls <= filled:
                # It cannot tell a warm-up from a measurement, so values that it has seen do.
                seconds = contender.run(slots[:calls], self.patience)
            else:
                seconds, filled = self._pass(contender, slots[:calls], specimens), calls
            spent += contender.waited_s
            fastest = min(fastest, max(seconds - self.stick.empty_pass_s, 1e-7) / calls)
            calls = min(len(slots), self._calls(fastest))
        return fastest

    def _measure(self, ours: int, theirs: int, specimens: Iterator[Specimen]) -> Samples:
        """Pairs of both in turns (ABBA), until they are enough, or time or unused specimens run out."""
        samples = Samples([], [])
        stop = time.monotonic() + self.effort.most_s
        while not self._is_enough(samples, late=time.monotonic() > stop):
            given = list(itertools.islice(specimens, ours + ours // 2))
            if len(given) < ours + ours // 2:
                break
            # The baseline may meet values again, so these are as many as it wants.
            lent = list(itertools.islice(itertools.cycle(given), theirs + theirs // 2))
            turns = [
                (samples.candidate, self.candidate, ours, given),
                (samples.baseline, self.stick.baseline, theirs, lent),
            ]
            for kept, contender, calls, values in turns if len(samples.candidate) % 2 else turns[::-1]:
                kept.append(self._pair(contender, calls, values))
        if len(samples.candidate) < _LEAST_PAIRS:
            raise RejectedError(
                EvaluationStatus.UNSTABLE_TIMING, "changes its pace so much that it cannot be timed"
            )
        return samples

    def _is_enough(self, samples: Samples, *, late: bool) -> bool:
        """Whether the interval is narrow, or as narrow as it is worth waiting for."""
        count = len(samples.candidate)
        if count < _LEAST_PAIRS or (count < self.effort.least_pairs and not late):
            return False
        spread = samples.spread(self.stick.empty_pass_s)
        if late or count >= self.effort.most_pairs:
            return spread < _ABSURD or count >= _PATIENT * self.effort.most_pairs
        return spread < 1.0 + self.effort.enough

    def _pair(self, contender: Contender, calls: int, specimens: Sequence[Specimen]) -> Pair:
        slots = contender.layout.of_case(self.case)
        random.SystemRandom().shuffle(slots)
        half = self._pass(contender, slots[: calls // 2], specimens[: calls // 2])
        whole = self._pass(contender, slots[:calls], specimens[calls // 2 :])
        return Pair(half, whole, calls // 2, calls)

    def _pass(self, contender: Contender, slots: Sequence[int], specimens: Sequence[Specimen]) -> float:
        if contender is self.candidate:
            return checked_pass(contender, slots, specimens, self.patience)
        # The workload's own reference is right by definition, and was checked when it was started.
        try:
            return plain_pass(contender, slots, specimens, yardstick.own_patience())
        except RejectedError as error:
            raise InfrastructureError(f"the baseline {error.message}") from error


def _is_impossible(timing: CaseTiming) -> bool:
    return timing.floor_us is not None and timing.median_us < timing.floor_us


def _timing(case: str, kept: Sequence[tuple[float, float]], floor_us: float) -> CaseTiming:
    speedup = median_interval([theirs / ours for ours, theirs in kept])
    if speedup.high > _ABSURD * speedup.low:
        message = f"the speed-up lies anywhere from {speedup.low:.2f} to {speedup.high:.2f}"
        raise RejectedError(EvaluationStatus.UNSTABLE_TIMING, message)
    times_us = [ours * 1e6 for ours, _ in kept]
    tenths = quantiles(times_us, n=10, method="inclusive")
    return CaseTiming(
        case=case,
        median_us=median(times_us),
        p10_us=tenths[0],
        p90_us=tenths[-1],
        samples=len(kept),
        baseline_us=median(theirs * 1e6 for _, theirs in kept),
        speedup=speedup,
        samples_us=tuple(times_us),
        floor_us=floor_us,
    )
