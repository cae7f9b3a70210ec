"""Requests and endpoints for tests of the model client."""

from __future__ import annotations

from pydantic import SecretStr

from search.agents.llm.endpoint import Endpoint, Prices
from search.agents.llm.outcomes import Message, ModelRequest

KEY = "sk-test-0123456789abcdef"
PRICES = Prices(input_usd=2.0, cached_usd=0.5, output_usd=8.0)


def endpoint_at(url, **fields):
    defaults = {
        "name": "fake",
        "base_url": url,
        "model": "fake-model",
        "api_key": SecretStr(KEY),
        "prices": PRICES,
        "max_output_tokens": 1000,
        "deadline_s": 10.0,
    }
    return Endpoint(**{**defaults, **fields})


def request_of(text="Write a kernel.", **fields):
    return ModelRequest(**{"role": "coder", "messages": (Message(role="user", content=text),), **fields})
