"""Commands of a device worker: serve, evaluate, selftest, probe, profile, doctor, bench."""

from __future__ import annotations

import argparse
import json
import logging
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from gpuworker import bench, doctor, probing_command, reading, requests, state
from gpuworker.baselines import command as compared
from gpuworker.baselines.registry import BASELINES
from gpuworker.health.quarantine import Quarantine
from gpuworker.mutants import command as selftest
from gpuworker.mutants.record import MOST_BYTES
from gpuworker.options import Options
from gpuworker.runner import Runner, StartError
from gpuworker.serve import serve
from search.records import EvaluationStatus, Purpose, Tier
from search.workload import shipped_workloads

if TYPE_CHECKING:
    from search.records import Evaluation, EvaluationRequest
    from search.workload import Workload

_BAD_INPUT, _NOT_JUDGED = 2, 3
"""Exit codes beside 0 and 1: the caller's mistake, and ours."""


def main() -> int:
    """Run the named command."""
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="gpuworker: %(message)s")
    arguments = _parser().parse_args()
    try:
        if arguments.prepare is not None:
            arguments.prepared = arguments.prepare(arguments)
        folder = state.folder()
    except reading.InputError as error:
        print(f"gpuworker: {error}", file=sys.stderr)
        if arguments.json:
            print(json.dumps(error.dump(), indent=1))
        return _BAD_INPUT
    except PermissionError as error:
        print(f"gpuworker: {error}", file=sys.stderr)
        return _NOT_JUDGED
    options = Options(
        device=arguments.device,
        cores=tuple(arguments.cores),
        unsandboxed=arguments.unsandboxed,
        state=str(folder),
    )
    quarantine = Quarantine.of(options) if arguments.heeds_quarantine else None
    runner = Runner(options, quarantine)
    try:
        runner.start()
        return int(arguments.command(runner, arguments))
    except StartError as error:
        print(f"gpuworker: {error}", file=sys.stderr)
        return _NOT_JUDGED
    finally:
        runner.close()


def _parser() -> argparse.ArgumentParser:
    shared = argparse.ArgumentParser(add_help=False)
    shared.set_defaults(prepare=None, heeds_quarantine=False)
    shared.add_argument(
        "--device",
        type=_device,
        default="cpu",
        help="cpu, interpret, cuda:N, or the class of a GPU, e.g. h200 or h200:1",
    )
    shared.add_argument("--cores", type=_cores, default=[], help="cores for candidates, e.g. 3 or 2,3")
    shared.add_argument("--unsandboxed", action="store_true", help="run candidates without walls, and say so")
    parser = argparse.ArgumentParser(prog="python -m gpuworker", description=__doc__)
    commands = parser.add_subparsers(required=True)
    one = commands.add_parser("serve", parents=[shared], help="JSON lines on stdin and stdout")
    one.add_argument("--stdio", action="store_true", required=True)
    one.set_defaults(command=_serve, heeds_quarantine=True)
    codes = "Exit codes: 0 correct, 1 refused by the judge, 2 bad input, 3 not judged."
    one = commands.add_parser("evaluate", parents=[shared], help="judge one file", epilog=codes)
    one.add_argument("--workload", required=True, help="slug of a shipped workload, or a file")
    one.add_argument("--candidate", required=True, type=Path)
    one.add_argument("--language", help="where the file's ending does not tell")
    one.add_argument("--contract", type=Path)
    one.add_argument("--tier", type=Tier, default=Tier.FAST)
    one.add_argument("--purpose", type=Purpose, default=Purpose.SEARCH, help="promote: examine it as well")
    one.add_argument("--deadline", type=float, default=120.0, metavar="SECONDS")
    one.add_argument(
        "--baselines",
        type=compared.names,
        default=[],
        metavar="NAMES",
        help=f"time these as well: {','.join(BASELINES)}",
    )
    one.add_argument("--json", action="store_true")
    one.set_defaults(command=_evaluate, prepare=_request, heeds_quarantine=True)
    one = commands.add_parser("selftest", parents=[shared], help="would a workload reject wrong kernels?")
    which = one.add_mutually_exclusive_group(required=True)
    which.add_argument("--workload", help="slug of a shipped workload, or a file")
    which.add_argument("--all", action="store_true", help="every shipped workload")
    one.add_argument("--most-bytes", type=int, default=MOST_BYTES, help="leave larger cases out")
    one.add_argument("--markdown", type=Path, metavar="FILE", help="write the table there")
    one.add_argument("--json", action="store_true")
    one.set_defaults(command=_selftest, prepare=_workloads)
    _add_probing(commands, shared)
    one = commands.add_parser("doctor", parents=[shared], help="is this machine fit to judge?")
    one.add_argument("--json", action="store_true")
    one.add_argument("--clear", action="store_true", help="end the device's quarantine whatever is found")
    one.set_defaults(command=_doctor)
    one = commands.add_parser("bench", parents=[shared], help="how fast does it judge?")
    one.add_argument("--count", type=int, default=10, metavar="PROGRAMS")
    one.add_argument("--json", action="store_true")
    one.set_defaults(command=_bench)
    return parser


def _add_probing(
    commands: argparse._SubParsersAction[argparse.ArgumentParser], shared: argparse.ArgumentParser
) -> None:
    one = commands.add_parser("probe", parents=[shared], help="run programs once to learn their shapes")
    one.add_argument(
        "path", type=Path, help="a file, folder or ZIP that `python -m search import` asks about"
    )
    one.add_argument("--out", type=Path, metavar="FOLDER", help="write the workloads there")
    one.set_defaults(command=_probe, prepare=lambda told: probing_command.wanted(told.path), json=False)
    one = commands.add_parser("profile", parents=[shared], help="rank a program's operators by their time")
    one.add_argument("path", type=Path, help="a KernelBench file, or NAME.py beside NAME.inputs.json")
    one.add_argument("--out", type=Path, metavar="FOLDER", help="write the first ones there as workloads")
    one.add_argument("--most", type=int, default=5, help="how many become workloads")
    one.add_argument("--json", action="store_true")
    one.set_defaults(command=_profile, prepare=lambda told: probing_command.program(told.path))


def _device(text: str) -> str:
    if not re.fullmatch(r"(?!(?:cpu|interpret):)[a-z][a-z0-9-]*(?::\d+)?", text):
        message = f"{text!r} is not cpu, interpret, cuda:N or a class such as h200 or h200:1"
        raise argparse.ArgumentTypeError(message)
    return text


def _cores(text: str) -> list[int]:
    return [int(part) for part in text.split(",") if part]


def _serve(runner: Runner, arguments: argparse.Namespace) -> int:
    serve(runner)
    return 0


def _evaluate(runner: Runner, arguments: argparse.Namespace) -> int:
    evaluation = next(runner.evaluate([arguments.prepared], lambda: None))
    found = {}
    if arguments.baselines:
        found = compared.compare(runner, arguments.prepared, evaluation, arguments.baselines)
    if arguments.json:
        print(json.dumps({**evaluation.dump(), **found}, indent=1))
    else:
        print("\n".join([_line(evaluation), *(compared.lines(found) if found else [])]))
    if evaluation.status is EvaluationStatus.INFRA_ERROR:
        return _NOT_JUDGED
    return 0 if evaluation.status.is_correct else 1


def _line(evaluation: Evaluation) -> str:
    words = [str(evaluation.status)]
    if evaluation.median_us and evaluation.speedup:
        speedup = evaluation.speedup
        words.append(f"{evaluation.median_us:.1f} us")
        words.append(f"{speedup.value:.2f}x ({speedup.low:.2f} to {speedup.high:.2f}) {evaluation.baseline}")
    return ", ".join(words) + (f": {evaluation.message}" if evaluation.message else "")


def _request(arguments: argparse.Namespace) -> EvaluationRequest:
    workload = reading.read_workload(arguments.workload)
    candidate = reading.read_candidate(arguments.candidate, arguments.language)
    contract = reading.read_contract(arguments.contract) if arguments.contract else None
    request = requests.make(workload, candidate, arguments.tier, arguments.deadline, contract)
    return request.model_copy(update={"purpose": arguments.purpose})


def _workloads(arguments: argparse.Namespace) -> list[Workload]:
    if arguments.all:
        return list(shipped_workloads().values())
    return [reading.read_workload(arguments.workload)]


def _selftest(runner: Runner, arguments: argparse.Namespace) -> int:
    tests = selftest.run(runner, arguments.prepared, arguments.most_bytes)
    text, code = selftest.report(tests, arguments.most_bytes, arguments.markdown, as_json=arguments.json)
    print(text)
    return code


def _probe(runner: Runner, arguments: argparse.Namespace) -> int:
    text, code = probing_command.probe(runner, arguments.prepared, arguments.out)
    print(text)
    return code


def _profile(runner: Runner, arguments: argparse.Namespace) -> int:
    print(
        probing_command.profile(
            runner, arguments.prepared, arguments.out, arguments.most, as_json=arguments.json
        )
    )
    return 0


def _doctor(runner: Runner, arguments: argparse.Namespace) -> int:
    findings = doctor.examine(runner, runner.options)
    findings = doctor.settle(findings, Quarantine.of(runner.options), clear=arguments.clear)
    if arguments.json:
        print(json.dumps({one.name: one.model_dump(exclude={"name"}) for one in findings}, indent=1))
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
