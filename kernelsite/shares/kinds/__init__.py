"""What can be shared, one file each: `KINDS` is the list."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kernelsite.shares.kinds import comparison, release, saved_set, search, structure

if TYPE_CHECKING:
    from kernelsite.shares.kinds.kind import Kind

KINDS: dict[str, Kind[Any]] = {
    kind.word: kind for kind in (search.KIND, structure.KIND, comparison.KIND, saved_set.KIND, release.KIND)
}
