"""What can go wrong between a client and a model server, as the bytes that a client sees.

Each fault answers one chat completion. `FAULTS` names them; the numbers are rows of the list of faults.
"""

from __future__ import annotations

import gzip
import json
import socket
import struct
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.fakes.model_server import Answer, ModelHandler

    Fault = Callable[[ModelHandler, Answer], None]

QUOTA = {
    "message": "You exceeded your current quota, please check your plan and billing details.",
    "type": "insufficient_quota",
    "code": "insufficient_quota",
}


def _error(status: int, error: dict[str, Any], headers: dict[str, str] | None = None) -> Fault:
    def answer(handler: ModelHandler, _: Answer) -> None:
        handler.send_json(status, {"error": error}, headers)

    return answer


def _rate_limited(handler: ModelHandler, answer: Answer) -> None:
    headers = {"Retry-After": answer.argument} if answer.argument else {}
    error = {"message": "Rate limit reached", "type": "requests", "code": "rate_limit_exceeded"}
    handler.send_json(429, {"error": error}, headers)


def _status(handler: ModelHandler, answer: Answer) -> None:
    handler.send_json(int(answer.argument), {"error": {"message": f"status {answer.argument}"}})


def _close(handler: ModelHandler, _: Answer) -> None:
    handler.close_connection = True


def _reset(handler: ModelHandler, _: Answer) -> None:
    # With a linger of zero, closing sends RST instead of FIN.
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    handler.hang_up()


def _reset_mid_body(handler: ModelHandler, answer: Answer) -> None:
    body = json.dumps(handler.completion(answer)).encode()
    handler.send_head(200, {"Content-Type": "application/json", "Content-Length": str(len(body))})
    handler.write(body[: len(body) // 2])
    _reset(handler, answer)


def _hang(handler: ModelHandler, _: Answer) -> None:
    handler.idle(3600)


def _drip(handler: ModelHandler, answer: Answer) -> None:
    """One byte each `argument` seconds, so that no read ever times out."""
    body = json.dumps(handler.completion(answer)).encode().rjust(5000)
    handler.send_head(200, {"Content-Type": "application/json", "Content-Length": str(len(body))})
    _drip_bytes(handler, body, float(answer.argument or 0.05))


def _drip_headers(handler: ModelHandler, answer: Answer) -> None:
    _drip_bytes(handler, b"HTTP/1.1 200 OK\r\nX-Slow: " + b"z" * 5000, float(answer.argument or 0.05))


def _drip_stream(handler: ModelHandler, answer: Answer) -> None:
    """A stream that is always alive and never ends."""
    handler.send_head(200, {"Content-Type": "text/event-stream"})
    while handler.idle(float(answer.argument or 0.05)):
        handler.write(b": still thinking\n\n")


def _drip_bytes(handler: ModelHandler, body: bytes, pause_s: float) -> None:
    for byte in body:
        handler.write(bytes([byte]))
        if not handler.idle(pause_s):
            return


def _cut_stream(handler: ModelHandler, answer: Answer) -> None:
    """A stream that ends in the middle, politely, without finish reason and `[DONE]`."""
    handler.send_head(200, {"Content-Type": "text/event-stream"})
    for chunk in handler.chunks(answer)[:2]:
        handler.write(f"data: {json.dumps(chunk)}\n\n".encode())


def _error_in_stream(handler: ModelHandler, answer: Answer) -> None:
    handler.send_head(200, {"Content-Type": "text/event-stream"})
    handler.write(f"data: {json.dumps(handler.chunks(answer)[0])}\n\n".encode())
    handler.write(b'data: {"error": {"code": 429, "message": "Provider returned error"}}\n\n')


def _junk_in_stream(handler: ModelHandler, _: Answer) -> None:
    handler.send_head(200, {"Content-Type": "text/event-stream"})
    handler.write(b'data: {"choices": [{"del\n\ndata: [DONE]\n\n')


def _raw(body: bytes, headers: dict[str, str]) -> Fault:
    def answer(handler: ModelHandler, _: Answer) -> None:
        handler.send_head(200, {"Content-Length": str(len(body)), **headers})
        handler.write(body)

    return answer


def _huge_body(handler: ModelHandler, _: Answer) -> None:
    """2 GB, of which a client should take little."""
    handler.send_head(200, {"Content-Type": "application/json", "Content-Length": str(2 * 1024**3)})
    handler.write(b'{"choices": [{"message": {"content": "')
    for _ in range(2 * 1024):
        handler.write(b"x" * 1024**2)


def _edited(edit: Callable[[dict[str, Any]], None]) -> Fault:
    def answer(handler: ModelHandler, answer: Answer) -> None:
        document = handler.completion(answer)
        edit(document)
        handler.send_json(200, document)

    return answer


def _message(**fields: Any) -> Fault:
    return _edited(lambda document: document["choices"][0]["message"].update(fields))


def _finish(reason: str | None) -> Fault:
    return _edited(lambda document: document["choices"][0].update(finish_reason=reason))


def _usage(**counts: Any) -> Fault:
    return _edited(lambda document: document.update(usage=counts or None))


_PACKED = gzip.compress(b'{"choices": []}' * 1000)
_CALL = {"id": "1", "type": "function", "function": {"name": "shell", "arguments": '{"cmd": "env"}'}}

FAULTS: dict[str, Fault] = {
    # F176, F177: the argument of `rate_limited` is the value of Retry-After.
    "rate_limited": _rate_limited,
    "quota": _error(429, QUOTA),
    "payment_required": _error(402, {"message": "Insufficient credits"}),
    # F178: the argument of `status` is the number.
    "status": _status,
    "close": _close,
    "reset": _reset,
    "reset_mid_body": _reset_mid_body,
    # F179, F180: the argument of the drips is seconds between bytes.
    "hang": _hang,
    "drip": _drip,
    "drip_headers": _drip_headers,
    "drip_stream": _drip_stream,
    # F181
    "cut_stream": _cut_stream,
    "no_finish": _finish(None),
    "error_in_stream": _error_in_stream,
    "junk_in_stream": _junk_in_stream,
    # F182, F183
    "length": _finish("length"),
    "content_filter": _finish("content_filter"),
    "refusal": _message(content=None, refusal="I can't help with that."),
    "prompt_filtered": _error(
        400, {"message": "Blocked by content management policy", "code": "content_filter"}
    ),
    # F184
    "no_choices": _edited(lambda document: document.update(choices=[])),
    "null_content": _message(content=None),
    "tool_call": _message(content=None, tool_calls=[_CALL]),
    "reasoning_only": _message(content="", reasoning_content="First I think about it."),
    # F185
    "html": _raw(b"<html><body>502 Bad Gateway</body></html>", {"Content-Type": "text/html"}),
    "json_as_text": _raw(b"it works!", {"Content-Type": "text/plain"}),
    "cut_json": _raw(b'{"choices": [{"message"', {"Content-Type": "application/json"}),
    "deep_json": _raw(b"[" * 200_000, {"Content-Type": "application/json"}),
    "json_array": _raw(b"[1, 2]", {"Content-Type": "application/json"}),
    "truncated_gzip": _raw(_PACKED[:-12], {"Content-Type": "application/json", "Content-Encoding": "gzip"}),
    "huge_body": _huge_body,
    "error_in_200": _raw(
        b'{"error": {"code": 503, "message": "overloaded"}}', {"Content-Type": "application/json"}
    ),
    "redirect": lambda handler, _: handler.send_json(307, {}, {"Location": "http://169.254.169.254/"}),
    # F189
    "no_usage": _usage(),
    "zero_usage": _usage(prompt_tokens=0, completion_tokens=0, total_tokens=0),
    "absurd_usage": _usage(prompt_tokens=10**15, completion_tokens=-3),
    "wrong_usage": _usage(prompt_tokens="many", completion_tokens=[]),
    # F193; the errors as OpenAI, vLLM and llama.cpp word them.
    "unauthorized": _error(401, {"message": "Incorrect API key provided: sk-proj-0123456789abcdef."}),
    "no_model": _error(404, {"message": "The model `x` does not exist", "code": "model_not_found"}),
    "context": _error(
        400,
        {"message": "This model's maximum context length is 4096 tokens", "code": "context_length_exceeded"},
    ),
    "context_vllm": _error(
        400, {"message": "The prompt is too long: 9000 > 4096", "type": "BadRequestError"}
    ),
    "context_llama_cpp": _error(
        400,
        {"message": "the request exceeds the available context size", "type": "exceed_context_size_error"},
    ),
    "bad_request": _error(
        400, {"message": "Unsupported parameter: 'max_tokens'", "code": "unsupported_parameter"}
    ),
    # F194, F200
    "other_model": _edited(
        lambda document: document.update(model="model-2031-01", system_fingerprint="fp_2")
    ),
    "binary": _message(content="a\x00b\x1b[31mred\ud800 \udfff end"),
}
"""By name. A fault of a stream makes sense only for a request that streams."""
