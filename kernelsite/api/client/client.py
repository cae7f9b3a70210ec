"""`Client`: the parts of the API as attributes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kernelsite.api import records
from kernelsite.api.client import credentials as kept
from kernelsite.api.client.paths import new_key, order, pages
from kernelsite.api.client.searches import Searches
from kernelsite.api.client.transport import Transport

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kernelsite.api.client.credentials import Credentials


class Client:
    """A site, seen with one token."""

    def __init__(self, credentials: Credentials | None = None) -> None:
        """Take these credentials, else those of the environment or of `ks login`.

        Raises:
            CredentialsError: there are none.
        """
        self.transport = Transport(credentials or kept.find())
        self.searches = Searches(self.transport)
        self.comparisons = Comparisons(self.transport)
        self.devices = Devices(self.transport)
        self.shares = Shares(self.transport)

    def me(self) -> records.SelfAnswer:
        """Whom the token stands for, and what it may."""
        return records.SelfAnswer.model_validate(self.request("GET", "/me"))

    def activity(self, **filters: str) -> Iterator[records.ActivityAnswer]:
        """The audit trail, newest first; filters are `actor`, `verb`, `kind`."""
        for row in pages(self.transport, "/activity", "before", filters):
            yield records.ActivityAnswer.model_validate(row)

    def request(self, method: str, path: str, body: Any = None, **query: Any) -> Any:
        """Any operation of the API by its path below `/api/v1`; the answer's JSON.

        Raises:
            ApiError: the site refused.
            UnreachableError: no answer came.
        """
        return self.transport.send(method, path, query=query, body=body).document


class Comparisons:
    """Searches launched together."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def launch(
        self, workload: str | None = None, *, key: str = "", **fields: Any
    ) -> records.ComparisonAnswer:
        """Launch one search per strategy and seed; `strategies`, `seeds`, and what `Searches.launch` takes."""
        own = {name: list(fields.pop(name)) for name in ("strategies", "seeds") if name in fields}
        body = order(workload, fields) | own
        reply = self._transport.send("POST", "/comparisons", body=body, key=key or new_key())
        return records.ComparisonAnswer.model_validate(reply.document)

    def __iter__(self) -> Iterator[records.ComparisonAnswer]:
        """All of the team, newest first."""
        for row in pages(self._transport, "/comparisons", "before", {}):
            yield records.ComparisonAnswer.model_validate(row)

    def result(self, *searches: int) -> dict[str, Any]:
        """Any searches side by side: groups, curves, verdicts, fairness."""
        numbers = ",".join(map(str, searches))
        found: dict[str, Any] = self._transport.send("GET", "/side-by-side", query={"s": numbers}).document
        return found


class Devices:
    """Devices of the site."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def __iter__(self) -> Iterator[records.DeviceAnswer]:
        """All of them."""
        for row in self._transport.send("GET", "/devices").document:
            yield records.DeviceAnswer.model_validate(row)

    def drain(self, number: int, reason: str = "") -> records.DeviceAnswer:
        """Let a device take nothing new."""
        return self._decide(number, "drain", reason)

    def enable(self, number: int, reason: str = "") -> records.DeviceAnswer:
        """Let it take work again."""
        return self._decide(number, "enable", reason)

    def _decide(self, number: int, action: str, reason: str) -> records.DeviceAnswer:
        reply = self._transport.send("POST", f"/devices/{number}/{action}", body={"reason": reason})
        return records.DeviceAnswer.model_validate(reply.document)


class Shares:
    """Links by which people without an account see results."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def __iter__(self) -> Iterator[records.ShareAnswer]:
        """Those of the team that have not ended, newest first."""
        for row in pages(self._transport, "/shares", "before", {}):
            yield records.ShareAnswer.model_validate(row)

    def make(self, kind: str, thing: str | int, **fields: Any) -> records.NewShareAnswer:
        """Make a link; its address is in this answer only.

        Args:
            kind: `search`, `structure`, `comparison`, `set` or `release`.
            thing: What it is called: `S-142`, `142.17`, `CMP-3`, `R-5`, a set's name.
            fields: `title`, `days` (7), `state` (`frozen` or `live`), `tree` (True), `code`, `transcript`.
        """
        reply = self._transport.send("POST", "/shares", body={"kind": kind, "thing": thing, **fields})
        return records.NewShareAnswer.model_validate(reply.document)

    def end(self, number: int) -> None:
        """Revoke a link at once."""
        self._transport.send("DELETE", f"/shares/{number}")
