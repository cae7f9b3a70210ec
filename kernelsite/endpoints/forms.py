"""Forms of model endpoints and their prices. A key is typed in and never shown again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django import forms
from pydantic import SecretStr, ValidationError

from kernelsite.endpoints import reach
from kernelsite.endpoints.models import ModelEndpoint, Price, origin_of
from search.agents.llm.endpoint import Endpoint

if TYPE_CHECKING:
    from kernelsite.accounts.models import Team

ADDRESSES = (
    ("https://api.openai.com/v1", "OpenAI"),
    ("http://127.0.0.1:8000/v1", "vLLM on this machine"),
    ("http://127.0.0.1:8080/v1", "llama.cpp server on this machine"),
    ("http://127.0.0.1:11434/v1", "Ollama on this machine"),
)
"""Suggestions below the address field."""
USD = forms.NumberInput(attrs={"step": "any", "inputmode": "decimal", "placeholder": "unknown"})


class EndpointForm(forms.ModelForm):  # type: ignore[type-arg]  # no subscript at run time
    """Everything about an endpoint but its prices."""

    key = forms.CharField(
        required=False,
        strip=True,
        max_length=500,
        widget=forms.PasswordInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
        help_text="Encrypted at rest and never shown again. Empty where the server asks for none.",
    )
    drop_key = forms.BooleanField(required=False, label="Take the stored key away")

    class Meta:
        model = ModelEndpoint
        fields = [
            "name",
            "base_url",
            "model",
            "temperature",
            "max_output_tokens",
            "context_tokens",
            "json_schema",
            "streaming",
            "concurrency",
            "requests_per_minute",
            "deadline_s",
        ]
        labels = {
            "base_url": "Address",
            "max_output_tokens": "Longest answer",
            "context_tokens": "Context window",
            "json_schema": "The server obeys JSON schemas",
            "streaming": "Stream answers",
            "concurrency": "Calls at a time",
            "requests_per_minute": "Calls per minute",
            "deadline_s": "Deadline of a call",
        }
        help_texts = {
            "name": "How pages and transcripts call it, e.g. gpt-5 work key.",
            "base_url": "Up to and with /v1.",
            "model": "As the server spells it.",
            "temperature": "Empty: the server's own. Some models accept no other.",
            "max_output_tokens": "Tokens; a call reserves this much of the budget until it is answered.",
            "context_tokens": "Tokens of prompt and answer together.",
            "json_schema": "response_format with a schema; without it answers are read tolerantly.",
            "requests_per_minute": "Empty: no limit of ours.",
            "deadline_s": "Seconds for one try, whatever the server does.",
        }
        widgets = {
            "base_url": forms.URLInput(
                attrs={"list": "addresses", "placeholder": "https://api.openai.com/v1"}
            ),
            "temperature": forms.NumberInput(attrs={"step": "0.1", "placeholder": "the server's own"}),
            "requests_per_minute": forms.NumberInput(attrs={"placeholder": "no limit"}),
        }

    def __init__(self, team: Team, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.team = team
        self.was_at = origin_of(self.instance.base_url) if self.instance.pk else ""
        self.had_key = bool(self.instance.sealed_key)
        if not self.had_key:
            del self.fields["drop_key"]

    @property
    def loses_key(self) -> bool:
        """Whether a stored key does not survive the change, because the address is another one."""
        moved = self.was_at != origin_of(self.cleaned_data["base_url"])
        return self.had_key and moved and not self.cleaned_data["key"]

    def clean_name(self) -> str:
        """Unique in the team, so that transcripts are unambiguous."""
        name = str(self.cleaned_data["name"]).strip()
        if ModelEndpoint.objects.of_team(self.team).filter(name=name).exclude(pk=self.instance.pk).exists():
            raise forms.ValidationError("There is a model of that name already.")
        return name

    def clean_base_url(self) -> str:
        """An address that this installation may call."""
        url = str(self.cleaned_data["base_url"]).strip().rstrip("/")
        try:
            Endpoint(name="-", base_url=url, model="-")
        except ValidationError as error:
            raise forms.ValidationError(error.errors()[0]["msg"].removeprefix("Value error, ")) from None
        if problem := reach.refusal(url):
            raise forms.ValidationError(f"{problem}. {reach.words()}")
        return url

    def clean_key(self) -> str:
        """One line of printable ASCII, as a header can carry it."""
        key = str(self.cleaned_data["key"])
        try:
            Endpoint(name="-", base_url="https://host/v1", model="-", api_key=SecretStr(key))
        except ValidationError:
            # Without the cause: it would quote the key.
            raise forms.ValidationError("A key is one line of ASCII letters, digits and marks.") from None
        return key

    def clean(self) -> dict[str, Any]:
        """Limits that the client's record knows."""
        data = super().clean() or {}
        own = {name: data[name] for name in self.Meta.fields if name in data}
        try:
            Endpoint(**{"name": "-", "base_url": "https://host/v1", "model": "-"} | own)
        except ValidationError as error:
            for problem in error.errors():
                if (name := str(problem["loc"][0])) not in self.errors:
                    self.add_error(name, problem["msg"])
        if data.get("max_output_tokens", 0) >= data.get("context_tokens", float("inf")):
            self.add_error("max_output_tokens", "It must leave room for a prompt in the context window.")
        return data

    def save(self, commit: bool = True) -> ModelEndpoint:
        """Write the endpoint; a new address drops the key of the old one."""
        row: ModelEndpoint = super().save(commit=False)
        row.team = self.team
        key = self.cleaned_data["key"]
        if key or self.cleaned_data.get("drop_key") or self.loses_key:
            row.set_key(key)
        if self.changed_data:
            row.tested_at, row.test_outcome, row.test_note, row.limited_until = None, "", "", None
        if commit:
            row.save()
        return row


class PriceForm(forms.ModelForm):  # type: ignore[type-arg]  # as above
    """What a million tokens cost from a day on."""

    class Meta:
        model = Price
        fields = ["input_usd", "cached_usd", "output_usd", "valid_from", "valid_until"]
        labels = {
            "input_usd": "Input, USD per million tokens",
            "cached_usd": "Cached input",
            "output_usd": "Output, USD per million tokens",
            "valid_from": "From",
            "valid_until": "Last day",
        }
        help_texts = {
            "cached_usd": "Empty: as any other input.",
            "output_usd": "Reasoning tokens are output.",
            "valid_until": "Empty: until the next price.",
        }
        widgets = {
            "input_usd": USD,
            "cached_usd": forms.NumberInput(attrs={"step": "any", "placeholder": "as input"}),
            "output_usd": USD,
            "valid_from": forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d"),
            "valid_until": forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d"),
        }

    def clean(self) -> dict[str, Any]:
        """Amounts are not negative, and a price does not end before it begins."""
        data = super().clean() or {}
        for name in ("input_usd", "cached_usd", "output_usd"):
            if (data.get(name) or 0) < 0:
                self.add_error(name, "Not below 0.")
        begins, ends = data.get("valid_from"), data.get("valid_until")
        if begins and ends and ends < begins:
            self.add_error("valid_until", "It ends before it begins.")
        return data
