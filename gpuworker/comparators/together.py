"""All outputs of a pass at once: a GPU is told once for many small outputs instead of once for each."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from gpuworker.comparators.close import Close
from gpuworker.dtypes import readable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpuworker.devices.device import Arena
    from gpuworker.specimen import Specimen

_MOST_ELEMENTS = 1 << 26


def are_right(arena: Arena, slots: Sequence[int], specimens: Sequence[Specimen]) -> bool:
    """Whether everything is right; False where it is not, or cannot be told together.

    Args:
        arena: holds the outputs.
        slots: of one pass.
        specimens: what each slot was filled with.
    """
    rows = [
        list(zip(arena.outputs(slot), one.expected, strict=True))
        for slot, one in zip(slots, specimens, strict=True)
    ]
    return all(_are_close([row[place] for row in rows]) for place in range(len(rows[0]) if rows else 0))


def _are_close(pairs: Sequence[tuple[torch.Tensor, object]]) -> bool:
    """The rule of `close.py` over a stack of outputs of one shape."""
    expected = [each for _, each in pairs if isinstance(each, Close) and each.finite]
    first = pairs[0][0]
    alike = len(expected) == len(pairs) and all(output.shape == first.shape for output, _ in pairs)
    if not alike or first.device.type == "cpu" or first.numel() * len(pairs) > _MOST_ELEMENTS:
        return False
    value = torch.stack([each.value.reshape(each.row_bound.shape[0], -1) for each in expected])
    difference = (
        torch.stack([readable(output) for output, _ in pairs])
        .reshape(value.shape)
        .to(value.dtype)
        .sub_(value)
        .abs_()
    )
    allowed = value.abs_().mul_(expected[0].relative).add_(torch.stack([each.row_bound for each in expected]))
    most = torch.tensor([each.norm_bound for each in expected], dtype=value.dtype, device=value.device)
    norms = torch.linalg.vector_norm(difference, dim=(1, 2))
    # A NaN compares false, so it fails here.
    return bool(torch.all(difference <= allowed) & torch.all(norms <= most))
