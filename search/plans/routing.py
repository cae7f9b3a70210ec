"""Plans of mixtures of experts: two products per token and chosen expert, then a weighted sum."""

from __future__ import annotations

from typing import TYPE_CHECKING

from search.plans.parts import launch, output_axes, plan, stored
from search.plans.plan import suffix
from search.traits import routed_axes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from search.plans.plan import Launch, Plan
    from search.records import Language
    from search.workload import Workload


def plan_routing(workload: Workload, choices: Mapping[str, str], language: Language) -> Plan:
    """Products as the tokens were routed, or by expert after the tokens were sorted.

    Args:
        workload: Has an index tensor (tokens, choices) and experts' weights of three axes.
        choices: Decisions of the structure.
        language: Not looked at.
    """
    tokens, places, experts, hidden = routed_axes(workload)
    width = output_axes(workload)[-1]
    pairs = (tokens, places)
    is_sorted, copied = choices["layout"] == "sorted", choices["gather"] == "copied"
    said = suffix(choices, {"grouping": {"grouped": "_grouped"}, "queue": {"dynamic": "_queue"}})
    up, down = f"expert_up{said}", f"expert_down{said}"
    launches: list[Launch] = []
    tensors = []
    if is_sorted:
        launches.append(launch("sort_tokens", "places of the tokens of each expert", pairs, (experts,)))
        tensors.append(stored("token_order", pairs, "sort_tokens", up, "int32"))
        tensors.append(stored("expert_offsets", (experts,), "sort_tokens", up, "int32"))
    if is_sorted and copied:
        launches.append(launch("copy_tokens", "tokens in the order of their experts", (*pairs, width)))
        tensors.append(stored("sorted_tokens", (*pairs, width), "copy_tokens", up))
    if choices.get("gate") == "separate":
        launches.append(launch("expert_gate", "the gate's product", (*pairs, hidden), (width,)))
        tensors.append(stored("gates", (*pairs, hidden), "expert_gate", up))
    launches += [
        launch(up, "the first product and its activation", (*pairs, hidden), (width,)),
        launch(down, "the second product", (*pairs, width), (hidden,)),
        launch("sum_experts", "the weighted sum over a token's experts", (tokens, width), (places,)),
    ]
    tensors += [
        stored("hidden", (*pairs, hidden), up, down),
        stored("expert_outputs", (*pairs, width), down, "sum_experts"),
    ]
    return plan(launches, tensors, sums=True)
