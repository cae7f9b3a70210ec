"""Where a structure comes from and what grew from it, each named by what it adds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kernelsite.searches.models import Structure

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True)
class Relative:
    """A structure with its name seen from its parent."""

    row: Structure
    name: str


def lineage(row: Structure) -> list[Relative]:
    """From the direct implementation down to this structure; one query whatever its depth."""
    rows = Structure.objects.filter(search=row.search_id).only("search_id", "number", "title", "parent_id")
    known = {each.pk: each for each in rows}
    path: list[Structure] = [known.get(row.pk, row)]
    seen = {row.pk}
    while (parent := known.get(path[0].parent_id or 0)) is not None and parent.pk not in seen:
        path.insert(0, parent)
        seen.add(parent.pk)
    return [Relative(each, _added(each, known)) for each in path]


def children(row: Structure) -> list[Relative]:
    """What was made from it, by number."""
    return [Relative(each, added(each.title, row.title)) for each in row.children.order_by("number")]


def _added(row: Structure, known: Mapping[int, Structure]) -> str:
    parent = known.get(row.parent_id or 0)
    return added(row.title, parent.title) if parent else row.title


def added(title: str, parent: str) -> str:
    """What a structure's title has that its parent's lacks, and what it lacks, with signs in front."""
    mine, before = title.split(" + "), parent.split(" + ")
    came = [word for word in mine if word not in before and word != "direct"]
    went = [word for word in before if word not in mine and word != "direct"]
    if not came and not went:
        return title
    parts = ["+ " + word for word in came] + ["\N{MINUS SIGN} " + word for word in went]
    return " ".join(parts)
