"""The site's settings with leases of two seconds, for processes that get killed."""

from __future__ import annotations

import os

from kernelsite.settings import *  # noqa: F403

KERNELSITE = {
    "driver_lease_s": 2.0,
    "evaluation_lease_s": float(os.environ.get("RIG_EVALUATION_LEASE_S", "2")),
    "agent_lease_s": 2.0,
    "resend_after_s": 2.0,
    "sweep_interval_s": 1.0,
    "attempts": 40,
}
