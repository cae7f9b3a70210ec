"""`Searches` launches and finds searches; `Search` is one of them, to steer, watch and read."""

from __future__ import annotations

import importlib
import time
from typing import TYPE_CHECKING, Any

from kernelsite.api import records
from kernelsite.api.client.paths import new_key, number_of, order, pages
from search.records import SearchState

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kernelsite.api.client.transport import Reply, Transport

WAIT_S = 25
"""How long the site may hold an answer back for an event."""
QUICK_S, REST_S = 1.0, 1.0
"""An empty answer that came this soon was not held back, so the next question waits."""


class Searches:
    """The team's searches."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def launch(self, workload: str | None = None, *, key: str = "", **fields: Any) -> Search:
        """Launch a search and return it; with the same `key` it is launched once, however often this is called.

        Args:
            workload: `softmax` or `softmax@1`; None with `clone`.
            key: Idempotency-Key; a fresh one when empty.
            fields: `library`, `title`, `clone` (number), `preset` (`quick-look`, `standard`, `thorough`), and any
                field of the launch form, e.g. `evaluations`, `strategy`, `seed`, `device_class`, `retain`, `review`.

        Raises:
            ApiError: a field is wrong, or the token may not.
        """
        reply = self._transport.send("POST", "/searches", body=order(workload, fields), key=key or new_key())
        return Search(self._transport, records.SearchAnswer.model_validate(reply.document))

    def get(self, name: str | int) -> Search:
        """The search of a name, e.g. `S-142`.

        Raises:
            ValueError: that is no name of a search.
            ApiError: there is no such search.
        """
        reply = self._transport.send("GET", f"/searches/{number_of(name)}")
        return Search(self._transport, records.SearchAnswer.model_validate(reply.document))

    def find(self, **filters: str) -> Iterator[Search]:
        """The team's searches, newest first; filters are `state` and `workload`."""
        for row in pages(self._transport, "/searches", "before", filters):
            yield Search(self._transport, records.SearchAnswer.model_validate(row))

    def __iter__(self) -> Iterator[Search]:
        """All of them, newest first."""
        return self.find()


class Search:
    """One search. `row` is how it stood when it was last read."""

    def __init__(self, transport: Transport, row: records.SearchAnswer) -> None:
        self._transport = transport
        self.row = row
        self.seq = 0
        """The last event that `watch` has given."""
        self._epoch = ""

    def __repr__(self) -> str:
        return f"<Search {self.row.short} {self.row.state}>"

    @property
    def id(self) -> int:
        """Its number."""
        return self.row.id

    @property
    def is_over(self) -> bool:
        """Nothing more will happen."""
        return SearchState(self.row.state).is_final

    def refresh(self) -> Search:
        """Read it again."""
        return self._read("GET", "")

    def pause(self) -> Search:
        """Ask for nothing new; what runs may finish."""
        return self._read("POST", "/pause")

    def resume(self) -> Search:
        """Go on after a pause."""
        return self._read("POST", "/resume")

    def stop(self) -> Search:
        """End it now."""
        return self._read("POST", "/stop")

    def move_caps(self, tokens: int | None, cost_usd: float | None) -> Search:
        """Move its caps on tokens and money; None is no cap."""
        return self._read("PUT", "/caps", {"tokens": tokens, "cost_usd": cost_usd})

    def _read(self, method: str, path: str, body: Any = None) -> Search:
        reply = self._send(method, path, body=body)
        self.row = records.SearchAnswer.model_validate(reply.document)
        return self

    def _send(self, method: str, path: str, **more: Any) -> Reply:
        return self._transport.send(method, f"/searches/{self.id}{path}", **more)

    def watch(self, after: int | None = None) -> Iterator[records.EventAnswer]:
        """Its events, as they happen, until it is over; `row` follows them.

        Goes on after the last event that it gave before, or after `after`. A lost connection is made again, and no
        event is left out or given twice.

        Raises:
            UnreachableError: the site does not come back.
        """
        self.seq = self.seq if after is None else after
        while True:
            asked = time.monotonic()
            page = self.events(self.seq, wait_s=WAIT_S)
            if self._epoch and page.epoch != self._epoch:
                # Another database: its numbers begin anew.
                self.seq, self._epoch = 0, page.epoch
                continue
            self._epoch = page.epoch
            for event in page.items:
                self.seq = event.seq
                if event.search is not None:
                    self.row = self.row.model_copy(update=dict(event.search))
                yield event
            if page.items:
                continue
            if SearchState(page.state).is_final and self.seq >= page.seq:
                self.refresh()
                return
            if time.monotonic() - asked < QUICK_S:
                time.sleep(REST_S)

    def events(self, after: int = 0, *, wait_s: float = 0.0, limit: int = 100) -> records.EventsAnswer:
        """Events after a number; the answer may be held back for one."""
        query = {"after": after, "wait": wait_s, "limit": limit}
        reply = self._send("GET", "/events", query=query, timeout_s=wait_s + 20.0)
        return records.EventsAnswer.model_validate(reply.document)

    def wait(self) -> Search:
        """Return when it is over."""
        for _ in self.watch():
            pass
        return self

    def best(self) -> records.ProgramAnswer | None:
        """The best candidate so far with its program; None while nothing is correct and faster than nothing."""
        found = self.refresh().row.best
        return self.candidate(found.candidate) if found else None

    def candidate(self, name: str) -> records.ProgramAnswer:
        """A candidate with its program, by its name, e.g. `142.17.031c`."""
        reply = self._transport.send("GET", f"/candidates/{name.removeprefix('C-')}")
        return records.ProgramAnswer.model_validate(reply.document)

    def file(self, name: str, kind: str = "source") -> Reply:
        """A file of a candidate: `source`, `solution`, `traces`, `contract` or `evaluation`."""
        return self._transport.send("GET", f"/candidates/{name.removeprefix('C-')}/files/{kind}")

    def structures(self) -> Iterator[records.StructureAnswer]:
        """Its structures by number."""
        for row in pages(self._transport, f"/searches/{self.id}/structures", "after", {}):
            yield records.StructureAnswer.model_validate(row)

    def candidates(self, **filters: Any) -> Iterator[records.CandidateAnswer]:
        """Its candidates, one row per purpose; filters are `structure` (number) and `status`."""
        for row in pages(self._transport, f"/searches/{self.id}/candidates", "after", filters):
            yield records.CandidateAnswer.model_validate(row)

    def snapshot(self) -> dict[str, Any]:
        """Everything that its page shows."""
        found: dict[str, Any] = self._send("GET", "/snapshot").document
        return found

    def settings(self) -> dict[str, Any]:
        """Its frozen settings."""
        found: dict[str, Any] = self._send("GET", "/settings").document
        return found

    def rows(self, **filters: Any) -> list[dict[str, Any]]:
        """Its candidates as flat rows; the knobs stand in columns `knob.<name>`. Filters are those of `candidates`."""
        found = []
        for row in self.candidates(**filters):
            flat = row.model_dump()
            knobs = flat.pop("knobs")
            found.append(flat | {f"knob.{name}": value for name, value in knobs.items()})
        return found

    def to_frame(self) -> Any:
        """Its candidates as a `pandas.DataFrame`.

        Raises:
            ImportError: pandas is not installed.
        """
        try:
            pandas = importlib.import_module("pandas")
        except ImportError as error:
            raise ImportError("to_frame needs pandas: pip install pandas; rows() needs nothing") from error
        return pandas.DataFrame(self.rows())
