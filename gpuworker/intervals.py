"""Bootstrap intervals of ratios of paired times."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from search.records import Interval

if TYPE_CHECKING:
    from collections.abc import Sequence

_RESAMPLES = 2000
_SEED = 20240229
"""The resampling is no secret and must give the same interval for the same samples."""


def median_interval(samples: Sequence[float]) -> Interval:
    """Median with its 95 % bootstrap interval."""
    return geometric_mean([samples], [1.0])


def geometric_mean(groups: Sequence[Sequence[float]], weights: Sequence[float]) -> Interval:
    """Weighted geometric mean of the groups' medians; each group is resampled on its own."""
    generator = np.random.default_rng(_SEED)
    share = np.asarray(weights) / sum(weights)
    total = np.zeros(_RESAMPLES)
    value = 0.0
    for samples, part in zip(groups, share, strict=True):
        logs = np.log(np.asarray(samples))
        drawn = generator.choice(logs, size=(_RESAMPLES, len(logs)))
        total += part * np.median(drawn, axis=1)
        value += part * float(np.median(logs))
    low, high = np.percentile(total, [2.5, 97.5])
    return Interval(
        value=math.exp(value),
        low=min(math.exp(float(low)), math.exp(value)),
        high=max(math.exp(float(high)), math.exp(value)),
    )
