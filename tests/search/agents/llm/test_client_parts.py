"""Addresses, error words, texts and token estimates, without a server."""

from __future__ import annotations

import threading
import time
from datetime import UTC, datetime

import pytest
from pydantic import SecretStr

from search.agents.llm import texts
from search.agents.llm.addresses import POLICIES, AddressRefused, LookUpFailed, resolve
from search.agents.llm.endpoint import Prices
from search.agents.llm.faults import outcome_of_status, retry_after_s
from search.agents.llm.outcomes import CallOutcome, Message
from search.agents.llm.tokens import ceiling_tokens, estimate_messages, estimate_tokens
from search.agents.llm.wire import join_chunks, read_completion, read_usage


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1", "::1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "100.64.0.1", "fd00::1", "169.254.169.254",
        "fe80::1%eth0", "0.0.0.0", "::", "224.0.0.1", "::ffff:10.0.0.1", "64:ff9b::a9fe:a9fe", "2002:7f00:1::",
        "198.18.0.1", "240.0.0.1", "255.255.255.255",
    ],
)  # fmt: skip
def test_only_public_addresses_are_public(address):
    assert POLICIES["public"].refusal(address)


@pytest.mark.parametrize("address", ["1.1.1.1", "2606:4700:4700::1111", "::ffff:1.1.1.1", "64:ff9b::101:101"])
def test_public_addresses_are_allowed(address):
    assert not POLICIES["public"].refusal(address)


def test_an_operator_may_allow_more_but_never_metadata():
    assert not POLICIES["loopback"].refusal("127.0.0.1")
    assert POLICIES["loopback"].refusal("10.0.0.1")
    assert not POLICIES["private"].refusal("10.0.0.1")
    for address in ("169.254.169.254", "fe80::1", "::ffff:169.254.169.254"):
        assert POLICIES["private"].refusal(address)


def test_a_name_with_one_address_inside_is_refused_as_a_whole(monkeypatch):
    both = [(2, 1, 6, "", ("1.1.1.1", 443)), (2, 1, 6, "", ("10.0.0.1", 443))]
    monkeypatch.setattr("socket.getaddrinfo", lambda *args, **kwargs: both)
    with pytest.raises(AddressRefused, match=r"10\.0\.0\.1"):
        resolve("rebinding.example", 443, POLICIES["public"], 1.0)
    assert resolve("rebinding.example", 443, POLICIES["private"], 1.0) == ["1.1.1.1", "10.0.0.1"]


def test_a_resolver_that_hangs_is_left_behind(monkeypatch):
    ended = threading.Event()

    def hang(*args, **kwargs):
        ended.wait(10)
        return []

    monkeypatch.setattr("socket.getaddrinfo", hang)
    try:
        with pytest.raises(LookUpFailed, match="no answer"):
            resolve("slow.example", 443, POLICIES["private"], 0.05)
    finally:
        ended.set()


@pytest.mark.parametrize(
    ("status", "words", "outcome"),
    [
        (429, "insufficient_quota", CallOutcome.QUOTA),
        (403, "Your credit balance is too low", CallOutcome.QUOTA),
        (403, "region not supported", CallOutcome.UNAUTHORIZED),
        (429, "tokens per minute", CallOutcome.RATE_LIMITED),
        (400, "Please reduce the length: maximum context length is 8192", CallOutcome.CONTEXT_TOO_LONG),
        (413, "", CallOutcome.CONTEXT_TOO_LONG),
        (400, "The model gpt-9 does not exist", CallOutcome.NOT_FOUND),
        (422, "temperature must be below 2", CallOutcome.BAD_REQUEST),
        (529, "overloaded_error", CallOutcome.UNAVAILABLE),
        (0, "", CallOutcome.UNAVAILABLE),
    ],
)
def test_words_of_an_error_decide_where_its_status_does_not(status, words, outcome):
    assert outcome_of_status(status, words) is outcome


def test_retry_after_as_date_and_in_milliseconds():
    now = datetime(2026, 1, 1, 12, 0, 0, tzinfo=UTC)
    assert retry_after_s({"retry-after": "Thu, 01 Jan 2026 12:01:30 GMT"}, now) == 90.0
    assert retry_after_s({"retry-after": "Thu, 01 Jan 2026 12:01:30"}, now) == 90.0
    assert retry_after_s({"retry-after-ms": "1500", "retry-after": "9"}, now) == 1.5
    assert retry_after_s({"retry-after": "inf"}, now) is None
    assert retry_after_s({}, now) is None


def test_a_reason_is_one_short_line_without_keys():
    key = SecretStr("my-own-secret")
    text = texts.reason(
        "no\r\nmy-own-secret, sk-proj-abc123def456ghi, Bearer abcd1234efgh\x00" + " x" * 999, key
    )
    assert text.startswith("no [key], [key], [key]")
    assert len(text) == texts.DETAIL_LIMIT


def test_names_in_sources_are_no_secrets():
    source = "skeleton_of_the_kernel risk-adjusted hf_attention_forward api_key bearer certificates task-queue-names"
    assert texts.without_secrets(source) == source


@pytest.mark.parametrize("piece", ["sk-", "bearer ", "api key ", "AIza", "\n ", "Aa", "😀", "sk-a*"])
def test_hostile_text_takes_linear_time(piece):
    text = piece * (200_000 // len(piece))
    started = time.process_time()
    texts.without_secrets(text)
    texts.reason(text, SecretStr("my-own-secret"))
    estimate_tokens(text)
    assert time.process_time() - started < 3


def test_a_short_key_is_a_placeholder_and_hides_no_words():
    assert texts.masked("none of it", SecretStr("none")) == "none of it"


def test_cached_tokens_have_their_own_price():
    prices = Prices(input_usd=2.0, cached_usd=0.5, output_usd=8.0)
    assert prices.cost_usd(1_000_000, 400_000, 100_000) == pytest.approx(1.2 + 0.2 + 0.8)
    assert Prices(input_usd=2.0, output_usd=8.0).cost_usd(1_000_000, 400_000, 0) == pytest.approx(2.0)
    assert prices.ceiling_usd(1_000_000, 100_000) == pytest.approx(2.8)


def test_content_in_parts_is_joined():
    parts = [{"type": "text", "text": "a"}, {"type": "image"}, {"type": "text", "text": "b"}]
    read = read_completion({"choices": [{"message": {"content": parts}, "finish_reason": "stop"}]})
    assert (read.text, read.outcome) == ("ab", CallOutcome.OK)


@pytest.mark.parametrize("document", [None, [], "x", {}, {"choices": {}}, {"choices": None}])
def test_what_is_no_completion_is_none(document):
    assert read_completion(document) is None


@pytest.mark.parametrize(
    "choice", [None, 1, {}, {"message": 1}, {"message": {"content": 1}, "finish_reason": 2}]
)
def test_a_choice_of_wrong_types_is_read_as_nothing(choice):
    assert read_completion({"choices": [choice]}).outcome is CallOutcome.INCOMPLETE


def test_a_stream_is_joined_in_order_and_usage_may_come_last():
    chunks = [
        {"model": "m", "choices": [{"delta": {"role": "assistant"}}]},
        {"choices": [{"delta": {"content": "a"}}]},
        {"choices": [{"delta": {"content": "b"}, "finish_reason": "stop"}]},
        {"choices": [], "usage": {"prompt_tokens": 1, "completion_tokens": 2}},
    ]
    read = read_completion(join_chunks(chunks))
    assert (read.text, read.finish, read.model, read.usage.tokens) == ("ab", "stop", "m", 3)
    assert read_completion(join_chunks(chunks[:2])).outcome is CallOutcome.INCOMPLETE
    assert read_completion(join_chunks([])).outcome is CallOutcome.EMPTY


def test_counts_that_cannot_be_are_none():
    for prompt, completion in [
        (0, 5),
        (-1, 5),
        (1.5e30, 5),
        (True, 5),
        ("9", 5),
        (9, None),
        (float("nan"), 1),
    ]:
        assert read_usage({"prompt_tokens": prompt, "completion_tokens": completion}) is None
    details = {"prompt_tokens_details": {"cached_tokens": 99}, "completion_tokens_details": None}
    assert read_usage({"prompt_tokens": 9, "completion_tokens": 0, **details}).cached_tokens == 9


COUNTED = {
    "cpp": (
        """\
extern "C" int run(void** buffers, const int64_t* axes, void* stream) {
    const float* x = static_cast<const float*>(buffers[0]);
    const int64_t M = axes[0], N = axes[1];
#pragma omp parallel for schedule(static, ROWS_PER_CHUNK)
    for (int64_t row = 0; row < M; ++row) {
        float peak = -INFINITY;
        for (int64_t i = 0; i < N; ++i) peak = std::fmax(peak, x[row * N + i]);
    }
    return 0;
}
""",
        (135, 136, 144, 139, 169),
    ),
    "triton": (
        """\
@triton.jit
def softmax_online(x_ptr, y_ptr, stride_m, N, BLOCK_N: tl.constexpr):
    row = tl.program_id(0)
    m_i, l_i = float("-inf"), 0.0
    for start in range(0, N, BLOCK_N):
        cols = start + tl.arange(0, BLOCK_N)
        x = tl.load(x_ptr + row * stride_m + cols, mask=cols < N, other=float("-inf"))
""",
        (104, 105, 111, 104, 141),
    ),
    "json": (
        '{"knobs": {"BLOCK_N": 1024, "num_warps": 8}, "speedup": {"value": 1.8312, "low": 1.7901, "high": 1.8745}, "status": "PASSED"}',
        (59, 59, 70, 67, 69),
    ),
    "prose": (
        "Row softmax of an (M, N) matrix: each row is read once, its maximum and its sum are kept online, and the result is written back. The contract forbids atomics and a second kernel; tune the block size and the number of warps.",
        (55, 56, 56, 55, 57),
    ),
    "yaml": (
        """\
- id: reduction.online
  family: reduction
  when: {trait: row_reduction, device: [cuda, cpu]}
  conflicts: [reduction.two_pass, reduction.split]
  notes: Pays when a row does not fit into registers.
""",
        (52, 53, 56, 52, 62),
    ),
    "log": (
        """\
/tmp/build/kernel.cpp:42:17: error: no matching function for call to 'fmaxf(double, const __m512&)'
   42 |     acc = fmaxf(acc, _mm512_load_ps(x + 16));
""",
        (51, 51, 62, 59, 69),
    ),
}


@pytest.mark.parametrize(("text", "counts"), COUNTED.values(), ids=COUNTED.keys())
def test_the_estimate_is_near_real_tokenizers_and_the_ceiling_above_them(text, counts):
    """Counts of cl100k_base, o200k_base, Tekken, Qwen and a SentencePiece of 32k, made once with their own code."""
    assert estimate_tokens(text) >= 0.9 * max(counts[:4])
    assert estimate_tokens(text) <= 1.9 * max(counts)
    assert ceiling_tokens([Message(role="user", content=text)]) >= max(counts) + 8


def test_any_text_has_an_estimate():
    assert estimate_tokens("") == 0
    assert estimate_tokens("\ud800\x00\t") > 0
    assert estimate_messages([Message(role="user", content="")] * 3) == 24
