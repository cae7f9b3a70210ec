"""`manage.py run_search`: one search in one process, without broker and database; ends with its JSON line."""

from __future__ import annotations

import argparse
import json
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from django.core.management.base import BaseCommand, CommandError
from pydantic import ValidationError

from kernelsite.searches import model_options
from kernelsite.searches.launch import language_for
from search.agents.beginning import Beginning
from search.agents.playbook.given import source_problem
from search.agents.registry import default_agent
from search.formats.format import FormatError
from search.formats.single_file import candidate_of_file
from search.landscapes.answer import answer
from search.landscapes.files import LandscapeError, is_recorded, landscape_of
from search.library import ActionLibrary, shipped_library, shipped_workloads
from search.local import one_by_one, run_search
from search.records import SOURCE_LIMIT_BYTES
from search.settings import MOST_STARTING, Budget, SearchSettings, StageSettings
from search.stdio import DeviceError, StdioDevice
from search.strategies import STRATEGIES
from search.workload import Workload

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from search.engine import SearchResult
    from search.local import Evaluate
    from search.records import Candidate
    from search.steps import Step


def budget(text: str) -> int:
    """A number of evaluations, as `argparse` reads it."""
    if not text.strip():
        raise argparse.ArgumentTypeError("must not be empty: give a whole number from 4 on")
    try:
        value = int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number") from None
    if not 4 <= value <= 100_000:
        raise argparse.ArgumentTypeError(f"{value} is out of range: give a whole number from 4 to 100000")
    return value


def seed(text: str) -> int:
    """A seed, as `argparse` reads it."""
    if not text.isdecimal() or int(text) >= 2**31:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 0 to 2147483647")
    return int(text)


def workload(text: str) -> Workload:
    """A shipped workload by name, or one in a file, as `argparse` reads it."""
    if text in shipped_workloads():
        return shipped_workloads()[text]
    path = Path(text)
    if not path.is_file():
        shipped = ", ".join(sorted(shipped_workloads()))
        raise argparse.ArgumentTypeError(f"{text!r} is no file and none of {shipped}")
    try:
        return Workload.model_validate_json(path.read_bytes())
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"]))
        raise argparse.ArgumentTypeError(f"{path.name}: {place or 'document'}: {first['msg']}") from None


def program(text: str) -> Candidate:
    """A program to begin with, as `argparse` reads it."""
    try:
        with Path(text).open("rb") as file:
            return candidate_of_file(Path(text).name, file.read(SOURCE_LIMIT_BYTES + 1))
    except (OSError, FormatError) as error:
        raise argparse.ArgumentTypeError(str(error)) from None


class Command(BaseCommand):
    """Search kernels for one workload in this process, with one device worker as its child."""

    help = __doc__ or ""
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Wrong values end with exit status 2 and name their option."""
        parser.add_argument(
            "--workload", required=True, type=workload, help="name of a shipped one, or a file"
        )
        parser.add_argument(
            "--start", action="append", default=[], type=program, help="a program to begin with; up to 4"
        )
        parser.add_argument("--strategy", default="two_stage", choices=list(STRATEGIES))
        parser.add_argument(
            "--agent", choices=model_options.NAMES, help="otherwise the one that fits the device"
        )
        parser.add_argument("--device", default="cpu", help="device class, e.g. cpu or recorded:<landscape>")
        parser.add_argument("--budget", type=budget, required=True, help="evaluations")
        parser.add_argument("--seed", type=seed, default=0)
        parser.add_argument("--json", action="store_true", help="end with one JSON line on stdout")
        model_options.add_arguments(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        """Run the search; progress goes to stderr."""
        workload = options["workload"]
        library = shipped_library()
        self.titles: dict[str, str] = {}
        _check_start(options["start"], options["device"])
        try:
            settings = _settings(options, workload, library)
            agent = Beginning(model_options.agent_of(settings.agent, options), tuple(options["start"]))
            with _device(settings, workload) as (name, evaluate):
                self._say(f"device: {name}")
                result = run_search(settings, workload, library, agent, one_by_one(evaluate), self._progress)
        except (DeviceError, LandscapeError) as error:
            raise CommandError(f"--device {options['device']}: {error}") from error
        except model_options.ModelStopError as error:
            raise CommandError(str(error)) from error
        self._say(f"finished: {result.reason}")
        line = json.dumps(_document(settings.strategy, name, result), allow_nan=False)
        self.stdout.write(line if options["json"] else f"{_told(result)}, {name}")

    def _say(self, text: str) -> None:
        self.stderr.write(text, style_func=str)
        self.stderr.flush()

    def _progress(self, step: Step) -> None:
        outcome = step.outcome
        if outcome is not None and outcome.blueprint is not None:
            self.titles.setdefault(outcome.structure, outcome.blueprint.title)
        self._say(progress_line(step, self.titles))


def progress_line(step: Step, titles: Mapping[str, str]) -> str:
    """Number, structure, status and speed-up of a finished step; a variant's structure is known by its title."""
    outcome = step.outcome
    head = f"{step.number:4d}  {step.item.stage:8}"
    if outcome is None or outcome.status is None:
        return f"{head}{outcome.failure if outcome else 'asked'}"
    title = titles.get(outcome.structure, outcome.structure[:8])
    knobs = " ".join(f"{name}={value}" for name, value in outcome.knobs.items())
    speed = outcome.speedup
    measured = f"{speed.value:.3g}x ({speed.low:.3g} to {speed.high:.3g})" if speed else ""
    reused = "reused" if outcome.reused else ""
    return head + "  ".join(word for word in (title, outcome.status, measured, knobs, reused) if word)


def _check_start(programs: Sequence[Candidate], device_class: str) -> None:
    """Refuse what a search cannot begin with.

    Raises:
        CommandError: there are too many, or one is of no use on the device.
    """
    if len(programs) > MOST_STARTING:
        raise CommandError(f"--start: at most {MOST_STARTING} programs, not {len(programs)}")
    for one in programs:
        if problem := source_problem(one, language_for(device_class)):
            raise CommandError(f"--start {one.sources[0].path}: {problem}")


@contextmanager
def _device(settings: SearchSettings, workload: Workload) -> Iterator[tuple[str, Evaluate]]:
    """A name for people, and what judges candidates: a landscape, or a device worker for as long as the block runs.

    Raises:
        LandscapeError: nothing was recorded for the device class and the workload.
        DeviceError: the worker does not start, or ends the block.
    """
    if is_recorded(settings.device_class):
        landscape = landscape_of(settings.device_class, workload)
        yield landscape.label, lambda request: answer(landscape, request, settings.seed)
        return
    with StdioDevice(settings.device_class) as device:
        yield str(device.description.get("name", settings.device_class)), device.evaluate


def _settings(options: dict[str, Any], workload: Workload, library: ActionLibrary) -> SearchSettings:
    return SearchSettings(
        workload=workload.name,
        workload_hash=workload.hash,
        library=library.name,
        library_hash=library.hash,
        strategy=options["strategy"],
        agent=options["agent"] or default_agent(options["device"]),
        language=language_for(options["device"]),
        device_class=options["device"],
        seed=options["seed"],
        budget=Budget(evaluations=options["budget"], tokens=options["tokens"], cost_usd=options["cost_usd"]),
        stages=StageSettings(edits=options["edits"]),
        starting=tuple(candidate.hash for candidate in options["start"]),
    )


def _document(strategy: str, device: str, result: SearchResult) -> dict[str, Any]:
    """The same line as a comparison's, with one arm, and what measured it."""
    speedup = result.speedup
    arm = {
        "evaluations": result.spent.evaluations,
        "passed": result.passed,
        "best_speedup": speedup.value if speedup else None,
        "best_us": result.median_us,
        "structures": result.structures,
        "low": speedup.low if speedup else None,
        "high": speedup.high if speedup else None,
    }
    return {"comparison": None, "arms": {strategy: arm}, "url": None, "device": device}


def _told(result: SearchResult) -> str:
    if result.speedup is None:
        return f"{result.spent.evaluations} evaluations, none passed"
    speed = result.speedup
    return (
        f"best {speed.value:.3g}x ({speed.low:.3g} to {speed.high:.3g}), {result.median_us:.4g} us, "
        f"{result.spent.evaluations} evaluations, {result.structures} structures"
    )
