"""Contenders whose own clock counts: replayed launch plans, whose process runs our code only, and the baseline.

The device's clock resolves far shorter kernels than the judge's wall clock, which bounds it from above. A baseline
that lied about its time would gain what a slow reference gains, so it is believed as well.
"""

from __future__ import annotations

from typing_extensions import override

from gpuworker.contender import Contender
from gpuworker.inmate import SECONDS
from gpuworker.verdicts import InfrastructureError


class Replayer(Contender):
    """Times of passes come from events around them in the process that replays."""

    is_trusted = True
    _answer_bytes = SECONDS.size

    @override
    def _seconds(self, answer: bytes) -> float:
        (seconds,) = SECONDS.unpack(answer)
        if not 0.0 <= seconds <= self.waited_s:
            message = f"a pass of {seconds} s took {self.waited_s} s by the judge's clock"
            raise InfrastructureError(message)
        return float(seconds)
