"""Why a survivor of a shipped workload is no danger, by workload and mutant; printed in `docs/mutants.md`.

A survivor that is not here fails `python -m gpuworker selftest`. Write down why it is harmless, or make the
tolerance or the cases of the workload stricter.
"""

from __future__ import annotations

EXPLAINED: dict[str, dict[str, str]] = {
    "gqa_paged_decode": {
        "inputs read as float16": (
            "The inputs are bfloat16, whose eight significant bits fit into the eleven of float16: only values near zero "
            "are rounded at all, by less than a bfloat16 kernel rounds everything. Values beyond the range of float16, "
            "which would tell, do not occur in attention's scores."
        )
    },
    "trimul": {
        "sums kept in float16": (
            "The policy allows TF32, whose ten mantissa bits are those of float16, and a tolerance that takes TF32 "
            "products takes sums of so few terms as these small cases have. What float16 cannot hold in range dies: "
            "see every result in float16."
        )
    },
}


def explanation(workload: str, mutant: str) -> str:
    """Empty where nobody has explained it."""
    return EXPLAINED.get(workload, {}).get(mutant, "")
