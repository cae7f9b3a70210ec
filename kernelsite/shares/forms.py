"""Forms of links and of the rules over them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django import forms

from kernelsite.shares.document import Scope
from kernelsite.shares.models import LONGEST_DAYS, TITLE_LIMIT, USUAL_DAYS, TeamSharing

if TYPE_CHECKING:
    from typing import Any

    from kernelsite.shares.models import TeamSharing as Rules

STATES = (("frozen", "Frozen as it is now"), ("live", "Live until it expires"))


class ShareForm(forms.Form):
    """A new link."""

    title = forms.CharField(max_length=TITLE_LIMIT, strip=True, help_text="What guests read first")
    days = forms.IntegerField(min_value=1, initial=USUAL_DAYS, label="Valid for, in days")
    state = forms.ChoiceField(choices=STATES, initial="frozen", widget=forms.RadioSelect)
    tree = forms.BooleanField(required=False, initial=True, label="Structures")
    code = forms.BooleanField(required=False, label="Code of the best candidate")
    transcript = forms.BooleanField(required=False, label="Transcript of the model")

    def __init__(self, rules: Rules, *args: Any, **kwargs: Any) -> None:
        """Keep the end within what the team allows."""
        super().__init__(*args, **kwargs)
        days = self.fields["days"]
        assert isinstance(days, forms.IntegerField)
        days.max_value = rules.longest_days
        days.validators.append(_at_most(rules.longest_days))
        days.initial = min(USUAL_DAYS, rules.longest_days)
        days.help_text = f"At most {rules.longest_days}, by the rules of the team"
        days.widget.attrs["max"] = rules.longest_days

    @property
    def scope(self) -> Scope:
        """What is ticked, whether or not the rest is right."""
        if not self.is_bound:
            return Scope()
        return Scope(*(self._is_ticked(name) for name in ("tree", "code", "transcript")))

    def _is_ticked(self, name: str) -> bool:
        return bool(self.fields[name].widget.value_from_datadict(self.data, self.files, name))


def _at_most(days: int) -> Any:
    def check(value: int) -> None:
        if value > days:
            raise forms.ValidationError(f"The rules of the team allow at most {days} days.")

    return check


class RulesForm(forms.ModelForm):  # type: ignore[type-arg]  # no subscript at run time
    """What a team allows."""

    longest_days = forms.IntegerField(
        min_value=1, max_value=LONGEST_DAYS, label="Longest validity of a new link, in days"
    )

    class Meta:
        model = TeamSharing
        fields = ("is_open", "longest_days")
        labels = {"is_open": "Links of this team may be opened and made"}
