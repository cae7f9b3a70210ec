"""Why a request cannot be launched."""

from __future__ import annotations


class LaunchError(ValueError):
    """The request cannot be launched; `field` says which input to change."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field


class IdempotencyConflictError(LaunchError):
    """The key was used before, for something else."""

    def __init__(self) -> None:
        super().__init__("idempotency_key", "this key has already launched something else")
