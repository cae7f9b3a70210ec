"""Where a model answers: address, key, limits and prices of one OpenAI-compatible endpoint."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, SecretStr

from search.records import Record

if TYPE_CHECKING:
    from search.agents.llm.outcomes import TokenUsage

Usd = Annotated[float, Field(ge=0)]
TOKENS_PER_PRICE = 1_000_000
"""Prices are quoted per million tokens."""
_NEW_LIMIT_HOSTS = ("api.openai.com", ".openai.azure.com")


class Prices(Record):
    """USD per million tokens, as a provider's price list says it."""

    input_usd: Usd
    cached_usd: Usd | None = None
    """Of prompt tokens that the provider had cached; None: as any other input."""
    output_usd: Usd
    """Reasoning tokens are output too."""

    def cost_usd(self, input_tokens: int, cached_tokens: int, output_tokens: int) -> float:
        """Price of one call; `input_tokens` include the cached ones."""
        cached_usd = self.input_usd if self.cached_usd is None else self.cached_usd
        fresh = input_tokens - cached_tokens
        total = fresh * self.input_usd + cached_tokens * cached_usd + output_tokens * self.output_usd
        return total / TOKENS_PER_PRICE

    def ceiling_usd(self, input_tokens: int, output_tokens: int) -> float:
        """The most that a call of so many tokens can cost: no token is cached, or caching is dearer."""
        dearest = max(self.input_usd, self.cached_usd or 0.0)
        return (input_tokens * dearest + output_tokens * self.output_usd) / TOKENS_PER_PRICE


def _checked_url(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ValueError("an endpoint's address looks like https://host/v1")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise ValueError("an endpoint's address holds no user, password, query or fragment")
    _ = parts.port  # raises ValueError for a port that is no number
    return url.rstrip("/")


def _checked_key(key: SecretStr) -> SecretStr:
    secret = key.get_secret_value()
    if not secret.isascii() or not secret.isprintable() or " " in secret:
        raise ValueError("a key is one line of ASCII letters, digits and marks")
    return key


class Endpoint(Record):
    """One model at one address. The key is never dumped and never shown by `repr`."""

    name: Annotated[str, Field(min_length=1, max_length=80)]
    """Chosen by people; what transcripts and ledgers call it."""
    base_url: Annotated[str, AfterValidator(_checked_url)]
    """Up to and with `/v1`; without a slash at its end."""
    model: Annotated[str, Field(min_length=1, max_length=200)]
    api_key: Annotated[SecretStr, Field(exclude=True), AfterValidator(_checked_key)] = SecretStr("")
    """Empty where the server asks for none."""
    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    """None: the server's own; some models accept no other."""
    max_output_tokens: Annotated[int, Field(ge=1)] = 8192
    context_tokens: Annotated[int, Field(ge=256)] = 32768
    """Prompt and answer together."""
    limit_field: Literal["max_tokens", "max_completion_tokens"] | None = None
    """What the server calls the output limit; None: by its host. OpenAI's newer models refuse the old name,
    most other servers know no other."""
    json_schema: bool = False
    """Whether the server obeys `response_format` with a schema."""
    streaming: bool = False
    concurrency: Annotated[int, Field(ge=1)] = 4
    """Calls in flight at the same time with this key."""
    requests_per_minute: Annotated[int, Field(ge=1)] | None = None
    prices: Prices | None = None
    """None: unknown, so a cap on money cannot be kept."""
    deadline_s: Annotated[float, Field(gt=0)] = 240.0
    """For one attempt, from the first byte sent to the last one received."""

    @property
    def host(self) -> str:
        """Host and port that the key is bound to; also what people are shown before the first call."""
        return urlsplit(self.base_url).netloc

    @property
    def limit_name(self) -> str:
        """Field of the request body that limits the output."""
        if self.limit_field:
            return self.limit_field
        hostname = urlsplit(self.base_url).hostname or ""
        return "max_completion_tokens" if hostname.endswith(_NEW_LIMIT_HOSTS) else "max_tokens"

    def cost_usd(self, usage: TokenUsage) -> float | None:
        """Price of a call; None: prices unknown."""
        if self.prices is None:
            return None
        return self.prices.cost_usd(usage.prompt_tokens, usage.cached_tokens, usage.completion_tokens)
