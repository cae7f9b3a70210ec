"""`python -m search find`: search one case of a workload on a device of this machine, and leave the fastest program.

Nothing but the search core and a device worker is needed; the site's searches do the same with a page beside them. The
program, its workload and what `python -m search best --results FOLDER` reads of it are written; the command that
measures it at the full tier, beside other baselines, is printed.
"""

from __future__ import annotations

import argparse
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from search.agents.registry import AGENTS, PLAYBOOK
from search.best import Winner, one_timed
from search.commands.best import line
from search.commands.record import workload_named
from search.library import shipped_library
from search.local import run_search
from search.records import Language
from search.settings import Budget, SearchSettings
from search.stdio import DeviceError, StdioDevice
from search.strategies import STRATEGIES

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from search.engine import SearchResult
    from search.records import Evaluation, EvaluationRequest
    from search.steps import Step
    from search.workload import Workload


def find(arguments: list[str]) -> int:
    """Search; exit status 1 where nothing passed, 2 for bad input or a device that fails."""
    options = _parser().parse_args(arguments)
    try:
        workload = _one_case(options)
        with StdioDevice(options.device) as device:
            told = device.description
            steps = Steps()
            settings = _settings(options, workload, str(told["device_class"]))
            result = steps.search(settings, workload, device)
    except (ValueError, OSError, DeviceError) as error:
        sys.stderr.write(f"find: {error}\n")
        return 2
    best = steps.by_number.get(result.best or 0)
    if best is None:
        sys.stderr.write(f"find: nothing passed; {result.reason}\n")
        return 1
    winner = steps.winner(best, settings, workload, str(told.get("model", settings.device_class)))
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / f"{winner.name}.winner.json").write_text(winner.model_dump_json(), "utf-8")
    sys.stdout.write(f"{line(winner, options.out, options.device)}\n")
    return 0


class Steps:
    """The finished steps of one search, with the sources of its candidates."""

    def __init__(self) -> None:
        """None yet."""
        self.by_number: dict[int, Step] = {}
        self._sources: dict[str, str] = {}
        self._titles: dict[str, str] = {}

    def search(self, settings: SearchSettings, workload: Workload, device: StdioDevice) -> SearchResult:
        """Run it to its end; the device builds candidates that are in flight while it measures others."""

        def judged(requests: Sequence[EvaluationRequest]) -> Iterable[Evaluation]:
            for request in requests:
                self._sources[request.candidate.hash] = request.candidate.sources[0].content
            return device.evaluate_batch(requests)

        agent = AGENTS[PLAYBOOK]()
        return run_search(settings, workload, shipped_library(), agent, judged, self._note)

    def winner(self, best: Step, settings: SearchSettings, workload: Workload, device: str) -> Winner:
        """The program of a step that passed."""
        outcome = best.outcome
        assert outcome is not None
        case = next(case.name for case in workload.cases if case.timed)
        day = datetime.now(UTC).date()
        count = len(self.by_number)
        return Winner(
            name=f"{settings.device_class}_{workload.name}_{case}_found",
            workload=workload,
            case=case,
            language=settings.language,
            device_class=settings.device_class,
            device=device,
            label=f"{settings.strategy}, seed {settings.seed}, {count} steps, {day}",
            structure=self._titles[outcome.structure],
            knobs=outcome.knobs,
            source=self._sources[outcome.candidate],
        )

    def _note(self, step: Step) -> None:
        self.by_number[step.number] = step
        outcome = step.outcome
        if outcome is None:
            return
        if outcome.blueprint is not None:
            self._titles.setdefault(outcome.structure, outcome.blueprint.title)
        title = self._titles.get(outcome.structure, "")
        time = f"{outcome.median_us:.2f} us" if outcome.median_us else outcome.failure[:120]
        knobs = " ".join(f"{name}={value}" for name, value in outcome.knobs.items())
        sys.stderr.write(
            f"{step.number:4d} {step.item.stage:8} {title} {outcome.status or ''} {time} {knobs}\n"
        )
        sys.stderr.flush()


def _one_case(options: argparse.Namespace) -> Workload:
    workload = workload_named(options.workload)
    case = options.case or next(case.name for case in workload.cases if case.timed)
    if case not in {one.name for one in workload.cases}:
        raise ValueError(f"--case {case}: the workload has {', '.join(one.name for one in workload.cases)}")
    return one_timed(workload, case)


def _settings(options: argparse.Namespace, workload: Workload, device_class: str) -> SearchSettings:
    library = shipped_library()
    if strange := set(options.actions) - {action.id for action in library.actions}:
        raise ValueError(f"--actions {' '.join(sorted(strange))}: the library has no such action")
    return SearchSettings(
        workload=workload.name,
        workload_hash=workload.hash,
        library=library.name,
        library_hash=library.hash,
        strategy=options.strategy,
        agent=PLAYBOOK,
        language=options.language,
        device_class=device_class,
        seed=options.seed,
        parallel=options.parallel,
        allowed_actions=tuple(options.actions),
        budget=Budget(evaluations=options.budget, wall_seconds=options.seconds),
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m search find", description=__doc__)
    parser.add_argument("--workload", required=True, help="slug of a shipped workload, or a file")
    parser.add_argument("--case", default="", help="case to time; otherwise the first timed one")
    parser.add_argument("--language", type=Language, required=True, choices=list(Language))
    parser.add_argument("--device", required=True, help="as `python -m gpuworker serve --device` takes it")
    parser.add_argument(
        "--actions", nargs="+", default=(), metavar="ID", help="structures of these alone; otherwise of all"
    )
    parser.add_argument("--strategy", default="two_stage", choices=list(STRATEGIES))
    parser.add_argument("--budget", type=int, default=64, metavar="EVALUATIONS")
    parser.add_argument("--seconds", type=float, metavar="S", help="end the search then at the latest")
    parser.add_argument("--parallel", type=int, default=8, metavar="STEPS", help="in flight together")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, required=True, metavar="FOLDER")
    return parser
