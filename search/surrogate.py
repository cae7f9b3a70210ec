"""A Gaussian process over all structures of a search at once: what knobs did in one structure informs the others.

The log cost of a program is modelled as the sum of three parts: the level of its structure, an effect of the
knobs that all structures share (knobs of one name mean the same thing), and an effect that belongs to the
structure and, less, to those whose blueprints differ from it in few decisions. Knobs are compared on a
log scale of their values, words for equality (Matérn 3/2 with one length per knob; multi-task kernels as in
Swersky, Snoek and Adams 2013). Lengths and shares are the best of a written grid by marginal likelihood.

Pure: a surrogate is a function of the trials it is given, in the order of their step numbers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import TYPE_CHECKING
from zlib import crc32

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.special import ndtr

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from search.blueprint import Blueprint
    from search.records import KnobValue
    from search.structure import Structure, Trial

    Floats = NDArray[np.float64]

LENGTHS = (0.8, 1.6, 3.2, 6.4, 16.0)
"""Of a knob, in octaves of its values."""
SHARES = ((0.5, 0.3, 0.2), (0.3, 0.5, 0.2), (0.4, 0.1, 0.5), (0.25, 0.25, 0.5))
"""Variance of the structure's level, of the shared knob effect and of the structure's own."""
NEARNESS = (0.15, 0.5)
"""Distance of blueprints, 0 to 1, at which their correlation has fallen to 1/e."""
NOISE = (1e-3, 1e-2, 1e-1)
"""Variance of a measurement, relative to that of all costs."""
ABSENT = 2.0
"""Distance between different words, and between having a knob and not having it, in octaves."""
WORDS = 1e6
"""Words are placed so far apart that no two numbers are."""
TRUST = (0.0, 0.5, 1.0)
"""Share of what a cost model predicts between structures that is taken for true before anything is measured."""
STRETCH = 4.0
"""How much closer to the best the model looks: costs are compared as log(1 + STRETCH * excess)."""
SOUND = 0.85
"""Chance that a program works, before anything is known."""


@dataclass(frozen=True)
class Outlook:
    """What is expected of programs: (N,) arrays on the stretched scale of excess cost, 0 at the best trial."""

    mean: Floats
    deviation: Floats
    sound: Floats
    """Chance that the program works at all."""

    def improvement(self, over: float) -> Floats:
        """Expected improvement below `over`, times the chance to work (Jones, Schonlau and Welch 1998)."""
        gap = over - self.mean
        ratio = gap / self.deviation
        density = np.exp(-0.5 * ratio**2) / math.sqrt(2 * math.pi)
        return np.asarray(self.sound * (gap * ndtr(ratio) + self.deviation * density))


@dataclass(frozen=True)
class Shape:
    """Hyperparameters of the kernel."""

    lengths: tuple[float, ...]
    shares: tuple[float, float, float] = SHARES[0]
    nearness: float = NEARNESS[1]
    noise: float = NOISE[1]
    trust: float = TRUST[1]


@dataclass(frozen=True)
class _Programs:
    """Programs as the kernel sees them."""

    places: Floats
    """(N, knobs): place on the log scale; NaN where the structure has no such knob."""
    structures: NDArray[np.intp]
    """(N,): index of the structure."""


class Surrogate:
    """The fitted model; `outlook` predicts."""

    def __init__(
        self, structures: Sequence[Structure], trials: Sequence[Trial], shape: Shape | None = None
    ) -> None:
        """Fit.

        Args:
            structures: all of the search, with blueprints.
            trials: what is known of them; failures count as well.
            shape: hyperparameters; None: the middle of the grid.
        """
        self._space = _Space(structures)
        self._known = self._space.known(trials)
        costs = np.array([math.nan if each.cost is None else each.cost for each in trials])
        self._timed = np.flatnonzero(~np.isnan(costs))
        self._least = float(costs[self._timed].min()) if self._timed.size else 0.0
        self._costs = costs[self._timed]
        self._excess = self.stretched(self._costs)
        self._apart = self._space.apart(self._known, self._known)
        self.shape = shape or Shape(lengths=(LENGTHS[2],) * len(self._space.names))
        self._solve(np.isnan(costs))

    def best_shape(self) -> Shape:
        """One sweep over the hyperparameters, each at its best given the others."""
        best, highest = self.shape, self._likelihood(self.shape)
        for variations in _sweep(len(best.lengths)):
            for candidate in variations(best):
                likelihood = self._likelihood(candidate)
                if likelihood > highest + 1e-9:
                    best, highest = candidate, likelihood
        return best

    def stretched(self, cost: Floats | float) -> Floats:
        """Excess over the least cost on the scale of the model."""
        return np.asarray(np.log1p(STRETCH * np.maximum(0.0, np.asarray(cost) - self._least)))

    def outlook(self, structure: Structure, places: Floats) -> Outlook:
        """What is expected of points of one structure, each value placed by `place_of`: (N, knobs of the structure)."""
        asked = self._space.asked(structure, places)
        cross = _kernel(self._space.apart(asked, self._known), self.shape)
        timed = cross[:, self._timed]
        mean = self._level[self._space.index(structure)] + timed @ self._weights
        spread = 1.0 - np.einsum("ij,ji->i", timed, cho_solve(self._factor, timed.T))
        sound = np.clip(SOUND + cross @ self._soundness, 0.02, 1.0)
        return Outlook(mean, np.sqrt(np.maximum(spread, 1e-6) * self._variance), sound)

    def _solve(self, failed: NDArray[np.bool_]) -> None:
        kernel = _kernel(self._apart, self.shape)
        timed = kernel[np.ix_(self._timed, self._timed)]
        self._factor = _factor(timed, self.shape.noise)
        self._level = self._levels(self.shape.trust)
        centred = self._excess - self._level[self._known.structures[self._timed]]
        self._weights = cho_solve(self._factor, centred)
        self._variance = max(1e-4, float(centred @ self._weights) / max(1, centred.size))
        labels = np.where(failed, 0.0, 1.0) - SOUND
        self._soundness = cho_solve(_factor(kernel, 0.1), labels)

    def _levels(self, trust: float) -> Floats:
        """(S,): what is expected of the programs of each structure before their own trials are looked at.

        A structure that the cost model puts at twice the speed of another is expected at 2 ** trust times its speed,
        on the stretched scale, where nothing lies below the best trial.
        """
        if not self._timed.size:
            return np.zeros(len(self._space.told))
        told = trust * self._space.told
        rows = self._known.structures[self._timed]
        levels = self.stretched(float(np.median(self._costs + told[rows])) - told)
        return np.asarray(levels + float(np.mean(self._excess - levels[rows])))

    def _likelihood(self, shape: Shape) -> float:
        """Log marginal likelihood with the variance at its best, up to a constant."""
        count = self._timed.size
        if count < 3:
            return 0.0
        timed = self._timed
        apart = _Apart(self._apart.knobs[:, timed][:, :, timed], self._apart.structures[np.ix_(timed, timed)])
        factor = _factor(_kernel(apart, shape), shape.noise)
        centred = self._excess - self._levels(shape.trust)[self._known.structures[timed]]
        misfit = max(1e-9, float(centred @ cho_solve(factor, centred)))
        return -0.5 * count * math.log(misfit) - float(np.log(np.diag(factor[0])).sum())


@dataclass(frozen=True)
class _Apart:
    """Squared distances per knob (knobs, N, M) and distances of the blueprints (N, M)."""

    knobs: Floats
    structures: Floats


class _Space:
    """Knobs and structures of a search as numbers."""

    def __init__(self, structures: Sequence[Structure]) -> None:
        self._structures = sorted(structures, key=lambda each: each.first)
        self._index = {each.fingerprint: place for place, each in enumerate(self._structures)}
        self.names = sorted({knob.name for each in self._structures for knob in each.knobs})
        self._distances = _distances([each.blueprint for each in self._structures])
        self.told = _told(self._structures)
        """(S,): log speed-ups that a cost model predicts, about their mean; 0 where there is none."""

    def index(self, structure: Structure) -> int:
        """Its place among the structures."""
        return self._index[structure.fingerprint]

    def known(self, trials: Sequence[Trial]) -> _Programs:
        """Programs of trials."""
        places = np.full((len(trials), len(self.names)), np.nan)
        rows = np.array([self._index[trial.structure] for trial in trials], dtype=np.intp)
        for row, trial in enumerate(trials):
            for knob in self._structures[rows[row]].knobs:
                places[row, self.names.index(knob.name)] = place_of(trial.knobs.get(knob.name, knob.default))
        return _Programs(places, rows)

    def asked(self, structure: Structure, own: Floats) -> _Programs:
        """Points of one structure, placed in the order of its knobs."""
        places = np.full((len(own), len(self.names)), np.nan)
        places[:, [self.names.index(knob.name) for knob in structure.knobs]] = own
        return _Programs(places, np.full(len(own), self._index[structure.fingerprint], dtype=np.intp))

    def apart(self, ones: _Programs, others: _Programs) -> _Apart:
        """All pairs."""
        left, right = ones.places.T[:, :, None], others.places.T[:, None, :]
        gaps = np.abs(left - right)
        gaps[gaps >= WORDS / 2] = ABSENT
        if np.isnan(gaps).any():
            both = np.isnan(left) & np.isnan(right)
            gaps = np.where(np.isnan(gaps), np.where(both, 0.0, ABSENT), gaps)
        return _Apart(gaps**2, self._distances[np.ix_(ones.structures, others.structures)])


@lru_cache(maxsize=4096, typed=True)
def place_of(value: KnobValue) -> float:
    """Octaves of a number; words and flags are apart from everything but themselves."""
    if isinstance(value, (bool, str)):
        return WORDS * (1 + crc32(repr(value).encode()))
    return math.copysign(math.log2(1 + abs(value)), value)


def _distances(blueprints: Sequence[Blueprint | None]) -> Floats:
    """(S, S): share of decisions on which two blueprints differ."""
    names = sorted({name for each in blueprints if each for name in each.choices})
    words: dict[str | None, int] = {}
    table = np.array(
        [
            [words.setdefault(each.choices.get(name) if each else None, len(words)) for name in names]
            for each in blueprints
        ],
    ).reshape(len(blueprints), len(names))
    return np.asarray(
        (table[:, None, :] != table[None, :, :]).mean(axis=2) if names else np.zeros((len(table),) * 2)
    )


def _told(structures: Sequence[Structure]) -> Floats:
    known = [each.prior for each in structures if each.prior is not None]
    middle = sum(known) / len(known) if known else 0.0
    return np.array([0.0 if each.prior is None else each.prior - middle for each in structures])


def _kernel(apart: _Apart, shape: Shape) -> Floats:
    """Variance 1 on the diagonal."""
    weights = 1.0 / np.square(np.asarray(shape.lengths))
    far = math.sqrt(3) * np.sqrt(np.tensordot(weights, apart.knobs, axes=1))
    knobs = (1 + far) * np.exp(-far)
    near = np.exp(-apart.structures / shape.nearness)
    level, shared, own = shape.shares
    return np.asarray(level * near + (shared + own * near) * knobs)


def _factor(kernel: Floats, noise: float) -> tuple[Floats, bool]:
    """Cholesky factor for `cho_solve`, with more noise where rounding needs it."""
    while True:
        try:
            factor, lower = cho_factor(kernel + noise * np.eye(len(kernel)), lower=True, check_finite=False)
        except LinAlgError:
            noise *= 10
        else:
            return np.asarray(factor), bool(lower)


def _sweep(knobs: int) -> Iterator[Callable[[Shape], list[Shape]]]:
    """The hyperparameters one after another: ways to vary a shape in one of them."""
    yield _with_shares
    for place in range(knobs):
        yield partial(_with_length, place)
    yield lambda shape: [replace(shape, noise=noise) for noise in NOISE]
    yield lambda shape: [replace(shape, nearness=nearness) for nearness in NEARNESS]
    yield lambda shape: [replace(shape, trust=trust) for trust in TRUST]
    yield _with_shares


def _with_shares(shape: Shape) -> list[Shape]:
    return [replace(shape, shares=shares) for shares in SHARES]


def _with_length(place: int, shape: Shape) -> list[Shape]:
    before, after = shape.lengths[:place], shape.lengths[place + 1 :]
    return [replace(shape, lengths=(*before, length, *after)) for length in LENGTHS]
