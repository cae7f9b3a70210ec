"""A candidate's text and knobs against another candidate's: parent, direct implementation, bests, or any by its id."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kernelsite.catalog.highlight import diff, split
from kernelsite.searches.keys import read_key
from kernelsite.searches.models import Candidate, Search

if TYPE_CHECKING:
    from django.db.models import QuerySet

    from kernelsite.accounts.models import Team

NAMES = {
    "parent": "parent",
    "direct": "direct implementation",
    "best": "best of the structure",
    "record": "best of the search",
}


def difference(
    row: Candidate, team: Team | None, against: str, *, whole: bool, beside: bool
) -> dict[str, Any]:
    """What the diff tab shows.

    Args:
        row: the candidate, on the right side.
        team: whose candidates may be compared with.
        against: a word of `NAMES` or a short id.
        whole: unchanged lines as well.
        beside: both sides beside each other.
    """
    bases = _bases(row, team)
    words = against.strip()[:40]
    base = bases.get(words) if words in NAMES else _by_key(_of(team), words)
    if base is None and not (words and words not in NAMES):
        words, base = next(iter(bases.items()), (words, None))
    return {
        "base": base,
        "against": words,
        "is_missing": base is None and words not in NAMES,
        "names": [(name, NAMES[name]) for name in bases],
        "files": _files(base, row, whole=whole, beside=beside) if base else [],
        "changed_knobs": _changed_knobs(base, row) if base else [],
        "is_whole": whole,
        "is_beside": beside,
    }


def _of(team: Team | None) -> QuerySet[Candidate]:
    rows = Candidate.objects.filter(search__in=Search.objects.of_team(team))
    return rows.select_related("structure", "source")


def _by_key(rows: QuerySet[Candidate], words: str) -> Candidate | None:
    place = read_key(words.lower().removeprefix("c-"))
    if place is None:
        return None
    return rows.filter(search=place.search, structure__number=place.structure, number=place.number).first()


def _bases(row: Candidate, team: Team | None) -> dict[str, Candidate]:
    """Those there are, without the candidate itself."""
    rows = _of(team)
    found = {
        "parent": row.parent,
        "direct": rows.filter(search=row.search_id).order_by("step", "id").first(),
        "best": _by_key(rows, row.structure.best_candidate),
        "record": _by_key(rows, row.search.best_candidate),
    }
    return {name: base for name, base in found.items() if base is not None and base.pk != row.pk}


def _files(base: Candidate, row: Candidate, *, whole: bool, beside: bool) -> list[tuple[str, Any]]:
    """Rows of each file of either side; a file that one side lacks is all new or all gone."""
    before = {file["path"]: file["content"] for file in base.source.files}
    after = {file["path"]: file["content"] for file in row.source.files}
    shown = []
    for path in dict.fromkeys([*after, *before]):
        rows = diff(before.get(path, ""), after.get(path, ""), whole=whole)
        shown.append((path, split(rows) if rows and beside else rows))
    return shown


def _changed_knobs(base: Candidate, row: Candidate) -> list[tuple[str, object, object]]:
    none = "\N{EN DASH}"
    names = dict.fromkeys([*base.knobs, *row.knobs])
    pairs = [(name, base.knobs.get(name, none), row.knobs.get(name, none)) for name in names]
    return [(name, before, after) for name, before, after in pairs if before != after]
