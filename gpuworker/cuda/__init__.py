"""What only a CUDA device needs: launch plans traced without a device, and their replay by our own code on it."""

from __future__ import annotations
