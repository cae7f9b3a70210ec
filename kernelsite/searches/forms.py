"""The launch form: strangers write here, so every field is checked and says what is wrong beside itself."""

from __future__ import annotations

import re
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any

from django import forms

from kernelsite.catalog.models import LibraryStatus, LibraryVersion, StartingCandidate, WorkloadVersion
from kernelsite.endpoints.models import ModelEndpoint
from kernelsite.endpoints.secret_scan import scan
from kernelsite.fleet.models import Device
from kernelsite.searches import recorded
from kernelsite.searches.estimate import model_facts
from kernelsite.searches.launch import Options, Order
from kernelsite.searches.model_launch import transcript_choices
from kernelsite.searches.models import AtCap, Choice
from kernelsite.searches.scene import METERED, REPLAY
from search.settings import Budget, StageSettings
from search.strategies import STRATEGIES

if TYPE_CHECKING:
    from django.contrib.auth.models import User
    from pydantic import ValidationError

    from kernelsite.accounts.models import Team
    from kernelsite.endpoints.secret_scan import Finding
    from kernelsite.searches.estimate import ModelFacts
    from kernelsite.searches.models import Search

COMPARE = "compare"
SEEDS = 10
"""Most seeds of one launch."""
EVALUATIONS_PER_LAUNCH = 20_000
NO_LIMIT = "no limit"
NEVER = "never"

OWN = ""
"""The agent that fits the device class: it needs no model."""
AGENT_CHOICES = [(OWN, "Playbook"), (METERED, "Model"), (REPLAY, "Replay")]

STAGES = StageSettings()
"""What a launch starts from."""
SMALL = forms.NumberInput(attrs={"inputmode": "numeric"})


def _strategies() -> list[tuple[str, str]]:
    return [
        *((name, strategy.title) for name, strategy in STRATEGIES.items()),
        (COMPARE, "The four at one matched budget"),
    ]


class LaunchForm(forms.Form):
    """Everything about a launch on one page; `order` is what it asks for once it is valid."""

    workload = forms.ModelChoiceField(WorkloadVersion.objects.none(), empty_label=None)
    library = forms.ModelChoiceField(LibraryVersion.objects.none(), label="Action library", empty_label=None)
    mode = forms.ChoiceField(
        choices=_strategies,
        initial="two_stage",
        widget=forms.RadioSelect,
        error_messages={"invalid_choice": "There is no such mode."},
    )
    seeds = forms.CharField(
        initial="0", max_length=100, help_text="One search per seed and strategy, e.g. 0 1 2 or 0-5."
    )
    device_class = forms.ChoiceField(label="Device class")
    evaluations = forms.IntegerField(
        min_value=4, max_value=100_000, initial=40, help_text="Charged per search; at least 4."
    )
    device_seconds = forms.FloatField(
        required=False,
        min_value=0.001,
        label="Device seconds",
        widget=forms.NumberInput(attrs={"placeholder": NO_LIMIT}),
    )
    wall_seconds = forms.FloatField(
        required=False,
        min_value=0.001,
        label="Wall clock seconds",
        widget=forms.NumberInput(attrs={"placeholder": NO_LIMIT}),
    )
    explore_share = forms.FloatField(
        min_value=0.1,
        max_value=0.9,
        initial=STAGES.explore_share,
        label="Share of stage 1",
        help_text="Between 0.1 and 0.9.",
        widget=forms.NumberInput(attrs={"step": "0.05"}),
    )
    retain = forms.IntegerField(min_value=1, max_value=16, initial=STAGES.retain, label="Structures kept")
    probes = forms.CharField(
        initial=" ".join(map(str, STAGES.probes)),
        max_length=60,
        label="Rungs of knob trials",
        help_text="Knob trials before a structure is judged, rising.",
    )
    finalists = forms.IntegerField(
        min_value=1, max_value=8, initial=STAGES.finalists, help_text="Measured again at the full tier."
    )
    repairs = forms.IntegerField(
        min_value=0, max_value=5, initial=STAGES.repairs, help_text="Tries per broken draft."
    )
    edits = forms.IntegerField(
        min_value=0,
        max_value=16,
        initial=2,
        required=False,
        label="Source edits",
        help_text="By the model, in each kept structure of stage 2, held to its contract. 0: knob values only.",
    )
    policy = forms.ChoiceField(
        choices=[
            ("equal", "equal parts"),
            ("halving", "successive halving"),
            ("bandit", "bandit by upper interval"),
        ],
        initial=STAGES.policy,
        required=False,
        label="Budget of stage 2",
        help_text="How the kept structures share it.",
    )
    sampler = forms.ChoiceField(
        choices=[
            ("shared", "one model of all structures"),
            ("tpe", "TPE"),
            ("random", "random"),
            ("gp", "Gaussian process"),
        ],
        initial=STAGES.sampler,
        label="Knob sampler",
    )
    review = forms.BooleanField(
        required=False,
        label="Review gate",
        help_text="Stage 2 waits until a reviewer has said which structures go on; waiting is not charged.",
    )
    stagnation = forms.IntegerField(
        required=False,
        min_value=4,
        max_value=100_000,
        label="End a stage without a gain",
        help_text="After so many trials that bring less than 1 %; arms of a comparison spend the same.",
        widget=forms.NumberInput(attrs={"placeholder": NEVER}),
    )
    floor_speedup = forms.FloatField(
        required=False,
        min_value=0.001,
        label="Speed-up at the floor",
        help_text="A program that surely reaches 95 % of it ends the search.",
        widget=forms.NumberInput(attrs={"placeholder": NEVER, "step": "any"}),
    )
    allowed_actions = forms.CharField(
        required=False,
        max_length=6_000,
        label="Allowed actions",
        help_text="Ids of the library's actions, with spaces between; empty: all of them.",
        widget=forms.Textarea(attrs={"rows": 2, "spellcheck": "false"}),
    )
    parallel = forms.IntegerField(
        min_value=1,
        max_value=64,
        initial=1,
        label="Steps in flight",
        help_text="1 is reproducible to the step.",
    )
    title = forms.CharField(
        required=False, max_length=200, help_text="Optional; made from the choices otherwise."
    )
    agent = forms.ChoiceField(
        choices=AGENT_CHOICES,
        initial=OWN,
        required=False,
        widget=forms.RadioSelect,
        label="Who writes the kernels",
    )
    models = forms.ModelMultipleChoiceField(
        ModelEndpoint.objects.none(), required=False, widget=forms.CheckboxSelectMultiple
    )
    model_choice = forms.ChoiceField(
        choices=[
            (Choice.SHARE, "in equal parts"),
            (Choice.BANDIT, "bandit: more for the one that helps more"),
        ],
        initial=Choice.SHARE,
        required=False,
        label="Several models share the calls",
    )
    starting = forms.ModelMultipleChoiceField(
        StartingCandidate.objects.none(),
        required=False,
        widget=forms.CheckboxSelectMultiple,
        label="Starting candidates",
    )
    tokens = forms.IntegerField(
        required=False,
        min_value=1,
        max_value=2 * 10**9,
        label="Tokens",
        help_text="Prompts and answers together.",
        widget=forms.NumberInput(attrs={"placeholder": NO_LIMIT}),
    )
    cost_usd = forms.FloatField(
        required=False,
        min_value=0.0,
        label="Money, USD",
        help_text="At the prices of the models' pages.",
        widget=forms.NumberInput(attrs={"placeholder": NO_LIMIT, "step": "any"}),
    )
    at_cap = forms.ChoiceField(
        choices=[
            (AtCap.FINISH, "tune what is there and finish"),
            (AtCap.WAIT, "wait until somebody extends it"),
        ],
        initial=AtCap.FINISH,
        required=False,
        label="When a cap on calls is reached",
    )
    transcript = forms.ChoiceField(
        required=False,
        label="Transcript",
        help_text="Clone the recorded search: with another workload, device class, seed or budget the calls differ.",
    )
    send_secrets = forms.BooleanField(required=False, label="Send it anyway")
    idempotency_key = forms.CharField(max_length=60, widget=forms.HiddenInput)

    def __init__(self, team: Team, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.team = team
        self.secrets: list[Finding] = []
        self._choice("models").queryset = ModelEndpoint.objects.of_team(team).usable()
        self.fields["transcript"].choices = transcript_choices(team)  # type: ignore[attr-defined]  # as below
        self._choice("workload").queryset = WorkloadVersion.objects.visible_to(team).launchable()
        self._choice("starting").queryset = StartingCandidate.objects.of_team(team)
        self._choice("library").queryset = LibraryVersion.objects.visible_to(team).filter(
            status=LibraryStatus.PUBLISHED
        )
        self.fields["device_class"].choices = device_choices()  # type: ignore[attr-defined]  # a ChoiceField
        for name, field in self.fields.items():
            if name in self.errors if self.is_bound else False:
                field.widget.attrs |= {"aria-invalid": "true", "aria-describedby": f"error-{name}"}

    def _choice(self, name: str) -> forms.ModelChoiceField[Any]:
        field = self.fields[name]
        assert isinstance(field, forms.ModelChoiceField)
        return field

    def clean_seeds(self) -> tuple[int, ...]:
        """Distinct seeds from a list of numbers and ranges."""
        words = re.split(r"[\s,;]+", self.cleaned_data["seeds"].strip())
        seeds = [seed for word in words for seed in _seed_range(word)]
        if len(seeds) > SEEDS:
            raise forms.ValidationError(f"{len(seeds)} seeds are too many; at most {SEEDS} in one launch.")
        if len(set(seeds)) != len(seeds):
            raise forms.ValidationError("A seed stands twice.")
        return tuple(seeds)

    def clean_probes(self) -> tuple[int, ...]:
        """A rising ladder of whole numbers."""
        words = re.split(r"[\s,;]+", self.cleaned_data["probes"].strip())
        if not all(word.isdecimal() and 0 < int(word) <= 64 for word in words):
            raise forms.ValidationError("Whole numbers from 1 to 64, e.g. 1 2 4.")
        rungs = tuple(int(word) for word in words)
        if list(rungs) != sorted(set(rungs)):
            raise forms.ValidationError("Each rung must be higher than the one before.")
        return rungs

    def clean(self) -> dict[str, Any]:
        """What single fields cannot know: how much one launch may ask for in all."""
        data = super().clean() or {}
        if {"evaluations", "seeds", "mode"} <= data.keys():
            total = data["evaluations"] * len(data["seeds"]) * (4 if data["mode"] == COMPARE else 1)
            if total > EVALUATIONS_PER_LAUNCH:
                self.add_error(
                    "evaluations",
                    f"{total} evaluations in all; one launch may ask for {EVALUATIONS_PER_LAUNCH}.",
                )
        self._check_secrets(data)
        return data

    def clean_cost_usd(self) -> float | None:
        """Above nothing: a ceiling of 0 allows no call."""
        value: float | None = self.cleaned_data["cost_usd"]
        if value == 0:
            raise forms.ValidationError("A cap of 0 allows no call; leave it empty for no limit.")
        return value

    def _check_secrets(self, data: dict[str, Any]) -> None:
        """Before the first word of a workload goes to a provider, its writer hears what looks like a secret."""
        if data.get("agent") != METERED or "workload" not in data or data.get("send_secrets"):
            return
        started = [scan(row.document) for row in data.get("starting", ())]
        self.secrets = [*scan(data["workload"].document), *chain.from_iterable(started)]
        if self.secrets:
            self.add_error("send_secrets", "What would be sent holds what looks like a secret; see below.")

    @cached_property
    def model_facts(self) -> list[ModelFacts]:
        """What the summary says about each model that can be chosen."""
        return model_facts(self.team, ModelEndpoint.objects.of_team(self.team).usable())

    @staticmethod
    def _asks_for_edits(data: dict[str, Any]) -> bool:
        """A model does, and the replay of a search that did; shipped transcripts were recorded without."""
        recorded = data["agent"] == REPLAY and data["transcript"].startswith("search:")
        return bool(data["agent"] == METERED or recorded)

    def order(self, team: Team, user: User | None) -> Order:
        """What a valid form asks for.

        Raises:
            pydantic.ValidationError: a value that the records do not allow and the fields did.
        """
        data = self.cleaned_data
        with_model = data["agent"] == METERED
        options = Options(
            strategy="two_stage" if data["mode"] == COMPARE else data["mode"],
            agent=data["agent"] or OWN,
            device_class=data["device_class"],
            seed=data["seeds"][0],
            budget=Budget(
                evaluations=data["evaluations"],
                device_seconds=data["device_seconds"],
                wall_seconds=data["wall_seconds"],
                tokens=data["tokens"] if with_model else None,
                cost_usd=data["cost_usd"] if with_model else None,
            ),
            stages=StageSettings(
                explore_share=data["explore_share"],
                retain=data["retain"],
                probes=data["probes"],
                edits=(data["edits"] or 0) if self._asks_for_edits(data) else 0,
                repairs=data["repairs"],
                finalists=data["finalists"],
                sampler=data["sampler"],
                policy=data["policy"] or STAGES.policy,
                review=data["review"],
                stagnation=data["stagnation"],
                floor_speedup=data["floor_speedup"],
            ),
            allowed_actions=tuple(dict.fromkeys(data["allowed_actions"].replace(",", " ").split())),
            starting=tuple(row.hash for row in data["starting"]) if data["agent"] != REPLAY else (),
            parallel=data["parallel"],
            endpoints=tuple(row.pk for row in data["models"]) if with_model else (),
            model_choice=Choice(data["model_choice"] or Choice.SHARE),
            at_cap=AtCap(data["at_cap"] or AtCap.FINISH),
            transcript=data["transcript"] if data["agent"] == REPLAY else "",
        )
        return Order(
            team,
            user,
            data["workload"],
            data["library"],
            options,
            data["idempotency_key"],
            data["title"].strip(),
        )

    def add_record_errors(self, error: ValidationError) -> None:
        """Put what the records refuse beside the field of that name."""
        for problem in error.errors():
            name = str(problem["loc"][-1]) if problem["loc"] else ""
            self.add_error(name if name in self.fields else None, problem["msg"])


def clone_fields(search: Search) -> dict[str, Any]:
    """Initial values that repeat the models and caps of a search."""
    return {
        "agent": search.agent if search.agent in (METERED, REPLAY) else OWN,
        "models": [chosen["id"] for chosen in search.endpoints],
        "model_choice": search.model_choice,
        "tokens": search.tokens_cap,
        "cost_usd": search.cost_usd_cap,
        "at_cap": search.at_cap,
        "transcript": search.transcript,
    }


def _seed_range(word: str) -> range:
    match = re.fullmatch(r"(\d{1,9})(?:-(\d{1,9}))?", word)
    if match is None:
        raise forms.ValidationError(f"“{word}” is no seed; write whole numbers, e.g. 0 1 2 or 0-5.")
    first, last = int(match[1]), int(match[2] or match[1])
    if last < first or last - first > 1000:
        raise forms.ValidationError(f"“{word}” is no range of seeds.")
    return range(first, last + 1)


def device_choices() -> list[tuple[str, str]]:
    """Every device class ever seen, with how many are online, then the recorded ones; `cpu` is always offered."""
    online: dict[str, int] = {}
    for device_class in Device.objects.online().values_list("device_class", flat=True):
        online[device_class] = online.get(device_class, 0) + 1
    known = sorted(
        {"cpu", *Device.objects.values_list("device_class", flat=True)},
        key=lambda each: (-online.get(each, 0), each),
    )
    devices = [
        (
            name,
            f"{name} \N{EN DASH} {online[name]} online"
            if name in online
            else f"{name} \N{EN DASH} none online, will wait",
        )
        for name in known
    ]
    return devices + recorded.choices()
