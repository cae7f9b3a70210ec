"""Commands of a device worker: serve, evaluate, doctor, bench."""

from __future__ import annotations

import argparse
import json
import logging
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from gpuworker import bench, doctor, requests, state
from gpuworker.options import Options
from gpuworker.runner import Runner, StartError
from gpuworker.serve import serve
from search.records import Candidate, Contract, EvaluationRequest, Language, SourceFile, Tier

if TYPE_CHECKING:
    from search.records import Evaluation

_SUFFIXES = {".cpp": Language.CPP, ".cc": Language.CPP, ".cu": Language.CUDA, ".py": Language.TRITON}
_NOT_STARTED = 2


def main() -> int:
    """Run the named command."""
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="gpuworker: %(message)s")
    arguments = _parser().parse_args()
    try:
        folder = state.folder()
    except PermissionError as error:
        print(f"gpuworker: {error}", file=sys.stderr)
        return _NOT_STARTED
    options = Options(
        device=arguments.device,
        cores=tuple(arguments.cores),
        unsandboxed=arguments.unsandboxed,
        state=str(folder),
    )
    runner = Runner(options)
    try:
        runner.start()
        return int(arguments.command(runner, arguments))
    except StartError as error:
        print(f"gpuworker: {error}", file=sys.stderr)
        return _NOT_STARTED
    finally:
        runner.close()


def _parser() -> argparse.ArgumentParser:
    shared = argparse.ArgumentParser(add_help=False)
    shared.add_argument("--device", choices=("cpu", "interpret"), default="cpu")
    shared.add_argument("--cores", type=_cores, default=[], help="cores for candidates, e.g. 3 or 2,3")
    shared.add_argument("--unsandboxed", action="store_true", help="run candidates without walls, and say so")
    parser = argparse.ArgumentParser(prog="python -m gpuworker", description=__doc__)
    commands = parser.add_subparsers(required=True)
    one = commands.add_parser("serve", parents=[shared], help="JSON lines on stdin and stdout")
    one.add_argument("--stdio", action="store_true", required=True)
    one.set_defaults(command=_serve)
    one = commands.add_parser("evaluate", parents=[shared], help="judge one file")
    one.add_argument("--workload", required=True, help="slug of a shipped workload, or a file")
    one.add_argument("--candidate", required=True, type=Path)
    one.add_argument("--language", type=Language)
    one.add_argument("--contract", type=Path)
    one.add_argument("--tier", type=Tier, default=Tier.FAST)
    one.add_argument("--deadline", type=float, default=120.0, metavar="SECONDS")
    one.add_argument("--json", action="store_true")
    one.set_defaults(command=_evaluate)
    one = commands.add_parser("doctor", parents=[shared], help="is this machine fit to judge?")
    one.add_argument("--json", action="store_true")
    one.set_defaults(command=_doctor)
    one = commands.add_parser("bench", parents=[shared], help="how fast does it judge?")
    one.add_argument("--count", type=int, default=10, metavar="PROGRAMS")
    one.add_argument("--json", action="store_true")
    one.set_defaults(command=_bench)
    return parser


def _cores(text: str) -> list[int]:
    return [int(part) for part in text.split(",") if part]


def _serve(runner: Runner, arguments: argparse.Namespace) -> int:
    serve(runner)
    return 0


def _evaluate(runner: Runner, arguments: argparse.Namespace) -> int:
    try:
        request = _request(arguments)
    except (OSError, ValueError) as error:
        print(f"gpuworker: {error}", file=sys.stderr)
        return _NOT_STARTED
    evaluation = next(runner.evaluate([request], lambda: None))
    print(json.dumps(evaluation.dump(), indent=1) if arguments.json else _line(evaluation))
    return 0 if evaluation.status.is_correct else 1


def _line(evaluation: Evaluation) -> str:
    words = [str(evaluation.status)]
    if evaluation.median_us and evaluation.speedup:
        speedup = evaluation.speedup
        words.append(f"{evaluation.median_us:.1f} us")
        words.append(f"{speedup.value:.2f}x ({speedup.low:.2f} to {speedup.high:.2f}) {evaluation.baseline}")
    return ", ".join(words) + (f": {evaluation.message}" if evaluation.message else "")


def _request(arguments: argparse.Namespace) -> EvaluationRequest:
    path: Path = arguments.candidate
    language = arguments.language or _SUFFIXES.get(path.suffix)
    if language is None:
        raise ValueError(f"cannot tell the language of {path.name}; use --language")
    candidate = Candidate(language=language, sources=(SourceFile(path=path.name, content=path.read_text()),))
    contract = Contract.model_validate_json(arguments.contract.read_text()) if arguments.contract else None
    workload = requests.load_workload(arguments.workload)
    return requests.make(workload, candidate, arguments.tier, arguments.deadline, contract)


def _doctor(runner: Runner, arguments: argparse.Namespace) -> int:
    findings = doctor.examine(runner)
    if arguments.json:
        print(json.dumps({one.name: {"fine": one.fine, "text": one.text} for one in findings}, indent=1))
    else:
        for one in findings:
            print(f"{'ok  ' if one.fine else 'FAIL'} {one.name}: {one.text}")
    return 0 if all(one.fine for one in findings) else 1


def _bench(runner: Runner, arguments: argparse.Namespace) -> int:
    result = bench.measure(runner, arguments.count)
    if arguments.json:
        print(json.dumps(result, indent=1))
    else:
        print(f"{result['evaluations_per_hour']:.0f} evaluations an hour, {result['seconds']:.2f} s each")
        for stage, seconds in result["stages_seconds"].items():
            print(f"  {stage}: {seconds:.3f} s")
        print(f"from a cold start: {result['fresh_process_seconds']:.2f} s each")
    return 0


if __name__ == "__main__":
    sys.exit(main())
