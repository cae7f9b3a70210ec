"""A team's models over the scripted server, and searches that use them."""

from __future__ import annotations

from dataclasses import replace

from kernelsite.endpoints.models import ModelEndpoint, Price
from kernelsite.searches.launch import launch_search
from kernelsite.searches.models import CallState
from search.settings import Budget

KEY = "sk-canary-of-the-team-0123456789"


def add_model(team, server, name="scripted", *, priced=True, key=KEY, **columns):
    columns = {"context_tokens": 32768, "max_output_tokens": 4096, "deadline_s": 10.0} | columns
    row = ModelEndpoint(team=team, name=name, base_url=server.url, model="fake-model", **columns)
    row.set_key(key)
    row.save()
    if priced:
        Price.objects.create(endpoint=row, input_usd=1.0, output_usd=4.0, valid_from="2026-01-01")
    return row


def capped(evaluations=12, tokens=1_000_000, cost_usd=None):
    return Budget(evaluations=evaluations, tokens=tokens, cost_usd=cost_usd)


def launch_with(order, rows, budget, **options):
    """Launches a search over models; its messages wait in `wire`."""
    base = order(agent="llm", endpoints=tuple(row.pk for row in rows), **options)
    return launch_search(replace(base, options=base.options.model_copy(update={"budget": budget})))[0]


def check_ledger(search):
    """Invariants of the ledger at any moment."""
    tokens, usd = search.calls.committed()
    assert search.tokens_cap is None or tokens <= search.tokens_cap
    assert search.cost_usd_cap is None or usd <= search.cost_usd_cap + 1e-9
    for call in search.calls.all():
        assert call.tokens <= call.ceiling_tokens
        if call.state in (CallState.RESERVED, CallState.UNKNOWN):
            assert (call.tokens, call.usd) == (call.ceiling_tokens, call.ceiling_usd or 0.0)
    spent = search.calls.spent()
    assert (search.tokens_spent, round(search.cost_usd_spent, 9)) == (spent[0], round(spent[1], 9))
