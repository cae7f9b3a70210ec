"""Selections of searches as strangers write them: `?s=` of an address, and the form that saves one."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from django import forms

from kernelsite.compare.groups import MOST_SEARCHES
from kernelsite.compare.models import NOTE_LIMIT, SavedSet, check_slug

if TYPE_CHECKING:
    from django.http import QueryDict

SEARCH = re.compile(r"(?:S-?)?(\d{1,9})", re.IGNORECASE)


def search_ids(query: QueryDict) -> list[int]:
    """Search numbers of `?s=12,S-13&s=14`; other words are passed over, and no more than may be shown are taken."""
    words = [word.strip() for text in query.getlist("s") for word in text.split(",")]
    found = [int(match[1]) for word in words if (match := SEARCH.fullmatch(word))]
    return list(dict.fromkeys(found))[:MOST_SEARCHES]


class SaveForm(forms.ModelForm):  # type: ignore[type-arg]  # not a generic when it runs
    """Name, title and note of a set; the searches come with it as numbers."""

    slug = forms.CharField(max_length=60, label="Name in the address", validators=[check_slug])
    note = forms.CharField(
        required=False, max_length=NOTE_LIMIT, widget=forms.Textarea(attrs={"rows": 3, "class": "input"})
    )

    class Meta:
        model = SavedSet
        fields = ["title", "slug", "note"]
