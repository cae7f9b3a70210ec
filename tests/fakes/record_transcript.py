"""Records the shipped transcript: a whole search with the scripted model, over HTTP, on a recorded device.

    python -m tests.fakes.record_transcript

To be run again whenever a prompt, the landscape or the playbook's C++ changes; a test says so.
"""

from __future__ import annotations

import argparse
import gzip
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import search.agents.llm
from search.agents.llm.agent import LlmAgent
from search.agents.llm.calling import BudgetedCaller
from search.agents.llm.client import ModelClient
from search.agents.llm.endpoint import Endpoint, Prices
from search.agents.llm.ledger import MemoryMeter
from search.agents.llm.replay import ReplayCaller
from search.agents.llm.transcript import Header, JsonLinesTranscript
from search.landscapes.answer import answer
from search.landscapes.files import landscape_of
from search.library import shipped_library, shipped_workload
from search.local import one_by_one, run_search
from search.records import Language
from search.settings import Budget, SearchSettings
from tests.fakes.model_server import ModelServer
from tests.fakes.scripted_kernels import softmax_without_build_errors

if TYPE_CHECKING:
    from search.agents.agent import Agent
    from search.engine import SearchResult
    from search.steps import Step

SHIPPED = Path(next(iter(search.agents.llm.__path__))) / "transcripts" / "cpu_softmax.jsonl.gz"
WORKLOAD, DEVICE, BUDGET, SEED = "softmax", "recorded:cpu_softmax", 16, 1
COMMAND = f"run_search --workload {WORKLOAD} --device {DEVICE} --budget {BUDGET} --seed {SEED} --agent replay"


def played(agent: Agent) -> tuple[SearchResult, list[Step]]:
    """The search of the transcript with an agent."""
    workload, library = shipped_workload(WORKLOAD), shipped_library()
    settings = SearchSettings(
        workload=WORKLOAD,
        workload_hash=workload.hash,
        library=library.name,
        library_hash=library.hash,
        strategy="two_stage",
        agent=agent.name,
        language=Language.CPP,
        device_class=DEVICE,
        seed=SEED,
        budget=Budget(evaluations=BUDGET),
    )
    landscape = landscape_of(DEVICE, workload)
    steps: list[Step] = []
    result = run_search(
        settings,
        workload,
        library,
        agent,
        one_by_one(lambda request: answer(landscape, request, SEED)),
        steps.append,
    )
    return result, steps


def replayed(path: Path = SHIPPED) -> tuple[SearchResult, list[Step]]:
    """The search with the answers of a transcript."""
    return played(LlmAgent(ReplayCaller.of_file(path)))


def record(path: Path) -> tuple[SearchResult, list[Step]]:
    """Run the search against the model server and write its transcript."""
    with ModelServer(softmax_without_build_errors) as server, tempfile.TemporaryDirectory() as folder:
        endpoint = Endpoint(
            name="scripted",
            base_url=server.url,
            model="playbook",
            prices=Prices(input_usd=1.0, output_usd=4.0),
        )
        note = f"A scripted model of the tests, on a recorded device. Replay: {COMMAND}"
        header = Header(context_tokens=endpoint.context_tokens, json_schema=endpoint.json_schema, note=note)
        plain = Path(folder) / "transcript.jsonl"
        caller = BudgetedCaller([ModelClient(endpoint)], MemoryMeter(), JsonLinesTranscript(plain, header))
        found = played(LlmAgent(caller))
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(gzip.compress(plain.read_bytes(), compresslevel=9, mtime=0))
    return found


def main() -> None:
    """Record, replay, compare."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=SHIPPED)
    options = parser.parse_args()
    result, steps = record(options.out)
    again, repeated = replayed(options.out)
    if (result, steps) != (again, repeated):
        raise SystemExit("the replay differs from the recorded search")
    size = options.out.stat().st_size
    calls = result.spent.calls
    print(f"{options.out}: {calls} calls, {len(steps)} steps, {size} bytes; {result.reason}")


if __name__ == "__main__":
    main()
