"""Bounds of a self-test; what it found is a `search.validation.SelfTest`."""

from __future__ import annotations

from search.validation import SELFTEST_BYTES

MARGIN = 4.0
"""The honest eager reference must err so many times less than allowed."""
FEW_ELEMENTS = 64
FEW_MARGIN = 2.0
"""The same for outputs of fewer elements: rounding to the output's type, up to half a unit in the last place, does not
average out over a handful of them, and a bound that gave it four times the room would let one percent pass."""
MOST_BYTES = SELFTEST_BYTES
"""Inputs and outputs of the largest case that is looked at, unless told otherwise."""
