"""`Kind`: what a thing must answer to be shared."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

from django.db.models import Model

if TYPE_CHECKING:
    from collections.abc import Callable

    from kernelsite.shares.document import Result, Scope

Thing = TypeVar("Thing", bound=Model)


@dataclass(frozen=True)
class Kind(Generic[Thing]):
    """One kind of thing; `word` is a `models.Words`."""

    word: str
    find: Callable[[int, int], Thing | None]
    """The thing of a team by the ids of both; None when it is not there, or another team's."""
    name: Callable[[Thing], str]
    """What members call it."""
    address: Callable[[Thing], str]
    """Its page for members."""
    suggest: Callable[[Thing], str]
    """A title out of public words only."""
    version: Callable[[Thing], str]
    """Changes whenever its result may have changed; cheap."""
    result: Callable[[Thing, str, Scope], Result]
    """What guests see of it, under a title."""
    is_one_search: bool = True
    """It has structures, a best program and a transcript that may be shared."""
