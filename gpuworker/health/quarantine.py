"""Shuts a device out after too many infrastructure faults in a row, until a doctor finds it fit.

Kept in the worker's state folder, so that it outlives the worker. A fault is an evaluation that ended as
INFRA_ERROR; any other end shows that the device works and starts the count anew. Faults of one candidate alone never
suffice: it may be what breaks us, and its attempts end by themselves.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import ValidationError

from search.records import Record

if TYPE_CHECKING:
    from collections.abc import Callable

    from gpuworker.options import Options

MOST_FAULTS = 5
LEAST_CANDIDATES = 2
WINDOW_S = 900.0
"""Older faults are forgotten."""
_TEXT_LIMIT = 300


class Fault(Record):
    """One evaluation that ended for our own fault."""

    at: float
    """Seconds since the epoch."""
    candidate: str
    """Its hash."""
    message: str


class Count(Record):
    """What the file holds."""

    faults: tuple[Fault, ...] = ()
    since: float | None = None
    """Shut out since then; None while in use."""

    @property
    def reason(self) -> str:
        """Why the device is shut out, empty while it is in use."""
        if self.since is None:
            return ""
        last = self.faults[-1].message if self.faults else "unknown"
        return f"{len(self.faults)} infrastructure faults in a row, the last: {last}"


class Quarantine:
    """The count of one device of one state folder."""

    def __init__(self, state: Path, device: str, clock: Callable[[], float] = time.time) -> None:
        """Nothing is read yet.

        Args:
            state: the worker's private folder.
            device: what makes the device unique on this machine, e.g. `cpu-2-3` or `cuda-0`.
            clock: seconds since the epoch.
        """
        self._path = state / f"quarantine-{device}.json"
        self._clock = clock

    @classmethod
    def of(cls, options: Options) -> Quarantine:
        """That of the device a worker with these options drives."""
        # The cores of a GPU's worker are another matter: it is the GPU that is shut out.
        cores = options.cores if options.cuda_index < 0 else ()
        words = [options.slot.replace(":", "-"), *map(str, cores)]
        return cls(Path(options.state), "-".join(words))

    @property
    def reason(self) -> str:
        """Why the device is shut out, empty while it is in use."""
        return self._read().reason

    def fault(self, candidate: str, message: str) -> None:
        """Count a fault; the last of too many shuts the device out."""
        now, count = self._clock(), self._read()
        kept = [one for one in count.faults if count.since or now - one.at <= WINDOW_S]
        kept.append(Fault(at=now, candidate=candidate, message=message[:_TEXT_LIMIT]))
        kept = kept[-MOST_FAULTS:]
        many = len(kept) >= MOST_FAULTS and len({one.candidate for one in kept}) >= LEAST_CANDIDATES
        since = count.since or (now if many else None)
        self._write(Count(faults=tuple(kept), since=since))

    def success(self) -> None:
        """The device answered as it should, so the count starts anew; a device that is shut out stays so."""
        count = self._read()
        if count.faults and count.since is None:
            self._write(Count())

    def clear(self) -> None:
        """Take the device into use again."""
        self._path.unlink(missing_ok=True)

    def _read(self) -> Count:
        try:
            return Count.model_validate_json(self._path.read_bytes())
        except FileNotFoundError:
            return Count()
        except (OSError, ValidationError):
            # What cannot be read may be what shut the device out.
            return Count(since=0.0)

    def _write(self, count: Count) -> None:
        with tempfile.NamedTemporaryFile("w", dir=self._path.parent, delete=False) as file:
            file.write(count.model_dump_json())
        Path(file.name).replace(self._path)
