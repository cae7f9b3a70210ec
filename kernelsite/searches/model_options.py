"""A model, or a transcript of one, from the options of `run_search`: no site, no database, its own ledger."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import SecretStr, ValidationError

from kernelsite.searches.scene import METERED, REPLAY
from kernelsite.searches.transcripts import shipped_transcripts
from search.agents.llm.agent import LlmAgent
from search.agents.llm.calling import BudgetedCaller
from search.agents.llm.client import ModelClient
from search.agents.llm.endpoint import Endpoint, Prices
from search.agents.llm.ledger import MemoryMeter
from search.agents.llm.outcomes import CallOutcome
from search.agents.llm.replay import ReplayCaller
from search.agents.llm.transcript import Header, JsonLinesTranscript, TranscriptError
from search.agents.registry import AGENTS

if TYPE_CHECKING:
    from search.agents.agent import Agent
    from search.agents.llm.outcomes import Caller, ModelReply, ModelRequest

NAMES = [*AGENTS, METERED, REPLAY]


class ModelStopError(Exception):
    """The model cannot be used, or its transcript does not hold this search; for people."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of agents `llm` and `replay`."""
    group = parser.add_argument_group("a model (--agent llm) or a transcript of one (--agent replay)")
    group.add_argument("--model-url", help="address up to and with /v1")
    group.add_argument("--model", help="name of the model, as its server spells it")
    group.add_argument(
        "--key-env", default="OPENAI_API_KEY", metavar="NAME", help="environment variable that holds the key"
    )
    group.add_argument("--context-tokens", type=positive, default=32768)
    group.add_argument("--max-output-tokens", type=positive, default=8192)
    group.add_argument("--json-schema", action="store_true", help="the server obeys JSON schemas")
    group.add_argument(
        "--edits",
        type=int,
        choices=range(17),
        default=0,
        metavar="N",
        help="source edits in each kept structure of stage 2 (two_stage), each held to its contract",
    )
    group.add_argument("--tokens", type=positive, help="cap on tokens")
    group.add_argument("--cost-usd", type=amount, help="cap on money; needs both prices")
    group.add_argument("--input-usd", type=amount, help="per million tokens")
    group.add_argument("--output-usd", type=amount, help="per million tokens")
    group.add_argument("--record", type=Path, metavar="FILE", help="append every call to this transcript")
    shipped = ", ".join(shipped_transcripts()) or "none"
    group.add_argument("--transcript", help=f"a file, or one that ships: {shipped}")


def positive(text: str) -> int:
    """A whole number above 0, as `argparse` reads it."""
    if not text.isdecimal() or not 0 < int(text) < 10**12:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number above 0")
    return int(text)


def amount(text: str) -> float:
    """A number above 0, as `argparse` reads it."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < 1e9:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number above 0")
    return value


def agent_of(name: str, options: dict[str, Any]) -> Agent:
    """The agent that the options ask for.

    Raises:
        ModelStopError: an option is missing or wrong, or the transcript cannot be read.
    """
    if name == REPLAY:
        return LlmAgent(Strict(_replay(options["transcript"])))
    if name == METERED:
        return LlmAgent(Strict(_caller(options)))
    return AGENTS[name]()


class Strict:
    """`search.agents.llm.outcomes.Caller` of a command: what a person must mend ends it."""

    def __init__(self, inner: Caller) -> None:
        self.inner = inner
        self.context_tokens, self.json_schema = inner.context_tokens, inner.json_schema

    def call(self, request: ModelRequest) -> ModelReply:
        """Ask once.

        Raises:
            ModelStopError: asking again cannot help.
        """
        reply = self.inner.call(request)
        if reply.outcome.stops_search or reply.outcome is CallOutcome.NOT_RECORDED:
            raise ModelStopError(f"{reply.outcome}: {reply.detail}")
        return reply


def _replay(wanted: str | None) -> ReplayCaller:
    shipped = shipped_transcripts()
    if wanted is None and len(shipped) != 1:
        raise ModelStopError(f"--transcript is needed: a file, or one of {', '.join(shipped)}")
    file = shipped.get(wanted) if wanted else next(iter(shipped.values()))
    try:
        return ReplayCaller.of_file(file or Path(str(wanted)))
    except (OSError, EOFError, TranscriptError) as error:
        raise ModelStopError(f"--transcript {wanted}: {error}") from error


def _caller(options: dict[str, Any]) -> BudgetedCaller:
    for name in ("model_url", "model"):
        if not options[name]:
            raise ModelStopError(f"--{name.replace('_', '-')} is needed with --agent {METERED}")
    if options["tokens"] is None and options["cost_usd"] is None:
        raise ModelStopError("give a cap: --tokens or --cost-usd")
    endpoint = _endpoint(options)
    if options["cost_usd"] is not None and endpoint.prices is None:
        raise ModelStopError("--cost-usd needs --input-usd and --output-usd")
    meter = MemoryMeter(options["tokens"], options["cost_usd"])
    header = Header(context_tokens=endpoint.context_tokens, json_schema=endpoint.json_schema)
    record = JsonLinesTranscript(options["record"], header) if options["record"] else None
    return BudgetedCaller([ModelClient(endpoint)], meter, record)


def _endpoint(options: dict[str, Any]) -> Endpoint:
    prices = None
    if options["input_usd"] is not None and options["output_usd"] is not None:
        prices = Prices(input_usd=options["input_usd"], output_usd=options["output_usd"])
    try:
        return Endpoint(
            name=options["model"],
            base_url=options["model_url"],
            model=options["model"],
            api_key=SecretStr(os.environ.get(options["key_env"], "")),
            context_tokens=options["context_tokens"],
            max_output_tokens=options["max_output_tokens"],
            json_schema=options["json_schema"],
            prices=prices,
        )
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        # Without the cause: it would quote the key.
        raise ModelStopError(f"{first['loc'][0]}: {first['msg']}") from None
