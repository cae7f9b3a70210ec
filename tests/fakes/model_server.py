"""A model server for tests and for people: real HTTP, chat-completions protocol, scripted answers, faults.

    python -m tests.fakes.model_server --port 8901 --script answers.json

then point an endpoint at http://127.0.0.1:8901/v1 with any key. A script is a JSON list of rules; the first rule
whose `match` (a regular expression over all messages) is found answers, at most `times` times:

    [{"match": "You are the planner", "text": "...", "times": 1},
     {"match": "", "fault": "rate_limited", "argument": "2", "times": 1},
     {"text": "```cpp\\n...```"}]

or `module:function`, a function from `Conversation` to `Answer`. `FAULTS` in `model_faults.py` lists the faults.
"""

from __future__ import annotations

import argparse
import importlib
import json
import re
import sys
import threading
from collections import Counter
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from tests.fakes.model_faults import FAULTS

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable
    from types import TracebackType

    Script = Callable[["Conversation"], "Answer"]


@dataclass(frozen=True)
class Answer:
    """What a script wants to be answered."""

    text: str = ""
    fault: str = ""
    """A name of `FAULTS`; empty for a proper answer."""
    argument: str = ""
    """What the fault needs to know."""
    delay_s: float = 0.0
    usage: tuple[int, int] | None = None
    """Prompt and completion tokens to tell; None: a rough count."""


@dataclass(frozen=True)
class Conversation:
    """One request as a script sees it."""

    number: int
    """1.. in the order of arrival."""
    body: dict[str, Any]
    headers: dict[str, str] = field(default_factory=dict)
    """Names in lower case."""

    @property
    def prompt(self) -> str:
        """All messages in one text."""
        return "\n".join(str(message.get("content")) for message in self.body["messages"])

    @property
    def schema(self) -> dict[str, Any] | None:
        """JSON schema that the answer has to obey."""
        wanted = self.body.get("response_format", {}).get("json_schema")
        return wanted["schema"] if wanted else None


class ModelServer:
    """Serves from a thread until closed.

    Args:
        script: From a request to its answer; called from several threads.
        port: 0 for any free one.
        key: The only key that is accepted; None: any, or none.
        schemas: Whether `response_format` is understood; else it is refused, as many servers do.
        models: What `/models` lists, or None for a server without such a list.
        tls: Serve https with it.
    """

    def __init__(
        self,
        script: Script,
        port: int = 0,
        *,
        key: str | None = None,
        schemas: bool = True,
        models: tuple[str, ...] | None = ("fake-model",),
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self.script = script
        self.key = key
        self.schemas = schemas
        self.models = models
        self.stopping = threading.Event()
        self.seen: list[Conversation] = []
        """Requests for completions, in order of arrival; what the provider would have billed."""
        self._lock = threading.Lock()
        self._http = _Listener(("127.0.0.1", port), ModelHandler)
        self._http.owner = self
        if tls is not None:
            # Handshakes happen in the handlers' threads, so that a failed one ends only its own connection.
            self._http.socket = tls.wrap_socket(
                self._http.socket, server_side=True, do_handshake_on_connect=False
            )
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True)

    @property
    def url(self) -> str:
        """Base URL for an endpoint."""
        return f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    def __enter__(self) -> ModelServer:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stopping.set()
        self._http.shutdown()
        self._http.server_close()

    def serve(self) -> None:
        """Serve in this thread until interrupted."""
        self._http.serve_forever(0.1)

    def note(self, body: dict[str, Any], headers: dict[str, str]) -> Conversation:
        """Number a request."""
        with self._lock:
            conversation = Conversation(len(self.seen) + 1, body, headers)
            self.seen.append(conversation)
        return conversation


class _Listener(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 64
    owner: ModelServer

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients that hang up or refuse a certificate are what this server is for; only bugs are shown."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)


class ModelHandler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"

    @property
    def owner(self) -> ModelServer:
        return cast("_Listener", self.server).owner

    def do_GET(self) -> None:
        if self.path.rstrip("/") != "/v1/models" or self.owner.models is None:
            return self.send_json(404, {"error": {"message": f"no such path: {self.path}"}})
        if not self._has_key():
            return None
        data = [{"id": name, "object": "model", "owned_by": "tests"} for name in self.owner.models]
        return self.send_json(200, {"object": "list", "data": data})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path != "/v1/chat/completions":
            return self.send_json(404, {"error": {"message": f"no such path: {self.path}"}})
        if not self._has_key() or not self._understands(body):
            return None
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.conversation = self.owner.note(body, headers)
        answer = self.owner.script(self.conversation)
        self.idle(answer.delay_s)
        try:
            self._answer(answer)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True  # the client had enough
        return None

    def _answer(self, answer: Answer) -> None:
        if answer.fault:
            FAULTS[answer.fault](self, answer)
            self.close_connection = True
        elif self.conversation.body.get("stream"):
            self._stream(answer)
        else:
            self.send_json(200, self.completion(answer))

    def _stream(self, answer: Answer) -> None:
        self.send_head(200, {"Content-Type": "text/event-stream", "Connection": "close"})
        self.close_connection = True
        for chunk in self.chunks(answer):
            self.write(f"data: {json.dumps(chunk)}\n\n".encode())
        self.write(b"data: [DONE]\n\n")

    def _has_key(self) -> bool:
        sent = self.headers.get("Authorization", "")
        if self.owner.key is None or sent == f"Bearer {self.owner.key}":
            return True
        error = {
            "message": f"Incorrect API key provided: {sent.removeprefix('Bearer ')}",
            "code": "invalid_api_key",
        }
        self.send_json(401, {"error": error})
        return False

    def _understands(self, body: dict[str, Any]) -> bool:
        if self.owner.schemas or "response_format" not in body:
            return True
        self.send_json(400, {"error": {"message": "response_format is not supported by this server"}})
        return False

    def completion(self, answer: Answer) -> dict[str, Any]:
        """A proper answer."""
        message = {"role": "assistant", "content": answer.text}
        return {
            "id": f"chatcmpl-{self.conversation.number}",
            "object": "chat.completion",
            "created": 1_700_000_000,
            "model": self.conversation.body["model"],
            "system_fingerprint": "fp_1",
            "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
            "usage": self._usage(answer),
        }

    def chunks(self, answer: Answer) -> list[dict[str, Any]]:
        """The same as a stream: text in pieces of 200 characters, then the finish reason, then the usage."""
        head = {"id": "chatcmpl-s", "object": "chat.completion.chunk", "created": 1_700_000_000}
        head |= {"model": self.conversation.body["model"], "system_fingerprint": "fp_1"}
        pieces = [answer.text[start : start + 200] for start in range(0, len(answer.text), 200)]
        deltas: list[tuple[dict[str, Any], str | None]] = [({"content": piece}, None) for piece in pieces]
        chunks = [
            {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}
            for delta, finish in [({"role": "assistant"}, None), *deltas, ({}, "stop")]
        ]
        if self.conversation.body.get("stream_options", {}).get("include_usage"):
            chunks.append({**head, "choices": [], "usage": self._usage(answer)})
        return chunks

    def _usage(self, answer: Answer) -> dict[str, int]:
        prompt, completion = answer.usage or (
            1 + len(self.conversation.prompt) // 4,
            1 + len(answer.text) // 4,
        )
        return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}

    def send_json(self, status: int, document: dict[str, Any], headers: dict[str, str] | None = None) -> None:
        """Send a whole answer."""
        body = json.dumps(document).encode()
        own = {"Content-Type": "application/json", "Content-Length": str(len(body)), "x-request-id": "req_1"}
        self.send_head(status, {**own, **(headers or {})})
        self.write(body)

    def send_head(self, status: int, headers: dict[str, str]) -> None:
        """Send status and headers."""
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()

    def write(self, data: bytes) -> None:
        """Send bytes of a body."""
        self.wfile.write(data)
        self.wfile.flush()

    def idle(self, seconds: float) -> bool:
        """Wait; False when the server is being closed."""
        return not (seconds and self.owner.stopping.wait(seconds))

    def hang_up(self) -> None:
        """Close the socket now."""
        self.close_connection = True
        self.rfile.close()
        self.connection.close()

    def log_message(self, format: str, *args: Any) -> None:
        """Silent."""


def replies(*answers: Answer | str) -> Script:
    """A script that gives its answers in the order of the requests; the last one for ever."""
    ready = [Answer(answer) if isinstance(answer, str) else answer for answer in answers]
    return lambda conversation: ready[min(conversation.number, len(ready)) - 1]


def rules(document: list[dict[str, Any]]) -> Script:
    """A script out of the rules of a JSON file.

    Raises:
        ValueError: a rule names an unknown fault or field.
    """
    for number, rule in enumerate(document, start=1):
        if unknown := set(rule) - {"match", "text", "fault", "argument", "delay_s", "times"}:
            raise ValueError(f"rule {number}: unknown {', '.join(sorted(unknown))}")
        if rule.get("fault", "") not in {"", *FAULTS}:
            raise ValueError(f"rule {number}: no fault {rule['fault']!r}; there are {', '.join(FAULTS)}")
    used = Counter[int]()
    lock = threading.Lock()

    def answer(conversation: Conversation) -> Answer:
        with lock:
            for number, rule in enumerate(document):
                fits = re.search(rule.get("match", ""), conversation.prompt)
                if fits and used[number] < rule.get("times", float("inf")):
                    used[number] += 1
                    return Answer(**{name: rule[name] for name in rule if name not in {"match", "times"}})
        return Answer("I have no rule for this prompt.")

    return answer


def _load_script(name: str) -> Script:
    if name.endswith(".json"):
        return rules(json.loads(Path(name).read_text()))
    module, _, function = name.partition(":")
    return cast("Script", getattr(importlib.import_module(module), function))


def main() -> None:
    """Serve until interrupted."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--port", type=int, default=8901)
    parser.add_argument("--script", required=True, help="a .json file of rules, or module:function")
    parser.add_argument("--key", help="the only key that is accepted")
    parser.add_argument("--no-schemas", action="store_true", help="refuse response_format")
    options = parser.parse_args()
    server = ModelServer(
        _load_script(options.script), options.port, key=options.key, schemas=not options.no_schemas
    )
    print(f"model server at {server.url}", flush=True)
    try:
        server.serve()
    except KeyboardInterrupt:
        pass


if __name__ == "__main__":
    main()
